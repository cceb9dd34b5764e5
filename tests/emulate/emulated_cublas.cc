/* cuBLAS in plain loops: the library that the program loads at its first call. */
#include "cublas_v2.h"

template <typename T>
static void multiply(cublasOperation_t a_op, cublasOperation_t b_op, int m, int n, int k, T alpha,
                     const T *a, int lda, const T *b, int ldb, T beta, T *c, int ldc) {
  for (int j = 0; j < n; j++)
    for (int i = 0; i < m; i++) {
      T sum = 0;
      T &to = c[i + (long long)j * ldc];
      for (int q = 0; q < k; q++)
        sum += (a_op == CUBLAS_OP_N ? a[i + (long long)q * lda] : a[q + (long long)i * lda]) *
               (b_op == CUBLAS_OP_N ? b[q + (long long)j * ldb] : b[j + (long long)q * ldb]);
      to = alpha * sum + (beta != 0 ? beta * to : 0);
    }
}

extern "C" {

cublasStatus_t cublasCreate(cublasHandle_t *handle) {
  *handle = reinterpret_cast<cublasHandle_t>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace(cublasHandle_t, void *, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
const char *cublasGetStatusString(cublasStatus_t) {
  return "emulated status";
}
cublasStatus_t cublasDgemm(cublasHandle_t, cublasOperation_t a_op, cublasOperation_t b_op, int m,
                           int n, int k, const double *alpha, const double *a, int lda,
                           const double *b, int ldb, const double *beta, double *c, int ldc) {
  multiply(a_op, b_op, m, n, k, *alpha, a, lda, b, ldb, *beta, c, ldc);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t a_op,
                                         cublasOperation_t b_op, int m, int n, int k,
                                         const double *alpha, const double *a, int lda,
                                         long long a_stride, const double *b, int ldb,
                                         long long b_stride, const double *beta, double *c, int ldc,
                                         long long c_stride, int batch) {
  for (long long i = 0; i < batch; i++)
    (void)cublasDgemm(handle, a_op, b_op, m, n, k, alpha, a + i * a_stride, lda, b + i * b_stride,
                      ldb, beta, c + i * c_stride, ldc);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmEx(cublasHandle_t, cublasOperation_t a_op, cublasOperation_t b_op, int m,
                            int n, int k, const void *alpha, const void *a, cudaDataType_t a_type,
                            int lda, const void *b, cudaDataType_t, int ldb, const void *beta,
                            void *c, cudaDataType_t, int ldc, cublasComputeType_t,
                            cublasGemmAlgo_t) {
  if (a_type == CUDA_R_64F)
    multiply(a_op, b_op, m, n, k, *(const double *)alpha, (const double *)a, lda, (const double *)b,
             ldb, *(const double *)beta, (double *)c, ldc);
  else
    multiply(a_op, b_op, m, n, k, *(const float *)alpha, (const float *)a, lda, (const float *)b,
             ldb, *(const float *)beta, (float *)c, ldc);
  return CUBLAS_STATUS_SUCCESS;
}

} // extern "C"
