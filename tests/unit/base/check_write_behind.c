/* Write behind: what is put arrives in its place, whatever the order and sizes; errors come once
 * and stop what follows; what is dropped is freed. */
#include <errno.h>
#include <fcntl.h>

#include "base/random.h"
#include "base/write_behind.h"
#include "tests/lib/testing.h"

#define PIECES 40
#define PIECE UINT64_C(100000)

static void fill(unsigned char *to, uint64_t piece, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; i++)
    to[i] = (unsigned char)amped_random_u64(7, piece, i);
}

/* The last piece is short; pieces are put from the last place to the first. */
START_TEST(pieces_arrive_in_their_places) {
  const char *path = testing_path("pieces");
  amped_write_behind w = {.started = false};
  unsigned char *wanted = NULL;
  unsigned char *found = NULL;
  void *room = NULL;
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ck_assert_int_ge(fd, 0);
  check_ok(amped_alloc(&wanted, PIECES * PIECE, 1, "bytes"));
  check_ok(amped_alloc(&found, PIECES * PIECE, 1, "bytes"));
  ck_assert_int_eq(amped_write_behind_wait(&w), 0);
  for (uint64_t p = PIECES; p-- > 0;) {
    const uint64_t bytes = p == PIECES - 1 ? 17 : PIECE;
    check_ok(amped_write_behind_room(&w, fd, bytes, &room));
    ck_assert(amped_write_behind_is_room(&w, room));
    ck_assert(!amped_write_behind_is_room(&w, NULL));
    fill(room, p, bytes);
    fill(wanted + p * PIECE, p, bytes);
    ck_assert_int_eq(amped_write_behind_put(&w, p * PIECE, bytes), 0);
    ck_assert(!amped_write_behind_is_room(&w, room));
  }
  ck_assert_int_eq(amped_write_behind_wait(&w), 0);
  const uint64_t bytes = (PIECES - 1) * PIECE + 17;
  ck_assert_int_eq(pread(fd, found, PIECES * PIECE, 0), (ssize_t)bytes);
  ck_assert(memcmp(found, wanted, bytes) == 0);
  amped_write_behind_end(&w);
  amped_write_behind_end(&w);
  amped_free(wanted);
  amped_free(found);
  (void)close(fd);
  (void)remove(path);
  check_no_leak();
}

START_TEST(an_error_is_told_and_ends_the_writing) {
  amped_write_behind w = {.started = false};
  void *room = NULL;
  int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ck_assert_int_ge(fd, 0);
  for (uint64_t p = 0; p < 10; p++) {
    check_ok(amped_write_behind_room(&w, fd, PIECE, &room));
    memset(room, 1, PIECE);
    const int error = amped_write_behind_put(&w, p * PIECE, PIECE);
    ck_assert(error == 0 || error == ENOSPC);
    ck_assert(p < AMPED_WRITE_BEHIND_BUFFERS || error == ENOSPC);
  }
  ck_assert_int_eq(amped_write_behind_wait(&w), ENOSPC);
  amped_write_behind_end(&w);
  (void)close(fd);
  check_no_leak();
}

/* In the middle of writing; and without room for another buffer. */
START_TEST(what_is_dropped_is_freed) {
  const char *path = testing_path("dropped");
  amped_write_behind w = {.started = false};
  void *room = NULL;
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ck_assert_int_ge(fd, 0);
  for (uint64_t p = 0; p < 3; p++) {
    check_ok(amped_write_behind_room(&w, fd, PIECE, &room));
    memset(room, 1, PIECE);
    ck_assert_int_eq(amped_write_behind_put(&w, p * PIECE, PIECE), 0);
  }
  amped_mem_fail_at(0);
  check_fails(AMPED_FAILED, "out of memory", amped_write_behind_room(&w, fd, PIECE, &room));
  amped_mem_fail_at(-1);
  ck_assert_ptr_null(room);
  amped_write_behind_end(&w);
  (void)close(fd);
  (void)remove(path);
  check_no_leak();
}

TESTING_MAIN("write_behind", pieces_arrive_in_their_places, an_error_is_told_and_ends_the_writing,
             what_is_dropped_is_freed)
