"""Indigo3: graph algorithms in many styles, with bugs planted one by one. A sample of its 13,400 CUDA codes is run."""
import os
import random
import re
import shutil
import subprocess

from emulated import Run, nvcc
from labelled import verdict

# Planted bugs that break a rule of memory, and how many codes of each are drawn. The suite's other
# bugs are of the algorithm: a field forgotten, an integer that overflows, a loop without end.
BUGS = {"RaceBug": 14, "SyncBug": 4, "UninitializedBug": 4, "BoundsBug": 4, "ExcessThreadsBug": 4}
CLEAN = 30
# Of processor time. A host whose kernels have faulted may loop for ever.
SECONDS = 30
GRAPHS = ["undirect2dim_rand_torus_100n_400e", "undirect_star_500n_998e", "undirect_4max_degree_750n_2356e"]
# CUDA 13 has no clock rates any more; the suite prints them.
NAMES = ["-DclockRate=warpSize", "-DmemoryClockRate=warpSize"]

# Codes without a planted bug that break a rule all the same.
OWN = [
    (r"^TC_.*_Reduction_", "adds up words of `s_buffer` that no warp wrote"),
    (r"^(BFS|SSSP)_CUDA_E_Data_.*_NoUninitializedBug", "zeroes `time` by a thread per node, and it has an element per edge"),
    (r"^MST_CUDA_V_Data_", "its worklist holds fewer entries than nodes"),
    (r"^PR_.*_Persist_Warp_.*BlockAdd$", "reads `local_diff` beside atomicAdd_block"),
    (r"^PR_.*_NonDeterm_", "reads scores that others store in the same launch"),
]

# Planted bugs that break no rule in this style.
HARMLESS = [(r"_NonPersist_.*_Block_.*_ExcessThreadsBug", "a block per element: no thread is in excess")]


def planted(name):
    """The bugs that a code's name tells of."""
    return [word for word in name.split("_") if word.endswith("Bug") and not word.startswith("No")]


def drawn(names):
    """The sample: codes with exactly one bug, and codes without any."""
    source = random.Random(1)
    for bug, count in BUGS.items():
        ours = [name for name in names if planted(name) == [bug]]
        yield from source.sample(ours, min(count, len(ours)))
    clean = [name for name in names if not planted(name)]
    yield from source.sample(clean, min(CLEAN, len(clean)))


def generate(folder, scratch):
    """A copy of the suite with all its codes: name to file."""
    copy = os.path.join(scratch, "indigo3")
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("generatedCodes", ".git"))
    settings = os.path.join(copy, "codeGen", "configure.txt")
    with open(settings) as file:
        text = re.sub(r"^( *bug: *)\{\w+\}", r"\1{all}", file.read(), flags=re.M)
    with open(settings, "w") as file:
        file.write(text)
    command = ["python3", "generate_all_codes.py", "CUDA"]
    subprocess.run(command, cwd=copy, stdout=subprocess.DEVNULL, check=True)
    found = {}
    for path, _, files in os.walk(os.path.join(copy, "generatedCodes")):
        found.update((name.removesuffix(".cu"), os.path.join(path, name)) for name in files)
    return copy, found


def indigo(folder, scratch):
    """Yields each code of the sample with its outcome."""
    copy, codes = generate(folder, scratch)
    for name in drawn(sorted(codes)):
        program = os.path.join(scratch, "program")
        if not nvcc([codes[name]], program, copy, ["-lineinfo", "-O3", "-Ilib", *NAMES]):
            yield name, "does not compile"
            continue
        bugs = planted(name)
        known = HARMLESS if bugs else OWN
        why = next((why for pattern, why in known if re.search(pattern, name)), None)
        racy = bool(bugs) != bool(why)
        for graph in GRAPHS:
            given = [os.path.join(copy, "inputs", graph + ".egr"), "1"]
            if name.startswith(("BFS", "SSSP")):
                given.append("0")
            run = Run(["--orders", "0,1,4", "--multiprocessors", "2"], [program, *given], seconds=SECONDS)
            outcome = verdict(racy, run, why)
            if outcome.startswith("right") == racy:
                break
        yield name, outcome
