/* GPU instructions for which CUDA C++ has no function. tests/emulate has a twin of this file. */
#ifndef AMPED_PTX_CUDA_CUH
#define AMPED_PTX_CUDA_CUH

namespace {

/* Returns base + row * bytes, in one instruction. */
template <typename vector>
__device__ inline const vector *row_address(const vector *base, unsigned row, unsigned bytes) {
  const vector *at;
  asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(at) : "r"(row), "r"(bytes), "l"(base));
  return at;
}

/* Returns the pointer, and keeps it in registers: the compiler would otherwise recompute it for
 * each use. */
template <typename T> __device__ inline T *kept(T *pointer) {
  asm("" : "+l"(pointer));
  return pointer;
}

/* Returns x, hidden from the compiler, so that it computes values from x next to their use. */
__device__ inline unsigned fresh(unsigned x) {
  asm volatile("" : "+r"(x));
  return x;
}

/* Copy 16 bytes to shared memory, like __pipeline_memcpy_async, but by way of the L1 cache: rows
 * that are read often wait for the L2 cache otherwise. */
__device__ inline void copy_cached(void *to, const void *from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;"
               :
               : "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from)
               : "memory");
}

/* Load *flag. Everything that another block wrote before it stored *flag with store_release is
 * visible afterwards. */
__device__ inline unsigned load_acquire(const unsigned *flag) {
  unsigned seen = 0;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
  return seen;
}

__device__ inline void store_release(unsigned *flag, unsigned value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(flag), "r"(value) : "memory");
}

/* Returns 1 / x; for floats within an ulp, from 2^-126 to 2^126. */
__device__ inline float reciprocal(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
__device__ inline double reciprocal(double x) {
  return 1.0 / x;
}

/* Returns 1 / sqrt(x), within a relative error of 2^-22. Denormal x counts as 0. */
__device__ inline float reciprocal_root(float x) {
  float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

/* c += a b, of 16 x 8 and 8 x 8 numbers in TF32, by a warp. Lane (g, t), with g = lane / 4 and t =
 * lane % 4, has these elements. a: (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4). b: (t, g), (t +
 * 4, g). c: (g, 2 t), (g, 2 t + 1), (g + 8, 2 t), (g + 8, 2 t + 1). */
__device__ inline void multiply_tf32(float *c, unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                                     unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

/* c += a b of doubles, with the layout of multiply_tf32. */
__device__ inline void multiply_f64(double *c, double a0, double a1, double a2, double a3,
                                    double b0, double b1) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a0), "d"(a1), "d"(a2), "d"(a3), "d"(b0), "d"(b1));
#else
  const double a[4] = {a0, a1, a2, a3};
  const double b[2] = {b0, b1};
#pragma unroll
  for (int i = 0; i < 4; i++)
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[2 * (i % 2)]), "+d"(c[2 * (i % 2) + 1])
        : "d"(a[i]), "d"(b[i / 2]));
#endif
}

/* Returns x and y in bfloat16 in one word, x in the lower half. */
__device__ inline unsigned two_halves(float x, float y) {
  unsigned both = 0;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(y), "f"(x));
  return both;
}

/* A lane's sums of a product, as operands. */
#define AMPED_SUMS_4(c, i) "+f"((c)[i]), "+f"((c)[(i) + 1]), "+f"((c)[(i) + 2]), "+f"((c)[(i) + 3])
#define AMPED_SUMS_16(c, i)                                                                        \
  AMPED_SUMS_4(c, i), AMPED_SUMS_4(c, (i) + 4), AMPED_SUMS_4(c, (i) + 8), AMPED_SUMS_4(c, (i) + 12)
#define AMPED_SUMS_32(c, i) AMPED_SUMS_16(c, i), AMPED_SUMS_16(c, (i) + 16)
#define AMPED_SUMS_64(c, i) AMPED_SUMS_32(c, i), AMPED_SUMS_32(c, (i) + 32)

/* Products by four warps, for compute capability 9.0 only. Call group_begin after the last change
 * of registers that the products use, then enqueue products, then group_commit. group_wait returns
 * when they have finished; until then c, a and the memory of b must not change.
 *
 * group_multiply_tf32: c = c (or 0, if add is false) + a b, of 64 x 8 and 8 x N numbers in TF32,
 * the first 19 bits of floats. A warp has 16 of the rows, in fragments like multiply_tf32's; c has
 * one for each eight columns. b lies in shared memory: four k of each of N columns, then the other
 * four. */
__device__ inline void group_begin() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
#endif
}
__device__ inline void group_commit() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
#endif
}
/* Returns the wgmma descriptor of b in shared memory, in units of 16 bytes: its address; the stride
 * between the two halves of k, N; the stride between groups of eight columns, 8. */
template <int N> __device__ inline uint64_t group_operand(const unsigned char *b) {
  return (uint64_t)((unsigned)__cvta_generic_to_shared(b) >> 4 & 0x3fffU) | (uint64_t)N << 16 |
         (uint64_t)8 << 32;
}
template <int N>
__device__ inline void group_multiply_tf32(float *c, const float *a, const unsigned char *b,
                                           bool add) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  const uint64_t right = group_operand<N>(b);
  if constexpr (N == 32)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %21, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
                 "{%16, %17, %18, %19}, %20, p, 1, 1;\n}"
                 : AMPED_SUMS_16(c, 0)
                 : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])),
                   "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])), "l"(right),
                   "r"((int)add));
  if constexpr (N == 64)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "{%32, %33, %34, %35}, %36, p, 1, 1;\n}"
                 : AMPED_SUMS_32(c, 0)
                 : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])),
                   "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])), "l"(right),
                   "r"((int)add));
  if constexpr (N == 128)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "{%64, %65, %66, %67}, %68, p, 1, 1;\n}"
                 : AMPED_SUMS_64(c, 0)
                 : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])),
                   "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])), "l"(right),
                   "r"((int)add));
#else
  __trap();
#endif
}
/* c += a b by a warp group, for 16 k in bfloat16. A lane's word has two k of a row. They are 2 t
 * and 2 t + 1 in a[0] and a[1], and eight more in a[2] and a[3]. */
template <int N>
__device__ inline void group_multiply_bf16(float *c, const unsigned *a, const unsigned char *b,
                                           bool add) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  const uint64_t right = group_operand<N>(b);
  if constexpr (N == 32)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %21, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
                 "{%16, %17, %18, %19}, %20, p, 1, 1, 0;\n}"
                 : AMPED_SUMS_16(c, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(right), "r"((int)add));
  if constexpr (N == 64)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "{%32, %33, %34, %35}, %36, p, 1, 1, 0;\n}"
                 : AMPED_SUMS_32(c, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(right), "r"((int)add));
  if constexpr (N == 128)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "{%64, %65, %66, %67}, %68, p, 1, 1, 0;\n}"
                 : AMPED_SUMS_64(c, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(right), "r"((int)add));
#else
  __trap();
#endif
}
template <int N> __device__ inline void group_wait(float *c) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  if constexpr (N == 32)
    asm volatile("wgmma.wait_group.sync.aligned 0;" : AMPED_SUMS_16(c, 0) : : "memory");
  if constexpr (N == 64)
    asm volatile("wgmma.wait_group.sync.aligned 0;" : AMPED_SUMS_32(c, 0) : : "memory");
  if constexpr (N == 128)
    asm volatile("wgmma.wait_group.sync.aligned 0;" : AMPED_SUMS_64(c, 0) : : "memory");
#endif
}
/* Asynchronous copies to shared memory, for compute capability 9.0. group_arrivals: make `count`
 * barriers, before the block's next __syncthreads. group_copy: one thread copies bytes, a multiple
 * of 16, from global memory. group_arrival: wait for a barrier's arrival number 0, 1, ..., of which
 * `turn` is the lowest bit. */
__device__ inline void group_arrivals(uint64_t *arrived, int count) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  for (int i = 0; i < count; i++)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;"
                 :
                 : "r"((unsigned)__cvta_generic_to_shared(arrived + i))
                 : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
#endif
}
__device__ inline void group_copy(unsigned char *to, const unsigned char *from, unsigned bytes,
                                  uint64_t *arrived) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  const unsigned place = (unsigned)__cvta_generic_to_shared(arrived);
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :
               : "r"(place), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
               "[%3];"
               :
               : "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(bytes), "r"(place)
               : "memory");
#endif
}
__device__ inline void group_arrival(uint64_t *arrived, unsigned turn) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("{\n.reg .pred p;\n"
               "again%=:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
               "@!p bra again%=;\n}"
               :
               : "r"((unsigned)__cvta_generic_to_shared(arrived)), "r"(turn)
               : "memory");
#endif
}

} // namespace

#endif
