/* Driver: a main for any one target, for compilers without libFuzzer.
 *
 *   fuzz_NAME FOLDER [COUNT [SEED]]   every file of the folder as it is, then COUNT mutations of
 *                                     them, the same for equal seeds
 *   fuzz_NAME FILE                    one file: repeats the input of a crash
 *
 * Prints executions and their rate. If an input crashes, aborts or takes more than CASE_SEC, it is
 * in crash.PID. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "base/random.h"

#define CASE_SEC 20
#define MOST_FILES 256
#define MOST_BYTES 16384

typedef struct input {
  uint8_t bytes[MOST_BYTES];
  size_t count;
} input;

static input seeds[MOST_FILES];
static size_t nseeds;
static input current;

/* Signal-safe: write the input to its file, then end by the signal. */
static void keep(int number) {
  char name[32] = "crash.";
  size_t n = 6;
  for (long pid = (long)getpid(); pid > 0 && n < sizeof name - 1; pid /= 10)
    name[n++] = (char)('0' + pid % 10);
  int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd >= 0) {
    ssize_t written = write(fd, current.bytes, current.count);
    (void)written;
    (void)close(fd);
  }
  (void)signal(number, SIG_DFL);
  (void)raise(number);
}

static void execute(void) {
  (void)alarm(CASE_SEC);
  (void)LLVMFuzzerTestOneInput(current.bytes, current.count);
  (void)alarm(0);
}

static void load(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL || nseeds == MOST_FILES) {
    (void)fprintf(stderr, "%s cannot be read, or is one too many\n", path);
    exit(EXIT_FAILURE);
  }
  seeds[nseeds].count = fread(seeds[nseeds].bytes, 1, MOST_BYTES, file);
  nseeds++;
  (void)fclose(file);
}

static int is_seed(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

static void load_all(const char *path) {
  struct stat st;
  struct dirent **entries = NULL;
  char name[1024];
  if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode)) {
    load(path);
    return;
  }
  int count =
      scandir(path, &entries, is_seed, alphasort); /* sorted, so that every run is the same */
  if (count <= 0) {
    (void)fprintf(stderr, "%s holds no files\n", path);
    exit(EXIT_FAILURE);
  }
  for (int i = 0; i < count; i++) {
    (void)snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
    load(name);
    free(entries[i]);
  }
  free(entries);
}

/* The random numbers of one mutation, in sequence. */
typedef struct dice {
  uint64_t seed, mutation, next;
} dice;

static uint64_t roll(dice *d, uint64_t sides) {
  return sides > 0 ? amped_random_u64(d->seed, d->mutation, d->next++) % sides : 0;
}

/* Replace `removed` bytes at `at` by `count` bytes, as far as there is room. */
static void replace(size_t at, size_t removed, const uint8_t *bytes, size_t count) {
  if (removed > current.count - at)
    removed = current.count - at;
  if (current.count - removed + count > MOST_BYTES)
    return;
  memmove(current.bytes + at + count, current.bytes + at + removed, current.count - at - removed);
  memcpy(current.bytes + at, bytes, count);
  current.count = current.count - removed + count;
}

static void mutate_once(dice *d) {
  static const char *const words[] = {"0",
                                      "-1",
                                      "18446744073709551615",
                                      "9223372036854775808",
                                      "1e308",
                                      "1e-400",
                                      "nan",
                                      "\n",
                                      "\r\n",
                                      "\t",
                                      "\"",
                                      "\"\"",
                                      ",",
                                      "#",
                                      "sptensor",
                                      "# dims: ",
                                      "{",
                                      "}",
                                      "[",
                                      "]",
                                      "null",
                                      "\xEF\xBB\xBF",
                                      "\x1f\x8b"};
  const input *other = &seeds[roll(d, nseeds)];
  size_t at = roll(d, current.count + 1);
  size_t from = roll(d, other->count + 1);
  uint8_t byte = (uint8_t)roll(d, 256);
  const char *word = words[roll(d, sizeof words / sizeof words[0])];
  switch (roll(d, 7)) {
  case 0: /* another byte */
    replace(at, 1, &byte, 1);
    break;
  case 1:
    if (at < current.count)
      current.bytes[at] ^= (uint8_t)(1u << (byte % 8));
    break;
  case 2:
    replace(at, byte % 8, (const uint8_t *)word, strlen(word));
    break;
  case 3: /* fewer bytes */
    replace(at, roll(d, 32), &byte, 0);
    break;
  case 4:
    current.count = at;
    break;
  default: /* a part of another file */
    replace(at, roll(d, 2) * 64, other->bytes + from, roll(d, other->count - from + 1));
  }
}

int main(int argc, char **argv) {
  static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
  struct timespec begin, end;
  if (argc < 2 || argc > 4) {
    (void)fprintf(stderr, "usage: %s FOLDER|FILE [COUNT [SEED]]\n", argv[0]);
    return 2;
  }
  uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
  uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
  load_all(argv[1]);
  for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
    (void)signal(fatal[i], keep);
  (void)clock_gettime(CLOCK_MONOTONIC, &begin);
  for (size_t i = 0; i < nseeds; i++) {
    current = seeds[i];
    execute();
  }
  for (uint64_t i = 0; i < count; i++) {
    dice d = {seed, i, 0};
    current = seeds[roll(&d, nseeds)];
    for (uint64_t n = 1 + roll(&d, 4); n > 0; n--)
      mutate_once(&d);
    execute();
  }
  (void)clock_gettime(CLOCK_MONOTONIC, &end);
  double sec = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
  double executions = (double)nseeds + (double)count;
  (void)printf("%.0f executions in %.1f s, %.0f per second\n", executions, sec, executions / sec);
  return 0;
}
