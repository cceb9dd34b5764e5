/* Host memory: checked allocation, counts of live blocks and bytes, and a test hook that fails the
 * k-th allocation.
 *
 * amped_alloc takes `count` elements of `size` bytes and stores the pointer through `out`, the
 * address of any pointer variable. For 0 bytes it stores NULL. The multiplication is checked.
 * Failure records one line that names `what` and the bytes, returns AMPED_FAILED and stores NULL.
 * amped_calloc zeroes the block. amped_realloc keeps the old block on failure. amped_free(NULL) is
 * allowed. Any thread. */
#ifndef AMPED_MEM_H
#define AMPED_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

amped_status amped_alloc(void *out, uint64_t count, size_t size, const char *what);
amped_status amped_calloc(void *out, uint64_t count, size_t size, const char *what);
amped_status amped_realloc(void *inout, uint64_t count, size_t size, const char *what);
void amped_free(void *block);

/* memcpy with all OpenMP threads: a single thread uses far less than the memory's bandwidth. */
void amped_mem_copy(void *to, const void *from, uint64_t bytes);

/* A copy of a string, freed with amped_free. */
amped_status amped_strdup(char **out, const char *s);

/* Could a block of this number of bytes be allocated now? For use before a library allocates, if
 * the library does not survive a failure, or reports it as another error. */
bool amped_mem_has(uint64_t bytes);

/* Keep up to 512 MiB of freed memory, in blocks of at most 32 MiB, for later allocations of this
 * process. For code that asks for similar blocks again and again: touching new pages takes longer
 * than most writes to them. No effect if the C library is not GNU's. */
void amped_mem_keep(void);

/* Blocks allocated and not yet freed: 0 at the end of a program or test that does not leak. */
int64_t amped_mem_live(void);

/* Bytes in use, and their maximum since the process began. Host: blocks as a GNU C library rounds
 * them, pinned memory. Device: memory of a GPU. count adds memory of other allocators; bytes < 0
 * are freed. */
typedef enum amped_mem_kind { AMPED_MEM_HOST, AMPED_MEM_DEVICE, AMPED_MEM_KINDS } amped_mem_kind;
int64_t amped_mem_bytes(amped_mem_kind kind);
int64_t amped_mem_peak(amped_mem_kind kind);
void amped_mem_count(amped_mem_kind kind, int64_t bytes);

/* For tests: the k-th allocation from now on (0 is the next) fails; a negative k switches this
 * off. */
void amped_mem_fail_at(int64_t k);

#endif
