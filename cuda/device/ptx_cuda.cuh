/* Instructions of GPUs that CUDA C++ has no function for. tests/emulate has a twin of this file. */
#ifndef AMPED_PTX_CUDA_CUH
#define AMPED_PTX_CUDA_CUH

namespace {

/* base + row * bytes, in one instruction. */
template <typename vector>
__device__ inline const vector *row_address(const vector *base, unsigned row, unsigned bytes) {
  const vector *at;
  asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(at) : "r"(row), "r"(bytes), "l"(base));
  return at;
}

/* The pointer, which stays in registers: the compiler would find it anew for each use. */
template <typename T> __device__ inline T *kept(T *pointer) {
  asm("" : "+l"(pointer));
  return pointer;
}

/* x, which the compiler does not know any more: what is made of it is made where it is used. */
__device__ inline unsigned fresh(unsigned x) {
  asm volatile("" : "+r"(x));
  return x;
}

/* What other blocks wrote before they stored *flag with store_release is visible after this. */
__device__ inline unsigned load_acquire(const unsigned *flag) {
  unsigned seen = 0;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
  return seen;
}

__device__ inline void store_release(unsigned *flag, unsigned value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(flag), "r"(value) : "memory");
}

/* One over x: of floats within an ulp, from 2^-126 to 2^126. */
__device__ inline float reciprocal(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
__device__ inline double reciprocal(double x) {
  return 1.0 / x;
}

/* One over the root, within 2^-22 of it. What is below the least normal number counts as 0. */
__device__ inline float reciprocal_root(float x) {
  float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

/* c += a b, of 16 x 8 and 8 x 8 numbers in TF32, by a warp. Lane (g, t), with g = lane / 4 and t =
 * lane % 4, has elements (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4) of a, elements (t, g) and
 * (t + 4, g) of b, and elements (g, 2 t), (g, 2 t + 1), (g + 8, 2 t), (g + 8, 2 t + 1) of c. */
__device__ inline void multiply_tf32(float *c, unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                                     unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

/* The same of doubles, whose fragments lie as those above. */
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

} // namespace

#endif
