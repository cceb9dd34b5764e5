/* Double-double: exact sums and products, and errors of its operations, against 113 bits. */
#include "base/double_double.h"
#include "base/random.h"
#include "tests/lib/testing.h"

__extension__ typedef __float128 quad;

#define TRIALS 20000

static quad whole(amped_dd a) {
  return (quad)a.hi + (quad)a.lo;
}

/* A double of either sign and of sizes from 2^-40 to 2^40. */
static double any(uint64_t i) {
  double x = 2.0 * amped_random_double(5, 1, i) - 1.0;
  return ldexp(x, (int)(amped_random_u64(5, 2, i) % 81) - 40);
}

static amped_dd any_dd(uint64_t i) {
  return amped_dd_quick_sum(any(i), any(i) * 0x1p-54 * amped_random_double(5, 3, i));
}

static quad size_of(quad x) {
  return x < 0 ? -x : x;
}

START_TEST(sums_and_products_of_doubles_are_exact) {
  for (uint64_t i = 0; i < TRIALS; i++) {
    double a = any(2 * i);
    double b = i % 4 == 0 ? -a * (1.0 + 0x1p-50) : any(2 * i + 1);
    ck_assert(whole(amped_dd_sum(a, b)) == (quad)a + (quad)b);
    ck_assert(whole(amped_dd_product(a, b)) == (quad)a * (quad)b);
    amped_dd slow = amped_dd_product_by(a, b, false);
    ck_assert(whole(slow) == (quad)a * (quad)b);
    slow = amped_dd_product_by(a, b, true);
    ck_assert(whole(slow) == (quad)a * (quad)b);
  }
}

START_TEST(errors_are_below_what_is_said) {
  const quad unit = (quad)0x1p-102;
  for (uint64_t i = 0; i < TRIALS; i++) {
    amped_dd a = any_dd(2 * i);
    amped_dd b = any_dd(2 * i + 1);
    double c = any(3 * i);
    quad x = whole(a);
    quad y = whole(b);
    ck_assert(size_of(whole(amped_dd_add(a, b)) - (x + y)) <= unit * (size_of(x) + size_of(y)));
    ck_assert(size_of(whole(amped_dd_scale(a, c)) - x * (quad)c) <= unit * size_of(x * (quad)c));
    ck_assert(size_of(whole(amped_dd_multiply(a, b)) - x * y) <= unit * size_of(x * y));
    ck_assert(whole(amped_dd_scale_by(a, c, true)) == whole(amped_dd_scale_by(a, c, false)));
  }
}

TESTING_MAIN("double-double", sums_and_products_of_doubles_are_exact, errors_are_below_what_is_said)
