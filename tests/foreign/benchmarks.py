"""Benchmarks of others, with sizes that an emulator can take: llm.c, Rodinia, PolyBench and SHOC.

Sizes that stand in a source are replaced in a copy of it; nothing else is, but what the toolkit of today lacks.
"""
import os
import re
import shutil

from emulated import Run, nvcc
from programs import outcome

# Each program of llm.c's dev/cuda: the kernels that need no cuBLAS, and the sizes in its source.
SMALL = {"B": 2, "T": 64, "C": 128, "V": 1024}
LLMC = {
    "adamw": ([1, 2], {"num_parameters": 4096}),
    "classifier_fused": ([1, 2, 3, 4, 5], SMALL),
    "crossentropy_forward": ([1], SMALL),
    "crossentropy_softmax_backward": ([1], SMALL),
    "encoder_backward": ([1, 2], SMALL),
    "encoder_forward": ([1, 2, 3], SMALL),
    "fused_residual_forward": ([1, 2, 3, 4, 5, 6], {**SMALL, "B": 1, "T": 2}),
    "gelu_backward": ([1, 2], SMALL),
    "gelu_forward": ([1, 2], SMALL),
    # Its kernel 4 asserts less than 1024 blocks, and asks for as many as fill the GPU: too many where there are 64 multiprocessors.
    "global_norm": ([1, 2, 3], {"C": 16}),
    "layernorm_forward": ([1, 2, 3, 4, 5, 6], SMALL),
    "residual_forward": ([1, 2], SMALL),
    "softmax_forward": ([1, 2, 3, 4, 5, 6, 7, 8], {**SMALL, "T": 16}),
}
# For `common.h`, which names cuBLAS; no kernel above calls it.
CUBLAS = """#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
typedef int cublasStatus_t; typedef void *cublasHandle_t; typedef void *cublasLtHandle_t; typedef int cublasComputeType_t;
enum { CUBLAS_STATUS_SUCCESS, CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_DEFAULT_MATH, CUBLAS_TF32_TENSOR_OP_MATH };
static inline int cublasCreate(cublasHandle_t *) { return 0; }
static inline int cublasLtCreate(cublasLtHandle_t *) { return 0; }
static inline int cublasSetMathMode(cublasHandle_t, int) { return 0; }
typedef int cublasMath_t;
"""

# Those without files of data, with arguments.
RODINIA = """backprop 1024
gaussian -s 16 -q
lavaMD -boxes1d 2
lud/cuda -s 64 -v
nw 128 10
particlefilter/ex_particle_CUDA_float_seq.cu -x 16 -y 16 -z 3 -np 128
particlefilter/ex_particle_CUDA_naive_seq.cu -x 16 -y 16 -z 3 -np 128
pathfinder 100 10 5
srad/srad_v2 64 64 0 31 0 31 0.5 2
streamcluster 2 4 16 128 128 64 none output.txt 1"""
RODINIA_FLAGS = {
    "backprop": ["backprop.c", "backprop_cuda.cu", "facetrain.c", "imagenet.c"],
    "lavaMD": ["main.c", "kernel/kernel_gpu_cuda_wrapper.cu", "util/num/num.c", "util/timer/timer.c", "util/device/device.cu"],
    "lud/cuda": ["-I../common", "../common/common.c", "lud.cu", "lud_kernel.cu"],
    "pathfinder": ["pathfinder.cu"],
    "srad/srad_v2": ["srad.cu"],
    "streamcluster": ["streamcluster_cuda_cpu.cpp", "streamcluster_cuda.cu"],
    "nw": ["needle.cu"],
    "gaussian": ["gaussian.cu"],
}
# Gone in CUDA 13.
GONE = [f"-D{gone}" for gone in (
    "cudaThreadSynchronize=cudaDeviceSynchronize", "cudaThreadExit=cudaDeviceReset", "clockRate=major", "deviceOverlap=major")]

POLYBENCH = """datamining/correlation
datamining/covariance
linear-algebra/kernels/2mm
linear-algebra/kernels/3mm
linear-algebra/kernels/atax
linear-algebra/kernels/bicg
linear-algebra/kernels/doitgen
linear-algebra/kernels/gemm
linear-algebra/kernels/gemver
linear-algebra/kernels/gesummv
linear-algebra/kernels/mvt
linear-algebra/kernels/syr2k
linear-algebra/kernels/syrk
linear-algebra/solvers/gramschmidt
linear-algebra/solvers/lu
stencils/adi
stencils/convolution-2d
stencils/convolution-3d
stencils/fdtd-2d
stencils/jacobi-1d-imper
stencils/jacobi-2d-imper"""

# Those of level 1 that need no cuBLAS, no MPI and none of the texture references that CUDA 12 removed. They check themselves.
SHOC = "bfs md5hash reduction scan sort triad".split()


def llmc(folder, scratch):
    """Each kernel of llm.c against its loop on the CPU, with all block sizes of its program."""
    place = os.path.join(scratch, "cuda")
    shutil.copytree(os.path.join(folder, "dev", "cuda"), place)
    for header in ("cublas_v2.h", "cublasLt.h"):
        with open(os.path.join(place, header), "w") as file:
            file.write(CUBLAS)
    for name, (kernels, sizes) in LLMC.items():
        source = os.path.join(place, name + ".cu")
        with open(source) as file:
            text = file.read()
        for size, value in sizes.items():
            text = re.sub(rf"(\b(?:int|int64_t|size_t|long) {size} = )[^;]+;", rf"\g<1>{value};", text)
        text = re.sub(r"(int repeat_times = )\d+;", r"\g<1>1;", text)
        with open(source, "w") as file:
            file.write(text)
        program = os.path.join(scratch, name)
        is_made = nvcc([source], program, place, ["-std=c++17", "-lineinfo", "-O3", "--use_fast_math", "-I", place])
        for kernel in kernels:
            case = f"{name} {kernel}"
            if is_made:
                run = Run([], [program, str(kernel)], place)
                yield case, outcome(case, run, lambda text: "Mismatch" not in text)
            else:
                yield case, "does not compile"


def rodinia(folder, scratch):
    """Rodinia's CUDA programs. Few of them check themselves."""
    for line in RODINIA.splitlines():
        name, *arguments = line.split()
        place = os.path.join(scratch, name)
        if name.endswith(".cu"):
            place, sources = os.path.dirname(place), [os.path.basename(name)]
        else:
            sources = RODINIA_FLAGS[name]
        # `#include` goes to neighbours.
        root = name.split("/")[0]
        if not os.path.exists(os.path.join(scratch, root)):
            shutil.copytree(os.path.join(folder, "cuda", root), os.path.join(scratch, root))
        program = os.path.join(place, "program")
        if nvcc(sources, program, place, ["-lineinfo", "-std=c++17", *GONE]):
            run = Run([], [program, *arguments], place)
            yield name, outcome(name, run)
        else:
            yield name, "does not compile"


def polybench(folder, scratch):
    """PolyBench-ACC's CUDA programs, against their loops on the CPU."""
    utilities = os.path.join(folder, "CUDA", "utilities")
    for name in POLYBENCH.splitlines():
        place = os.path.join(folder, "CUDA", name)
        sources = [file for file in sorted(os.listdir(place)) if file.endswith(".cu")]
        program = os.path.join(scratch, name.replace("/", "-"))
        flags = ["-lineinfo", "-DMINI_DATASET", "-DPOLYBENCH_TIME", "-I", utilities, *GONE]
        if nvcc(sources, program, place, flags):
            run = Run([], [program], place)
            matches = lambda text: re.search(r"^(Non-Matching .*|Number of misses): 0$", text, re.M)
            yield name, outcome(name, run, matches)
        else:
            yield name, "does not compile"


def shoc(folder, scratch):
    """SHOC's programs of level 1, of the smallest size."""
    common = os.path.join(folder, "src", "common")
    with open(os.path.join(scratch, "config.h"), "w") as file:
        file.write("#pragma once\n#define HAVE_GETTIMEOFDAY 1\n")
    shared = ["CTimer", "Graph", "Option", "OptionParser", "ProgressBar", "ResultDatabase", "Timer"]
    host = [os.path.join(common, name + ".cpp") for name in shared]
    includes = ["-I", scratch, "-I", common, "-I", os.path.join(folder, "src", "cuda", "common")]
    main = os.path.join(folder, "src", "cuda", "common", "main.cpp")
    for name in SHOC:
        place = os.path.join(folder, "src", "cuda", "level1", name)
        sources = [file for file in sorted(os.listdir(place)) if file.endswith(".cu") and not file.startswith("tp")]
        program = os.path.join(scratch, name)
        if nvcc([*sources, main, *host], program, place, ["-lineinfo", "-std=c++14", *includes, *GONE]):
            iterations = ["--iterations", "1"] if name in ("reduction", "scan") else []
            run = Run([], [program, "--size", "1", "--passes", "1", *iterations], scratch)
            yield name, outcome(name, run, lambda text: "FAIL" not in text.upper())
        else:
            yield name, "does not compile"
