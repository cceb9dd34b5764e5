# shellcheck shell=sh
# Sourced, in a shell or by jobs: `. jobs/local-mpi.sh`. Open MPI starts any number of ranks on this machine
# alone, as any user, and in containers. Ranks use shared memory, and look at no network.
if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
# More ranks than cores: Open MPI 4, and 5.
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_MCA_btl=^tcp,openib,ofi,uct,usnic
# Containers often forbid copies from another rank's memory by the kernel: Open MPI 4, and 5.
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_smsc=^cma
