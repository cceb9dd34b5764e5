/* Launcher: facts about this process that mpirun or srun put into its environment, known before MPI
 * starts. */
#ifndef AMPED_LAUNCHER_H
#define AMPED_LAUNCHER_H

#include <stdbool.h>

/* The rank in the job; -1 where the launcher does not tell, or where there is no launcher. */
int amped_launcher_rank(void);

/* The rank among the ranks of this node; -1 likewise. SLURM_LOCALID counts only where srun itself
 * started the rank: mpirun leaves it 0 on every rank of a node. */
int amped_launcher_local_rank(void);

/* Did Open MPI's mpirun start this process? As it was at the first call, which comes before MPI
 * starts. */
bool amped_launcher_is_mpirun(void);

/* Does the user see on a terminal what this process writes to `fd`, 1 or 2? What a rank writes,
 * mpirun reads through pipes and terminals of its own: its own `fd` counts. */
bool amped_launcher_shows(int fd);

#endif
