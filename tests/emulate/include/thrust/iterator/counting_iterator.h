#ifndef EMULATED_COUNTING_ITERATOR_H
#define EMULATED_COUNTING_ITERATOR_H

#include <stddef.h>

namespace thrust {

template <typename T> struct counting_iterator {
  T first;
  explicit counting_iterator(T x) : first(x) {
  }
  template <typename N> T operator[](N i) const {
    return (T)(first + (T)i);
  }
};

} // namespace thrust

#endif
