# Sourced by `make check` and jobs/check-gpu, before a test starts. Open MPI: more ranks than cores, root,
# containers that forbid process_vm_readv, and whose network leads nowhere. Tests run side by side, so
# neither ranks nor threads spin while they wait.
OMP_NUM_THREADS=2
OMP_WAIT_POLICY=passive
OMPI_MCA_mpi_yield_when_idle=1
OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
OMPI_MCA_btl_tcp_if_include=lo
OMPI_MCA_rmaps_base_oversubscribe=1
OMPI_MCA_btl_vader_single_copy_mechanism=none # Open MPI 4
OMPI_MCA_smsc=^cma                            # Open MPI 5
PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
OMPI_MCA_ess_singleton_isolated=1 # a program that is started without mpirun starts no daemon
export OMPI_MCA_ess_singleton_isolated OMP_NUM_THREADS OMP_WAIT_POLICY OMPI_MCA_mpi_yield_when_idle OMPI_ALLOW_RUN_AS_ROOT \
  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_btl_tcp_if_include OMPI_MCA_rmaps_base_oversubscribe \
  OMPI_MCA_btl_vader_single_copy_mechanism OMPI_MCA_smsc PRTE_MCA_rmaps_default_mapping_policy
# Tests on CPUs look for no network, no other devices and no rare collectives, which takes half of the time of a
# start. GPUs keep the MPI's own choice: jobs/check-gpu sources this file before it names a backend.
if [ "${AMPED_TEST_BACKEND-}" = cpu ]; then
  OMPI_MCA_pml=${OMPI_MCA_pml-ob1}
  OMPI_MCA_btl=${OMPI_MCA_btl-^openib,ofi,uct,usnic}
  OMPI_MCA_coll=${OMPI_MCA_coll-^han,adapt,sm,sync,monitoring}
  OMPI_MCA_osc=${OMPI_MCA_osc-^monitoring,pt2pt,ucx}
  HWLOC_PLUGINS_PATH=${HWLOC_PLUGINS_PATH-/nonexistent}
  export OMPI_MCA_pml OMPI_MCA_btl OMPI_MCA_coll OMPI_MCA_osc HWLOC_PLUGINS_PATH
fi
