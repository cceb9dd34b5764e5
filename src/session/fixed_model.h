/* Fixed model: the factors of --init that --fix keeps, from the file to the result.
 *
 * A run computes with a copy of them in the tensor's order, whose columns have about unit length.
 * The result gets the file's own rows, in the file's order and with its labels, so that they have
 * the same bits; the weights take up the lengths. Rows outside the tensor are in the result as
 * well. They count in the model's norm: a sparse tensor is zero there. */
#ifndef AMPED_FIXED_MODEL_H
#define AMPED_FIXED_MODEL_H

#include "session/init_file.h"
#include "session/session.h"
#include "solver/fixed_modes.h"

typedef struct amped_fixed_model {
  uint64_t modes;     /* bit m: mode m is fixed; 0: no --fix */
  uint64_t hash;      /* content hash of the fixed factors */
  char key[64];       /* modes and hash, for checkpoints */
  amped_init_fix fix; /* on rank 0 */
  double *by;         /* rank 0: [order][ncomps] a run's fixed columns / the file's */
  double *scale;      /* [ncomps] products of these over fixed modes */
  uint64_t rows_outside[AMPED_MAX_ORDER];  /* numbers of rows outside the tensor */
  double *outside[AMPED_MAX_ORDER];        /* their Gram matrices, if they are wanted; NULL: none */
  uint64_t rows_unlearnt[AMPED_MAX_ORDER]; /* complete: numbers of rows in the tensor that have
                                              learnt nothing */
  uint8_t *unlearnt[AMPED_MAX_ORDER];      /* [positions] these rows; NULL: none */
} amped_fixed_model;

/* Collective; the status is agreed. Find the modes of the list `text`, by the names in rank 0's
 * labels. AMPED_USAGE: there is no such mode, or every mode is named. */
amped_status amped_fixed_model_find_modes(const amped_session *session, const char *text,
                                          const amped_labels *labels, uint64_t *modes);

/* Request of a solver. */
typedef struct amped_fixed_request {
  uint64_t modes;       /* bit m: mode m is fixed */
  uint64_t nonnegative; /* bit m: new rows of mode m have no negative entry */
  bool outside;         /* cells of rows outside the tensor are zeros, and count */
  const bool *context;  /* complete: context modes */
} amped_fixed_request;

/* Collective, when the plan is made; the status is agreed. Read --init on rank 0: *start gets all
 * factors in the tensor's order, with weights 1; a new row of a free mode is random. model NULL:
 * free columns are balanced. Otherwise *model gets the other parts of a completion, and columns
 * have the lengths from which sweeps of complete continue. Reports the modes and their rows. The
 * caller frees *start, *model and *out, even after a failure. */
amped_status amped_fixed_model_read(amped_session *session, const amped_fixed_request *request,
                                    const amped_labels *labels, amped_fixed_model *out,
                                    amped_ktensor *start, amped_completion *model);

/* The fixed modes for a solver. The Gram matrices are borrowed. */
amped_fixed_modes amped_fixed_model_modes(const amped_fixed_model *model);

/* Rank 0: put the file's factors and labels into the fixed modes of a result, and the lengths of a
 * run's columns into its weights, which stay positive. The arrays are lent: take them back before
 * either object is freed. */
void amped_fixed_model_lend(const amped_fixed_model *model, amped_ktensor *result);
void amped_fixed_model_take_back(const amped_fixed_model *model, amped_ktensor *result);

/* Rank 0: put the other parts of a completion into a result, as copies. */
amped_status amped_fixed_model_complete(const amped_fixed_model *model, amped_completion *result);

/* Accepts a zeroed or freed model. */
void amped_fixed_model_free(amped_fixed_model *model);

#endif
