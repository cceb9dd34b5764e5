/* Rows read from text: room for them is reserved, once their number is likely, at once. */
#include "text/io_rows.h"
#include "tests/lib/testing.h"

#define MANY (UINT64_C(1) << 20)
#define ROW_BYTES 8

static amped_status refuse(void *context, amped_sptensor *t, double fraction) {
  (void)context;
  (void)t;
  (void)fraction;
  ck_abort_msg("there is room");
  return AMPED_FAILED;
}

/* Read `count` rows, all of one piece; that is `fraction` of the input. */
static void add_rows(amped_rows *rows, uint64_t count, double fraction) {
  static const char text[2 * MANY * ROW_BYTES];
  amped_piece piece = {.begin = text, .end = text + count * ROW_BYTES, .lines = count};
  check_ok(amped_rows_reserve(rows, &piece, 1));
  ck_assert_uint_ge(rows->capacity, piece.row + count);
  piece.rows = count;
  amped_rows_close(rows, &piece, 1, fraction);
}

/* The room after one million rows and one more; `memory` 0: without a bound. */
static uint64_t room_of(uint64_t memory, double fraction) {
  amped_sptensor t = {.order = 3};
  const amped_overflow overflow = {.memory = memory, .take = refuse, .context = NULL};
  amped_rows rows = {
      .tensor = &t, .least_bytes = ROW_BYTES, .overflow = memory > 0 ? &overflow : NULL};
  add_rows(&rows, MANY, fraction);
  add_rows(&rows, 1, fraction);
  const uint64_t room = rows.capacity;
  ck_assert_uint_eq(t.nnz, MANY + 1);
  check_ok(amped_rows_finish(&rows));
  ck_assert_uint_eq(rows.capacity, MANY + 1);
  amped_sptensor_free(&t);
  return room;
}

START_TEST(room_for_all_rows_is_reserved_at_once) {
  const uint64_t memory = 20 * MANY * (4 * 8 + AMPED_COPY_ORDER_BYTES);
  const uint64_t half = MANY + MANY / 2;
  ck_assert_uint_ge(room_of(memory, 0.25), 4 * MANY);
  ck_assert_uint_lt(room_of(memory, 0.25), 5 * MANY);
  ck_assert_uint_eq(room_of(memory, 0.9), half);         /* by half is more */
  ck_assert_uint_eq(room_of(memory, 0.0), half);         /* unknown */
  ck_assert_uint_eq(room_of(0, 0.25), half);             /* no bound */
  ck_assert_uint_eq(room_of(memory, 1e-300), 20 * MANY); /* the bound */
  ck_assert_uint_eq(room_of(memory / 10, 0.25), 2 * MANY);
  check_no_leak();
}

TESTING_MAIN("io_rows", room_for_all_rows_is_reserved_at_once)
