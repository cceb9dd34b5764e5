/* Linear order: the published example; coordinates of all shapes and back; boxes and their numbers.
 */
#include "base/random.h"
#include "plan/linear.h"
#include "tests/lib/testing.h"

/* The example of BLCO's slides: 4 x 4 x 4, one bit too many for a number. */
#define EXAMPLE 12
static const uint64_t example[EXAMPLE][3] = {{0, 0, 0}, {0, 0, 1}, {1, 0, 1}, {2, 1, 0},
                                             {2, 0, 1}, {3, 1, 1}, {1, 0, 2}, {0, 2, 2},
                                             {3, 2, 2}, {3, 2, 3}, {2, 3, 3}, {3, 3, 3}};
static const uint64_t numbers[EXAMPLE] = {0, 4, 5, 10, 12, 15, 33, 48, 57, 61, 62, 63};
static const uint64_t encoded[EXAMPLE] = {0, 16, 17, 6, 18, 23, 1, 8, 11, 27, 30, 31};

START_TEST(the_published_example_has_its_numbers_and_boxes) {
  const uint64_t sizes[] = {4, 4, 4};
  static const uint8_t modes[] = {0, 1, 2, 0, 1, 2};
  amped_linear l;
  ck_assert(amped_linear_make(&l, 3, sizes));
  ck_assert_int_eq(l.bits, 6);
  ck_assert_mem_eq(l.mode_of, modes, sizeof modes);
  amped_linear_cut(&l, 1, 0, AMPED_F64, EXAMPLE);
  for (int k = 0; k < EXAMPLE; k++) {
    uint64_t words[AMPED_LINEAR_WORDS];
    uint64_t w[AMPED_MAX_PLANES] = {0};
    amped_linear_number(&l, example[k], words);
    ck_assert_uint_eq(words[0], numbers[k]);
    ck_assert_uint_eq(amped_linear_box(&l, example[k]), (uint64_t)k / 6);
    amped_linear_encode(&l, example[k], w);
    ck_assert_uint_eq(w[0], encoded[k]);
  }
}
END_TEST

/* The shortest mode has the lowest bit, and drops out first. */
START_TEST(bits_are_dealt_out_from_the_shortest_mode_on) {
  const uint64_t sizes[] = {17, 1, 3, 2, 5};
  static const uint8_t modes[] = {3, 2, 4, 0, 2, 4, 0, 4, 0, 0, 0};
  static const uint8_t places[] = {0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4};
  amped_linear l;
  ck_assert(amped_linear_make(&l, 5, sizes));
  ck_assert_int_eq(l.bits, (int)sizeof modes);
  ck_assert_mem_eq(l.mode_of, modes, sizeof modes);
  ck_assert_mem_eq(l.place_of, places, sizeof places);
}
END_TEST

/* Coordinates at the ends of all modes, and between them. */
static void draw(int order, const uint64_t *sizes, uint64_t k, uint64_t *at) {
  for (int m = 0; m < order; m++)
    at[m] = k == 0 ? 0 : k == 1 ? sizes[m] - 1 : amped_random_u64(3, (uint64_t)m, k) % sizes[m];
}

/* A nonzero's box, base and fields give its coordinates; so does its number. */
static void comes_back(const amped_linear *l, const uint64_t *at) {
  uint64_t words[AMPED_LINEAR_WORDS];
  uint64_t w[AMPED_MAX_PLANES] = {0};
  uint64_t got[AMPED_MAX_ORDER];
  amped_linear_number(l, at, words);
  amped_linear_coordinates(l, words, got);
  ck_assert_mem_eq(got, at, (size_t)l->order * sizeof *at);
  const uint64_t box = amped_linear_box(l, at);
  uint64_t top = 0; /* the number's top bits, one by one */
  for (int b = l->bits - 1; b >= l->bits - l->prefix; b--)
    top = top << 1 | (words[b / 64] >> b % 64 & 1);
  ck_assert_uint_eq(box, top);
  amped_linear_base(l, box, got);
  amped_linear_encode(l, at, w);
  for (int m = 0; m < l->order; m++)
    ck_assert_uint_eq(got[m] + amped_packed_field(w, l->packing.shifts[m], l->packing.bits[m]),
                      at[m]);
}

static void all_come_back(int order, const uint64_t *sizes) {
  amped_linear l;
  ck_assert(amped_linear_make(&l, order, sizes));
  const int most = l.bits < AMPED_BOX_BITS ? l.bits : AMPED_BOX_BITS;
  for (int prefix = 0; prefix <= most; prefix += prefix < 4 ? 1 : 5) {
    amped_linear_cut(&l, prefix, prefix % 2 == 0 ? 0 : 5, AMPED_F32, 1000);
    ck_assert_int_eq(l.packing.inputs, order);
    for (uint64_t k = 0; k < 200; k++) {
      uint64_t at[AMPED_MAX_ORDER];
      draw(order, sizes, k, at);
      comes_back(&l, at);
    }
  }
}

START_TEST(coordinates_of_all_shapes_come_back) {
  const uint64_t kinds[] = {1, 2, 3, 64, 65, 1 << 20, (1 << 20) + 1, UINT64_C(1) << 40};
  for (int order = AMPED_MIN_ORDER; order <= 8; order++)
    for (uint64_t draw_number = 0; draw_number < 40; draw_number++) {
      uint64_t sizes[AMPED_MAX_ORDER];
      int bits = 0;
      for (int m = 0; m < order; m++) {
        sizes[m] = kinds[amped_random_u64(5, draw_number, (uint64_t)m) % 8];
        bits += amped_bits_for(sizes[m]);
      }
      amped_linear l;
      ck_assert_int_eq(amped_linear_make(&l, order, sizes), bits <= AMPED_LINEAR_BITS);
      if (bits <= AMPED_LINEAR_BITS)
        all_come_back(order, sizes);
    }
}
END_TEST

/* Modes of so many bits, as even as can be. */
static void sizes_of(int order, int bits, uint64_t *sizes) {
  for (int m = 0; m < order; m++)
    sizes[m] = UINT64_C(1) << (bits / order + (m < bits % order));
}

START_TEST(numbers_of_all_lengths_come_back) {
  static const int lengths[] = {32, 33, 48, 49, 64, 65, 96, 128, 200, 256};
  uint64_t sizes[AMPED_MAX_ORDER];
  amped_linear l;
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
    for (int order = lengths[i] > 180 ? 5 : 3; order <= 8; order++) {
      sizes_of(order, lengths[i], sizes);
      all_come_back(order, sizes);
    }
  sizes_of(8, 257, sizes);
  ck_assert(!amped_linear_make(&l, 8, sizes));
}
END_TEST

/* Boxes hold at least AMPED_BOX_NNZ nonzeros each, or twice as many; a few bits more where numbers
 * then take fewer bytes. */
START_TEST(boxes_are_as_small_as_pays) {
  const uint64_t amazon[] = {4821207, 1774269, 1805187};
  const uint64_t tiny[] = {2, 1, 3};
  amped_linear l;
  ck_assert(amped_linear_make(&l, 3, amazon));
  ck_assert_int_eq(l.bits, 65);
  amped_linear_cut_best(&l, 0, AMPED_F32, 500000000);
  ck_assert_int_eq(l.prefix, 19); /* 46 bits of 48 */
  ck_assert_uint_eq(amped_packing_plane_bytes(&l.packing), 6);
  amped_linear_cut_best(&l, 0, AMPED_F32, 512 << 15);
  ck_assert_int_eq(l.prefix, 17); /* 50 bits by itself: two more for 48 */
  amped_linear_cut_best(&l, 0, AMPED_F32, 512 << 13);
  ck_assert_int_eq(l.prefix, 13); /* 52 bits: out of reach */
  amped_linear_cut_best(&l, 0, AMPED_F32, 1023);
  ck_assert_int_eq(l.prefix, 1); /* 64 bits of 65 */
  amped_linear_cut_best(&l, 0, AMPED_F32, 0);
  ck_assert_int_eq(l.prefix, 1);
  ck_assert(amped_linear_make(&l, 3, tiny));
  amped_linear_cut_best(&l, 0, AMPED_F32, UINT64_C(1) << 50);
  ck_assert_int_eq(l.prefix, 3); /* every cell is a box */
  for (int m = 0; m < 3; m++)
    ck_assert_int_eq(l.low_bits[m], 0);
}
END_TEST

TESTING_MAIN("linear", the_published_example_has_its_numbers_and_boxes,
             bits_are_dealt_out_from_the_shortest_mode_on, coordinates_of_all_shapes_come_back,
             numbers_of_all_lengths_come_back, boxes_are_as_small_as_pays)
