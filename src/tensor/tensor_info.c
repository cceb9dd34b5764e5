#include "tensor/tensor_info.h"

#include <string.h>

#include "base/mem.h"

void amped_tensor_info_free(amped_tensor_info *info) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_partition_free(&info->partitions[m]);
  amped_dictionary_free(&info->dictionary);
  memset(info, 0, sizeof *info);
}
