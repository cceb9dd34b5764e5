/* Loads cuBLAS with dlopen, and forwards calls to it. */
#include "cuda/device/cublas_cuda.h"

#include <dlfcn.h>

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name) /* expands the macro of cublas_v2.h before making it a string */

namespace {

struct library {
  void *handle;
  const char *problem;
};

const library &cublas() {
  static const library loaded = [] {
    library l = {dlopen("libcublas.so." TEXT(CUBLAS_VER_MAJOR), RTLD_NOW | RTLD_LOCAL), nullptr};
    l.problem = l.handle == nullptr ? dlerror() : nullptr;
    return l;
  }();
  return loaded;
}

template <typename F> F *find(const char *name) {
  return cublas().handle != nullptr ? reinterpret_cast<F *>(dlsym(cublas().handle, name)) : nullptr;
}

template <typename... A> cublasStatus_t forward(const char *name, A... arguments) {
  auto *const call = find<cublasStatus_t(A...)>(name);
  return call != nullptr ? call(arguments...) : CUBLAS_STATUS_NOT_INITIALIZED;
}

} // namespace

extern "C" {

const char *amped_cublas_problem(void) {
  return cublas().problem;
}

const char *cublasGetStatusString(cublasStatus_t status) {
  auto *const call = find<const char *(cublasStatus_t)>("cublasGetStatusString");
  return call != nullptr ? call(status) : "cuBLAS is not complete";
}

cublasStatus_t cublasCreate(cublasHandle_t *handle) {
  return forward(TEXT(cublasCreate), handle);
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  return forward(TEXT(cublasDestroy), handle);
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  return forward(TEXT(cublasSetStream), handle, stream);
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *block, size_t bytes) {
  return forward(TEXT(cublasSetWorkspace), handle, block, bytes);
}

cublasStatus_t cublasDgemm(cublasHandle_t handle, cublasOperation_t a_op, cublasOperation_t b_op,
                           int m, int n, int k, const double *alpha, const double *a, int lda,
                           const double *b, int ldb, const double *beta, double *c, int ldc) {
  return forward(TEXT(cublasDgemm), handle, a_op, b_op, m, n, k, alpha, a, lda, b, ldb, beta, c,
                 ldc);
}

cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t a_op,
                                         cublasOperation_t b_op, int m, int n, int k,
                                         const double *alpha, const double *a, int lda,
                                         long long a_stride, const double *b, int ldb,
                                         long long b_stride, const double *beta, double *c, int ldc,
                                         long long c_stride, int batch) {
  return forward(TEXT(cublasDgemmStridedBatched), handle, a_op, b_op, m, n, k, alpha, a, lda,
                 a_stride, b, ldb, b_stride, beta, c, ldc, c_stride, batch);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t a_op, cublasOperation_t b_op,
                            int m, int n, int k, const void *alpha, const void *a,
                            cudaDataType_t a_type, int lda, const void *b, cudaDataType_t b_type,
                            int ldb, const void *beta, void *c, cudaDataType_t c_type, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
  return forward(TEXT(cublasGemmEx), handle, a_op, b_op, m, n, k, alpha, a, a_type, lda, b, b_type,
                 ldb, beta, c, c_type, ldc, compute, algorithm);
}

} // extern "C"
