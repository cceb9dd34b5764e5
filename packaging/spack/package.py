"""Spack recipe of amped_mpi.

There is no public place to fetch a release from: put the tarball of `make dist` into the current
folder, and this file into packages/amped_mpi/package.py (Spack 1.0 or newer) of a repository of your
own (`spack repo create`, `spack repo add`). Then, for H100 and H200:

    spack install --no-checksum amped-mpi +cuda cuda_arch=90 ^openmpi +cuda fabrics=ucx schedulers=slurm ^ucx +cuda
"""

import os

from spack_repo.builtin.build_systems.autotools import AutotoolsPackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class AmpedMpi(AutotoolsPackage, CudaPackage):
    """CP decomposition of huge sparse tensors on many GPUs or CPU cores, one MPI rank each."""

    homepage = "https://doi.org/10.1145/3754598.3754651"
    url = f"file://{os.getcwd()}/amped_mpi-0.1.0.tar.gz"
    manual_download = True

    license("BSD-3-Clause")

    version("0.1.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("check@0.15:", type="test")

    depends_on("mpi")
    depends_on("openmpi +cuda", when="+cuda ^[virtuals=mpi] openmpi")
    depends_on("hdf5@1.10:")
    depends_on("openblas")
    depends_on("jansson")
    depends_on("zlib-api")
    depends_on("zstd")
    depends_on("cuda@11.8:", when="+cuda")

    conflicts("cuda_arch=none", when="+cuda", msg="say which GPUs: cuda_arch=80, 90, ...")

    def configure_args(self):
        args = [f"MPICC={self.spec['mpi'].mpicc}"]
        if self.spec.satisfies("+cuda"):
            args.append(f"--with-cuda={self.spec['cuda'].prefix}")
            args.append(f"--with-cuda-arch={','.join(self.spec.variants['cuda_arch'].value)}")
        else:
            args.append("--without-cuda")
        return args

    def check(self):
        make("check-unit")
