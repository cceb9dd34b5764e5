/* Gathers what each rank finds on its node. */
#include "session/node_info.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/mem.h"
#include "base/system_memory.h"
#include "session/session.h"

/* Get the kernel's list of the cores that this process may run on. */
static void list_cores(char *list, size_t size) {
  static const char what[] = "Cpus_allowed_list:";
  char line[1024];
  FILE *file = fopen("/proc/self/status", "re");
  if (file == NULL)
    return;
  while (fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, what, sizeof what - 1) == 0) {
      const char *at = line + sizeof what - 1;
      at += strspn(at, " \t");
      (void)snprintf(list, size, "%.*s", (int)strcspn(at, "\n"), at);
    }
  (void)fclose(file);
}

static const amped_backend *backend_with_gpus(void) {
  const amped_backend *backend = NULL;
  for (int i = 0; (backend = amped_backend_list(i)) != NULL; i++)
    if (backend->device->gpus != NULL)
      return backend;
  return NULL;
}

bool amped_node_info_has_gpus(void) {
  return backend_with_gpus() != NULL;
}

static amped_status find_gpus(amped_node_info *place) {
  const amped_backend *backend = backend_with_gpus();
  const char *reason = "this program was built without CUDA";
  place->gpus.own = -1;
  if (backend != NULL && backend->device->available(&reason))
    return backend->device->gpus(place->local_rank, &place->gpus);
  (void)snprintf(place->no_gpus, sizeof place->no_gpus, "%s", reason);
  return AMPED_OK;
}

/* Collective on a node. Fill *out with what this rank finds; the status is its own. */
static amped_status look_around(const amped_comm *comm, amped_node_info *out) {
  const char *chosen = getenv("CUDA_VISIBLE_DEVICES");
  struct rlimit locked;
  memset(out, 0, sizeof *out);
  out->node = comm->rank;
  AMPED_MPI(comm, MPI_Bcast(&out->node, 1, MPI_INT, 0, comm->node));
  out->local_rank = comm->local_rank;
  out->local_size = comm->local_size;
  out->cores = omp_get_num_procs();
  out->threads = amped_session_threads(comm, 0);
  list_cores(out->core_list, sizeof out->core_list);
  out->free_bytes = amped_mem_available();
  out->total_bytes = amped_mem_total();
  out->limit_bytes = amped_mem_groups_limit();
  if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0)
    out->lock_bytes = locked.rlim_cur == RLIM_INFINITY ? UINT64_MAX : locked.rlim_cur;
  (void)gethostname(out->host, sizeof out->host - 1);
  (void)snprintf(out->chosen, sizeof out->chosen, "%s", chosen != NULL ? chosen : "");
  return find_gpus(out);
}

amped_status amped_node_info_gather(const amped_comm *comm, amped_node_info **places) {
  amped_node_info *mine = NULL;
  uint64_t count = comm->rank == 0 ? (uint64_t)comm->nranks : 0;
  *places = NULL;
  amped_status status = amped_alloc(&mine, 1, sizeof *mine, "the system of a rank");
  if (status == AMPED_OK)
    status = amped_alloc(places, count, sizeof **places, "the systems of all ranks");
  status = amped_comm_agree(comm, status);
  if (status == AMPED_OK)
    status = amped_comm_agree(comm, look_around(comm, mine));
  if (status == AMPED_OK)
    AMPED_MPI(comm, MPI_Gather(mine, (int)sizeof *mine, MPI_BYTE, *places, (int)sizeof *mine,
                               MPI_BYTE, 0, comm->mpi));
  amped_free(mine);
  if (status != AMPED_OK) {
    amped_free(*places);
    *places = NULL;
  }
  return status;
}
