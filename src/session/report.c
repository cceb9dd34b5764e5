/* Prints and writes the start, the plan, the exchange and the sweeps of a run. */
#include "session/report.h"

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
      amped_say("rank %d: %s", p, places[p]);
    else
      amped_say("ranks %d-%d: %s each", p, q - 1, places[p]);
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

/* Precision of products with a dense tensor's cells; NULL: the tensor is sparse. */
static const char *products_of(const amped_session *session) {
  if (!session->is_dense)
    return NULL;
  return session->worker.tf32 ? "tf32" : "exact";
}

amped_status amped_report_start(amped_session *session) {
  const amped_session_options *o = session->options;
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
  if (comm->rank == 0) {
    char ncomps[8 * AMPED_MAX_NCOMPS_COUNT];
    amped_say("amped_mpi %s: %s of %s, R = %s, %s, on %d rank%s of %d node%s", amped_version(),
              o->command, o->input, list_ncomps(ncomps, sizeof ncomps, o),
              amped_vtype_name(o->precision), comm->nranks, comm->nranks == 1 ? "" : "s",
              comm->nodes, comm->nodes == 1 ? "" : "s");
    if (session->worker.tf32)
      amped_say("products: cells and factors are rounded to TF32 (10 bits); the last fit is exact");
    if (o->ncomps_count > 1)
      amped_say("memory is planned for R = %d, the largest", o->ncomps);
    say_places(session, places);
    if (binding.idle > 0)
      amped_say("note: mpirun bound %s to %d of %d cores and leaves the others idle; mpirun "
                "--bind-to none lets all compute",
                comm->nranks == 1 ? "the rank" : "the ranks of a node",
                binding.cores - binding.idle, binding.cores);
    if (session->json != NULL) {
      json_t *list = json_array();
      for (int p = 0; p < comm->nranks; p++)
        (void)json_array_append_new(list, amped_json_text(places[p], strlen(places[p])));
      status = amped_json_line(
          session->json,
          json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:i, s:o, s:i, s:s, s:s?, s:i, s:i, s:b, s:o}",
                    "event", "start", "version", amped_version(), "revision", amped_revision(),
                    "command", o->command, "input", amped_json_text(o->input, strlen(o->input)),
                    "backend", session->worker.backend->name, "rank", o->ncomps, "rank_list",
                    json_ncomps(o), "starts", o->starts, "precision",
                    amped_vtype_name(o->precision), "products", products_of(session), "nranks",
                    comm->nranks, "nodes", comm->nodes, "cuda_aware", comm->cuda_aware ? 1 : 0,
                    "ranks", list));
    }
  }
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

static void say_mode(const amped_session *session, int mode, const rank_need *needs) {
  const amped_plan *plan = &session->plan;
  const amped_mode_plan *m = &plan->modes[mode];
  uint64_t least = UINT64_MAX;
  uint64_t most = 0;
  uint64_t most_bytes = 0;
  double all_bytes = 0.0;
  char lo[32];
  char hi[32];
  char bytes[32];
  char place[96];
  for (int p = 0; p < plan->nranks; p++) {
    uint64_t copy = needs[p].required.copy_bytes[mode];
    least = m->copy.rank_nnz[p] < least ? m->copy.rank_nnz[p] : least;
    most = m->copy.rank_nnz[p] > most ? m->copy.rank_nnz[p] : most;
    most_bytes = copy > most_bytes ? copy : most_bytes;
    all_bytes += (double)copy;
  }
  amped_say("%4d  %12" PRIu64 "  %7" PRIu64 "  %12" PRIu64
            "  %12s  %12s  %9.3f %%  %12s  %9.2f  %s",
            mode + 1, m->rows.dim, m->rows.idp_count, m->rows.block_rows,
            amped_format_count(lo, (double)least), amped_format_count(hi, (double)most),
            amped_plan_imbalance(plan, mode), amped_format_bytes(bytes, most_bytes),
            all_bytes / (double)plan->nnz, describe_place(place, sizeof place, plan, mode, needs));
}

static void say_rank(const amped_session *session, int p, const rank_need *n) {
  const amped_plan *plan = &session->plan;
  char line[512];
  char a[32];
  char b[32];
  size_t at = (size_t)snprintf(line, sizeof line, "rank %d: nonzeros", p);
  for (int m = 0; m < plan->order && at < sizeof line; m++)
    at +=
        (size_t)snprintf(line + at, sizeof line - at, " %" PRIu64, plan->modes[m].copy.rank_nnz[p]);
  amped_say("%s; host %s%s%s", line, amped_format_bytes(a, n->need.host_bytes),
            n->need.device_bytes > 0 ? ", device " : "",
            n->need.device_bytes > 0 ? amped_format_bytes(b, n->need.device_bytes) : "");
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
    amped_say("note: R = %d is more than the tensor can use: its %" PRIu64
              " nonzeros are a sum of as many components; choose a smaller --rank",
              ncomps, bound.ncomps);
  else
    amped_say("note: R = %d is more than the tensor can use: any tensor of %s is a sum of %" PRIu64
              " components (all dimensions but the longest, multiplied); choose a smaller --rank",
              ncomps, amped_format_dims(dims, plan->order, plan->dims), bound.ncomps);
}

/* Bytes of the largest slab of any rank. */
static uint64_t most_slab_bytes(const amped_plan *plan, const rank_need *needs) {
  uint64_t most = 0;
  for (int p = 0; p < plan->nranks; p++)
    most = needs[p].required.copy_bytes[0] > most ? needs[p].required.copy_bytes[0] : most;
  return most;
}

/* Print how many bytes of slabs stay on the devices and how many are streamed. */
static void say_streamed_slabs(const amped_plan *plan, const rank_need *needs) {
  uint64_t streamed = 0;
  uint64_t all = 0;
  char a[32];
  char b[32];
  for (int p = 0; p < plan->nranks; p++) {
    streamed += needs[p].required.streamed_bytes[0];
    all += needs[p].required.copy_bytes[0];
  }
  if (streamed > 0)
    amped_say("slabs: %s stay on the devices, %s are streamed in every pass",
              amped_format_bytes(a, all - streamed), amped_format_bytes(b, streamed));
  else
    amped_say_verbose("slabs: %s, all resident", amped_format_bytes(a, all));
}

/* Print the slabs of a dense tensor, and how a sweep visits them. */
static void say_slabs(const amped_session *session, const rank_need *needs) {
  const amped_plan *plan = &session->plan;
  const amped_dense_plan *d = &plan->dense;
  char dims[AMPED_DIMS_TEXT];
  char a[32];
  char b[32];
  char how[96];
  amped_say("tensor: %s, dense, %" PRIu64 " cells of %s (%s)",
            amped_format_dims(dims, plan->order, plan->dims), plan->nnz, amped_cell_name(d->type),
            amped_format_bytes(a, plan->nnz * amped_cell_bytes(d->type)));
  if (d->outside) {
    amped_say("plan: the cells stay in the file, and slices of mode %d are read from it",
              d->slab_mode + 1);
    return;
  }
  (void)snprintf(how, sizeof how, "%s %s contracted at a time, %.3g passes over them a sweep",
                 amped_dense_tree_name(d->tree), d->tree == AMPED_TREE_ONE ? "is" : "are",
                 amped_dense_passes(d, plan->order));
  amped_say("plan: slabs of mode %d, at most %" PRIu64 " of its %" PRIu64
            " indices and %s a rank; %s, each to at most %s",
            d->slab_mode + 1, plan->modes[d->slab_mode].rows.block_rows, plan->dims[d->slab_mode],
            amped_format_bytes(a, most_slab_bytes(plan, needs)), how,
            amped_format_bytes(b, amped_dense_largest(d, plan->order, plan->ncomps) *
                                      (uint64_t)plan->value_type));
  say_streamed_slabs(plan, needs);
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

/* Print the choices of copies, with their sizes. */
static void say_choices(const amped_session *session) {
  const amped_copies_choice *c = &session->choice;
  char bytes[32];
  for (int i = 0; i < c->count; i++) {
    char sweep[96] = "";
    if (session->worker.backend->streams)
      (void)snprintf(sweep, sizeof sweep, ", %s streamed, %.3g ms a sweep",
                     amped_format_bytes(bytes, (uint64_t)c->best[i].streamed_bytes),
                     c->best[i].sec * 1e3);
    amped_say("choice %d: %s: %s a rank%s", i + 1, describe_copies(c->best[i].one),
              amped_format_bytes(bytes, (uint64_t)c->best[i].bytes), sweep);
  }
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
  amped_say("%s: %s, %.1f bytes a nonzero; a copy for each mode would take %s%s",
            describe_copies(true), amped_format_bytes(a, (uint64_t)bytes),
            bytes / (double)plan->nnz,
            amped_format_bytes(b, (uint64_t)amped_plan_packed_bytes(plan)), why);
}

/* Print the copies of a sparse tensor. */
static void say_copies(const amped_session *session, const rank_need *needs) {
  const amped_plan *plan = &session->plan;
  char dims[AMPED_DIMS_TEXT];
  char a[32];
  amped_say("tensor: %s, %" PRIu64 " nonzeros, norm %.6g",
            amped_format_dims(dims, plan->order, plan->dims), plan->nnz, sqrt(plan->norm_squared));
  say_balance(plan);
  say_shared_copy(session, needs);
  if (!session->options->plan_only && !amped_log_is_verbose()) {
    say_streamed(plan, needs);
  } else {
    say_choices(session);
    amped_say("mode           dim     iDps     rows/rank   least nnz      most nnz   imbalance    "
              "bytes/rank  bytes/nnz  copy");
    for (int m = 0; m < plan->order; m++)
      say_mode(session, m, needs);
    say_splits(plan);
    for (int p = 0; p < plan->nranks && p < LISTED_RANKS; p++)
      say_rank(session, p, &needs[p]);
    if (plan->nranks > LISTED_RANKS)
      amped_say("(and %d more ranks)", plan->nranks - LISTED_RANKS);
    amped_say("factors and MTTKRP result: %s on every rank",
              amped_format_bytes(a, amped_plan_factor_bytes(plan)));
  }
}

static void say_plan(const amped_session *session, const rank_need *needs) {
  const amped_plan *plan = &session->plan;
  const rank_need *worst = &needs[0];
  char a[32];
  char b[32];
  char c[32];
  char d[32];
  if (session->is_dense)
    say_slabs(session, needs);
  else
    say_copies(session, needs);
  say_rank_bound(plan, session->options->ncomps);
  for (int p = 1; p < plan->nranks; p++)
    if (needs[p].need.device_bytes + needs[p].need.host_bytes >
        worst->need.device_bytes + worst->need.host_bytes)
      worst = &needs[p];
  if (worst->need.device_bytes > 0)
    amped_say("memory: at most %s of %s on a device, %s on the host of a rank (%s free)",
              amped_format_bytes(a, worst->need.device_bytes),
              amped_format_bytes(b, worst->need.device_budget),
              amped_format_bytes(c, worst->need.host_bytes),
              amped_format_bytes(d, worst->need.host_budget));
  else
    amped_say("memory: at most %s a rank (%s free)", amped_format_bytes(a, worst->need.host_bytes),
              amped_format_bytes(b, worst->need.host_budget));
}

static json_t *json_plan_mode(const amped_plan *plan, int m, const rank_need *needs) {
  const amped_mode_plan *mode = &plan->modes[m];
  json_t *nnz = json_array();
  json_t *rows = json_array();
  json_t *copy = json_array();
  json_t *streamed = json_array();
  for (int p = 0; p < plan->nranks; p++) {
    const amped_requirement *r = &needs[p].required;
    (void)json_array_append_new(nnz, json_integer((json_int_t)mode->copy.rank_nnz[p]));
    (void)json_array_append_new(rows, json_integer((json_int_t)mode->rows.rank_rows[p]));
    (void)json_array_append_new(copy, json_integer((json_int_t)r->copy_bytes[m]));
    (void)json_array_append_new(streamed, json_integer((json_int_t)r->streamed_bytes[m]));
  }
  return json_pack(
      "{s:I, s:I, s:I, s:I, s:f, s:f, s:I, s:o, s:o, s:o, s:o}", "dim", (json_int_t)mode->rows.dim,
      "width", (json_int_t)mode->rows.width, "idps", (json_int_t)mode->rows.idp_count, "block_rows",
      (json_int_t)mode->rows.block_rows, "imbalance_percent", amped_plan_imbalance(plan, m),
      "unsplit_imbalance_percent", amped_plan_unsplit_imbalance(plan, m), "split_idps",
      (json_int_t)mode->copy.split_count, "rank_nnz", nnz, "rank_rows", rows, "copy_bytes", copy,
      "streamed_bytes", streamed);
}

static json_t *json_slabs(const amped_session *session, const rank_need *needs) {
  const amped_plan *plan = &session->plan;
  const amped_dense_plan *d = &plan->dense;
  uint64_t streamed = 0;
  uint64_t all = 0;
  for (int p = 0; p < plan->nranks; p++) {
    streamed += needs[p].required.streamed_bytes[0];
    all += needs[p].required.copy_bytes[0];
  }
  return json_pack("{s:s, s:i, s:b, s:s, s:f, s:I, s:I}", "cell_type", amped_cell_name(d->type),
                   "slab_mode", d->slab_mode, "outside", d->outside ? 1 : 0, "contracts",
                   amped_dense_tree_name(d->tree), "passes_a_sweep",
                   amped_dense_passes(d, plan->order), "resident_bytes",
                   (json_int_t)(all - streamed), "streamed_bytes", (json_int_t)streamed);
}

static json_t *json_choices(const amped_session *session) {
  const amped_copies_choice *c = &session->choice;
  const bool timed = session->worker.backend->streams;
  json_t *choices = json_array();
  for (int i = 0; i < c->count; i++)
    (void)json_array_append_new(
        choices,
        json_pack("{s:s, s:f, s:f, s:o}", "kept", c->best[i].one ? "one" : "all", "rank_bytes",
                  c->best[i].bytes, "rank_streamed_bytes", c->best[i].streamed_bytes,
                  "predicted_ms", timed ? json_real(c->best[i].sec * 1e3) : json_null()));
  return choices;
}

/* Null for a dense tensor, which has no copies. */
static json_t *json_copies(const amped_session *session, const rank_need *needs) {
  const amped_plan *plan = &session->plan;
  const amped_copies_choice *c = &session->choice;
  const bool chosen = c->all_sec > 0.0;
  uint64_t streamed = 0;
  if (session->is_dense)
    return json_null();
  for (int p = 0; p < plan->nranks; p++)
    for (int m = 0; m < plan->order; m++)
      streamed += needs[p].required.streamed_bytes[m];
  return json_pack("{s:s, s:f, s:f, s:I, s:o, s:o, s:o}", "kept", plan->boxed < 0 ? "all" : "one",
                   "bytes", all_copy_bytes(plan, needs), "all_bytes", amped_plan_packed_bytes(plan),
                   "streamed_bytes", (json_int_t)streamed, "predicted_ms",
                   chosen ? json_real(c->sec * 1e3) : json_null(), "all_predicted_ms",
                   chosen ? json_real(c->all_sec * 1e3) : json_null(), "choices",
                   json_choices(session));
}

static json_t *json_plan(const amped_session *session, const rank_need *needs) {
  const amped_plan *plan = &session->plan;
  const bool knows_norm = plan->norm_squared > 0.0;
  json_t *modes = json_array();
  json_t *ranks = json_array();
  json_t *slabs = json_null();
  for (int m = 0; m < plan->order; m++)
    (void)json_array_append_new(modes, json_plan_mode(plan, m, needs));
  for (int p = 0; p < plan->nranks; p++)
    (void)json_array_append_new(
        ranks, json_pack("{s:I, s:I}", "device_bytes", (json_int_t)needs[p].need.device_bytes,
                         "host_bytes", (json_int_t)needs[p].need.host_bytes));
  if (session->is_dense)
    slabs = json_slabs(session, needs);
  return json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o}", "event", "plan", "placement",
                   amped_placement_names[plan->placement], "nnz", (json_int_t)plan->nnz, "norm",
                   knows_norm ? json_real(sqrt(plan->norm_squared)) : json_null(), "dense", slabs,
                   "copies", json_copies(session, needs), "modes", modes, "ranks", ranks);
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
    if (comm->rank == 0) {
      say_plan(session, needs);
      if (session->json != NULL)
        status = amped_json_line(session->json, json_plan(session, needs));
    }
    status = amped_comm_agree(comm, status);
  }
  amped_free(needs);
  return status;
}

/* Remedy for a slow exchange. It depends on the chosen all-gather algorithm, the ranks' devices and
 * the nodes. */
static const char *remedy(const amped_session *session) {
  const amped_comm *comm = &session->comm;
  if (comm->chosen[0] != '\0')
    return "unset the variable that chose MPI's algorithm (see -v)";
  if (session->worker.backend->device_pointers && !comm->cuda_aware)
    return "use an MPI that takes device memory (CUDA-aware)";
  if (comm->nodes > 1)
    return "check which network MPI uses (Open MPI: btl_tcp_if_include; UCX: UCX_NET_DEVICES)";
  return "check that MPI may copy from GPU to GPU (UCX_TLS with cuda_copy,cuda_ipc; containers "
         "with --ipc=host), or build with --disable-cuda-aware-mpi";
}

static void say_exchange(const amped_session *session, const amped_link_rate *rate) {
  const amped_comm *comm = &session->comm;
  const char *scheme = session->worker.backend->device_pointers ? getenv("UCX_RNDV_SCHEME") : NULL;
  char bytes[32];
  char link[64] = "";
  const char *what = amped_exchange_describe(session->exchange);
  if (comm->nranks == 1 || !amped_log_is_verbose()) {
    amped_say("exchange: %s", what);
  } else {
    if (rate->link > 0.0)
      (void)snprintf(link, sizeof link, ", of the %.3g that %s", 1e-9 * rate->link,
                     comm->nodes > 1 ? "neighbours reach alone" : "copies to the host reach");
    amped_say("exchange: %s%s%s; %s%s%s, %d node%s; %.3g GB/s a rank%s (%s)", what,
              comm->chosen[0] != '\0' ? " by " : "", comm->chosen, comm->library,
              scheme != NULL ? ", UCX_RNDV_SCHEME=" : "", scheme != NULL ? scheme : "", comm->nodes,
              comm->nodes == 1 ? "" : "s", 1e-9 * rate->exchange, link,
              amped_format_bytes(bytes, rate->bytes));
  }
  if (amped_link_is_slow(rate))
    amped_warn("factor rows move at %.3g GB/s a rank, but %s reach %.3g; %s", 1e-9 * rate->exchange,
               comm->nodes > 1 ? "two neighbours alone" : "copies to the host", 1e-9 * rate->link,
               remedy(session));
}

amped_status amped_report_exchange(amped_session *session) {
  const amped_context context = amped_session_context(session);
  amped_link_rate rate;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_link_rate_measure(&context, &rate));
  say_exchange(session, &rate);
  if (session->json != NULL)
    status = amped_json_line(
        session->json,
        json_pack("{s:s, s:s, s:s, s:s?, s:i, s:I, s:o, s:o}", "event", "exchange", "method",
                  amped_exchange_describe(session->exchange), "mpi", session->comm.library,
                  "chosen_by", session->comm.chosen[0] != '\0' ? session->comm.chosen : NULL,
                  "nodes", session->comm.nodes, "bytes", (json_int_t)rate.bytes, "gb_per_second",
                  rate.exchange > 0.0 ? json_real(1e-9 * rate.exchange) : json_null(),
                  "link_gb_per_second",
                  rate.link > 0.0 ? json_real(1e-9 * rate.link) : json_null()));
  return amped_comm_agree(&session->comm, status);
}

void amped_report_distributed(amped_session *session) {
  amped_spread s = amped_comm_spread(&session->comm, session->distribute_sec);
  const int copies = amped_plan_copies(&session->plan);
  double nonzeros = (double)session->plan.nnz * copies;
  char rate[32];
  amped_say("read and distributed %d cop%s in %.2f s (%s nonzeros/s)", copies,
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
  amped_say("%s %s in %.2f s (%.3g GB/s); %" PRIu64 " cells (%.3g %%) are not 0, norm %.6g",
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
  if (every > 0)
    return sweep == 1 || sweep % every == 0;
  if (amped_log_on_terminal())
    return true;
  for (every = 1; sweep / 20 > every || sweep > 20 * every; every *= 10)
    continue;
  return sweep % every == 0;
}

/* total: seconds of the slowest rank. */
static void say_sweep(const amped_sweep *s, double total, const amped_spread *mttkrp,
                      const amped_spread *solve, const amped_spread *exchange) {
  char change[32] = "        -"; /* the width of a number */
  char step[64] = "";
  if (s->number > 1)
    (void)snprintf(change, sizeof change, "%+.2e", s->change);
  if (s->step.damping > 0.0)
    (void)snprintf(step, sizeof step, "  mu %.1e, %" PRIu64 " iterations%s", s->step.damping,
                   s->step.iterations, s->step.refused ? ", refused" : "");
  else if (s->step.beta > 0.0)
    (void)snprintf(step, sizeof step, "  step %.2f%s", s->step.beta,
                   s->step.refused ? " refused" : "");
  else if (s->sampling.is_asked)
    (void)snprintf(step, sizeof step, "  rows move by %.1e, restricted by %.2g", s->sampling.change,
                   s->sampling.lambda);
  else if (!isnan(s->objective))
    (void)snprintf(step, sizeof step, "  objective %.6g", s->objective);
  amped_say("sweep %3" PRIu64 "  %s %.8f  change %s  %.4f s (mttkrp %.4f, solve %.4f, exchange "
            "%.4f)%s",
            s->number, s->metric, s->value, change, total, amped_report_part(mttkrp->mean),
            amped_report_part(solve->mean), amped_report_part(exchange->mean), step);
}

/* JSON of a solver's step; null if the solver has none. */
static json_t *json_step(const amped_sweep_step *step) {
  if (step->damping > 0.0)
    return json_pack("{s:f, s:I, s:b}", "mu", step->damping, "iterations",
                     (json_int_t)step->iterations, "refused", step->refused ? 1 : 0);
  return step->is_asked
             ? json_pack("{s:f, s:b}", "beta", step->beta, "refused", step->refused ? 1 : 0)
             : json_null();
}

/* JSON of a sweep's sampling; null if the solver does not sample. */
static json_t *json_sampling(const amped_sweep_sampling *sampling) {
  return sampling->is_asked
             ? json_pack("{s:f, s:f}", "lambda", sampling->lambda, "moved", sampling->change)
             : json_null();
}

bool amped_report_has_line(uint64_t sweep, uint64_t every) {
  if (sweep == 21 && every == 0 && !amped_log_on_terminal())
    amped_say(
        "(from here on fewer sweeps have a line: --every=1 prints all sweeps, --every=N each Nth)");
  return has_line(sweep, every);
}

amped_status amped_report_sweep(amped_session *session, const amped_sweep *s, uint64_t every) {
  const amped_comm *comm = &session->comm;
  amped_status status = AMPED_OK;
  /* A sweep lasts as long as on the slowest rank. On every rank the parts sum to at most the sweep,
   * so their means over ranks do, too. The spread of mttkrp shows the balance. Its maximum is not
   * used as a part: the other ranks wait for the slowest in solve, which sums the grams, or in
   * exchange. If rows travel in parts, mttkrp is the time that is not covered by solve and exchange
   * of earlier parts. */
  const double times[] = {s->times.mttkrp, s->times.solve, s->times.exchange, s->times.total};
  amped_spread spreads[4];
  amped_comm_spreads(comm, 4, times, spreads);
  const amped_spread mttkrp = spreads[0];
  const amped_spread solve = spreads[1];
  const amped_spread exchange = spreads[2];
  const double total = spreads[3].max;
  const amped_metric_key noise = amped_metric_key_of(s->metric, "noise");
  if (amped_report_has_line(s->number, every))
    say_sweep(s, total, &mttkrp, &solve, &exchange);
  if (session->json != NULL)
    status = amped_json_line(
        session->json,
        json_pack("{s:s, s:I, s:s, s:f, s:o, s:f, s:f, s:{s:f, s:f, s:f, s:i}, s:f, s:f, s:o, "
                  "s:o, s:o}",
                  "event", "iteration", "sweep", (json_int_t)s->number, "metric", s->metric,
                  s->metric, s->value, "change", s->number > 1 ? json_real(s->change) : json_null(),
                  noise.text, s->noise, "seconds", total, "mttkrp_seconds", "min", mttkrp.min,
                  "mean", mttkrp.mean, "max", mttkrp.max, "max_rank", mttkrp.max_rank,
                  "solve_seconds", solve.mean, "exchange_seconds", exchange.mean, "step",
                  json_step(&s->step), "sampling", json_sampling(&s->sampling), "objective",
                  amped_json_number(s->objective)));
  return amped_comm_agree(comm, status);
}
