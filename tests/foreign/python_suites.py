"""The own tests of Python's libraries: Numba's, Warp's, CuPy's and tinygrad's, module by module.

A case is a test. Modules run in processes of their own, with `--after-fault=continue`, so that one fault is one test's.
"""
import json
import os
import re
import subprocess
import tempfile
from xml.etree import ElementTree

from emulated import ROOT, Run, SECONDS
from pythons import FOLDER, MADE, installed

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
    "test_atomic_cas": ("a lock without fences guards a plain store", None),
    "test_tile_shared_memory": ("threads meet a barrier in a branch that the others do not take", None),
    "test_tile_oob": ("an assertion fails, as the test means it to", None),
    # CUDA's guide lets a thread read only from one that takes part. The value is undefined; Warp drops it (tile_reduce.h:230).
    "test_tile_reduce": ("lanes shuffle from lanes outside the mask, and drop what they get", None),
}
NUMBA = "numba.cuda.tests.cudapy"
# Warp's compiler is within its library, where nothing stands between; by itself Warp asks it for PTX.
OF_MACHINE_CODE = """test_texture2d_array_cuda_0 test_texture3d_array_cuda_0 test_texture_32bit_int_struct_and_array_cuda_0
test_texture_sample_grad_moderate_cancellation_cuda_0 test_texture_sample_grad_texture_array_cuda_0""".split()
WARP = """test_array_reduce test_atomic test_atomic_bitwise test_atomic_cas test_bit_count test_bool test_dense test_fp16
test_intersect test_iter test_rand test_rounding test_runlength_encode test_scalar_ops test_vec_lite
tile.test_tile_atomic_bitwise tile.test_tile_load_indexed tile.test_tile_oob tile.test_tile_reduce
tile.test_tile_shared_memory tile.test_tile_stack cuda.test_conditional_captures cuda.test_texture""".split()
# It wants the error that ends a context.
STOPS = {"test_tile_oob"}
CUPY = """core_tests/test_elementwise core_tests/test_function core_tests/test_userkernel core_tests/test_raw
core_tests/test_include core_tests/test_reduction core_tests/test_cub_reduction core_tests/test_scan core_tests/test_gufuncs
core_tests/test_carray core_tests/test_ndarray_indexing core_tests/test_ndarray_adv_indexing core_tests/test_ndarray_scatter
indexing_tests/test_indexing indexing_tests/test_insert indexing_tests/test_iterate indexing_tests/test_generate""".split()
# What else is known of tests: a part of their names and of what pytest tells of them, and the outcome.
CUPY_KNOWN = [
    ("dynamical_parallelism", "CUDA_ERROR_N", "not supported: a launch from a kernel"),
    ("raw_picklable", "CalledProcessError", "not supported: cuRAND"),
    ("axes_matmul", "load_nvidia_dynamic_lib", "not supported: cuBLAS"),
]
TORCH = "torch==2.15.0 numpy==2.4.6 pytest==9.2.0 hypothesis".split()
TINYGRAD = """backend/test_uops backend/test_linearizer backend/test_softmax_fusion backend/test_arange backend/test_custom_kernel
backend/test_renderer_failures opt/test_tensor_cores opt/test_kernel_opts backend/test_ops""".split()
EMPTY = "true alarm: it computes with `Tensor.empty`, or what BEAM tries kernels with"
TINYGRAD_KNOWN = [
    ("_mode", "Calculated output H: 0", "not run: this PyTorch refuses the padding"),
    ("", "directory: 'clang'", "not run: its CPU device wants clang"),
    ("BitcastBufferView", "AssertionError", "true alarm: 8 bytes at a multiple of 4"),
    ("test_arg_dedup", "uninitialized read", "true alarm: random numbers of seeds that were scheduled, and never stored"),
    ("test_index_mnist", "race in global memory", "true alarm: the counter of random numbers is updated in place by two blocks"),
    ("test_late_bias_load", "uninitialized read", EMPTY),
    ("test_grouped_store_locals_and_globals", "uninitialized read", EMPTY),
    ("test_gemm_qkv", "uninitialized read", EMPTY),
    ("test_invalids_into_custom_kernel_with_beam", "uninitialized read", EMPTY),
]
TOOLS = ["filecheck==1.0.3", "pytest==9.2.0", "psutil", "cffi", "ml_dtypes"]


def environment(folder, *packages):
    """The Python of an environment with the packages and what their tests ask for."""
    program = installed(folder)
    if folder == MADE:
        subprocess.run([program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *TOOLS, *packages], check=True)
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
    short = module.rsplit(".", 1)[1]
    with tempfile.NamedTemporaryFile(suffix=".json") as written:
        line = [program, "-B", "-W", "ignore", "-c", RUNNER, module, written.name]
        run = Run(["--after-fault=" + ("stop" if short in STOPS else "continue")], line, seconds=seconds)
        results = json.loads(written.read() or "[]")
    if run.code is None:
        yield short, f"too slow: longer than {seconds} s of processor time"
    elif not results:
        yield short, "not run: " + run.told()
    reason, failing = KNOWN.get(short, (None, None))
    for name, result in results:
        if result != "right" and name in OF_MACHINE_CODE:
            result = "not supported: it asks Warp's own compiler for machine code"
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
    program = environment(folder, "warp-lang==1.19.0")
    for module in WARP:
        yield from unittests(program, f"warp.tests.{module}")


# A failure that names one of these is that of a library of machine code.
LIBRARY = re.compile(r"(?:cu|libcu)(BLAS|RAND|FFT|SOLVER|SPARSE|TENSOR|DNN)", re.IGNORECASE)


def judged(case, known):
    """A test in pytest's XML, with its outcome."""
    name = case.get("classname").rpartition("test_")[2] + "." + case.get("name")
    outcomes = [child for child in case if child.tag in ("failure", "error", "skipped")]
    if not outcomes or outcomes[0].get("type") == "pytest.xfail":
        return name, "right"
    if outcomes[0].tag == "skipped":
        return name, "skipped by itself"
    told = (outcomes[0].get("message") or outcomes[0].text or "").strip()
    reasons = [reason for part, text, reason in known if part in name and text in told]
    library = LIBRARY.search(told)
    if library:
        reasons.append(f"not supported: cu{library[1].upper()}")
    return name, (reasons or ["wrong: " + told.partition("\n")[0][:200]])[0]


def pytests(program, folder, paths, known, flags=(), options=(), variables=(), seconds=3 * SECONDS):
    """Yields each outcome of tests by pytest in a folder. A fault is the failure of the test whose launch has it."""
    plugin = os.pathsep.join([folder, os.path.abspath(os.path.join(ROOT, "crates", "emulate", "python"))])
    for path in paths:
        with tempfile.NamedTemporaryFile(suffix=".xml") as written:
            line = ["env", f"PYTHONPATH={plugin}", *variables, program, "-B", "-m", "pytest", "-q", "--tb=line"]
            line += ["-p", "no:cacheprovider", "-p", "pytest_emulate", f"--junitxml={written.name}", *options, path]
            run = Run(["--after-fault=continue", *flags], line, folder, seconds=seconds)
            text = written.read()
        results = [judged(case, known) for case in ElementTree.fromstring(text).iter("testcase")] if text else []
        if run.code is None:
            yield path, f"too slow: longer than {seconds} s of processor time"
        elif not results:
            yield path, "not run: " + run.told()
        yield from results


def cupy_tests(folder, _scratch):
    """CuPy's tests of kernels, reductions, scans and indexing, against the wheel of that version. They find two devices."""
    paths = [f"cupy_tests/{name}.py" for name in CUPY]
    # Those that CuPy marks as slow have arrays of gigabytes, or compile for minutes.
    return pytests(environment(FOLDER), os.path.join(folder, "tests"), paths, CUPY_KNOWN, ["--devices=2"], ["-m", "not slow"])


def tinygrad_tests(folder, scratch):
    """tinygrad's tests of operations, their kernels and tensor cores on its CUDA device, forward and without the slow ones.

    They compare with PyTorch on the CPU.
    """
    program = environment(FOLDER) if FOLDER != MADE else installed(MADE + "-torch", TORCH)
    # Its cache of compiled kernels is another file than the user's.
    variables = ["DEV=CUDA", "SKIP_SLOW_TEST=1", "FORWARD_ONLY=1", f"CACHEDB={os.path.join(scratch, 'cache.db')}"]
    paths = [f"test/{name}.py" for name in TINYGRAD]
    return pytests(program, folder, paths, TINYGRAD_KNOWN, variables=variables, seconds=5 * SECONDS)
