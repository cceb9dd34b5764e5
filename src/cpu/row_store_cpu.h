/* Row store of the CPU backend: rows in host memory, with room to grow. */
#ifndef AMPED_ROW_STORE_CPU_H
#define AMPED_ROW_STORE_CPU_H

#include "backend/row_store.h"

extern const amped_row_store_ops amped_row_store_cpu;

#endif
