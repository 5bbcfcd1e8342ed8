"""The own tests of Python's libraries: Numba's, Warp's, CuPy's and tinygrad's, module by module.

A case is a test. Modules run in processes of their own, with `--after-fault=continue`, so that one fault is one test's.
"""
import json
import os
import re
import subprocess
import tempfile

from emulated import Run, SECONDS
from pythons import FOLDER, installed

# It wants a GPU that processes share.
LEFT_OUT = {"test_multiprocessing"}
# True alarms: the module's bug, and the test that fails for it where one does.
KNOWN = {
    "test_localmem": ("an array of one element for ten", "test_struct_model_type_arr"),
    "test_dispatcher": ("16 elements of arrays that have 10", "test_dispatcher_cpointer_arguments"),
    "test_cooperative_groups": ("threads arrive at a barrier that another has yet to initialise", None),
    "test_freevar": ("it stores what nothing has set", None),
    "test_warp_ops": ("lanes load what another of them stores, of equal value", None),
    "test_sm": ("it stores what nothing has set", None),
    "test_sm_creation": ("it stores what nothing has set", None),
    "test_exception": ("all threads add to one element", None),
}
NUMBA = "numba.cuda.tests.cudapy"
WARP = "test_array_reduce test_atomic_bitwise test_atomic_cas test_runlength_encode tile.test_tile_reduce tile.test_tile_shared_memory".split()
TOOLS = ["filecheck==1.0.3", "pytest==9.2.0", "psutil", "cffi", "ml_dtypes"]


def environment(folder):
    """The Python of an environment with the packages and what their tests ask for."""
    program = installed(folder)
    subprocess.run([program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *TOOLS], check=True)
    return program


# Runs a module, and writes each test's outcome to a file: what tests print may stand anywhere.
RUNNER = """
import json, sys, unittest
outcomes = []
class Result(unittest.TextTestResult):
    def stopTest(self, test):
        super().stopTest(test)
        lists = {"failures": self.failures, "errors": self.errors, "skipped": self.skipped}
        found = [kind for kind, tests in lists.items() for failed in tests if failed[0] is test or getattr(failed[0], "test_case", None) is test]
        outcomes.append((test.id().rsplit(".", 1)[1], found[0] if found else "right"))
        with open(sys.argv[2], "w") as file:
            json.dump(outcomes, file)
suite = unittest.defaultTestLoader.loadTestsFromName(sys.argv[1])
sys.exit(not unittest.TextTestRunner(resultclass=Result).run(suite).wasSuccessful())
"""


def unittests(program, module, seconds=3 * SECONDS):
    """Yields each outcome of a module's tests."""
    with tempfile.NamedTemporaryFile(suffix=".json") as written:
        line = [program, "-B", "-W", "ignore", "-c", RUNNER, module, written.name]
        run = Run(["--after-fault=continue"], line, seconds=seconds)
        results = json.loads(written.read() or "[]")
    short = module.rsplit(".", 1)[1]
    if run.code is None:
        yield short, f"too slow: longer than {seconds} s of processor time"
    elif not results:
        yield short, "not run: " + run.told()
    reason, failing = KNOWN.get(short, (None, None))
    for name, result in results:
        if name == failing and result != "right":
            result = f"true alarm: {reason}"
        known = {"right": "right", "skipped": "skipped by itself", "failures": "wrong", "errors": "wrong"}
        yield f"{short}.{name}", known.get(result, result)
    faults = run.faults()
    if faults and not failing:
        yield short, f"true alarm: {reason}" if reason else "fault: " + faults[0]["text"].splitlines()[0]


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
        yield from unittests(program, f"warp.tests.{module}")


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
