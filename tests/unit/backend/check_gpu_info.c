/* What info --system rests on, without GPUs: lists of GPUs of several processes joined, and the
 * local rank that a launcher tells. */
#include <stdlib.h>

#include "backend/gpu_info.h"
#include "base/launcher.h"
#include "tests/lib/testing.h"

/* A process that sees GPUs first .. first + count of a node on which all reach each other with
 * atomics but GPU 0, which reaches none. */
static void see(amped_gpus *gpus, int first, int count) {
  memset(gpus, 0, sizeof *gpus);
  gpus->visible = gpus->count = count;
  for (int i = 0; i < count; i++) {
    amped_gpu *g = &gpus->gpu[i];
    (void)snprintf(g->identity, sizeof g->identity, "GPU-%d", first + i);
    for (int j = 0; j < count; j++)
      g->links[j] = first + i == 0 || first + j == 0 ? AMPED_LINK_NONE : AMPED_LINK_ATOMIC;
  }
}

START_TEST(processes_that_see_all_gpus_add_nothing_to_each_other) {
  amped_gpus node = {.count = 0};
  amped_gpus mine;
  see(&mine, 0, 4);
  for (int p = 0; p < 4; p++)
    amped_gpus_join(&node, &mine);
  ck_assert_int_eq(node.count, 4);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      if (i != j)
        ck_assert_int_eq(node.gpu[i].links[j],
                         i == 0 || j == 0 ? AMPED_LINK_NONE : AMPED_LINK_ATOMIC);
}

START_TEST(processes_that_see_one_gpu_each_know_no_links) {
  amped_gpus node = {.count = 0};
  amped_gpus mine;
  for (int p = 3; p >= 0; p--) {
    see(&mine, p, 1);
    amped_gpus_join(&node, &mine);
  }
  ck_assert_int_eq(node.count, 4);
  ck_assert_int_eq(amped_gpus_find(&node, "GPU-3"), 0);
  ck_assert_int_eq(amped_gpus_find(&node, "GPU-0"), 3);
  ck_assert_int_eq(amped_gpus_find(&node, "GPU-4"), -1);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      ck_assert_int_eq(node.gpu[i].links[j], AMPED_LINK_UNKNOWN);
}

START_TEST(overlapping_lists_are_joined_with_the_links_that_somebody_knows) {
  amped_gpus node = {.count = 0};
  amped_gpus mine;
  see(&mine, 1, 2);
  amped_gpus_join(&node, &mine);
  see(&mine, 2, 2);
  amped_gpus_join(&node, &mine);
  ck_assert_int_eq(node.count, 3);
  ck_assert_int_eq(node.gpu[0].links[1], AMPED_LINK_ATOMIC);
  ck_assert_int_eq(node.gpu[1].links[2], AMPED_LINK_ATOMIC);
  ck_assert_int_eq(node.gpu[2].links[1], AMPED_LINK_ATOMIC);
  ck_assert_int_eq(node.gpu[0].links[2], AMPED_LINK_UNKNOWN);
}

START_TEST(a_full_list_takes_no_more) {
  amped_gpus node = {.count = 0};
  amped_gpus mine;
  see(&mine, 1, AMPED_MAX_GPUS - 1);
  amped_gpus_join(&node, &mine);
  see(&mine, AMPED_MAX_GPUS, 2);
  amped_gpus_join(&node, &mine);
  ck_assert_int_eq(node.count, AMPED_MAX_GPUS);
  ck_assert_int_eq(amped_gpus_find(&node, "GPU-33"), -1);
}

static void forget_launcher(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK",
                                      "OMPI_COMM_WORLD_RANK",
                                      "MPI_LOCALRANKID",
                                      "MV2_COMM_WORLD_LOCAL_RANK",
                                      "PMIX_RANK",
                                      "PMI_RANK",
                                      "SLURM_PROCID",
                                      "SLURM_LOCALID"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    (void)unsetenv(names[i]);
}

START_TEST(local_rank_is_known_before_mpi_starts) {
  forget_launcher();
  ck_assert_int_eq(amped_launcher_local_rank(), -1);
  /* srun --mpi=pmix: rank 6, the third of its node. */
  (void)setenv("PMIX_RANK", "6", 1);
  (void)setenv("SLURM_PROCID", "6", 1);
  (void)setenv("SLURM_LOCALID", "2", 1);
  ck_assert_int_eq(amped_launcher_local_rank(), 2);
  /* mpirun in a job: it inherits Slurm's numbers, which are those of the batch script. */
  (void)setenv("SLURM_PROCID", "0", 1);
  (void)setenv("SLURM_LOCALID", "0", 1);
  ck_assert_int_eq(amped_launcher_local_rank(), -1);
  (void)setenv("OMPI_COMM_WORLD_LOCAL_RANK", "3", 1);
  ck_assert_int_eq(amped_launcher_local_rank(), 3);
  forget_launcher();
}

TESTING_MAIN("system", processes_that_see_all_gpus_add_nothing_to_each_other,
             processes_that_see_one_gpu_each_know_no_links,
             overlapping_lists_are_joined_with_the_links_that_somebody_knows,
             a_full_list_takes_no_more, local_rank_is_known_before_mpi_starts)
