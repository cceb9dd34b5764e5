/* Double-double: an unevaluated sum of two doubles, hi + lo with |lo| <= ulp(hi) / 2: about 106
 * bits.
 *
 * The relative error of an operation is at most 2^-102. Exception: the error of add is 2^-102 of
 * the sizes of its terms (Dekker 1971, Knuth: The Art of Computer Programming 2, 4.2.2). The
 * operations are exact only if the compiler does not merge a product and a sum: C is compiled as
 * ISO C, which forbids it, and on GPUs the operations are intrinsics. Numbers below 2^-900 lose
 * their lo part. */
#ifndef AMPED_DOUBLE_DOUBLE_H
#define AMPED_DOUBLE_DOUBLE_H

#include "base/types.h"

#include <math.h>

typedef struct amped_dd {
  double hi, lo;
} amped_dd;

#ifdef __CUDA_ARCH__
#define AMPED_DD_ADD(a, b) __dadd_rn(a, b)
#define AMPED_DD_SUB(a, b) __dsub_rn(a, b)
#define AMPED_DD_MUL(a, b) __dmul_rn(a, b)
#else
#define AMPED_DD_ADD(a, b) ((a) + (b))
#define AMPED_DD_SUB(a, b) ((a) - (b))
#define AMPED_DD_MUL(a, b) ((a) * (b))
#endif

/* a + b, exactly. */
AMPED_BOTH static inline amped_dd amped_dd_sum(double a, double b) {
  amped_dd s;
  s.hi = AMPED_DD_ADD(a, b);
  const double t = AMPED_DD_SUB(s.hi, a);
  s.lo = AMPED_DD_ADD(AMPED_DD_SUB(a, AMPED_DD_SUB(s.hi, t)), AMPED_DD_SUB(b, t));
  return s;
}

/* a + b, exactly, if |a| >= |b|. */
AMPED_BOTH static inline amped_dd amped_dd_quick_sum(double a, double b) {
  amped_dd s;
  s.hi = AMPED_DD_ADD(a, b);
  s.lo = AMPED_DD_SUB(b, AMPED_DD_SUB(s.hi, a));
  return s;
}

/* Product a b, exactly. If `fused` is false, |a| and |b| must be below 2^990. fused: fma is an
 * instruction of the processor. */
AMPED_BOTH static inline amped_dd amped_dd_product_by(double a, double b, bool fused) {
  amped_dd p;
  p.hi = AMPED_DD_MUL(a, b);
  if (fused) {
    p.lo = fma(a, b, -p.hi);
  } else {
    const double split = 134217729.0; /* 2^27 + 1: halves of 26 bits, whose products are exact */
    const double at = split * a;
    const double bt = split * b;
    const double ah = at - (at - a);
    const double bh = bt - (bt - b);
    const double al = a - ah;
    const double bl = b - bh;
    p.lo = ((ah * bh - p.hi) + ah * bl + al * bh) + al * bl;
  }
  return p;
}

AMPED_BOTH static inline amped_dd amped_dd_product(double a, double b) {
#if defined(__CUDA_ARCH__) || defined(FP_FAST_FMA)
  return amped_dd_product_by(a, b, true);
#else
  return amped_dd_product_by(a, b, false);
#endif
}

AMPED_BOTH static inline amped_dd amped_dd_add(amped_dd a, amped_dd b) {
  const amped_dd s = amped_dd_sum(a.hi, b.hi);
  return amped_dd_quick_sum(s.hi, AMPED_DD_ADD(s.lo, AMPED_DD_ADD(a.lo, b.lo)));
}

AMPED_BOTH static inline amped_dd amped_dd_scale_by(amped_dd a, double b, bool fused) {
  const amped_dd p = amped_dd_product_by(a.hi, b, fused);
  return amped_dd_quick_sum(p.hi, AMPED_DD_ADD(p.lo, AMPED_DD_MUL(a.lo, b)));
}

AMPED_BOTH static inline amped_dd amped_dd_scale(amped_dd a, double b) {
  const amped_dd p = amped_dd_product(a.hi, b);
  return amped_dd_quick_sum(p.hi, AMPED_DD_ADD(p.lo, AMPED_DD_MUL(a.lo, b)));
}

AMPED_BOTH static inline amped_dd amped_dd_multiply(amped_dd a, amped_dd b) {
  const amped_dd p = amped_dd_product(a.hi, b.hi);
  const double cross = AMPED_DD_ADD(AMPED_DD_MUL(a.hi, b.lo), AMPED_DD_MUL(a.lo, b.hi));
  return amped_dd_quick_sum(p.hi, AMPED_DD_ADD(p.lo, cross));
}

#endif
