"""The examples of Thrust and CUB, and tests of libcu++, with the headers of their checkout."""
import os

from emulated import Run, nvcc
from programs import outcome

# Those that ask for a file or for another library's headers, or take minutes.
THRUST_LEFT_OUT = {"minimal_custom_backend", "word_count", "mr_basic", "monte_carlo_disjoint_sequences", "discrete_voronoi"}
# What has threads, barriers and copies of its own.
LIBCUDACXX = ["barrier", "memcpy_async", "pipeline", "warp"]
# What libcu++'s tests do against PTX's rules, by how their alarm begins.
ALARMS = {
    # `buffer` of cuda_space_selector.h is one for all objects of a type, and threads may wait for the first still.
    "fault: race in shared memory: store of element 0": "a second barrier is made in the place of the first, without a barrier between",
    "fault: missing proxy fence": "__threadfence() for fence.proxy.async",
    "fault: copy under way": "cp.async.bulk.wait_group.read, which waits for the source alone, before the destination is read",
}
# A checkout of Catch2, whose headers CUB's examples include, with the file that its build makes.
CATCH2 = os.environ.get("CATCH2", "")
CATCH2_CONFIG = '#pragma once\n#define CATCH_CONFIG_DEFAULT_REPORTER "console"\n#define CATCH_CONFIG_CONSOLE_WIDTH 80\n'


def flags(folder):
    headers = ("thrust", "cub", "libcudacxx/include", "c2h/include")
    includes = [flag for name in headers for flag in ("-I", os.path.join(folder, name))]
    return ["-std=c++17", "--extended-lambda", "-lineinfo", *includes]


def examples(place, names, scratch, options, arguments=()):
    """Makes and runs each file of a folder."""
    for name in names:
        program = os.path.join(scratch, "program")
        if nvcc([f"{name}.cu"], program, place, ["-I", place, *options]):
            run = Run([], [program, *arguments], scratch)
            yield name, outcome(name, run, lambda text: "FAIL" not in text)
            os.remove(program)
        else:
            yield name, "does not compile"


def names_of(place, folders):
    """The programs in some folders of another, without their ends."""
    files = [os.path.join(folder, file) for folder in folders for file in sorted(os.listdir(os.path.join(place, folder)))]
    return [os.path.normpath(file).removesuffix(".cu") for file in files if file.endswith(".cu")]


def thrust(folder, scratch):
    """Thrust's examples, those that need CUDA too."""
    place = os.path.join(folder, "thrust", "examples")
    names = [name for name in names_of(place, [".", "cuda"]) if name not in THRUST_LEFT_OUT]
    yield from examples(place, names, scratch, flags(folder))


def cub(folder, scratch):
    """CUB's examples, each timed run once."""
    os.mkdir(os.path.join(scratch, "catch2"))
    with open(os.path.join(scratch, "catch2", "catch_user_config.hpp"), "w") as file:
        file.write(CATCH2_CONFIG)
    place = os.path.join(folder, "cub", "examples")
    names = names_of(place, ["block", "device"])
    catch = ["-I", scratch, "-I", os.path.join(os.path.abspath(CATCH2), "src")]
    yield from examples(place, names, scratch, [*catch, *flags(folder)], ["--i=1"])


def libcudacxx(folder, scratch):
    """libcu++'s tests of what CUDA adds, which run on the host, then on the device."""
    tests = os.path.join(folder, "libcudacxx", "test")
    place = os.path.join(tests, "libcudacxx", "cuda")
    options = [*flags(folder), "-I", os.path.join(tests, "support"), "-include", os.path.join(tests, "libcudacxx", "force_include.h")]
    for part in LIBCUDACXX:
        for here, _, files in sorted(os.walk(os.path.join(place, part))):
            for file in sorted(file for file in files if file.endswith(".pass.cpp") and "compile" not in file):
                name = os.path.relpath(os.path.join(here, file), place).removesuffix(".pass.cpp")
                program = os.path.join(scratch, "program")
                if nvcc(["-x", "cu", file], program, here, options):
                    became = outcome(name, Run([], [program], scratch))
                    whys = [why for alarm, why in ALARMS.items() if part == "barrier" and became.startswith(alarm)]
                    yield name, f"true alarm: {whys[0]}" if whys else became
                    os.remove(program)
                else:
                    yield name, "does not compile"
