/* info --system: prints the libraries, GPUs, cores and memory that the ranks of a job find. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/blas.h"
#include "base/version.h"
#include "cli/commands.h"
#include "tensor/format.h"
#include "base/facts.h"
#include "base/json.h"
#include "session/output_guard.h"
#include "session/lib_versions.h"
#include "base/mem.h"
#include "session/session.h"
#include "session/rail_facts.h"
#include "session/node_info.h"

/* The facts to report, of the job and of every rank. */
typedef struct report {
  const amped_comm *comm;
  amped_lib_versions libraries;
  const amped_node_info *places; /* [comm->nranks] */
  amped_rail_rates rails;
} report;

/* --- facts ------------------------------------------------------------------------------------ */

static const char *answer(int yes) {
  return yes < 0 ? "not asked" : yes > 0 ? "yes" : "no";
}

static json_t *json_answer(int yes) {
  return yes < 0 ? json_null() : json_boolean(yes);
}

static json_t *text_or_null(const char *text) {
  return *text != '\0' ? amped_json_string(text) : json_null();
}

static const char *plural(int n) {
  return n == 1 ? "" : "s";
}

static void mpi_facts(const amped_comm *comm, amped_facts *f) {
  amped_facts mpi;
  int version = 0;
  int subversion = 0;
  AMPED_MPI(comm, MPI_Get_version(&version, &subversion));
  amped_facts_begin(&mpi, NULL);
  amped_fact(&mpi, "library", text_or_null(comm->library), "MPI          %s", comm->library);
  amped_fact(&mpi, "standard", json_integer(version), ", standard %d", version);
  amped_fact(&mpi, "substandard", json_integer(subversion), ".%d\n", subversion);
  amped_fact(&mpi, "cuda_aware", json_boolean(comm->cuda_aware), "CUDA-aware   %s",
             comm->cuda_aware ? "yes" : "no: rows of GPUs go through host memory");
  amped_fact(&mpi, "cuda_built", json_answer(comm->cuda_built), " (MPI's header: %s",
             answer(comm->cuda_built));
  amped_fact(&mpi, "cuda_now", json_answer(comm->cuda_now), "; MPI now: %s)\n",
             answer(comm->cuda_now));
  amped_fact_json(&mpi, "all_gather_chosen_by", text_or_null(comm->chosen));
  if (comm->chosen[0] != '\0')
    amped_fact_words(&mpi, "all-gather   chosen by %s\n", comm->chosen);
  amped_facts_take(f, "mpi", &mpi);
}

static void job_facts(const report *r, amped_facts *f) {
  const amped_comm *comm = r->comm;
  const amped_lib_versions *l = &r->libraries;
  const bool other = strcmp(l->hdf5, l->hdf5_built) != 0;
  amped_fact_json(f, "kind", json_string("system"));
  amped_fact(f, "version", json_string(amped_version()), "amped_mpi    %s", amped_version());
  amped_fact(f, "revision", text_or_null(amped_revision()), "%s%s", *amped_revision() ? ", " : "",
             amped_revision());
  amped_fact(f, "nranks", json_integer(comm->nranks), ", %d rank%s", comm->nranks,
             plural(comm->nranks));
  amped_fact_words(f, " on %d node%s\n", comm->nodes, plural(comm->nodes));
  if (r->rails.rails > 0)
    amped_fact_words(f, "network      ");
  amped_rail_facts(&r->rails, f);
  if (r->rails.rails > 0)
    amped_fact_words(f, "\n");
  mpi_facts(comm, f);
  amped_fact(f, "hdf5", json_string(l->hdf5), "HDF5         %s", l->hdf5);
  amped_fact(f, "hdf5_built", json_string(l->hdf5_built), "%s%s\n", other ? ", built with " : "",
             other ? l->hdf5_built : "");
  amped_fact(f, "blas", text_or_null(l->blas), "BLAS         %s",
             *l->blas ? l->blas : "of unknown kind");
  amped_fact(f, "blas_file", text_or_null(l->blas_file), "%s%s\n", *l->blas_file ? ", " : "",
             l->blas_file);
  amped_blas_warn_of_kernels();
}

/* "Built without CUDA", or the CUDA versions on the first rank with GPUs. */
static void cuda_facts(const report *r, amped_facts *f) {
  const amped_gpus *gpus = NULL;
  amped_facts cuda;
  if (!amped_node_info_has_gpus()) {
    amped_fact(f, "cuda", json_null(), "CUDA         built without CUDA: computes on CPU cores\n");
    return;
  }
  for (int p = 0; p < r->comm->nranks && gpus == NULL; p++)
    if (r->places[p].gpus.visible > 0)
      gpus = &r->places[p].gpus;
  amped_facts_begin(&cuda, NULL);
  if (gpus == NULL) {
    amped_fact_words(&cuda, "CUDA         no rank has a GPU: %s\n", r->places[0].no_gpus);
  } else {
    amped_fact(&cuda, "runtime", json_string(gpus->runtime), "CUDA         runtime %s",
               gpus->runtime);
    amped_fact(&cuda, "driver", text_or_null(gpus->driver), ", driver %s%s", gpus->driver,
               *gpus->driver ? ", " : "");
    amped_fact(&cuda, "driver_serves", json_string(gpus->newest), "for up to %s\n", gpus->newest);
  }
  amped_facts_take(f, "cuda", &cuda);
}

/* Add the GPUs with this kind of link, such as "; direct to 1, 2". */
static void link_words(const amped_gpus *gpus, int i, amped_gpu_link link, const char *what,
                       amped_facts *f) {
  bool first = true;
  for (int j = 0; j < gpus->count; j++) {
    if (j == i || gpus->gpu[i].links[j] != link)
      continue;
    amped_fact_words(f, "%s%s %d", first ? "; " : ",", first ? what : "", j);
    first = false;
  }
}

static void gpu_facts(const amped_gpus *gpus, int i, amped_facts *f) {
  static const char *const names[] = {NULL, "host", "peer", "nvlink"};
  const amped_gpu *g = &gpus->gpu[i];
  char bytes[32];
  amped_fact(f, "name", json_string(g->name), "  GPU %-2d     %s", i, g->name);
  amped_fact(f, "pci", json_string(g->address), " at %s", g->address);
  amped_fact(f, "memory_bytes", amped_json_count(g->memory_bytes), ", %s",
             amped_format_bytes(bytes, g->memory_bytes));
  amped_fact(f, "compute_capability", json_string(g->capability), ", compute capability %s",
             g->capability);
  amped_fact(f, "uuid", json_string(g->identity), ", %s", g->identity);
  for (int j = 0; j < gpus->count; j++)
    amped_fact_item(f, "links",
                    j == i || g->links[j] == AMPED_LINK_UNKNOWN ? json_null()
                                                                : json_string(names[g->links[j]]));
  link_words(gpus, i, AMPED_LINK_ATOMIC, "NVLink to", f);
  link_words(gpus, i, AMPED_LINK_PEER, "direct to", f);
  link_words(gpus, i, AMPED_LINK_NONE, "through the host to", f);
  link_words(gpus, i, AMPED_LINK_UNKNOWN, "not known to", f);
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

static void node_facts(const report *r, int node, const amped_gpus *gpus, amped_facts *f) {
  const amped_node_info *p = &r->places[node];
  amped_facts gpu;
  char bytes[32];
  amped_fact_json(f, "first_rank", json_integer(node));
  amped_fact(f, "host", text_or_null(p->host), "node         %s", p->host);
  amped_fact(f, "ranks", json_integer(p->local_size), ": %d rank%s", p->local_size,
             plural(p->local_size));
  amped_fact(f, "memory_bytes", amped_json_count(p->total_bytes), ", %s of memory",
             amped_format_bytes(bytes, p->total_bytes));
  if (p->limit_bytes > 0)
    amped_fact(f, "memory_limit_bytes", amped_json_count(p->limit_bytes),
               ", of which the control group may take %s",
               amped_format_bytes(bytes, p->limit_bytes));
  else
    amped_fact_json(f, "memory_limit_bytes", json_null());
  amped_facts_say(f);
  amped_fact_json(f, "gpus", json_array());
  for (int i = 0; i < gpus->count; i++) {
    amped_facts_begin(&gpu, NULL);
    gpu_facts(gpus, i, &gpu);
    amped_facts_row(f, "gpus", &gpu);
  }
}

/* A rank's GPU by its number on the node: "GPU 1, 70 GiB free, 4 visible
 * (CUDA_VISIBLE_DEVICES=...)". */
static void own_gpu_facts(const amped_node_info *p, const amped_gpus *node, amped_facts *f) {
  const amped_gpus *g = &p->gpus;
  const bool gpu = g->own >= 0 && g->own < g->count;
  const int own = gpu ? amped_gpus_find(node, g->gpu[g->own].identity) : -1;
  char bytes[32];
  amped_fact_json(f, "gpu", gpu ? json_integer(own) : json_null());
  amped_fact_json(f, "gpu_free_bytes", gpu ? amped_json_count(g->own_free_bytes) : json_null());
  amped_fact_json(f, "gpus_visible", json_integer(g->visible));
  amped_fact_json(f, "cuda_visible_devices", text_or_null(p->chosen));
  amped_fact_json(f, "no_gpu", text_or_null(p->no_gpus));
  if (gpu)
    amped_fact_words(f, "GPU %d, %s free, %d visible%s%s%s", own,
                     amped_format_bytes(bytes, g->own_free_bytes), g->visible,
                     *p->chosen ? " (CUDA_VISIBLE_DEVICES=" : "", p->chosen, *p->chosen ? ")" : "");
  else
    amped_fact_words(f, "no GPU");
}

static void rank_facts(const report *r, int rank, const amped_gpus *node, amped_facts *f) {
  const amped_node_info *p = &r->places[rank];
  char bytes[32];
  amped_fact(f, "rank", json_integer(rank), "rank %-3d     ", rank);
  amped_fact_json(f, "node", json_integer(p->node));
  amped_fact(f, "host", text_or_null(p->host), "%s", p->host);
  amped_fact(f, "local_rank", json_integer(p->local_rank), ", local rank %d: ", p->local_rank);
  own_gpu_facts(p, node, f);
  amped_fact(f, "cores", json_integer(p->cores), "; %d core%s", p->cores, plural(p->cores));
  amped_fact(f, "core_list", text_or_null(p->core_list), " (%s)", p->core_list);
  amped_fact(f, "threads", json_integer(p->threads), ", %d thread%s", p->threads,
             plural(p->threads));
  amped_fact(f, "memory_free_bytes", amped_json_count(p->free_bytes), "; %s of memory free",
             amped_format_bytes(bytes, p->free_bytes));
  if (p->lock_bytes != UINT64_MAX)
    amped_fact(f, "memory_lock_bytes", amped_json_count(p->lock_bytes), ", %s of it may be locked",
               amped_format_bytes(bytes, p->lock_bytes));
  else
    amped_fact_json(f, "memory_lock_bytes", json_null());
}

/* Warn about set-ups that fail or are slow on these ranks. */
static void warn(const report *r) {
  const char *started = getenv("SLURM_STEP_NUM_TASKS");
  const int tasks = started != NULL ? atoi(started) : 1;
  if (r->comm->nranks == 1 && tasks > 1)
    amped_warn("srun started %d processes, and MPI takes this one for a job of its own: choose a "
               "--mpi that MPI supports (srun --mpi=list; Open MPI: pmix), or start it by mpirun",
               tasks);
  amped_rail_facts_warn(&r->rails);
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

/* --- the command ----------------------------------------------------------------------------- */

/* Rank 0: print the report, node by node. */
static amped_status tell(const report *r, amped_facts *f) {
  amped_facts part;
  job_facts(r, f);
  cuda_facts(r, f);
  for (int node = 0; node < r->comm->nranks; node++) {
    amped_gpus *gpus = NULL;
    if (r->places[node].node != node)
      continue;
    AMPED_TRY(join_node(r, node, &gpus));
    amped_facts_begin(&part, NULL);
    node_facts(r, node, gpus, &part);
    amped_facts_row(f, "nodes", &part);
    for (int p = node; p < r->comm->nranks; p++)
      if (r->places[p].node == node) {
        amped_facts_begin(&part, NULL);
        rank_facts(r, p, gpus, &part);
        amped_facts_row(f, "ranks", &part);
      }
    amped_free(gpus);
  }
  warn(r);
  return AMPED_OK;
}

/* Collective; the status is agreed. Measure the rails, if there are several nodes. */
static amped_status measure_rails(const amped_comm *comm, amped_rail_rates *rates) {
  char *host = NULL;
  if (comm->nodes == 1)
    return AMPED_OK;
  const amped_status status =
      amped_comm_agree(comm, amped_calloc(&host, 2 * AMPED_RAIL_BYTES, 1, "a message"));
  if (status == AMPED_OK)
    amped_rail_rates_measure(comm, host, rates);
  amped_free(host);
  return status;
}

/* Collective; the status is agreed. Gather the facts, and report them on rank 0. */
static amped_status report_system(const amped_comm *comm, amped_json *json) {
  report r = {.comm = comm};
  amped_node_info *places = NULL;
  amped_facts facts;
  amped_status status = comm->rank == 0 ? amped_lib_versions_get(&r.libraries) : AMPED_OK;
  AMPED_TRY(amped_comm_agree(comm, status));
  AMPED_TRY(measure_rails(comm, &r.rails));
  AMPED_TRY(amped_node_info_gather(comm, &places));
  r.places = places;
  amped_facts_begin(&facts, NULL);
  status = comm->rank == 0 ? tell(&r, &facts) : AMPED_OK;
  status = amped_comm_agree(comm, amped_facts_end(&facts, json, status));
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
