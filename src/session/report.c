/* Prints and writes the start, the plan, the exchange and the sweeps of a run. */
#include "session/report.h"
#include "session/rail_facts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/version.h"
#include "tensor/format.h"
#include "plan/dense_passes.h"
#include "tensor/rank_bound.h"
#include "factor/link_rate.h"
#include "mpi/allgather.h"
#include "session/binding.h"
#include "base/log.h"
#include "base/mem.h"

#define PLACE_BYTES 192

/* --plan lists the first ranks, up to this number; a last line counts the others. */
#define LISTED_RANKS 16

static void say_places(amped_session *session, char (*places)[PLACE_BYTES]) {
  /* Consecutive ranks with the same text share a line. */
  for (int p = 0; p < session->comm.nranks;) {
    int q = p + 1;
    while (q < session->comm.nranks && strcmp(places[p], places[q]) == 0)
      q++;
    if (q == p + 1)
      amped_note("rank %d: %s", p, places[p]);
    else
      amped_note("ranks %d-%d: %s each", p, q - 1, places[p]);
    p = q;
  }
}

/* Format the list of --rank: "4, 8, 16". */
static const char *list_ncomps(char *buffer, size_t size, const amped_session_options *o) {
  size_t at = 0;
  for (int i = 0; i < o->ncomps_count && at < size; i++)
    at += (size_t)snprintf(buffer + at, size - at, "%s%d", i > 0 ? ", " : "", o->ncomps_list[i]);
  return buffer;
}

static json_t *json_ncomps(const amped_session_options *o) {
  json_t *list = json_array();
  for (int i = 0; i < o->ncomps_count; i++)
    (void)json_array_append_new(list, json_integer(o->ncomps_list[i]));
  return list;
}

/* Precision of products with a dense tensor's cells; null: the tensor is sparse. */
static json_t *json_products(const amped_session *session) {
  if (!session->is_dense)
    return json_null();
  return json_string(session->worker.tf32 ? "tf32" : "exact");
}

static amped_status tell_start(amped_session *session, const amped_binding *binding,
                               char (*places)[PLACE_BYTES]) {
  const amped_session_options *o = session->options;
  const amped_comm *comm = &session->comm;
  amped_facts f;
  char ncomps[8 * AMPED_MAX_NCOMPS_COUNT];
  amped_facts_begin(&f, "start");
  amped_fact(&f, "version", json_string(amped_version()), "amped_mpi %s: ", amped_version());
  amped_fact_json(&f, "revision", json_string(amped_revision()));
  amped_fact(&f, "command", json_string(o->command), "%s of ", o->command);
  amped_fact(&f, "input", amped_json_text(o->input, strlen(o->input)), "%s", o->input);
  amped_fact_json(&f, "backend", json_string(session->worker.backend->name));
  amped_fact_json(&f, "rank", json_integer(o->ncomps));
  amped_fact(&f, "rank_list", json_ncomps(o), ", R = %s", list_ncomps(ncomps, sizeof ncomps, o));
  amped_fact_json(&f, "starts", json_integer(o->starts));
  amped_fact(&f, "precision", json_string(amped_vtype_name(o->precision)), ", %s",
             amped_vtype_name(o->precision));
  amped_fact_json(&f, "products", json_products(session));
  amped_fact(&f, "nranks", json_integer(comm->nranks), ", on %d rank%s", comm->nranks,
             comm->nranks == 1 ? "" : "s");
  amped_fact(&f, "nodes", json_integer(comm->nodes), " of %d node%s", comm->nodes,
             comm->nodes == 1 ? "" : "s");
  amped_fact_json(&f, "cuda_aware", json_boolean(comm->cuda_aware));
  for (int p = 0; p < comm->nranks; p++)
    amped_fact_item(&f, "ranks", amped_json_text(places[p], strlen(places[p])));
  amped_facts_note(&f);
  if (session->worker.tf32)
    amped_say("products: cells and factors are rounded to TF32 (10 bits); the last fit is exact");
  say_places(session, places);
  if (binding->idle > 0)
    amped_note("note: mpirun bound %s to %d of %d cores and leaves the others idle; mpirun "
               "--bind-to none lets all compute",
               comm->nranks == 1 ? "the rank" : "the ranks of a node",
               binding->cores - binding->idle, binding->cores);
  return amped_facts_write(&f, session->json);
}

amped_status amped_report_start(amped_session *session) {
  const amped_comm *comm = &session->comm;
  char mine[PLACE_BYTES] = "";
  char host[64] = "";
  amped_binding binding;
  char(*places)[PLACE_BYTES] = NULL;
  amped_status status =
      amped_alloc(&places, (uint64_t)comm->nranks, sizeof *places, "the placement of ranks");
  status = amped_comm_agree(comm, status);
  if (status != AMPED_OK) {
    amped_free(places);
    return status;
  }
  amped_binding_find(session, &binding);
  (void)gethostname(host, sizeof host - 1);
  (void)snprintf(mine, sizeof mine, "%s: %s", host,
                 session->worker.backend->device->describe(session->worker.device));
  AMPED_MPI(comm,
            MPI_Gather(mine, PLACE_BYTES, MPI_CHAR, places, PLACE_BYTES, MPI_CHAR, 0, comm->mpi));
  if (comm->rank == 0)
    status = tell_start(session, &binding, places);
  amped_free(places);
  return amped_comm_agree(comm, status);
}

/* Memory that a rank needs, sent to rank 0. */
typedef struct rank_need {
  amped_memory_need need;
  amped_requirement required;
} rank_need;

/* Returns the most bytes of mode's copy that a rank streams in a sweep. *least_resident: the least
 * share of a streamed copy that any rank keeps on its device. */
static uint64_t most_streamed(const amped_plan *plan, int mode, const rank_need *needs,
                              double *least_resident) {
  const int copy = amped_plan_copy_of(plan, mode);
  uint64_t most = 0;
  *least_resident = 1.0;
  for (int p = 0; p < plan->nranks; p++) {
    uint64_t bytes = needs[p].required.streamed_bytes[mode];
    most = bytes > most ? bytes : most;
    if (bytes > 0)
      *least_resident =
          fmin(*least_resident, 1.0 - (double)bytes / (double)needs[p].required.copy_bytes[copy]);
  }
  return most;
}

/* Describe where mode's copy lies: "resident", "resident, in 15 tiles", or "62.1 % on the device,
 * 1.2 GiB streamed a sweep", with "at least" and "at most" on several ranks. If the mode has no
 * copy of its own: the mode whose copy it uses. */
static const char *describe_place(char *buffer, size_t size, const amped_plan *plan, int mode,
                                  const rank_need *needs) {
  char bytes[32];
  double resident = 1.0;
  uint64_t streamed = most_streamed(plan, mode, needs, &resident);
  bool many = plan->nranks > 1;
  if (!amped_plan_has_copy(plan, mode))
    (void)snprintf(buffer, size, "in the copy of mode %d%s%s", plan->boxed + 1,
                   streamed > 0 ? ", streamed anew: " : "",
                   streamed > 0 ? amped_format_bytes(bytes, streamed) : "");
  else if (streamed == 0 && needs[0].required.tiles[mode] > 1)
    (void)snprintf(buffer, size, "resident, in %" PRIu64 " tiles", needs[0].required.tiles[mode]);
  else if (streamed == 0)
    return "resident";
  else
    (void)snprintf(buffer, size, "%s%.1f %% on the device, %s%s streamed a sweep",
                   many ? "at least " : "", floor(1e3 * resident) / 10.0, many ? "at most " : "",
                   amped_format_bytes(bytes, streamed));
  return buffer;
}

static void say_streamed(const amped_plan *plan, const rank_need *needs) {
  char place[96];
  double resident = 1.0;
  for (int m = 0; m < plan->order; m++)
    if (most_streamed(plan, m, needs, &resident) > 0)
      amped_say("mode %d: %s", m + 1, describe_place(place, sizeof place, plan, m, needs));
}

/* A mode of the plan: a row of the table. */
static void add_mode(const amped_session *session, int mode, const rank_need *needs,
                     amped_facts *f) {
  const amped_plan *plan = &session->plan;
  const amped_mode_plan *m = &plan->modes[mode];
  const double imbalance = amped_plan_imbalance(plan, mode);
  uint64_t least = UINT64_MAX;
  uint64_t most = 0;
  uint64_t most_bytes = 0;
  double all_bytes = 0.0;
  char text[4][32];
  char place[96];
  amped_facts_begin(f, NULL);
  for (int p = 0; p < plan->nranks; p++) {
    const amped_requirement *r = &needs[p].required;
    const uint64_t bytes = r->copy_bytes[mode];
    least = m->copy.rank_nnz[p] < least ? m->copy.rank_nnz[p] : least;
    most = m->copy.rank_nnz[p] > most ? m->copy.rank_nnz[p] : most;
    most_bytes = bytes > most_bytes ? bytes : most_bytes;
    all_bytes += (double)bytes;
    amped_fact_item(f, "copy_bytes", amped_json_count(bytes));
    amped_fact_item(f, "streamed_bytes", amped_json_count(r->streamed_bytes[mode]));
  }
  amped_fact(f, "dim", amped_json_count(m->rows.dim), "%4d  %12" PRIu64, mode + 1, m->rows.dim);
  amped_fact_json(f, "width", amped_json_count(m->rows.width));
  amped_fact(f, "idps", amped_json_count(m->rows.idp_count), "  %7" PRIu64, m->rows.idp_count);
  amped_fact(f, "block_rows", amped_json_count(m->rows.block_rows), "  %12" PRIu64,
             m->rows.block_rows);
  amped_fact(f, "rank_nnz", amped_json_counts(m->copy.rank_nnz, plan->nranks), "  %12s  %12s",
             amped_format_count(text[0], (double)least), amped_format_count(text[1], (double)most));
  amped_fact(f, "imbalance_percent", amped_json_number(imbalance), "  %9.3f %%", imbalance);
  amped_fact_json(f, "unsplit_imbalance_percent",
                  amped_json_number(amped_plan_unsplit_imbalance(plan, mode)));
  amped_fact_json(f, "split_idps", amped_json_count(m->copy.split_count));
  amped_fact_json(f, "rank_rows", amped_json_counts(m->rows.rank_rows, plan->nranks));
  amped_fact_words(f, "  %12s  %9.2f  %s", amped_format_bytes(text[2], most_bytes),
                   all_bytes / (double)plan->nnz,
                   describe_place(place, sizeof place, plan, mode, needs));
}

static void add_rank(const amped_session *session, int p, const rank_need *n, amped_facts *f) {
  const amped_plan *plan = &session->plan;
  char text[32];
  amped_facts_begin(f, NULL);
  amped_fact_words(f, "rank %d: nonzeros", p);
  for (int m = 0; m < plan->order; m++)
    amped_fact_words(f, " %" PRIu64, plan->modes[m].copy.rank_nnz[p]);
  amped_fact(f, "host_bytes", amped_json_count(n->need.host_bytes), "; host %s",
             amped_format_bytes(text, n->need.host_bytes));
  amped_fact_json(f, "device_bytes", amped_json_count(n->need.device_bytes));
  if (n->need.device_bytes > 0)
    amped_fact_words(f, ", device %s", amped_format_bytes(text, n->need.device_bytes));
}

/* Print the placement and the imbalance of ranks in the worst mode. */
static void say_balance(const amped_plan *plan) {
  double imbalance = 0.0;
  double unsplit = 0.0;
  uint64_t splits = 0;
  char without[64] = "";
  if (plan->nranks == 1)
    return;
  for (int m = 0; m < plan->order; m++) {
    imbalance = fmax(imbalance, amped_plan_imbalance(plan, m));
    unsplit = fmax(unsplit, amped_plan_unsplit_imbalance(plan, m));
    splits += plan->modes[m].copy.split_count;
  }
  if (plan->placement == AMPED_PLACEMENT_GREEDY && splits > 0)
    (void)snprintf(without, sizeof without, " (%.2f %% without splitting)", unsplit);
  amped_say("plan: %s placement of iDps, imbalance of nonzeros at most %.2f %%%s",
            amped_placement_names[plan->placement], imbalance, without);
}

static void say_splits(const amped_plan *plan) {
  for (int m = 0; m < plan->order; m++) {
    const amped_mode_plan *mode = &plan->modes[m];
    if (mode->copy.split_count > 0)
      amped_say("mode %d: %" PRIu64 " of %" PRIu64 " iDps (%" PRIu64
                " rows) split, their rows added up over ranks",
                m + 1, mode->copy.split_count, mode->rows.idp_count,
                mode->copy.splits[mode->copy.split_count].row);
  }
}

/* Print a note if the largest R is more than the tensor can use. */
static void say_rank_bound(const amped_plan *plan, int ncomps) {
  const amped_rank_bound bound = amped_rank_bound_of(plan->order, plan->dims, plan->nnz);
  char dims[AMPED_DIMS_TEXT];
  if ((uint64_t)ncomps <= bound.ncomps)
    return;
  if (bound.by_nonzeros)
    amped_note("note: R = %d is more than the tensor can use: its %" PRIu64
               " nonzeros are a sum of as many components; choose a smaller --rank",
               ncomps, bound.ncomps);
  else
    amped_note("note: R = %d is more than the tensor can use: any tensor of %s is a sum of %" PRIu64
               " components (all dimensions but the longest, multiplied); choose a smaller --rank",
               ncomps, amped_format_dims(dims, plan->order, plan->dims), bound.ncomps);
}

/* Bytes of slabs that are streamed in every pass, bytes of all slabs, and of the largest slab. */
typedef struct slab_bytes {
  uint64_t streamed, all, most;
} slab_bytes;

static slab_bytes bytes_of_slabs(const amped_plan *plan, const rank_need *needs) {
  slab_bytes b = {0, 0, 0};
  for (int p = 0; p < plan->nranks; p++) {
    const uint64_t bytes = needs[p].required.copy_bytes[0];
    b.streamed += needs[p].required.streamed_bytes[0];
    b.all += bytes;
    b.most = bytes > b.most ? bytes : b.most;
  }
  return b;
}

/* Words: the slabs of the ranks, how a sweep visits them, and what is streamed. */
static void add_visits(const amped_plan *plan, const slab_bytes *b, double passes, amped_facts *f) {
  const amped_dense_plan *d = &plan->dense;
  char text[2][32];
  amped_fact_words(f,
                   "plan: slabs of mode %d, at most %" PRIu64 " of its %" PRIu64
                   " indices and %s a rank; %s %s contracted at a time, %.3g passes over them a "
                   "sweep, each to at most %s\n",
                   d->slab_mode + 1, plan->modes[d->slab_mode].rows.block_rows,
                   plan->dims[d->slab_mode], amped_format_bytes(text[0], b->most),
                   amped_dense_tree_name(d->tree), d->tree == AMPED_TREE_ONE ? "is" : "are", passes,
                   amped_format_bytes(text[1], amped_dense_largest(d, plan->order, plan->ncomps) *
                                                   (uint64_t)plan->value_type));
  if (b->streamed > 0)
    amped_fact_words(f, "slabs: %s stay on the devices, %s are streamed in every pass",
                     amped_format_bytes(text[0], b->all - b->streamed),
                     amped_format_bytes(text[1], b->streamed));
  else if (amped_log_is_verbose())
    amped_fact_words(f, "slabs: %s, all resident", amped_format_bytes(text[0], b->all));
}

/* The slabs of a dense tensor. */
static void add_slabs(const amped_session *session, const rank_need *needs, amped_facts *f) {
  const amped_plan *plan = &session->plan;
  const amped_dense_plan *d = &plan->dense;
  const slab_bytes b = bytes_of_slabs(plan, needs);
  const double passes = amped_dense_passes(d, plan->order);
  char dims[AMPED_DIMS_TEXT];
  char bytes[32];
  amped_facts_begin(f, NULL);
  amped_fact(f, "cell_type", json_string(amped_cell_name(d->type)),
             "tensor: %s, dense, %" PRIu64 " cells of %s (%s)\n",
             amped_format_dims(dims, plan->order, plan->dims), plan->nnz, amped_cell_name(d->type),
             amped_format_bytes(bytes, plan->nnz * amped_cell_bytes(d->type)));
  amped_fact_json(f, "slab_mode", json_integer(d->slab_mode));
  amped_fact_json(f, "outside", json_boolean(d->outside));
  amped_fact_json(f, "contracts", json_string(amped_dense_tree_name(d->tree)));
  amped_fact_json(f, "passes_a_sweep", amped_json_number(passes));
  amped_fact_json(f, "resident_bytes", amped_json_count(b.all - b.streamed));
  amped_fact_json(f, "streamed_bytes", amped_json_count(b.streamed));
  if (d->outside)
    amped_fact_words(f, "plan: the cells stay in the file, and slices of mode %d are read from it",
                     d->slab_mode + 1);
  else
    add_visits(plan, &b, passes, f);
}

/* Bytes of copies on all ranks. */
static double all_copy_bytes(const amped_plan *plan, const rank_need *needs) {
  double bytes = 0.0;
  for (int p = 0; p < plan->nranks; p++)
    for (int m = 0; m < plan->order; m++)
      bytes += (double)needs[p].required.copy_bytes[m];
  return bytes;
}

static const char *describe_copies(bool one) {
  return one ? "one copy for all modes" : "a copy for each mode";
}

/* A choice of copies, with its size. */
static void add_choice(const amped_session *session, int i, amped_facts *f) {
  const amped_copies_choice *c = &session->choice;
  const bool timed = session->worker.backend->streams;
  const double ms = c->best[i].sec * 1e3;
  char text[32];
  amped_facts_begin(f, NULL);
  amped_fact(f, "kept", json_string(c->best[i].one ? "one" : "all"), "choice %d: %s", i + 1,
             describe_copies(c->best[i].one));
  amped_fact(f, "rank_bytes", amped_json_number(c->best[i].bytes), ": %s a rank",
             amped_format_bytes(text, (uint64_t)c->best[i].bytes));
  amped_fact_json(f, "rank_streamed_bytes", amped_json_number(c->best[i].streamed_bytes));
  amped_fact_json(f, "predicted_ms", timed ? amped_json_number(ms) : json_null());
  if (timed)
    amped_fact_words(f, ", %s streamed, %.3g ms a sweep",
                     amped_format_bytes(text, (uint64_t)c->best[i].streamed_bytes), ms);
}

static void say_shared_copy(const amped_session *session, const rank_need *needs) {
  const amped_plan *plan = &session->plan;
  const double bytes = all_copy_bytes(plan, needs);
  const bool chosen = session->choice.all_sec > 0.0;
  char a[32];
  char b[32];
  char why[128] = "";
  if (plan->boxed < 0)
    return;
  if (plan->nranks > 1 && session->options->plan.parts > 1)
    amped_say_verbose("--overlap: rows of modes with a copy travel in parts; sums of the other "
                      "modes travel when they are complete");
  if (chosen)
    (void)snprintf(why, sizeof why, ", of which %s streamed (%.3g ms a sweep against %.3g)",
                   amped_format_bytes(b, session->choice.all_streamed),
                   session->choice.all_sec * 1e3, session->choice.sec * 1e3);
  else if (session->options->backend.copies == AMPED_COPIES_AUTO)
    (void)snprintf(why, sizeof why, ", which does not fit");
  amped_say("%s: %s, %.1f bytes a nonzero; a copy for each mode would take some %s%s",
            describe_copies(true), amped_format_bytes(a, (uint64_t)bytes),
            bytes / (double)plan->nnz,
            amped_format_bytes(b, (uint64_t)amped_plan_packed_bytes(plan)), why);
}

/* Is the norm known before loading? Cells are not read then, and a list of another program may have
 * several parts of a value. */
static bool knows_norm(const amped_session *session) {
  const amped_tensor_info *info = amped_session_info(session);
  return session->plan.norm_squared > 0.0 &&
         (!session->is_list || info->has_hash || info->is_merged);
}

/* The copies of a sparse tensor. `tables`: the modes and ranks are printed in full. */
static void say_copies(const amped_session *session, const rank_need *needs, bool tables) {
  const amped_plan *plan = &session->plan;
  char dims[AMPED_DIMS_TEXT];
  char norm[32] = "";
  if (knows_norm(session))
    (void)snprintf(norm, sizeof norm, ", norm %.6g", sqrt(plan->norm_squared));
  amped_say("tensor: %s, %" PRIu64 " nonzeros%s", amped_format_dims(dims, plan->order, plan->dims),
            plan->nnz, norm);
  say_balance(plan);
  say_shared_copy(session, needs);
  if (!tables)
    say_streamed(plan, needs);
}

/* The need of the node whose ranks need most together. */
static const amped_memory_need *largest_node(const amped_session *session, const rank_need *needs) {
  const amped_memory_need *worst = &needs[0].need;
  for (int p = 1; p < session->plan.nranks; p++)
    if (needs[p].need.node_bytes > worst->node_bytes)
      worst = &needs[p].need;
  return worst;
}

/* The first line about memory that is too small, or NULL. */
static const char *lacking_of(const amped_session *session, const rank_need *needs) {
  for (int p = 0; p < session->plan.nranks; p++)
    if (needs[p].need.lacking[0] != '\0')
      return needs[p].need.lacking;
  return NULL;
}

/* Bytes of memory of the rank that needs most; and bytes of the node that needs most. */
static void say_memory(const amped_session *session, const rank_need *needs) {
  const amped_memory_need *worst = &needs[0].need;
  const amped_memory_need *node = largest_node(session, needs);
  int rank = 0;
  char text[3][32];
  char together[64] = "";
  for (int p = 1; p < session->plan.nranks; p++)
    if (needs[p].need.device_bytes + needs[p].need.host_bytes >
        worst->device_bytes + worst->host_bytes) {
      worst = &needs[p].need;
      rank = p;
    }
  if (node->node_ranks > 1)
    (void)snprintf(together, sizeof together, ", %s for the %" PRIu64 " ranks of a node",
                   amped_format_bytes(text[0], node->node_bytes), node->node_ranks);
  if (worst->device_bytes > 0)
    amped_say("memory: at most %s of %s on a device, %s on the host of a rank%s (%s free)",
              amped_format_bytes(text[0], worst->device_bytes),
              amped_format_bytes(text[1], worst->device_budget),
              amped_format_bytes(text[2], worst->host_bytes), together,
              amped_format_bytes((char[32]){""}, node->node_budget));
  else
    amped_say("memory: at most %s a rank%s (%s free)",
              amped_format_bytes(text[0], worst->host_bytes), together,
              amped_format_bytes(text[1], node->node_budget));
  if (session->options->plan_only && amped_log_is_verbose())
    amped_memory_rows_say(&worst->rows, rank);
}

/* Append a row to the list `key`; print its words if asked. */
static void append(amped_facts *f, const char *key, amped_facts *row, bool says) {
  if (!says)
    amped_facts_silence(row);
  amped_facts_row(f, key, row);
}

/* The copies of a sparse tensor. */
static void add_copies(const amped_session *session, const rank_need *needs, bool says,
                       amped_facts *f) {
  const amped_plan *plan = &session->plan;
  const amped_copies_choice *c = &session->choice;
  const bool chosen = c->all_sec > 0.0;
  uint64_t streamed = 0;
  amped_facts row;
  for (int p = 0; p < plan->nranks; p++)
    for (int m = 0; m < plan->order; m++)
      streamed += needs[p].required.streamed_bytes[m];
  amped_facts_begin(f, NULL);
  amped_fact_json(f, "kept", json_string(plan->boxed < 0 ? "all" : "one"));
  amped_fact_json(f, "bytes", amped_json_number(all_copy_bytes(plan, needs)));
  amped_fact_json(f, "all_bytes",
                  amped_json_number(plan->boxed < 0 ? all_copy_bytes(plan, needs)
                                                    : amped_plan_packed_bytes(plan)));
  amped_fact_json(f, "streamed_bytes", amped_json_count(streamed));
  amped_fact_json(f, "predicted_ms", chosen ? amped_json_number(c->sec * 1e3) : json_null());
  amped_fact_json(f, "all_predicted_ms",
                  chosen ? amped_json_number(c->all_sec * 1e3) : json_null());
  amped_fact_json(f, "choices", json_array());
  for (int i = 0; i < c->count; i++) {
    add_choice(session, i, &row);
    append(f, "choices", &row, says);
  }
}

/* The tables of a sparse plan: its modes and ranks. */
static void add_tables(const amped_session *session, const rank_need *needs, bool says,
                       amped_facts *f) {
  const amped_plan *plan = &session->plan;
  amped_facts row;
  char text[32];
  if (says)
    amped_say("mode           dim     iDps     rows/rank   least nnz      most nnz   imbalance    "
              "bytes/rank  bytes/nnz  copy");
  for (int m = 0; m < plan->order; m++) {
    add_mode(session, m, needs, &row);
    append(f, "modes", &row, says);
  }
  if (says)
    say_splits(plan);
  for (int p = 0; p < plan->nranks; p++) {
    add_rank(session, p, &needs[p], &row);
    append(f, "ranks", &row, says && p < LISTED_RANKS);
  }
  if (says && plan->nranks > LISTED_RANKS)
    amped_say("(and %d more ranks)", plan->nranks - LISTED_RANKS);
  if (says)
    amped_say("factors and MTTKRP result: %s on every rank",
              amped_format_bytes(text, amped_plan_factor_bytes(plan)));
}

/* The groups of models; null: the command makes one model. */
static void add_groups(const amped_session *session, amped_facts *f) {
  const amped_groups *g = &session->groups;
  amped_facts part;
  if (g->models < 2) {
    amped_fact_json(f, "side_by_side", json_null());
    return;
  }
  amped_facts_begin(&part, NULL);
  amped_fact(&part, "models", json_integer(g->models), "%d models", g->models);
  amped_fact_json(&part, "groups", json_integer(g->count));
  amped_fact_json(&part, "largest", json_integer(g->largest));
  amped_fact_json(&part, "columns", json_integer(g->columns));
  amped_fact_json(&part, "saved", amped_json_number(g->saved));
  if (g->largest == 1)
    amped_fact_words(&part, " one by one");
  else
    amped_fact_words(&part, " in %d group%s: at most %d side by side, in %d columns", g->count,
                     g->count == 1 ? "" : "s", g->largest, g->columns);
  if (g->saved > 1.0 && g->largest > 1)
    amped_fact_words(&part, "; predicted: %.1f times less time than one by one", g->saved);
  amped_facts_take(f, "side_by_side", &part);
  amped_facts_say(f);
}

/* A rough number of seconds: two digits, or all digits of a large number. */
static const char *seconds_text(char text[32], double seconds) {
  (void)snprintf(text, 32, seconds < 100.0 ? "%.2g" : "%.0f", seconds);
  return text;
}

/* The expected time of the run, with --plan; null: it is not known. */
static void add_expected(const amped_session *session, amped_facts *f) {
  const amped_expected *e = &session->expected;
  const int models = session->groups.models;
  char text[32];
  amped_facts part;
  if (e->sweep_sec == 0.0) {
    amped_fact_json(f, "expected", json_null());
    return;
  }
  amped_facts_begin(&part, NULL);
  amped_fact(&part, "sweep_sec", amped_json_number(e->sweep_sec), "time: about %s s a sweep",
             seconds_text(text, e->sweep_sec));
  if (models > 1)
    amped_fact_words(&part, " of all %d models", models);
  amped_fact(&part, "sweeps", amped_json_count(e->sweeps), ", %s s for %" PRIu64 " sweeps",
             seconds_text(text, e->sweep_sec * (double)e->sweeps), e->sweeps);
  amped_fact_words(&part,
                   "; only memory traffic counts, not solving rows (up to ten times as long on CPU "
                   "cores)%s and loading, and --tol may end sweeps earlier",
                   session->comm.nranks > 1 ? ", the exchange of rows" : "");
  amped_facts_take(f, "expected", &part);
  amped_facts_say(f);
}

static amped_status tell_plan(amped_session *session, const rank_need *needs) {
  const amped_plan *plan = &session->plan;
  const bool tables = !session->is_dense && (session->options->plan_only || amped_log_is_verbose());
  amped_facts f;
  amped_facts part;
  amped_facts_begin(&f, "plan");
  amped_fact_json(&f, "placement", json_string(amped_placement_names[plan->placement]));
  amped_fact_json(&f, "nnz", amped_json_count(plan->nnz));
  amped_fact_json(&f, "norm",
                  knows_norm(session) ? amped_json_number(sqrt(plan->norm_squared)) : json_null());
  if (session->is_dense) {
    add_slabs(session, needs, &part);
    amped_facts_take(&f, "dense", &part);
    amped_facts_say(&f);
    amped_fact_json(&f, "copies", json_null());
  } else {
    say_copies(session, needs, tables);
    amped_fact_json(&f, "dense", json_null());
    add_copies(session, needs, tables, &part);
    amped_facts_take(&f, "copies", &part);
  }
  add_groups(session, &f);
  if (session->options->ncomps_count > 1 && session->groups.largest <= 1)
    amped_say("memory is planned for R = %d, the largest", session->options->ncomps);
  add_tables(session, needs, tables, &f);
  say_rank_bound(plan, session->options->ncomps);
  say_memory(session, needs);
  add_expected(session, &f);
  const amped_memory_need *node = largest_node(session, needs);
  const char *lacking = lacking_of(session, needs);
  amped_fact_json(&f, "node_host_bytes", amped_json_count(node->node_bytes));
  amped_fact_json(&f, "node_free_bytes", amped_json_count(node->node_budget));
  amped_fact_json(&f, "lacking", lacking != NULL ? amped_json_string(lacking) : json_null());
  if (lacking != NULL)
    amped_warn("the plan does not fit this machine: %s", lacking);
  return amped_facts_write(&f, session->json);
}

amped_status amped_report_plan(amped_session *session, const amped_memory_need *need) {
  const amped_comm *comm = &session->comm;
  rank_need mine = {*need, session->required};
  rank_need *needs = NULL;
  amped_status status =
      amped_alloc(&needs, (uint64_t)comm->nranks, sizeof *needs, "the memory needs of ranks");
  status = amped_comm_agree(comm, status);
  if (status == AMPED_OK) {
    AMPED_MPI(comm,
              MPI_Gather(&mine, sizeof mine, MPI_BYTE, needs, sizeof mine, MPI_BYTE, 0, comm->mpi));
    if (comm->rank == 0)
      status = tell_plan(session, needs);
    status = amped_comm_agree(comm, status);
  }
  amped_free(needs);
  return status;
}

/* Remedy for a slow exchange. It depends on the chosen all-gather algorithm, the ranks' devices and
 * the nodes. */
static const char *remedy(const amped_session *session) {
  const amped_comm *comm = &session->comm;
  amped_comm by_itself = *comm;
  by_itself.way = AMPED_WAY_AUTO;
  if (amped_allgather_way_of(&by_itself) != amped_allgather_way_of(comm))
    return "leave out --exchange";
  if (comm->chosen[0] != '\0')
    return "unset the variable that chose MPI's algorithm (see -v)";
  if (session->worker.backend->device_pointers && !comm->cuda_aware)
    return "use an MPI that takes device memory (CUDA-aware)";
  if (comm->nodes > 1)
    return "check which network MPI uses (Open MPI: btl_tcp_if_include; UCX: UCX_NET_DEVICES)";
  return "check that MPI may copy from GPU to GPU (UCX_TLS with cuda_copy,cuda_ipc; containers "
         "with --ipc=host), or build with --disable-cuda-aware-mpi";
}

/* Words with -v on several ranks: how rows travel, by which library, and how fast. */
static void add_verbose(amped_session *session, const amped_link_rate *rate, amped_facts *f) {
  const amped_comm *comm = &session->comm;
  const char *scheme = session->worker.backend->device_pointers ? getenv("UCX_RNDV_SCHEME") : NULL;
  const char *chooser = amped_comm_chooser(comm);
  char bytes[32];
  if (chooser != NULL)
    amped_fact_words(f, " by %s", chooser);
  amped_fact_words(f, "; %s", comm->library);
  if (scheme != NULL)
    amped_fact_words(f, ", UCX_RNDV_SCHEME=%s", scheme);
  amped_fact_words(f, ", %d node%s; %.3g GB/s a rank", comm->nodes, comm->nodes == 1 ? "" : "s",
                   1e-9 * rate->exchange);
  if (rate->link > 0.0)
    amped_fact_words(f, ", of the %.3g that %s", 1e-9 * rate->link,
                     rate->rails.rails > 1   ? "a rail reaches while all send"
                     : rate->rails.rails > 0 ? "neighbours reach alone"
                                             : "copies to the host reach");
  amped_fact_words(f, " (%s)", amped_format_bytes(bytes, rate->bytes));
}

/* A rate in GB/s; null if it was not measured. */
static json_t *json_rate(double rate) {
  return rate > 0.0 ? amped_json_number(1e-9 * rate) : json_null();
}

/* Warn if the user chose a way that nothing travels on. */
void amped_report_way(const amped_session *session) {
  const amped_comm *comm = &session->comm;
  if (comm->way == AMPED_WAY_AUTO)
    return;
  if (comm->nranks == 1)
    amped_warn("--exchange=%s has no effect: there is one rank", amped_way_names[comm->way]);
  else if (comm->nodes == 1 && comm->way == AMPED_WAY_RAILS)
    amped_warn("--exchange=rails has no effect: all ranks are on one node");
  else if (comm->nodes == 1 && session->worker.backend->device_pointers && !comm->cuda_aware)
    amped_warn("--exchange=%s has no effect: this MPI takes no device memory, so rows go through "
               "memory that the ranks of the node share",
               amped_way_names[comm->way]);
}

amped_status amped_report_exchange(amped_session *session) {
  const amped_comm *comm = &session->comm;
  const amped_context context = amped_session_context(session);
  const char *method = amped_exchange_describe(comm, session->worker.backend->device_pointers);
  const char *chooser = amped_comm_chooser(comm);
  amped_link_rate rate;
  amped_facts f;
  AMPED_TRY(amped_link_rate_measure(&context, &rate));
  amped_facts_begin(&f, "exchange");
  amped_fact(&f, "method", json_string(method), "exchange: %s", method);
  if (comm->nranks > 1 && amped_log_is_verbose())
    add_verbose(session, &rate, &f);
  if (rate.rails.rails > 0)
    amped_fact_words(&f, "; ");
  amped_rail_facts(&rate.rails, &f);
  amped_fact_json(&f, "mpi", json_string(comm->library));
  amped_fact_json(&f, "chosen_by", chooser != NULL ? json_string(chooser) : json_null());
  amped_fact_json(&f, "nodes", json_integer(comm->nodes));
  amped_fact_json(&f, "bytes", amped_json_count(rate.bytes));
  amped_fact_json(&f, "gb_per_second", json_rate(rate.exchange));
  amped_fact_json(&f, "link_gb_per_second", json_rate(rate.link));
  amped_facts_say(&f);
  amped_rail_facts_warn(&rate.rails);
  amped_report_way(session);
  if (amped_link_is_slow(&rate))
    amped_warn("factor rows move at %.3g GB/s a rank, but %.3g are possible %s; %s",
               1e-9 * rate.exchange, 1e-9 * rate.link,
               rate.rails.rails > 1   ? "on a rail while all send"
               : rate.rails.rails > 0 ? "between neighbours of two nodes"
                                      : "in copies to the host",
               remedy(session));
  return amped_comm_agree(comm, amped_facts_write(&f, session->json));
}

void amped_report_distributed(amped_session *session) {
  amped_spread s = amped_comm_spread(&session->comm, session->distribute_sec);
  const int copies = amped_plan_copies(&session->plan);
  double nonzeros = (double)session->plan.nnz * copies;
  char rate[32];
  amped_note("read and distributed %d cop%s in %.2f s (%s nonzeros/s)", copies,
             copies == 1 ? "y" : "ies", s.max,
             amped_format_count(rate, nonzeros / (s.max > 0.0 ? s.max : 1e-9)));
  if (amped_log_is_verbose())
    amped_report_memory(session);
}

void amped_report_cells(amped_session *session, const amped_dense_stats *stats) {
  const amped_plan *plan = &session->plan;
  const amped_spread s = amped_comm_spread(&session->comm, session->distribute_sec);
  const double bytes = (double)plan->nnz * (double)amped_cell_bytes(plan->dense.type);
  char size[32];
  amped_note("%s %s in %.2f s (%.3g GB/s); %" PRIu64 " cells (%.3g %%) are not 0, norm %.6g",
             session->options->cells.made ? "made" : "read",
             amped_format_bytes(size, (uint64_t)bytes), s.max,
             1e-9 * bytes / (s.max > 0.0 ? s.max : 1e-9), stats->nnz,
             100.0 * (double)stats->nnz / (double)plan->nnz, sqrt(plan->norm_squared));
  if (amped_log_is_verbose())
    amped_report_memory(session);
}

void amped_report_memory(amped_session *session) {
  struct rusage usage;
  double bytes = 0.0;
  double root = 0.0;
  char a[32];
  char b[32];
  if (getrusage(RUSAGE_SELF, &usage) == 0)
    bytes = 1024.0 * (double)usage.ru_maxrss;
  root = session->comm.rank == 0 ? bytes : 0.0;
  root = amped_comm_spread(&session->comm, root).max;
  amped_spread others = amped_comm_spread(&session->comm, session->comm.rank == 0 ? 0.0 : bytes);
  if (session->comm.nranks == 1)
    amped_say_verbose("peak host memory: %s", amped_format_bytes(a, (uint64_t)root));
  else
    amped_say_verbose("peak host memory: rank 0 %s, any other rank at most %s",
                      amped_format_bytes(a, (uint64_t)root),
                      amped_format_bytes(b, (uint64_t)others.max));
}

amped_metric_key amped_metric_key_of(const char *metric, const char *what) {
  amped_metric_key key;
  (void)snprintf(key.text, sizeof key.text, "%s_%s", metric, what);
  return key;
}

double amped_report_part(double seconds) {
  return 1e-4 * floor(1e4 * seconds);
}

/* Is a line printed for this sweep? In a log: all sweeps up to 20, every 10th up to 200, every
 * 100th up to 2000, ... */
static bool has_line(uint64_t sweep, uint64_t every) {
  if (every == AMPED_NO_LINES)
    return false;
  if (every > 0)
    return sweep == 1 || sweep % every == 0;
  if (amped_log_on_terminal())
    return true;
  for (every = 1; sweep / 20 > every || sweep > 20 * every; every *= 10)
    continue;
  return sweep % every == 0;
}

bool amped_report_has_line(uint64_t sweep, uint64_t every) {
  if (sweep == 21 && every == 0 && !amped_log_on_terminal())
    amped_say(
        "(from here on fewer sweeps have a line: --every=1 prints all sweeps, --every=N each Nth)");
  return has_line(sweep, every);
}

void amped_report_sweep_head(amped_facts *f, const amped_sweep *s) {
  amped_facts_begin(f, "iteration");
  amped_fact(f, "sweep", amped_json_count(s->number), "sweep %3" PRIu64, s->number);
  amped_fact_json(f, "metric", json_string(s->metric));
}

void amped_report_sweep_times(amped_facts *f, const amped_spread *mttkrp, double solve,
                              double exchange) {
  amped_fact_json(f, "mttkrp_seconds",
                  json_pack("{s:f, s:f, s:f, s:i}", "min", mttkrp->min, "mean", mttkrp->mean, "max",
                            mttkrp->max, "max_rank", mttkrp->max_rank));
  amped_fact_json(f, "solve_seconds", amped_json_number(solve));
  amped_fact_json(f, "exchange_seconds", amped_json_number(exchange));
}

void amped_report_sweep_facts(const amped_session *session, const amped_sweep *s, uint64_t every,
                              amped_facts *out) {
  const amped_comm *comm = &session->comm;
  /* A sweep lasts as long as on the slowest rank. On every rank the parts sum to at most the sweep,
   * so their means over ranks do, too. The spread of mttkrp shows the balance. Its maximum is not
   * used as a part: the other ranks wait for the slowest in solve, which sums the grams, or in
   * exchange. If rows travel in parts, mttkrp is the time that is not covered by solve and exchange
   * of earlier parts. */
  enum { MTTKRP, SOLVE, EXCHANGE, TOTAL, TIMES };
  const double times[] = {[MTTKRP] = s->times.mttkrp,
                          [SOLVE] = s->times.solve,
                          [EXCHANGE] = s->times.exchange,
                          [TOTAL] = s->times.total};
  amped_spread t[TIMES];
  amped_comm_spreads(comm, TIMES, times, t);
  amped_report_sweep_head(out, s);
  amped_fact(out, s->metric, amped_json_number(s->value), "  %s %.8f  change ", s->metric,
             s->value);
  if (s->number > 1)
    amped_fact(out, "change", amped_json_number(s->change), "%+.2e", s->change);
  else
    amped_fact(out, "change", json_null(), "%9s", "-"); /* the width of a number */
  amped_fact_json(out, amped_metric_key_of(s->metric, "noise").text, amped_json_number(s->noise));
  amped_fact(out, "seconds", amped_json_number(t[TOTAL].max), "  %.4f s", t[TOTAL].max);
  amped_fact_words(out, " (mttkrp %.4f, solve %.4f, exchange %.4f)",
                   amped_report_part(t[MTTKRP].mean), amped_report_part(t[SOLVE].mean),
                   amped_report_part(t[EXCHANGE].mean));
  amped_report_sweep_times(out, &t[MTTKRP], t[SOLVE].mean, t[EXCHANGE].mean);
  amped_fact(out, s->facts_name,
             json_object_size(s->facts.json) > 0 ? json_incref(s->facts.json) : json_null(), "%s",
             s->facts.words);
  if (!isnan(s->objective) && s->facts.words[0] == '\0')
    amped_fact_words(out, "  objective %.6g", s->objective);
  amped_fact_json(out, "objective", amped_json_number(s->objective));
  if (!amped_report_has_line(s->number, every))
    amped_facts_silence(out);
}

amped_status amped_report_sweep(amped_session *session, const amped_sweep *s, uint64_t every) {
  amped_facts f;
  amped_report_sweep_facts(session, s, every, &f);
  amped_facts_say(&f);
  return amped_comm_agree(&session->comm, amped_facts_write(&f, session->json));
}
