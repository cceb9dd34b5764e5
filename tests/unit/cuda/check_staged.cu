/* Arrays of any size come back as they went. Needs a GPU. */
#include "cuda/device/staged_cuda.h"

#include <cstring>

extern "C" {
#include "base/mem.h"
#include "base/random.h"
#include "tests/lib/testing.h"
}

/* Nothing, few bytes, one piece, some pieces and a rest. */
static const uint64_t sizes[] = {
    0, 1, (1 << 20) - 1, 1 << 20, 4 << 20, (8 << 20) + 1, (19 << 20) + 777};

static void fill(unsigned char *bytes, uint64_t count) {
  for (uint64_t i = 0; i < count; i++)
    bytes[i] = (unsigned char)amped_mix64(count + i / 64);
}

static void check_round(uint64_t bytes, cudaStream_t stream) {
  unsigned char *sent = nullptr;
  unsigned char *got = nullptr;
  void *d_block = nullptr;
  check_ok(amped_alloc(&sent, bytes + 1, 1, "test"));
  check_ok(amped_calloc(&got, bytes + 1, 1, "test"));
  check_ok(amped_cuda_malloc(&d_block, bytes, "test"));
  fill(sent, bytes);
  check_ok(amped_staged_cuda_put(d_block, sent, bytes, stream));
  check_ok(amped_staged_cuda_get(got, d_block, bytes, stream));
  check_ok(amped_cuda_check(cudaStreamSynchronize(stream), "cudaStreamSynchronize"));
  ck_assert_int_eq(memcmp(sent, got, bytes), 0);
  ck_assert_uint_eq(got[bytes], 0);
  amped_free(sent);
  amped_free(got);
  amped_cuda_free(d_block);
}

START_TEST(arrays_come_back_as_they_went) {
  cudaStream_t stream = nullptr;
  check_ok(amped_cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                            "cudaStreamCreateWithFlags"));
  for (uint64_t bytes : sizes)
    check_round(bytes, stream);
  amped_cuda_keep_memory();
  for (uint64_t bytes : sizes)
    check_round(bytes, stream);
  amped_cuda_stop_keeping();
  (void)cudaStreamDestroy(stream);
  check_no_leak();
}

TESTING_MAIN("staged", arrays_come_back_as_they_went)
