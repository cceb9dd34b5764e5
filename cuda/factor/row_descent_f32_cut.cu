/* Row descent of floats if negative entries are cut and nothing is shrunk. */
#include "cuda/factor/row_descent_cuda.cuh"

template amped_status amped_row_descent_run<float, true>(const amped_row_descent_cuda *,
                                                         cudaStream_t);
