/* Row descent of doubles. */
#include "cuda/factor/row_descent_cuda.cuh"

template amped_status amped_row_descent_run<double, false>(const amped_row_descent_cuda *,
                                                           cudaStream_t);
