/* Launcher: what mpirun or srun tells of this process before MPI is up, in its environment. */
#ifndef AMPED_LAUNCHER_H
#define AMPED_LAUNCHER_H

/* The rank in the job; -1 where the launcher does not tell, as where there is none. */
int amped_launcher_rank(void);

/* The rank among those of this node, likewise. SLURM_LOCALID counts where srun itself started the
 * rank: it is 0 on every rank that mpirun starts on a node. */
int amped_launcher_local_rank(void);

#endif
