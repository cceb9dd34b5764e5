/* Twin of cuda/device/ptx_cuda.cuh: the same functions, for kernels that run on a CPU. */
#ifndef AMPED_PTX_CUDA_CUH
#define AMPED_PTX_CUDA_CUH

namespace {

template <typename vector>
inline const vector *row_address(const vector *base, unsigned row, unsigned bytes) {
  return reinterpret_cast<const vector *>(reinterpret_cast<const char *>(base) +
                                          (unsigned long)row * bytes);
}

template <typename T> inline T *kept(T *pointer) {
  return pointer;
}

inline unsigned fresh(unsigned x) {
  return x;
}

inline unsigned load_acquire(const unsigned *flag) {
  return *(const volatile unsigned *)flag;
}

inline void store_release(unsigned *flag, unsigned value) {
  *flag = value;
}

template <typename T> inline T reciprocal(T x) {
  return (T)1 / x;
}

inline float reciprocal_root(float x) {
  return 1.0F / sqrtf(x);
}

/* Tensor cores read the first 19 bits of a number. Here sums are rounded, there they are cut. */
inline void multiply_tf32(float *c, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,
                          unsigned b1) {
  struct four {
    unsigned x[4];
  };
  const void *table = nullptr;
  const unsigned g = emulated_lane() / 4;
  const unsigned t = emulated_lane() % 4;
  const auto number = [&](unsigned lane, unsigned i) {
    unsigned bits = 0;
    memcpy(&bits, static_cast<const char *>(table) + 16 * lane + 4 * i, sizeof bits);
    return (double)__uint_as_float(bits & ~0x1fffU);
  };
  const four a = {{a0, a1, a2, a3}};
  const four b = {{b0, b1, 0U, 0U}};
  double rows[2][8];
  emulated_exchange(0xffffffffU, &a, sizeof a, &table);
  for (unsigned k = 0; k < 8; k++)
    for (unsigned i = 0; i < 2; i++)
      rows[i][k] = number(4 * g + k % 4, i + (k >= 4 ? 2 : 0));
  emulated_exchange(0xffffffffU, &b, sizeof b, &table);
  double sums[4] = {(double)c[0], (double)c[1], (double)c[2], (double)c[3]};
  for (unsigned k = 0; k < 8; k++)
    for (unsigned j = 0; j < 2; j++) {
      const double right = number(4 * (2 * t + j) + k % 4, k / 4);
      sums[j] += rows[0][k] * right;
      sums[2 + j] += rows[1][k] * right;
    }
  for (unsigned i = 0; i < 4; i++)
    c[i] = (float)sums[i];
}

inline void multiply_f64(double *c, double a0, double a1, double a2, double a3, double b0,
                         double b1) {
  const double own[2][2] = {{a0, a2}, {a1, a3}};
  const double right[2] = {b0, b1};
  const unsigned g = emulated_lane() / 4;
  const unsigned t = emulated_lane() % 4;
  for (unsigned i = 0; i < 2; i++)
    for (unsigned k = 0; k < 8; k++) {
      const double a = emulated_from(0xffffffffU, own[i][k / 4], 4 * g + k % 4);
      for (unsigned j = 0; j < 2; j++)
        c[2 * i + j] += a * emulated_from(0xffffffffU, right[k / 4], 4 * (2 * t + j) + k % 4);
    }
}

} // namespace

#endif
