/* Launcher: facts about this process that mpirun or srun put into its environment, known before MPI
 * starts. */
#ifndef AMPED_LAUNCHER_H
#define AMPED_LAUNCHER_H

#include <stdbool.h>

/* The rank in the job; -1 if the launcher does not give it, or if there is no launcher. */
int amped_launcher_rank(void);

/* The rank among the ranks of this node; -1 likewise. SLURM_LOCALID counts only if srun itself
 * started the rank: mpirun leaves it 0 on every rank of a node. */
int amped_launcher_local_rank(void);

/* Did Open MPI's mpirun start this process? The answer of the first call, which comes before MPI
 * starts, is kept. */
bool amped_launcher_is_mpirun(void);

/* Is `fd`, 1 or 2, of this process shown on the user's terminal? mpirun reads a rank's output
 * through pipes and terminals of its own; therefore mpirun's own `fd` counts. */
bool amped_launcher_shows(int fd);

#endif
