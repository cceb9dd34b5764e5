/* Buffers of a struct, declared once.
 *
 * A module has one function that lists the buffers of its struct. Three calls walk the list:
 * require adds up the bytes, allocate allocates, free frees.
 *
 *   static amped_buffers buffers(work *w, uint64_t n) {
 *     amped_buffers b = {.what = "a workspace"};
 *     AMPED_BUFFER(&b, HOST, w->rows, n);
 *     AMPED_BUFFER(&b, ZEROED, w->sums, n * n);
 *     return b;
 *   }
 *
 *   amped_buffers_require(buffers(&(work){0}, n), &device_bytes, &host_bytes);
 *   AMPED_TRY(amped_buffers_allocate(buffers(w, n)));
 *   amped_buffers_free(buffers(w, n));
 *
 * The struct owns the blocks, and its pointers are NULL before allocate and after free. An absent
 * buffer has count 0: its pointer stays NULL. A failed allocate records one line; buffers allocated
 * before it stay, and free frees them. free does not read counts. Any thread.
 *
 * Lists with buffers of a GPU: cuda/device/buffers_cuda.h. */
#ifndef AMPED_BUFFERS_H
#define AMPED_BUFFERS_H

#include "base/mem.h"

typedef enum amped_buffer_kind {
  AMPED_BUFFER_HOST,
  AMPED_BUFFER_ZEROED, /* host, zeroed */
  AMPED_BUFFER_LARGE,  /* host, on large pages (base/huge_pages.h) */
  AMPED_BUFFER_SPREAD, /* the same, zeroed by all threads */
  AMPED_BUFFER_DEVICE,
  AMPED_BUFFER_ARENA,  /* a device block that holds the parts listed after it; count 0 */
  AMPED_BUFFER_PART,   /* in the last arena, at a multiple of AMPED_BUFFER_ALIGNMENT */
  AMPED_BUFFER_PINNED, /* host memory that a GPU reads and writes */
} amped_buffer_kind;

/* Bytes. Parts of an arena begin at multiples of it. */
#define AMPED_BUFFER_ALIGNMENT 256

#define AMPED_BUFFERS_MAX 64

typedef struct amped_buffer {
  amped_buffer_kind kind;
  void *pointer; /* address of the pointer variable */
  uint64_t count;
  uint64_t size; /* bytes of an element */
  const char *what;
} amped_buffer;

typedef struct amped_buffers {
  const char *what; /* name of the buffers added next, for error messages */
  int threads;      /* threads that zero the SPREAD buffers */
  int count;
  amped_buffer list[AMPED_BUFFERS_MAX];
} amped_buffers;

/* Add a buffer to the list. The macros take a kind without its prefix and the pointer variable;
 * AMPED_BUFFER finds the size of an element, which AMPED_BUFFER_OF takes. */
#define AMPED_BUFFER(b, kind, p, count) AMPED_BUFFER_OF(b, kind, p, count, sizeof *(p))
#define AMPED_BUFFER_OF(b, kind, p, count, size)                                                   \
  amped_buffer_add(b, AMPED_BUFFER_##kind, &(p), count, size)
void amped_buffer_add(amped_buffers *b, amped_buffer_kind kind, void *pointer, uint64_t count,
                      uint64_t size);

/* Add the buffers' bytes. A sum of 2^63 bytes or more counts as 2^63. */
void amped_buffers_require(amped_buffers b, uint64_t *device_bytes, uint64_t *host_bytes);
/* Returns the bytes of the data, without padding and rounding. */
uint64_t amped_buffers_bytes(amped_buffers b);

/* Bytes of a buffer, with the padding of a part and the rounding of large pages; 2^63 if they are
 * more. */
uint64_t amped_buffer_bytes(const amped_buffer *buffer);

/* Allocate and free the host's buffers, pinned ones excepted. */
amped_status amped_buffers_allocate(amped_buffers b);
void amped_buffers_free(amped_buffers b);

#endif
