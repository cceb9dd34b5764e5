/* State rows: sending rows of a state to rank 0 for writing, and broadcasting them after
 * reading. */
#include "factor/state_rows.h"

#include <string.h>

#include "base/buffers.h"
#include "base/mem.h"

#define TAG_ROWS 7301

/* Piece of rows, in host memory. */
typedef struct piece {
  uint64_t rows;       /* capacity */
  uint64_t factor_row; /* bytes per row */
  uint64_t history_row;
  uint64_t *indices, *touched;
  unsigned char *factor, *history; /* history is NULL if the state has none */
} piece;

static amped_buffers buffers(piece *p) {
  amped_buffers b = {.what = "rows of a state"};
  AMPED_BUFFER(&b, HOST, p->indices, p->rows);
  AMPED_BUFFER(&b, HOST, p->touched, p->rows);
  AMPED_BUFFER_OF(&b, HOST, p->factor, p->rows, p->factor_row);
  AMPED_BUFFER_OF(&b, HOST, p->history, p->rows, p->history_row);
  return b;
}

static amped_status make_piece(const amped_state_head *head, piece *p) {
  memset(p, 0, sizeof *p);
  p->rows = amped_state_piece_rows(head);
  p->factor_row = (uint64_t)head->ncomps * (uint64_t)head->type;
  p->history_row = head->history_length * (uint64_t)head->type;
  return amped_buffers_allocate(buffers(p));
}

static void send_array(const amped_comm *comm, const void *data, uint64_t bytes) {
  AMPED_MPI(comm, MPI_Send(data, amped_comm_count(comm, bytes), MPI_BYTE, 0, TAG_ROWS, comm->mpi));
}

static void receive_array(const amped_comm *comm, int from, void *data, uint64_t bytes) {
  AMPED_MPI(comm, MPI_Recv(data, amped_comm_count(comm, bytes), MPI_BYTE, from, TAG_ROWS, comm->mpi,
                           MPI_STATUS_IGNORE));
}

/* Get `count` of this rank's rows of a mode, from place `at` of its list. */
static amped_status get(const amped_state_rows *mine, int mode, uint64_t at, uint64_t count,
                        piece *p) {
  if (count == 0)
    return AMPED_OK;
  memcpy(p->indices, mine->indices[mode] + at, count * sizeof *p->indices);
  return mine->get(mine->context, mode, at, count, p->factor, p->history, p->touched);
}

/* Send `count` rows to rank 0, which knows the number. */
static void send_piece(const amped_comm *comm, uint64_t count, const piece *p) {
  send_array(comm, p->indices, count * sizeof *p->indices);
  send_array(comm, p->touched, count * sizeof *p->touched);
  send_array(comm, p->factor, count * p->factor_row);
  if (p->history != NULL)
    send_array(comm, p->history, count * p->history_row);
}

static void receive_piece(const amped_comm *comm, int from, uint64_t count, piece *p) {
  receive_array(comm, from, p->indices, count * sizeof *p->indices);
  receive_array(comm, from, p->touched, count * sizeof *p->touched);
  receive_array(comm, from, p->factor, count * p->factor_row);
  if (p->history != NULL)
    receive_array(comm, from, p->history, count * p->history_row);
}

/* --- rows of a batch -------------------------------------------------------------------------- */

/* Collective: put one rank's rows of a mode, a piece at a time. `count` is that rank's number of
 * rows, given on all ranks. */
static amped_status put_of_rank(const amped_comm *comm, amped_state_file *file, int mode, int rank,
                                uint64_t count, const amped_state_rows *mine, piece *p) {
  for (uint64_t at = 0; at < count; at += p->rows) {
    const uint64_t n = count - at < p->rows ? count - at : p->rows;
    amped_status status = AMPED_OK;
    if (comm->rank == rank)
      status = get(mine, mode, at, n, p);
    AMPED_TRY(amped_comm_agree(comm, status));
    if (comm->rank == rank && rank != 0)
      send_piece(comm, n, p);
    if (comm->rank == 0 && rank != 0)
      receive_piece(comm, rank, n, p);
    if (comm->rank == 0)
      status = amped_state_file_put(file, mode, n, p->indices, p->factor, p->history, p->touched);
    AMPED_TRY(amped_comm_agree(comm, status));
  }
  return AMPED_OK;
}

/* Collective: number of `rank`'s rows, on all ranks. */
static uint64_t share_count(const amped_comm *comm, int rank, uint64_t mine) {
  uint64_t count = comm->rank == rank ? mine : 0;
  amped_comm_sum_u64(comm, &count, 1);
  return count;
}

static amped_status put_touched(const amped_comm *comm, amped_state_file *file, int mode,
                                const amped_state_rows *mine, piece *p) {
  for (int rank = 0; rank < comm->nranks; rank++) {
    const uint64_t count = share_count(comm, rank, mine->count[mode]);
    AMPED_TRY(put_of_rank(comm, file, mode, rank, count, mine, p));
  }
  return AMPED_OK;
}

/* --- all rows --------------------------------------------------------------------------------- */

/* Rank 0: place the rows of a piece among rows first, first + 1, ... of `to`; *filled counts the
 * placed rows. */
static amped_status place(const piece *from, uint64_t count, uint64_t first, uint64_t rows,
                          piece *to, uint64_t *filled) {
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t k = from->indices[i] - first;
    if (from->indices[i] < first || k >= rows)
      return amped_error(AMPED_FAILED, NULL,
                         "a row of a state comes twice; this is a mistake of amped_mpi, please "
                         "report it");
    to->indices[k] = from->indices[i];
    to->touched[k] = from->touched[i];
    memcpy(to->factor + k * to->factor_row, from->factor + i * from->factor_row, to->factor_row);
    if (to->history != NULL)
      memcpy(to->history + k * to->history_row, from->history + i * from->history_row,
             to->history_row);
  }
  *filled += count;
  return AMPED_OK;
}

/* Number of this rank's rows, from place `at` of its list, with an index below `end`. */
static uint64_t count_below(const amped_state_rows *mine, int mode, uint64_t at, uint64_t end) {
  uint64_t n = 0;
  while (at + n < mine->count[mode] && mine->indices[mode][at + n] < end)
    n++;
  return n;
}

/* Collective: put rows first .. first + rows of all ranks. *at: number of this rank's rows before
 * them. */
static amped_status put_range(const amped_comm *comm, amped_state_file *file, int mode,
                              uint64_t first, uint64_t rows, const amped_state_rows *mine,
                              uint64_t *at, piece *p, piece *whole) {
  const uint64_t own = count_below(mine, mode, *at, first + rows);
  uint64_t filled = 0;
  amped_status status =
      own <= rows ? get(mine, mode, *at, own, p)
                  : amped_error(AMPED_FAILED, NULL,
                                "a row of a state comes twice; this is a mistake of amped_mpi, "
                                "please report it");
  AMPED_TRY(amped_comm_agree(comm, status));
  *at += own;
  if (comm->rank == 0)
    status = place(p, own, first, rows, whole, &filled);
  for (int rank = 1; rank < comm->nranks; rank++) {
    const uint64_t count = share_count(comm, rank, own);
    if (comm->rank == rank)
      send_piece(comm, count, p);
    if (comm->rank != 0)
      continue;
    receive_piece(comm, rank, count, p);
    if (status == AMPED_OK)
      status = place(p, count, first, rows, whole, &filled);
  }
  if (comm->rank == 0 && status == AMPED_OK)
    status = filled == rows ? amped_state_file_put(file, mode, rows, whole->indices, whole->factor,
                                                   whole->history, whole->touched)
                            : amped_error(AMPED_FAILED, NULL,
                                          "a row of a state is missing; this is a mistake of "
                                          "amped_mpi, please report it");
  return amped_comm_agree(comm, status);
}

static amped_status put_all(const amped_comm *comm, amped_state_file *file, int mode, uint64_t dim,
                            const amped_state_rows *mine, piece *p, piece *whole) {
  uint64_t at = 0;
  for (uint64_t first = 0; first < dim; first += p->rows) {
    const uint64_t rows = dim - first < p->rows ? dim - first : p->rows;
    AMPED_TRY(put_range(comm, file, mode, first, rows, mine, &at, p, whole));
  }
  return AMPED_OK;
}

amped_status amped_state_rows_put(const amped_comm *comm, amped_state_file *file,
                                  const amped_state_head *head, bool is_new,
                                  const amped_state_rows *mine) {
  piece p;
  piece whole;
  memset(&whole, 0, sizeof whole);
  amped_status status = make_piece(head, &p);
  if (status == AMPED_OK && is_new && comm->rank == 0)
    status = make_piece(head, &whole);
  AMPED_GO(done, amped_comm_agree(comm, status));
  for (int m = 0; m < head->order && status == AMPED_OK; m++)
    status = is_new ? put_all(comm, file, m, head->dims[m], mine, &p, &whole)
                    : put_touched(comm, file, m, mine, &p);
done:
  amped_buffers_free(buffers(&p));
  amped_buffers_free(buffers(&whole));
  return status;
}

/* --- reading ---------------------------------------------------------------------------------- */

static amped_status read_piece(const amped_comm *comm, amped_state_file *file, int mode,
                               uint64_t first, uint64_t count, piece *p, amped_state_take *take,
                               void *context) {
  amped_status status = AMPED_OK;
  if (comm->rank == 0)
    status = amped_state_file_read(file, mode, first, count, p->factor, p->history, p->touched);
  AMPED_TRY(amped_comm_agree(comm, status));
  amped_comm_broadcast(comm, p->factor, count * p->factor_row);
  if (p->history != NULL)
    amped_comm_broadcast(comm, p->history, count * p->history_row);
  amped_comm_broadcast(comm, p->touched, count * sizeof *p->touched);
  return amped_comm_agree(comm,
                          take(context, mode, first, count, p->factor, p->history, p->touched));
}

amped_status amped_state_rows_read(const amped_comm *comm, amped_state_file *file,
                                   const amped_state_head *head, amped_state_take *take,
                                   void *context) {
  piece p;
  amped_status status = make_piece(head, &p);
  AMPED_GO(done, amped_comm_agree(comm, status));
  for (int m = 0; m < head->order; m++)
    for (uint64_t first = 0; first < head->dims[m]; first += p.rows) {
      const uint64_t left = head->dims[m] - first;
      AMPED_GO(done,
               read_piece(comm, file, m, first, left < p.rows ? left : p.rows, &p, take, context));
    }
done:
  amped_buffers_free(buffers(&p));
  return status;
}

amped_status amped_state_sums_read(const amped_comm *comm, amped_state_file *file,
                                   const amped_state_head *head, double *const *sums) {
  const uint64_t width = amped_state_sums_width(head);
  amped_status status = AMPED_OK;
  for (int m = 0; m < head->order && width > 0; m++) {
    if (comm->rank == 0)
      status = amped_state_file_sums(file, m, sums[m]);
    AMPED_TRY(amped_comm_agree(comm, status));
    amped_comm_broadcast(comm, sums[m], width * width * sizeof *sums[m]);
  }
  return AMPED_OK;
}

amped_status amped_state_head_share(const amped_comm *comm, const amped_state_file *file,
                                    amped_state_head *out) {
  memset(out, 0, sizeof *out);
  if (comm->rank == 0)
    *out = *amped_state_file_head(file);
  amped_comm_broadcast(comm, out, sizeof *out);
  return AMPED_OK;
}
