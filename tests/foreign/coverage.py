"""PTX that nvcc makes of other projects: files without an instruction that the emulator lacks."""
import os
import re

from emulated import Run, nvcc

TEXTURES = re.compile(r"instruction `(tex|tld4|txq|suld|sust|suq|sured|istypep)`")
# HeCBench has some 500 programs; these many are taken, in equal steps.
MOST = 150


def outcome(ptx):
    """right, or what the file needs."""
    run = Run([ptx])
    if run.code == 0:
        return "right"
    if run.code != 3:
        return "refused: " + run.told()
    if run.refused:
        return "refused: " + run.refused[0]["reason"]
    reasons = {missing["reason"].split(" (in ")[0] for missing in run.unsupported}
    others = sorted(reason for reason in reasons if not TEXTURES.match(reason))
    if not others:
        return "textures: " + ", ".join(sorted(reasons))
    return "not supported: " + ", ".join(others)


def files_of(folder):
    for path, _, files in sorted(os.walk(folder)):
        for name in sorted(files):
            if name.endswith(".cu"):
                yield os.path.join(path, name)


def compiled(sources, folder, scratch, flags):
    """Yields the outcome of each source that nvcc makes PTX of."""
    ptx = os.path.join(scratch, "file.ptx")
    for source in sources:
        place = os.path.dirname(source)
        if nvcc([source], ptx, place, ["-std=c++17", "--extended-lambda", "-ptx", *flags]):
            with open(ptx) as file:
                if ".entry" in file.read():
                    yield os.path.relpath(source, folder), outcome(ptx)


def samples_ptx(folder, scratch):
    """Every file of NVIDIA's samples that nvcc takes alone."""
    flags = ["-I", os.path.join(folder, "Common")]
    yield from compiled(files_of(os.path.join(folder, "Samples")), folder, scratch, flags)


def hecbench_ptx(folder, scratch):
    """One file of each of HeCBench's CUDA programs, up to 150 of them."""
    place = os.path.join(folder, "src")
    programs = sorted(name for name in os.listdir(place) if name.endswith("-cuda"))
    chosen = programs[:: max(1, len(programs) // MOST)][:MOST]
    sources = [next(files_of(os.path.join(place, name)), None) for name in chosen]
    flags = ["-I", os.path.join(place, "include")]
    yield from compiled(filter(None, sources), folder, scratch, flags)
