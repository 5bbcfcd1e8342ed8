"""vosen/ptx_tests: instructions against a reference on the CPU, by the driver's functions.

The suite tries 2^32 inputs per test. Here a copy tries 32768, spread over the range.
"""
import os
import re
import shutil
import subprocess
import sys

from emulated import Run

INPUTS = 32768
CUTS = [
    ("let total_elements = 2.pow(32);", f"let total_elements = {INPUTS};"),
    (
        "let total_elements = Test::MAX_VALUE as usize + 1;",
        f"let total_elements = (Test::MAX_VALUE as usize + 1).min({INPUTS});",
    ),
    (
        "t.generate((elment_start + i) as u32)",
        "t.generate(if total_elements > Test::MAX_VALUE as usize { (elment_start + i) as u32 } else"
        " { ((elment_start + i) as u64 * 0x9E37_79B1 % (Test::MAX_VALUE as u64 + 1)) as u32 })",
    ),
]


def build(folder, scratch):
    """The program, made from a copy with fewer inputs."""
    copy = os.path.join(scratch, "ptx_tests")
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("target", ".git"))
    file = os.path.join(copy, "src", "test.rs")
    with open(file) as source:
        text = source.read()
    for old, new in CUTS:
        if old not in text:
            sys.exit(f"foreign: ptx_tests no longer has `{old}` in src/test.rs")
        text = text.replace(old, new)
    with open(file, "w") as source:
        source.write(text)
    # GMP's own tests take longer than all else.
    with open(os.path.join(copy, "Cargo.toml"), "a") as manifest:
        manifest.write('\n[dependencies.gmp-mpfr-sys]\nversion = "1"\ndefault-features = false\nfeatures = ["c-no-tests"]\n')
    target = os.path.join(scratch, "target")
    # In the suite's own profile: in others the compiler moves code of its references out of their
    # rounding modes.
    command = ["cargo", "build", "-q", "--release", "--target-dir", target]
    if subprocess.run(command, cwd=copy).returncode:
        sys.exit("foreign: ptx_tests does not build: it needs a nightly toolchain and m4")
    return os.path.join(target, "release", "ptx_tests")


def ptx_tests(folder, scratch):
    """Yields each test with its outcome."""
    run = Run([], [build(folder, scratch), "libcuda.so.1"], seconds=1800)
    for name, ended in re.findall(r"^(\S+): (OK|FAIL - [^\n]*(?:\n    .*)*)", run.text, re.M):
        if ended == "OK":
            yield name, "right"
        elif "mismatch" in ended:
            yield name, "accepted, and should not be: " + ended
        elif "Compilation failed" in ended:
            yield name, "refused: " + ended
        else:
            yield name, "wrong: " + " ".join(ended.split())
    if "panicked" in run.text or run.code is None:
        yield "the suite", f"ended early: {run.told()}"
