"""CuSan's tests: programs whose host and streams race, each also with the synchronisation that it lacks (`-DCUSAN_SYNC`)."""
import os
import re

from emulated import Run, nvcc

SYNCHRONISED = "-DCUSAN_SYNC"


def forms(text):
    """The flags of each form, and whether CuSan tells a race in it."""
    is_told = bool(re.search(r"CHECK(-DAG)?: .*data race", text))
    yield "as it is", [], is_told
    if SYNCHRONISED in text:
        yield "synchronised", [SYNCHRONISED], False


def outcome(run, is_told):
    """What became of a form."""
    if run.code is None:
        return run.outcome()
    has_race = any(kind in run.text for kind in ["race between commands", "race with the host"])
    if has_race == is_told:
        return "right"
    return f"missed: {run.told()}" if is_told else f"told: {run.told()}"


def cusan(folder, scratch):
    """Yields each form of a test with its outcome."""
    for part in ["runtime", "multi_gpu"]:
        place = os.path.join(folder, "test", part)
        for name in sorted(os.listdir(place)):
            if not name.endswith(".c"):
                continue
            with open(os.path.join(place, name)) as file:
                text = file.read()
            if "mpi.h" in text:
                yield f"{part}/{name}", "needs MPI"
                continue
            for form, flags, is_told in forms(text):
                program = os.path.join(scratch, f"{part}-{name}-{len(flags)}")
                if not nvcc(["-x", "cu", os.path.join(place, name)], program, place, ["-g", *flags]):
                    became = "does not compile"
                else:
                    became = outcome(Run(["--devices=2"], [program], place), is_told)
                yield f"{part}/{name}, {form}", became
