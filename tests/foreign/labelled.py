"""Suites whose programs are labelled: with a race (or another broken rule), or without.

A label is the view of its author. Where PTX's model sees another thing, the verdict that it asks for stands here with the reason,
and such a case is counted apart.
"""
import os
import re

from emulated import Run, nvcc, sources_of

ORDERS = "0..5"

# Cases whose label is not what PTX's memory model says: the verdict of the model, and why.
FENCE = "the reader has no fence behind its atomic operation: a race by PTX's model, none by ScoRD's"
EQUAL = "threads store equal values, or a value that is there already"
SCOR = {
    "norace_interblock_fence_raw": (True, FENCE),
    "norace_interwarp_blkfence_raw": (True, FENCE),
    "norace_interwarp_fence_raw": (True, FENCE),
    "norace_interwarp-block_fence_hrf-indirect": (True, FENCE),
    "norace_interwarp-block_fence-atom_hrd-indirect": (True, FENCE),
}


APART = "right by PTX's model, not by its label"


def verdict(racy, run, why=None):
    """The outcome of a case that should be found racy, or should not; `why` if its label says otherwise."""
    right = f"{APART}: {why}" if why else "right"
    faults = run.faults()
    if faults:
        return right if racy else f"false alarm: {faults[0]['text'].splitlines()[0]}"
    if run.code is None:
        return "too slow"
    if run.code:
        return "not run: " + run.told()
    return "missed" if racy else right


def scor(folder, scratch):
    """ScoR's microbenchmarks. Their data is `volatile`, and they never set it."""
    place = os.path.join(folder, "microbenchmarks", "src")
    for source in sources_of(place):
        name = source.removesuffix(".cu")
        program = os.path.join(scratch, name)
        if not nvcc([source], program, place):
            yield name, "does not compile"
            continue
        racy, why = SCOR.get(name, (name.startswith("race_"), None))
        flags = ["--volatile-is-plain", "--check", "races,barriers", "--orders", ORDERS]
        yield name, verdict(racy, Run(flags, [program]), why)


# GPUVerify's own language of contracts: a label may hang on it.
CONTRACTS = re.compile(
    r"__(requires\w*|ensures|invariant|assert|assume|at_most_one|global_inv|function_wide|enabled|distinct|uniform|axiom"
    r"|no_\w+|all|implies|return_val\w*|ptr_\w+|read\w*|write\w*|non_temporal\w*|add_noovfl\w*|\w*_bar\w*_inv\w*)\s*\("
)
# Names that the kernels have from elsewhere, or from an older CUDA.
PRELUDE = """typedef unsigned int uint;
#include <cooperative_groups.h>
namespace cooperative_groups { template <class Group> __device__ void synchronize(Group &group) { group.sync(); } }
"""
# Fills of the buffers, and the scalar beside them.
INPUTS = [("iota", 64), ("1", 1), ("0", 0)]
STEP = "it relies on lanes in step, which GPUs from Volta on do not keep: a race by PTX's model"
CALLER = "the host would have to change a constant"
EXITED = "the threads that do not reach the barrier have exited, and count as arrived"
GPUVERIFY = {
    "cooperative_groups/fail/divergence_grid_group": (False, EXITED),
    "cooperative_groups/fail/divergence_thread_block": (False, EXITED),
    "globalarray/fail": (False, CALLER),
    "loop_unwind": (False, EQUAL),
    "memcpy/fail_arrayofstruct": (False, "each thread stores a structure that it has never set: nothing is stored"),
    "memcpy/fail_overstep": (False, EQUAL),
    "memcpy/lentoobig": (False, EQUAL),
    "memcpy/notexactdiv": (False, EQUAL),
    "misc/fail/miscfail7": (False, EQUAL),
    "pointertests/test12": (True, "threads load what another of them stores; GPUVerify lets pass that the values are equal"),
    "warpsync/2d": (True, STEP),
    "warpsync/intragroup_scan": (True, STEP),
    "warpsync/scan_warp": (True, STEP),
    "warpsync/shuffle": (True, STEP),
}


def extents(text, flag):
    found = re.search(rf"--{flag}=\[?([\d,]+)\]?", text)
    numbers = [int(number) for number in found.group(1).split(",")] if found else [1]
    size = 1
    for number in numbers:
        size *= number
    return ",".join(map(str, numbers)), size


def arguments(ptx, kernel, count, fill, scalar):
    """The kernel's arguments on the command line, or None where it takes a structure. 8 bytes are taken for a pointer."""
    head = re.search(rf"\.entry {re.escape(kernel)}\s*\((.*?)\)", ptx, re.S)
    given = []
    for parameter in re.findall(r"\.param ([^,]*)", head.group(1) if head else ""):
        if ".ptr" in parameter or ".u64" in parameter or ".b64" in parameter:
            given.append(f"u32[{count}]={fill}")
        elif "[" in parameter:
            return None
        else:
            kind = re.search(r"\.([ubsf])(\d+)", parameter)
            prefix = {"f": "f", "s": "i"}.get(kind.group(1), "u")
            given.append(f"{scalar}{prefix}{kind.group(2)}")
    return given


def gpuverify_case(text, ptx_file, racy, why):
    """The outcome of the kernels of a file, with several inputs: it is racy if one launch is."""
    with open(ptx_file) as file:
        ptx = file.read()
    kernels = re.findall(r"\.entry (\w+)\s*\(", ptx)
    grid, blocks = extents(text, "gridDim")
    block, threads = extents(text, "blockDim")
    if threads > 1024:
        return "not run: a block of more than 1024 threads"
    best = "not run: no kernel"
    for kernel in kernels:
        for fill, scalar in INPUTS:
            given = arguments(ptx, kernel, max(4 * blocks * threads, 16384), fill, scalar)
            if given is None:
                return "not run: a structure as argument"
            launch = ["--kernel", kernel, "--grid", grid, "--block", block, "--orders", ORDERS]
            run = Run([ptx_file, *launch, "--check", "races,barriers", *given])
            best = verdict(racy, run, why)
            if best.startswith("false alarm: out of bounds"):
                # The sizes are ours: the tests do not tell them.
                best = "not run: the buffers do not fit"
            if racy == best.startswith("right"):
                return best
    return best


def gpuverify(folder, scratch):
    """GPUVerify's CUDA kernels without contracts, unoptimised, so that no access is left out."""
    place = os.path.join(folder, "testsuite", "CUDA")
    prelude = os.path.join(scratch, "prelude.h")
    with open(prelude, "w") as file:
        file.write(PRELUDE)
    for path, _, files in sorted(os.walk(place)):
        if "kernel.cu" not in files:
            continue
        name = os.path.relpath(path, place)
        source = os.path.join(path, "kernel.cu")
        with open(source, errors="replace") as file:
            text = file.read()
        if not re.match(r"//(pass|xfail:NOT_ALL_VERIFIED)", text, re.I):
            continue
        if CONTRACTS.search(text):
            yield name, "not run: contracts of GPUVerify's"
            continue
        ptx = os.path.join(scratch, "kernel.ptx")
        defines = re.findall(r"-D\w+(?:=\w+)?", text.splitlines()[1])
        if not nvcc([source], ptx, path, ["-ptx", "-G", "-include", prelude, *defines]):
            yield name, "not run: does not compile"
            continue
        racy, why = GPUVERIFY.get(name, (text.lower().startswith("//xfail"), None))
        yield name, gpuverify_case(text, ptx, racy, why)
