#ifndef EMULATED_TRANSFORM_ITERATOR_H
#define EMULATED_TRANSFORM_ITERATOR_H

namespace thrust {

template <typename F, typename I> struct transform_iterator {
  I base;
  F function;
  transform_iterator(I from, F f) : base(from), function(f) {
  }
  template <typename N> auto operator[](N i) const {
    return function(base[i]);
  }
};

} // namespace thrust

#endif
