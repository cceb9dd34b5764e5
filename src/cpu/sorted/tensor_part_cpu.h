/* The tensor part of the sorted copies in host memory, shared by the files of its operations. */
#ifndef AMPED_TENSOR_PART_CPU_H
#define AMPED_TENSOR_PART_CPU_H

#include "cpu/sorted/codebook_cpu.h"
#include "cpu/load/coo_buffer_cpu.h"
#include "cpu/device/device_cpu.h"
#include "cpu/sorted/mttkrp_cpu.h"
#include "cpu/sorted/ratio_bundle.h"
#include "cpu/sorted/tiles_cpu.h"

typedef struct amped_ratio_part_cpu amped_ratio_part_cpu;
typedef struct amped_row_fit_cpu amped_row_fit_cpu;
typedef struct amped_row_history_cpu amped_row_history_cpu;
typedef struct amped_row_steps_cpu amped_row_steps_cpu;

struct amped_tensor_part {
  const amped_plan *plan;
  amped_factor_set *factors;
  int threads;
  amped_cpu_copy copies[AMPED_MAX_ORDER];
  amped_cpu_tiling tilings[AMPED_MAX_ORDER];
  amped_cpu_copy *tiles[AMPED_MAX_ORDER]; /* parts of copies; NULL if a copy is whole */
  amped_coo_buffer_cpu coo_buffer;        /* for the mode being collected */
  amped_codebook_cpu codebook;
  double *fixup;
  void *outputs;                      /* outputs of tiles, if each has its own */
  double mttkrp_sec;                  /* time of the last MTTKRP */
  amped_row_fit_cpu *row_fit;         /* NULL unless prepared */
  amped_row_history_cpu *row_history; /* NULL until its begin is called */
  amped_row_steps_cpu *row_steps;     /* NULL unless prepared */
  amped_ratio_part_cpu *ratio;        /* NULL unless prepared */
};

/* Arguments of a traversal over a tile of mode's copy, or over the whole copy. */
amped_cpu_mttkrp amped_tensor_part_cpu_traversal(amped_tensor_part *part, int mode, int tile);

/* MTTKRP of mode over all tiles, into the factor set's output. ratio: values become ratios; its
 * sums, if asked for, are added to *sums. NULL: MTTKRP. */
void amped_tensor_part_cpu_traverse(amped_tensor_part *part, int mode, const amped_ratio_cpu *ratio,
                                    amped_ratio_sums *sums);

/* Most strips of any mode's traversals on this rank: of one, or of all tiles if they run side by
 * side. At least 1. tilings: the tilings of a part, which keeps them when its plan gets fewer
 * components; NULL: the tilings of a new part of this plan. */
uint64_t amped_tensor_part_cpu_most_strips(const amped_plan *plan, const amped_cpu_tiling *tilings);

#endif
