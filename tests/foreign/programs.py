"""Whole programs of other projects, as they are. They check their results themselves."""
import os
import subprocess
import sys

from emulated import Run, nvcc, sources_of

# Those that need no library of the toolkit's but NVRTC.
CUDARC = """01-allocate 02-copy 03-launch-kernel 04-streams 05-device-repr 06-threading 09-constant-memory
10-function-attributes 12-context-config matmul-kernel nvrtc-compile""".split()

# Small enough with the sizes that they have, or with arguments.
SAMPLES = """0_Introduction/asyncAPI
0_Introduction/clock
0_Introduction/simpleAssert
0_Introduction/simpleAtomicIntrinsics
0_Introduction/simpleCallback
0_Introduction/simpleCooperativeGroups
0_Introduction/simpleMultiGPU
0_Introduction/simpleOccupancy
0_Introduction/simplePrintf
0_Introduction/simpleTemplates
0_Introduction/simpleVoteIntrinsics
0_Introduction/simpleZeroCopy
0_Introduction/systemWideAtomics
0_Introduction/vectorAdd
2_Concepts_and_Techniques/inlinePTX
2_Concepts_and_Techniques/shfl_scan
2_Concepts_and_Techniques/streamOrderedAllocation
2_Concepts_and_Techniques/threadFenceReduction --n=65536
3_CUDA_Features/graphConditionalNodes
3_CUDA_Features/graphMemoryNodes
3_CUDA_Features/simpleCudaGraphs"""

# Whose blocks meet, with sizes that take seconds.
COOPERATIVE = """2_Concepts_and_Techniques/reductionMultiBlockCG --n=65536 --maxblocks=8
3_CUDA_Features/binaryPartitionCG"""

HECBENCH = """adam 1000 20 1
atomicAggregate 1
atomicCAS 5
bitonic-sort 10 2
bscan 1
bsearch 8192 1
cobahh 1000 1
complex 1000 1
convolution1D 4096 1
coordinates 1000 1
cross 1000 1
entropy 64 64 1
floydwarshall 64 1 16
gelu 2 64 64 1
heat 64 2
intrinsics-cast 1000 1
iso2dfd 64 64 2
matrix-rotate 64 1
matrixT 64 64 1
merge 1000 1
murmurhash3 1000 1
nqueen 8 7 1
nw 128 10 1
page-rank -n 100 -i 2
pathfinder 100 10 5
popcount 1024 1
relu 1024 1
segment-reduce 64 1
softmax 100 784 0 1
stddev 64 64 1
stencil1d 4096 1
threadfence 1 10000
vadd 64 256 1
vote 1000"""

# Programs that are right as they are although they do not end well: what the emulator tells is so.
TRUE_ALARMS = {
    "0_Introduction/simpleAssert": ("failed assertion", "it fails its assertion, as it means to"),
    "2_Concepts_and_Techniques/threadFenceReduction": (
        "race in global memory",
        "a race by PTX's model: the reader lacks a fence",
    ),
    "3_CUDA_Features/graphConditionalNodes": (
        "race between commands",
        "conditional nodes do not depend on the kernels that set their values: 0 dependencies are counted",
    ),
    "examples/i128_demo": ("trap", "it divides so that it traps, as it means to"),
    "device/example_device_env_memory_resource": ("race between commands", "it copies its sum without a wait for the stream"),
    "bscan": ("lanes missing", "a bug of its own: the mask of a vote lacks the lane that calls"),
    "softmax_forward 4": ("race in shared memory", "no barrier between the maximum's loads and the sum's store"),
    "softmax_forward 7": ("race in global memory", "it loads an element again that a thread has stored"),
    **{f"fused_residual_forward {kernel}": ("out of bounds", "`idx > N` for `idx >= N`") for kernel in (2, 3, 4, 5)},
    "bfs": ("race in global memory", "it reads levels that others store, each the same value"),
    "srad/srad_v2": ("out of bounds", "it loads the row above the first, and does not use it"),
    "linear-algebra/kernels/atax": ("race in global memory", "blocks of 32 x 8 for a kernel of one dimension"),
    "linear-algebra/kernels/mvt": ("race in global memory", "blocks of 32 x 8 for a kernel of one dimension"),
}


def outcome(name, run, is_right=lambda text: True):
    """What became of a program, against what is known of it, and its own words."""
    kind, why = TRUE_ALARMS.get(name, (None, None))
    faults = run.faults()
    if kind and faults and all(fault["kind"] == kind for fault in faults):
        return f"true alarm: {why}"
    became = run.outcome()
    return "wrong: " + run.told() if became == "right" and not is_right(run.text) else became


def cargo(flags, folder, scratch, what):
    environment = dict(os.environ, CARGO_TARGET_DIR=scratch)
    if subprocess.run(["cargo", *flags], cwd=folder, env=environment).returncode:
        sys.exit(f"foreign: {what} does not build")


def cudarc(folder, scratch):
    """cudarc's examples."""
    flags = ["--no-default-features", "--features", "std,driver,nvrtc,dynamic-loading,cuda-13000"]
    examples = [word for name in CUDARC for word in ("--example", name)]
    cargo(["build", *flags, *examples], folder, scratch, "cudarc")
    for name in CUDARC:
        program = os.path.join(scratch, "debug", "examples", name)
        yield name, outcome(name, Run([], [program], folder))


def samples(folder, scratch, names=SAMPLES, flags=()):
    """NVIDIA's samples, with the static runtime."""
    common = ["-std=c++17", "--extended-lambda", "-lineinfo", "-I", os.path.join(folder, "Common"), *flags]
    for line in names.splitlines():
        name, *arguments = line.split()
        place = os.path.join(folder, "Samples", name)
        program = os.path.join(scratch, os.path.basename(name))
        if nvcc(sources_of(place), program, place, common):
            yield name, outcome(name, Run([], [program, *arguments], place))
        else:
            yield name, "does not compile"


def samples_linked(folder, scratch):
    """NVIDIA's samples as their CMake files build them: their device code is linked, when they start, from that of all their parts."""
    return samples(folder, scratch, f"{SAMPLES}\n{COOPERATIVE}", ["-rdc=true"])


def hecbench(folder, scratch):
    """HeCBench's CUDA programs."""
    flags = ["-std=c++17", "--extended-lambda", "-lineinfo"]
    for line in HECBENCH.splitlines():
        name, *arguments = line.split()
        place = os.path.join(folder, "src", name + "-cuda")
        program = os.path.join(scratch, name)
        if nvcc(sources_of(place), program, place, flags):
            yield name, outcome(name, Run([], [program, *arguments], place))
        else:
            yield name, "does not compile"
