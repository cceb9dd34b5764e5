/* Vectors of 16 bytes of a factor row, and their arithmetic in kernels. */
#ifndef AMPED_VECTORS_CUDA_CUH
#define AMPED_VECTORS_CUDA_CUH

namespace {

template <typename T> struct vector_of;
template <> struct vector_of<float> { typedef float4 type; };
template <> struct vector_of<double> { typedef double2 type; };

__device__ inline float4 splat(float x) {
  return make_float4(x, x, x, x);
}
__device__ inline double2 splat(double x) {
  return make_double2(x, x);
}
__device__ inline float4 times(float4 a, float4 b) {
  return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
}
__device__ inline double2 times(double2 a, double2 b) {
  return make_double2(a.x * b.x, a.y * b.y);
}
__device__ inline float4 plus(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__device__ inline double2 plus(double2 a, double2 b) {
  return make_double2(a.x + b.x, a.y + b.y);
}

/* a b + c */
__device__ inline float4 fused(float4 a, float4 b, float4 c) {
  return make_float4(fmaf(a.x, b.x, c.x), fmaf(a.y, b.y, c.y), fmaf(a.z, b.z, c.z),
                     fmaf(a.w, b.w, c.w));
}
__device__ inline double2 fused(double2 a, double2 b, double2 c) {
  return make_double2(fma(a.x, b.x, c.x), fma(a.y, b.y, c.y));
}

/* Returns the sum of the elements. */
__device__ inline float total(float4 a) {
  return (a.x + a.y) + (a.z + a.w);
}
__device__ inline double total(double2 a) {
  return a.x + a.y;
}

/* A sum of vectors in double. */
struct double4_sum {
  double x, y, z, w;
};
__device__ inline void add_to(double4_sum &s, float4 a) {
  s.x += a.x;
  s.y += a.y;
  s.z += a.z;
  s.w += a.w;
}
__device__ inline void add_to(double2 &s, double2 a) {
  s = plus(s, a);
}
__device__ inline float4 rounded(double4_sum s) {
  return make_float4((float)s.x, (float)s.y, (float)s.z, (float)s.w);
}
__device__ inline double2 rounded(double2 s) {
  return s;
}
template <typename T> struct long_sum_of;
template <> struct long_sum_of<float> { typedef double4_sum type; };
template <> struct long_sum_of<double> { typedef double2 type; };

} // namespace

#endif
