/* Byte streams: written bytes are read back in every format; damage is reported; no unfinished file
 * stays. */
#include <fcntl.h>
#include <omp.h>
#include <sys/stat.h>

#include "text/io_stream.h"
#include "base/random.h"
#include "tests/lib/testing.h"

/* Replaces the C library's function and records the requests to read ahead. */
static struct asked {
  uint64_t end;
  bool in_order, in_pieces;
} asked;

int posix_fadvise(int fd, off_t first, off_t bytes, int advice) {
  (void)fd;
  asked.in_order = asked.in_order && (uint64_t)first >= asked.end;
  asked.in_pieces = asked.in_pieces && bytes <= 128 << 10 && advice == POSIX_FADV_WILLNEED;
  asked.end = (uint64_t)(first + bytes);
  return 0;
}

/* Text that can be compressed and differs at every place. */
static char *make_text(uint64_t bytes) {
  char *text = malloc(bytes + 32);
  ck_assert_ptr_nonnull(text);
  for (uint64_t i = 0; i < bytes; i += 16)
    (void)snprintf(text + i, 17, "%015u\n", (unsigned)(amped_random_u64(1, 2, i) % 10000));
  return text;
}

static void write_stream(const char *path, const char *text, uint64_t bytes, uint64_t step) {
  amped_stream *stream = NULL;
  check_ok(amped_stream_create(path, &stream));
  for (uint64_t i = 0; i < bytes; i += step)
    check_ok(amped_stream_write(stream, text + i, step < bytes - i ? step : bytes - i));
  check_ok(amped_stream_finish(stream));
}

/* Read a whole stream by reads of `step` bytes; returns the status of the first read that fails. */
static amped_status read_stream(const char *path, char *out, uint64_t most, uint64_t step,
                                uint64_t *bytes) {
  amped_stream *stream = NULL;
  amped_status status = amped_stream_open(path, &stream);
  uint64_t got = 1;
  *bytes = 0;
  while (status == AMPED_OK && got > 0 && *bytes + step <= most) {
    status = amped_stream_read(stream, out + *bytes, step, &got);
    ck_assert_uint_le(got, step);
    *bytes += got;
  }
  amped_stream_close(stream);
  return status;
}

static void slurp(const char *path, unsigned char **bytes, size_t *count) {
  struct stat st;
  ck_assert_int_eq(stat(path, &st), 0);
  *count = (size_t)st.st_size;
  *bytes = malloc(*count + 1);
  FILE *file = fopen(path, "r");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fread(*bytes, 1, *count, file), *count);
  (void)fclose(file);
}

static const char *const names[] = {"a.tns", "a.tns.gz", "a.tns.zst"};

START_TEST(what_is_written_is_read_back) {
  static const uint64_t sizes[] = {1, 3, 4, 5, 100, 70000, 1000000};
  static const uint64_t steps[] = {1000, 300000};
  char *text = make_text(1000000);
  char *back = malloc(2000000);
  for (size_t n = 0; n < 3; n++)
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
      for (size_t k = 0; k < 2; k++) {
        const char *path = testing_path(names[n]);
        uint64_t bytes = 0;
        write_stream(path, text, sizes[i], steps[k]);
        check_ok(read_stream(path, back, 2000000, steps[1 - k], &bytes));
        ck_assert_uint_eq(bytes, sizes[i]);
        ck_assert_mem_eq(back, text, bytes);
        unlink(path);
      }
  free(text);
  free(back);
  check_no_leak();
}

START_TEST(compressed_files_are_compressed_and_known_by_content) {
  char *text = make_text(100000);
  char *back = malloc(300000);
  for (size_t n = 1; n < 3; n++) {
    char path[256];
    unsigned char *raw = NULL;
    size_t count = 0;
    uint64_t bytes = 0;
    (void)snprintf(path, sizeof path, "%s", testing_path(names[n]));
    write_stream(path, text, 100000, 100000);
    slurp(path, &raw, &count);
    unlink(path);
    ck_assert_uint_lt(count, 50000);
    /* Two compressed texts in sequence are one text; the suffix does not matter. */
    const char *plain = testing_path("b.tns");
    unsigned char *twice = malloc(2 * count);
    memcpy(twice, raw, count);
    memcpy(twice + count, raw, count);
    testing_write_file(plain, twice, 2 * count);
    check_ok(read_stream(plain, back, 300000, 7777, &bytes));
    ck_assert_uint_eq(bytes, 200000);
    ck_assert_mem_eq(back + 100000, text, 100000);
    unlink(plain);
    free(raw);
    free(twice);
  }
  free(text);
  free(back);
  check_no_leak();
}

START_TEST(truncation_anywhere_is_seen) {
  char *text = make_text(20000);
  char *back = malloc(40000);
  for (size_t n = 1; n < 3; n++) {
    const char *path = testing_path(names[n]);
    unsigned char *raw = NULL;
    size_t count = 0;
    uint64_t bytes = 0;
    write_stream(path, text, 20000, 20000);
    slurp(path, &raw, &count);
    for (size_t cut = 4; cut < count; cut += cut < 64 || cut + 64 > count ? 1 : 61) {
      testing_write_file(path, raw, cut);
      check_fails(AMPED_BAD_INPUT, "truncated", read_stream(path, back, 40000, 3000, &bytes));
    }
    unlink(path);
    free(raw);
  }
  free(text);
  free(back);
  check_no_leak();
}

START_TEST(flipped_bits_give_an_error_or_the_same_text) {
  char *text = make_text(2000);
  char *back = malloc(200000);
  for (size_t n = 1; n < 3; n++) {
    const char *path = testing_path(names[n]);
    unsigned char *raw = NULL;
    size_t count = 0;
    write_stream(path, text, 2000, 2000);
    slurp(path, &raw, &count);
    for (size_t bit = 32; bit < 8 * count; bit++) {
      uint64_t bytes = 0;
      raw[bit / 8] = (unsigned char)(raw[bit / 8] ^ (1u << bit % 8));
      testing_write_file(path, raw, count);
      raw[bit / 8] = (unsigned char)(raw[bit / 8] ^ (1u << bit % 8));
      amped_status status = read_stream(path, back, 200000, 3000, &bytes);
      if (status == AMPED_OK) {
        ck_assert_uint_eq(bytes, 2000);
        ck_assert_mem_eq(back, text, 2000);
      } else {
        ck_assert_int_eq(status, AMPED_BAD_INPUT);
      }
      amped_status_clear();
    }
    unlink(path);
    free(raw);
  }
  free(text);
  free(back);
  check_no_leak();
}

START_TEST(garbage_behind_a_gzip_member_is_seen) {
  const char *path = testing_path(names[1]);
  unsigned char *raw = NULL;
  size_t count = 0;
  uint64_t bytes = 0;
  char back[1000];
  write_stream(path, "1 1 1 1\n", 8, 8);
  slurp(path, &raw, &count);
  raw = realloc(raw, count + 10);
  memcpy(raw + count, "1 1 1 1\n", 8);
  testing_write_file(path, raw, count + 8);
  check_fails(AMPED_BAD_INPUT, "damaged", read_stream(path, back, sizeof back, 100, &bytes));
  unlink(path);
  free(raw);
  check_no_leak();
}

/* A file that is pieced together: frames of any size, and what may stand between them. */
typedef struct pieces {
  unsigned char raw[400000];
  size_t count;
  char text[200000];
  size_t length;
} pieces;

static void append(pieces *p, const void *bytes, size_t count) {
  ck_assert_uint_le(p->count + count, sizeof p->raw);
  memcpy(p->raw + p->count, bytes, count);
  p->count += count;
}

/* A gzip member or a zstd frame of the next `bytes` of text. */
static void append_frame(pieces *p, const char *name, const char *text, size_t bytes, bool bgzf) {
  static const unsigned char extra[] = {6, 0, 'B', 'C', 2, 0, 0, 0};
  const char *path = testing_path(name);
  unsigned char *raw = NULL;
  size_t count = 0;
  write_stream(path, text + p->length, bytes, bytes > 0 ? bytes : 1);
  slurp(path, &raw, &count);
  unlink(path);
  raw[3] = bgzf ? 4 : raw[3];
  append(p, raw, bgzf ? 10 : count);
  if (bgzf) {
    append(p, extra, sizeof extra);
    append(p, raw + 10, count - 10);
  }
  free(raw);
  memcpy(p->text + p->length, text + p->length, bytes);
  p->length += bytes;
}

static void append_skippable(pieces *p, unsigned kind, size_t bytes) {
  unsigned char frame[4096] = {(unsigned char)(0x50 + kind), 0x2a, 0x4d, 0x18};
  frame[4] = (unsigned char)(bytes & 0xff);
  frame[5] = (unsigned char)(bytes >> 8);
  memset(frame + 8, 'x', bytes);
  append(p, frame, 8 + bytes);
}

/* name: of a.tns.gz or a.tns.zst. */
static void piece_together(pieces *p, uint64_t seed, const char *name, const char *text) {
  const bool zstd = strstr(name, ".zst") != NULL;
  p->count = p->length = 0;
  for (uint64_t i = 0; i < 1 + seed % 6; i++) {
    const uint64_t bits = amped_random_u64(seed, 3, i);
    if (zstd && (seed % 3 == 0 || bits % 2 == 0))
      append_skippable(p, (unsigned)(bits >> 8) % 16,
                       (bits >> 16) % 3 == 0 ? 0 : bits >> 20 & 0x7ff);
    append_frame(p, name, text, bits % 5 == 0 ? 0 : (bits >> 24) % 20000, !zstd && seed % 2 == 0);
  }
  if (zstd && seed % 2 == 0)
    append_skippable(p, (unsigned)seed % 16, 4);
  for (uint64_t i = 0; !zstd && i < seed % 4 * 511; i++)
    append(p, "", 1);
}

START_TEST(files_of_several_frames_are_one_text) {
  static const uint64_t steps[] = {1000, 90000};
  char *text = make_text(200000);
  char *back = malloc(400000);
  pieces *p = malloc(sizeof *p);
  for (uint64_t seed = 0; seed < 48; seed++)
    for (size_t n = 0; n < 2; n++) {
      const char *plain = testing_path("b.tns");
      uint64_t bytes = 0;
      piece_together(p, seed, names[1 + n], text);
      testing_write_file(plain, p->raw, p->count);
      check_ok(read_stream(plain, back, 400000, steps[seed % 2], &bytes));
      ck_assert_uint_eq(bytes, p->length);
      ck_assert_mem_eq(back, p->text, bytes);
      unlink(plain);
    }
  free(p);
  free(text);
  free(back);
  check_no_leak();
}

START_TEST(a_frame_cut_behind_others_is_truncated) {
  char *text = make_text(200000);
  char *back = malloc(400000);
  pieces *p = malloc(sizeof *p);
  for (size_t n = 1; n < 3; n++) {
    const char *plain = testing_path("b.tns");
    uint64_t bytes = 0;
    p->count = p->length = 0;
    if (n == 2)
      append_skippable(p, 0, 4);
    append_frame(p, names[n], text, 3000, false);
    const size_t whole = p->count;
    if (n == 2)
      append_skippable(p, 15, 40);
    append_frame(p, names[n], text, 3000, false);
    for (size_t cut = whole + 1; cut < p->count; cut += cut < whole + 60 ? 1 : 61) {
      if (n == 2 && cut == whole + 48)
        continue; /* a skippable frame may be the last one */
      testing_write_file(plain, p->raw, cut);
      check_fails(AMPED_BAD_INPUT, "truncated", read_stream(plain, back, 400000, 3000, &bytes));
    }
    unlink(plain);
  }
  free(p);
  free(text);
  free(back);
  check_no_leak();
}

START_TEST(zeros_between_members_are_damage) {
  char *text = make_text(20000);
  char *back = malloc(400000);
  pieces *p = malloc(sizeof *p);
  const char *plain = testing_path("b.tns");
  uint64_t bytes = 0;
  p->count = p->length = 0;
  append_frame(p, names[1], text, 3000, false);
  append(p, "\0\0\0", 3);
  append_frame(p, names[1], text, 3000, false);
  testing_write_file(plain, p->raw, p->count);
  check_fails(AMPED_BAD_INPUT, "zero bytes between gzip members",
              read_stream(plain, back, 400000, 3000, &bytes));
  unlink(plain);
  free(p);
  free(text);
  free(back);
  check_no_leak();
}

START_TEST(files_that_cannot_be_read_say_why) {
  amped_stream *stream = NULL;
  const char *path = testing_path("empty");
  check_fails(AMPED_BAD_INPUT, "No such file", amped_stream_open("no/such.tns", &stream));
  check_fails(AMPED_BAD_INPUT, "is a directory", amped_stream_open(".", &stream));
  testing_write_file(path, "", 0);
  check_fails(AMPED_BAD_INPUT, "is empty", amped_stream_open(path, &stream));
  unlink(path);
  check_no_leak();
}

START_TEST(threads_read_a_plain_file_as_one_does) {
  const uint64_t size = (UINT64_C(9) << 20) + 5;
  const uint64_t most = size + (UINT64_C(20) << 20);
  static const uint64_t steps[] = {1 << 20, (1 << 20) + 1, 5 << 20, 17 << 20};
  const char *path = testing_path("pieces.tns");
  char *text = make_text(size);
  char *back = malloc(most);
  ck_assert_ptr_nonnull(back);
  write_stream(path, text, size, size);
  for (int threads = 1; threads < 5; threads++)
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
      uint64_t bytes = 0;
      omp_set_num_threads(threads);
      memset(back, 0, size);
      check_ok(read_stream(path, back, most, steps[i], &bytes));
      ck_assert_uint_eq(bytes, size);
      ck_assert_mem_eq(back, text, size);
    }
  free(back);
  free(text);
  (void)remove(path);
  check_no_leak();
}

START_TEST(a_final_name_is_all_or_what_it_was) {
  amped_stream *stream = NULL;
  char path[256];
  (void)snprintf(path, sizeof path, "%s", testing_path("kept.tns.gz"));
  testing_write_file(path, "old", 3);
  check_ok(amped_stream_create(path, &stream));
  check_ok(amped_stream_write(stream, "new", 3));
  amped_stream_discard(stream);
  unsigned char *raw = NULL;
  size_t count = 0;
  slurp(path, &raw, &count);
  ck_assert_uint_eq(count, 3);
  ck_assert_mem_eq(raw, "old", 3);
  free(raw);
  unlink(path);
  check_fails(AMPED_FAILED, "No such file", amped_stream_create("no/such/a.tns", &stream));
  check_fails(AMPED_FAILED, "is a directory", amped_stream_create(".", &stream));
  check_no_leak();
}

START_TEST(standard_input_and_output_are_streams) {
  int pipes[2];
  char back[100];
  uint64_t bytes = 0;
  int saved = dup(STDIN_FILENO);
  ck_assert_int_eq(pipe(pipes), 0);
  ck_assert_int_eq(write(pipes[1], "1 2 3 4\n", 8), 8);
  close(pipes[1]);
  ck_assert_int_eq(dup2(pipes[0], STDIN_FILENO), STDIN_FILENO);
  check_ok(read_stream("-", back, sizeof back, 10, &bytes));
  ck_assert_uint_eq(bytes, 8);
  if (saved >= 0)
    dup2(saved, STDIN_FILENO);

  amped_stream *stream = NULL;
  (void)fflush(stdout);
  saved = dup(STDOUT_FILENO);
  int full = open("/dev/full", O_WRONLY);
  ck_assert_int_ge(full, 0);
  ck_assert_int_eq(dup2(full, STDOUT_FILENO), STDOUT_FILENO);
  check_ok(amped_stream_create("-", &stream));
  amped_status status = amped_stream_write(stream, "x", 1);
  amped_stream_discard(stream);
  dup2(saved, STDOUT_FILENO);
  check_fails(AMPED_FAILED, "No space left", status);
  check_no_leak();
}

/* The system is asked once for each next part of a file, and never for all of a large file. */
START_TEST(what_comes_next_is_asked_for) {
  const uint64_t size = UINT64_C(200) << 20;
  const uint64_t step = (UINT64_C(3) << 20) + 1;
  const char *path = testing_path("long.tns");
  char *buffer = malloc(step);
  amped_stream *stream = NULL;
  uint64_t got = 1;
  uint64_t read = 0;
  testing_write_file(path, "1 1 1\n", 6);
  ck_assert_int_eq(truncate(path, (off_t)size), 0);
  asked = (struct asked){.end = 0, .in_order = true, .in_pieces = true};
  check_ok(amped_stream_open(path, &stream));
  while (got > 0) {
    check_ok(amped_stream_read(stream, buffer, step, &got));
    read += got;
    ck_assert_uint_ge(asked.end,
                      read + (UINT64_C(16) << 20) < size ? read + (UINT64_C(16) << 20) : size);
    ck_assert_uint_le(asked.end, read + (UINT64_C(64) << 20));
  }
  amped_stream_close(stream);
  ck_assert_uint_eq(read, size);
  ck_assert_uint_eq(asked.end, size);
  ck_assert(asked.in_order && asked.in_pieces);
  free(buffer);
  (void)remove(path);
  check_no_leak();
}

TESTING_MAIN("io_stream", what_is_written_is_read_back,
             compressed_files_are_compressed_and_known_by_content, truncation_anywhere_is_seen,
             flipped_bits_give_an_error_or_the_same_text, garbage_behind_a_gzip_member_is_seen,
             files_of_several_frames_are_one_text, a_frame_cut_behind_others_is_truncated,
             zeros_between_members_are_damage, files_that_cannot_be_read_say_why,
             threads_read_a_plain_file_as_one_does, a_final_name_is_all_or_what_it_was,
             standard_input_and_output_are_streams, what_comes_next_is_asked_for)
