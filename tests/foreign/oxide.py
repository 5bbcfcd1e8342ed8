"""cuda-oxide's example vecadd as cuda-oxide-bench has it: with the PTX that cuda-oxide's compiler made of it.

Its host program needs that compiler no more: it loads the PTX beside its manifest by cuda-oxide's host library.
"""
import os
import subprocess

from emulated import Run, link_driver

PROGRAM = "oxide-vecadd"


def oxide(folder, scratch):
    """Yields the program with its outcome."""
    link_driver(scratch)
    place, target = os.path.join(folder, PROGRAM), os.path.join(scratch, "target")
    command = ["cargo", "+nightly", "build", "-q", "--locked", "--target-dir", target]
    environment = dict(os.environ, RUSTFLAGS=f"-Lnative={scratch}")
    if subprocess.run(command, cwd=place, env=environment).returncode:
        yield PROGRAM, "does not build"
        return
    yield PROGRAM, Run([], [os.path.join(target, "debug", PROGRAM)], place).outcome()
