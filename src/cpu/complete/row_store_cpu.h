/* Row store of the CPU backend: all rows of a stream's model, in host memory that can grow. */
#ifndef AMPED_ROW_STORE_CPU_H
#define AMPED_ROW_STORE_CPU_H

#include "backend/row_store.h"

extern const amped_row_store_ops amped_row_store_cpu;

#endif
