"""The own tests of Python's libraries: Numba's, Warp's, CuPy's and tinygrad's, module by module.

A case is a test. Modules run in processes of their own, with `--after-fault=continue`, so that one fault is one test's.
"""
import os
import re
import subprocess

from emulated import Run, SECONDS
from pythons import FOLDER, installed

# That no module may need beside the environment of `pythons`, with what it lacks.
LEFT_OUT = {
    "test_cffi": "cffi",
    "test_cupy_bfloat16_interop": "ml_dtypes",
    "test_multiprocessing": "a GPU that forked processes share",
}
NUMBA = "numba.cuda.tests.cudapy"
WARP = "array_reduce atomic radix_sort runlength_encode scan_functions sparse reload".split()
TOOLS = ["filecheck==1.0.3", "pytest==9.2.0", "psutil"]


def environment(folder):
    """The Python of an environment with the packages and what their tests ask for."""
    program = installed(folder)
    subprocess.run([program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *TOOLS], check=True)
    return program


def unittests(program, module, seconds=3 * SECONDS):
    """Yields each outcome of a module's tests, by unittest's own report."""
    run = Run(["--after-fault=continue"], [program, "-B", "-m", "unittest", "-v", module], seconds=seconds)
    # What a test prints may stand between its name and its result.
    results = re.findall(r"^(\w+) \([\w.]+\)[^\n]*?\.\.\. (?:.*?)(ok|FAIL|ERROR|skipped|expected failure)\b", run.text, re.M | re.S)
    short = module.rsplit(".", 1)[1]
    if run.code is None:
        yield short, f"too slow: longer than {seconds} s of processor time"
    if not results:
        yield short, "not run: " + run.told()
    for name, result in results:
        if result in ("ok", "expected failure"):
            yield f"{short}.{name}", "right"
        elif result == "skipped":
            yield f"{short}.{name}", "skipped by itself"
        else:
            yield f"{short}.{name}", "wrong: " + result
    for fault in run.faults():
        yield short, "fault: " + fault["text"].splitlines()[0]


def numba_tests(folder, _scratch):
    """Numba's tests of its CUDA target."""
    program = environment(folder)
    place = subprocess.check_output([program, "-c", f"import {NUMBA} as tests; print(tests.__path__[0])"], text=True).strip()
    for file in sorted(os.listdir(place)):
        module = file.removesuffix(".py")
        if file.startswith("test_") and module not in LEFT_OUT:
            yield from unittests(program, f"{NUMBA}.{module}")


def warp_tests(folder, _scratch):
    """Some of Warp's tests, which run on the CPU too."""
    program = environment(folder)
    subprocess.run([program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "warp-lang==1.19.0"], check=True)
    for module in WARP:
        yield from unittests(program, f"warp.tests.test_{module}")


def pytests(folder, paths, flags=()):
    """Yields each outcome of tests by pytest in a checkout."""
    program = environment(FOLDER)
    for path in paths:
        line = [program, "-B", "-m", "pytest", "-q", "-rA", "--tb=no", "-p", "no:cacheprovider", *flags, path]
        run = Run(["--after-fault=continue"], line, folder, seconds=3 * SECONDS)
        results = re.findall(r"^(PASSED|FAILED|ERROR|SKIPPED|XFAIL) (\S+)", run.text, re.M)
        if run.code is None or not results:
            yield path, "too slow" if run.code is None else "not run: " + run.told()
        for result, name in results:
            known = {"PASSED": "right", "XFAIL": "right", "SKIPPED": "skipped by itself"}
            yield name, known.get(result, "wrong: " + result)


def cupy_tests(folder, _scratch):
    """CuPy's tests of kernels, reductions, scans and indexing, against the wheel."""
    core = "tests/cupy_tests/core_tests/"
    return pytests(folder, [core + f"test_{name}.py" for name in ("elementwise", "reduction", "scan", "raw", "function", "userkernel")])
