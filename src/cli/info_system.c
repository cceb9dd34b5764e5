/* info --system: prints the libraries, GPUs, cores and memory that the ranks of a job find. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/blas.h"
#include "base/version.h"
#include "cli/commands.h"
#include "tensor/format.h"
#include "base/json.h"
#include "session/output_guard.h"
#include "session/lib_versions.h"
#include "base/mem.h"
#include "session/session.h"
#include "session/node_info.h"

/* The facts to report, of the job and of every rank. */
typedef struct report {
  const amped_comm *comm;
  amped_lib_versions libraries;
  const amped_node_info *places; /* [comm->nranks] */
} report;

/* --- text ------------------------------------------------------------------------------------ */

static const char *answer(int yes) {
  return yes < 0 ? "not asked" : yes > 0 ? "yes" : "no";
}

static void say_job(const report *r) {
  const amped_comm *comm = r->comm;
  const amped_lib_versions *l = &r->libraries;
  int version = 0;
  int subversion = 0;
  AMPED_MPI(comm, MPI_Get_version(&version, &subversion));
  amped_say("amped_mpi    %s%s%s, %d rank%s on %d node%s", amped_version(),
            *amped_revision() ? ", " : "", amped_revision(), comm->nranks,
            comm->nranks == 1 ? "" : "s", comm->nodes, comm->nodes == 1 ? "" : "s");
  amped_say("MPI          %s, standard %d.%d", comm->library, version, subversion);
  amped_say("CUDA-aware   %s (MPI's header: %s; MPI now: %s)",
            comm->cuda_aware ? "yes" : "no: rows of GPUs go through host memory",
            answer(comm->cuda_built), answer(comm->cuda_now));
  if (comm->chosen[0] != '\0')
    amped_say("all-gather   chosen by %s", comm->chosen);
  amped_say("HDF5         %s%s%s", l->hdf5,
            strcmp(l->hdf5, l->hdf5_built) != 0 ? ", built with " : "",
            strcmp(l->hdf5, l->hdf5_built) != 0 ? l->hdf5_built : "");
  amped_say("BLAS         %s%s%s", *l->blas ? l->blas : "of unknown kind",
            *l->blas_file ? ", " : "", l->blas_file);
  amped_blas_warn_of_kernels();
}

/* Print "built without CUDA", or the CUDA versions on the first rank with GPUs. */
static void say_cuda(const report *r) {
  const amped_gpus *gpus = NULL;
  for (int p = 0; p < r->comm->nranks && gpus == NULL; p++)
    if (r->places[p].gpus.visible > 0)
      gpus = &r->places[p].gpus;
  if (!amped_node_info_has_gpus())
    amped_say("CUDA         built without CUDA: computes on CPU cores");
  else if (gpus == NULL)
    amped_say("CUDA         no rank has a GPU: %s", r->places[0].no_gpus);
  else
    amped_say("CUDA         runtime %s, driver %s%sfor up to %s", gpus->runtime, gpus->driver,
              *gpus->driver ? ", " : "", gpus->newest);
}

/* Append the GPUs with this kind of link, such as "; direct to 1, 2", to a text of `at` characters.
 * Returns the new number of characters. */
static size_t add_links(char *line, size_t size, size_t at, const amped_gpus *gpus, int i,
                        amped_gpu_link link, const char *what) {
  bool first = true;
  for (int j = 0; j < gpus->count && at < size; j++) {
    if (j == i || gpus->gpu[i].links[j] != link)
      continue;
    at +=
        (size_t)snprintf(line + at, size - at, "%s%s %d", first ? "; " : ",", first ? what : "", j);
    first = false;
  }
  return at;
}

static void say_gpu(const amped_gpus *gpus, int i) {
  const amped_gpu *g = &gpus->gpu[i];
  char line[1024] = "";
  char bytes[32];
  size_t at = 0;
  at = add_links(line, sizeof line, at, gpus, i, AMPED_LINK_ATOMIC, "NVLink to");
  at = add_links(line, sizeof line, at, gpus, i, AMPED_LINK_PEER, "direct to");
  at = add_links(line, sizeof line, at, gpus, i, AMPED_LINK_NONE, "through the host to");
  (void)add_links(line, sizeof line, at, gpus, i, AMPED_LINK_UNKNOWN, "not known to");
  amped_say("  GPU %-2d     %s at %s, %s, compute capability %s, %s%s", i, g->name, g->address,
            amped_format_bytes(bytes, g->memory_bytes), g->capability, g->identity, line);
}

/* Join all GPUs that a node's ranks see. Ranks of a node need not have consecutive numbers. The
 * caller frees *out. */
static amped_status join_node(const report *r, int node, amped_gpus **out) {
  AMPED_TRY(amped_calloc(out, 1, sizeof **out, "a node's GPUs"));
  for (int p = node; p < r->comm->nranks; p++)
    if (r->places[p].node == node)
      amped_gpus_join(*out, &r->places[p].gpus);
  return AMPED_OK;
}

static void say_node(const report *r, int node, const amped_gpus *gpus) {
  const amped_node_info *place = &r->places[node];
  char total[32];
  char limit[32];
  char text[64] = "";
  if (place->limit_bytes > 0)
    (void)snprintf(text, sizeof text, ", of which the control group may take %s",
                   amped_format_bytes(limit, place->limit_bytes));
  amped_say("node         %s: %d rank%s, %s of memory%s", place->host, place->local_size,
            place->local_size == 1 ? "" : "s", amped_format_bytes(total, place->total_bytes), text);
  for (int i = 0; i < gpus->count; i++)
    say_gpu(gpus, i);
}

/* Describe a rank's GPU by its number on the node: "GPU 1, 70 GiB free, 4 visible
 * (CUDA_VISIBLE_DEVICES=...)". */
static void describe_gpu(char *text, size_t size, const amped_node_info *p,
                         const amped_gpus *node) {
  char bytes[32];
  if (p->gpus.own < 0 || p->gpus.own >= p->gpus.count)
    (void)snprintf(text, size, "no GPU");
  else
    (void)snprintf(text, size, "GPU %d, %s free, %d visible%s%s%s",
                   amped_gpus_find(node, p->gpus.gpu[p->gpus.own].identity),
                   amped_format_bytes(bytes, p->gpus.own_free_bytes), p->gpus.visible,
                   *p->chosen ? " (CUDA_VISIBLE_DEVICES=" : "", p->chosen, *p->chosen ? ")" : "");
}

static void say_rank(const report *r, int rank, const amped_gpus *node) {
  const amped_node_info *p = &r->places[rank];
  char gpu[256];
  char bytes[32];
  char lock[64] = "";
  char limit[32];
  describe_gpu(gpu, sizeof gpu, p, node);
  if (p->lock_bytes != UINT64_MAX)
    (void)snprintf(lock, sizeof lock, ", %s of it may be locked",
                   amped_format_bytes(limit, p->lock_bytes));
  amped_say("rank %-3d     %s, local rank %d: %s; %d core%s (%s), %d thread%s; %s of memory free%s",
            rank, p->host, p->local_rank, gpu, p->cores, p->cores == 1 ? "" : "s", p->core_list,
            p->threads, p->threads == 1 ? "" : "s", amped_format_bytes(bytes, p->free_bytes), lock);
}

/* Warn about set-ups that fail or are slow on these ranks. */
static void warn(const report *r) {
  const char *started = getenv("SLURM_STEP_NUM_TASKS");
  const int tasks = started != NULL ? atoi(started) : 1;
  if (r->comm->nranks == 1 && tasks > 1)
    amped_warn("srun started %d processes, and MPI takes this one for a job of its own: choose a "
               "--mpi that MPI supports (srun --mpi=list; Open MPI: pmix), or start it by mpirun",
               tasks);
  for (int p = 0; p < r->comm->nranks; p++)
    for (int q = 0; q < p; q++) {
      const amped_gpus *a = &r->places[p].gpus;
      const amped_gpus *b = &r->places[q].gpus;
      if (r->places[p].node == r->places[q].node && a->own >= 0 && a->own < a->count &&
          b->own >= 0 && b->own < b->count &&
          strcmp(a->gpu[a->own].identity, b->gpu[b->own].identity) == 0)
        amped_warn("ranks %d and %d take the same GPU: start fewer, or let them see other GPUs", q,
                   p);
    }
}

/* --- JSON ------------------------------------------------------------------------------------ */

static json_t *text_or_null(const char *text) {
  return *text != '\0' ? amped_json_text(text, strlen(text)) : json_null();
}

static json_t *json_answer(int yes) {
  return yes < 0 ? json_null() : json_boolean(yes);
}

static json_t *json_gpu(const amped_gpus *gpus, int i) {
  static const char *const names[] = {NULL, "host", "peer", "nvlink"};
  const amped_gpu *g = &gpus->gpu[i];
  json_t *links = json_array();
  for (int j = 0; j < gpus->count; j++)
    (void)json_array_append_new(links, j == i || g->links[j] == AMPED_LINK_UNKNOWN
                                           ? json_null()
                                           : json_string(names[g->links[j]]));
  return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "name", g->name, "uuid", g->identity, "pci",
                   g->address, "compute_capability", g->capability, "memory_bytes",
                   amped_json_count(g->memory_bytes), "links", links);
}

static json_t *json_node(const report *r, int node, const amped_gpus *gpus) {
  const amped_node_info *p = &r->places[node];
  json_t *list = json_array();
  for (int i = 0; i < gpus->count; i++)
    (void)json_array_append_new(list, json_gpu(gpus, i));
  return json_pack(
      "{s:i, s:o, s:i, s:o, s:o, s:o}", "first_rank", node, "host", text_or_null(p->host), "ranks",
      p->local_size, "memory_bytes", amped_json_count(p->total_bytes), "memory_limit_bytes",
      p->limit_bytes > 0 ? amped_json_count(p->limit_bytes) : json_null(), "gpus", list);
}

static json_t *json_rank(const report *r, int rank, const amped_gpus *node) {
  const amped_node_info *p = &r->places[rank];
  bool gpu = p->gpus.own >= 0 && p->gpus.own < p->gpus.count;
  json_t *own =
      gpu ? json_integer(amped_gpus_find(node, p->gpus.gpu[p->gpus.own].identity)) : json_null();
  return json_pack("{s:i, s:i, s:i, s:o, s:o, s:o, s:i, s:o, s:o, s:i, s:o, s:i, s:o, s:o}", "rank",
                   rank, "node", p->node, "local_rank", p->local_rank, "host",
                   text_or_null(p->host), "gpu", own, "gpu_free_bytes",
                   gpu ? amped_json_count(p->gpus.own_free_bytes) : json_null(), "gpus_visible",
                   p->gpus.visible, "cuda_visible_devices", text_or_null(p->chosen), "no_gpu",
                   text_or_null(p->no_gpus), "cores", p->cores, "core_list",
                   text_or_null(p->core_list), "threads", p->threads, "memory_free_bytes",
                   amped_json_count(p->free_bytes), "memory_lock_bytes",
                   p->lock_bytes != UINT64_MAX ? amped_json_count(p->lock_bytes) : json_null());
}

static json_t *json_cuda(const report *r) {
  if (!amped_node_info_has_gpus())
    return json_null();
  for (int p = 0; p < r->comm->nranks; p++) {
    const amped_gpus *gpus = &r->places[p].gpus;
    if (gpus->visible > 0)
      return json_pack("{s:s, s:o, s:s}", "runtime", gpus->runtime, "driver",
                       text_or_null(gpus->driver), "driver_serves", gpus->newest);
  }
  return json_object();
}

/* JSON of the whole report. Takes both lists. */
static json_t *json_report(const report *r, json_t *nodes, json_t *ranks) {
  const amped_comm *comm = r->comm;
  const amped_lib_versions *l = &r->libraries;
  int version = 0;
  int subversion = 0;
  AMPED_MPI(comm, MPI_Get_version(&version, &subversion));
  json_t *mpi =
      json_pack("{s:o, s:i, s:i, s:b, s:o, s:o, s:o}", "library", text_or_null(comm->library),
                "standard", version, "substandard", subversion, "cuda_aware",
                comm->cuda_aware ? 1 : 0, "cuda_built", json_answer(comm->cuda_built), "cuda_now",
                json_answer(comm->cuda_now), "all_gather_chosen_by", text_or_null(comm->chosen));
  return json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:o, s:o, s:o, s:i, s:o, s:o}", "kind", "system",
                   "version", amped_version(), "revision", text_or_null(amped_revision()), "mpi",
                   mpi, "hdf5", l->hdf5, "hdf5_built", l->hdf5_built, "blas", text_or_null(l->blas),
                   "blas_file", text_or_null(l->blas_file), "cuda", json_cuda(r), "nranks",
                   comm->nranks, "nodes", nodes, "ranks", ranks);
}

/* --- the command ----------------------------------------------------------------------------- */

/* Rank 0: print and write the report, node by node. */
static amped_status tell(const report *r, amped_json *json) {
  json_t *nodes = json_array();
  json_t *ranks = json_array();
  amped_gpus *gpus = NULL;
  amped_status status = AMPED_OK;
  say_job(r);
  say_cuda(r);
  for (int node = 0; node < r->comm->nranks; node++) {
    if (r->places[node].node != node)
      continue;
    AMPED_GO(failed, join_node(r, node, &gpus));
    say_node(r, node, gpus);
    (void)json_array_append_new(nodes, json_node(r, node, gpus));
    for (int p = node; p < r->comm->nranks; p++)
      if (r->places[p].node == node) {
        say_rank(r, p, gpus);
        (void)json_array_append_new(ranks, json_rank(r, p, gpus));
      }
    amped_free(gpus);
  }
  warn(r);
  return amped_json_line(json, json_report(r, nodes, ranks));
failed:
  json_decref(nodes);
  json_decref(ranks);
  return status;
}

/* Collective; the status is agreed. Gather the facts, and report them on rank 0. */
static amped_status report_system(const amped_comm *comm, amped_json *json) {
  report r = {.comm = comm};
  amped_node_info *places = NULL;
  amped_status status = comm->rank == 0 ? amped_lib_versions_get(&r.libraries) : AMPED_OK;
  AMPED_TRY(amped_comm_agree(comm, status));
  AMPED_TRY(amped_node_info_gather(comm, &places));
  r.places = places;
  status = amped_comm_agree(comm, comm->rank == 0 ? tell(&r, json) : AMPED_OK);
  amped_free(places);
  return status;
}

amped_status amped_cmd_system(const amped_options *o) {
  amped_comm comm;
  amped_json *json = NULL;
  amped_session_before_mpi("auto");
  amped_status status = amped_comm_start(&comm);
  if (status == AMPED_OK) {
    status = comm.rank == 0 ? amped_output_json(o->json, o->overwrite, &json) : AMPED_OK;
    status = amped_comm_agree(&comm, status);
    if (status == AMPED_OK)
      status = amped_comm_agree(&comm, amped_json_close(json, report_system(&comm, json)));
  }
  amped_comm_stop(&comm);
  return status;
}
