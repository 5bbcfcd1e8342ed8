"""ZLUDA's cases of PTX: each a file, its input and the output that it must give, compared byte by byte."""
import os
import re
import subprocess
import sys

from emulated import Run

# Prints a line per case. The macros of the suite name a file, and give input and output as arrays.
PRINTER = r"""
fn hex<T: Copy>(values: &[T]) -> String {
    let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), std::mem::size_of_val(values)) };
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
macro_rules! test_ptx {
    ($name:ident, $input:expr, $output:expr $(,)?) => {
        println!("{} 1 {} {}", stringify!($name), hex(&$input), hex(&$output))
    };
    ($name:ident) => { println!("{}", stringify!($name)) };
}
macro_rules! test_ptx_with_32 {
    ($name:ident, $input:expr, $output:expr $(,)?) => {
        test_ptx!($name, $input, $output);
        println!("32/{} 1 {} {}", stringify!($name), hex(&$input), hex(&$output));
    };
}
macro_rules! test_ptx_warp {
    ($name:ident, $output:expr $(,)?) => { println!("{} 64 - {}", stringify!($name), hex(&$output)) };
}
fn main() {
"""

# Cases with a bug of their own, and the kind of fault that tells it.
TRUE_ALARMS = {
    "vote_all_sub": ("lanes missing", "a lane of the mask exits without a vote"),
    "ldmatrix": ("race in shared memory", "it loads what other lanes have stored without a barrier"),
    "mma_m16n8k16_f32_bf16_bf16_f32_2x": ("out of bounds", "it stores behind its buffer"),
}


def alarm(name, run):
    """The true alarm of a case; `None` if there is none, or another."""
    kind, why = TRUE_ALARMS.get(name, (None, None))
    told = run.told()
    return f"true alarm: {why}" if kind and kind in told else None


def invocations(text):
    """The uses of the suite's macros, without comments."""
    text = re.sub(r"//[^\n]*", "", text)
    for match in re.finditer(r"^test_ptx(_warp|_with_32)?!\(", text, re.M):
        depth, end = 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        yield text[match.start() : end] + ";\n"


def cases(folder, scratch):
    with open(os.path.join(folder, "mod.rs")) as file:
        body = "".join(invocations(file.read()))
    os.makedirs(os.path.join(scratch, "src"))
    with open(os.path.join(scratch, "src", "main.rs"), "w") as file:
        file.write(PRINTER + body + "}\n")
    with open(os.path.join(scratch, "Cargo.toml"), "w") as file:
        file.write('[package]\nname = "cases"\nedition = "2021"\n[dependencies]\nhalf = "2"\n[workspace]\n')
    command = ["cargo", "run", "-q", "--target-dir", os.path.join(scratch, "target")]
    made = subprocess.run(command, cwd=scratch, stdout=subprocess.PIPE, text=True)
    if made.returncode:
        sys.exit("foreign: the values of ZLUDA's cases do not build")
    return [line.split() for line in made.stdout.splitlines()]


def zluda(folder, scratch):
    """Yields each case with its outcome."""
    folder = os.path.join(folder, "ptx", "src", "test", "spirv_run")
    launcher = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launch.py")
    for name, *values in cases(folder, scratch):
        file = os.path.join(folder, name + ".ptx")
        if not values:
            run = Run([file])
            yield name, "right" if run.code in (0, 3) else run.outcome()
            continue
        threads, given, expected = values
        kernel = os.path.basename(name)
        size = str(len(expected) // 2)
        run = Run([], [sys.executable, launcher, file, kernel, threads, given, size])
        got = re.findall(r"^result ([0-9a-f]*)$", run.text, re.M)
        if alarm(name, run):
            yield name, alarm(name, run)
        elif not got:
            yield name, run.outcome()
        elif got == [expected]:
            yield name, run.outcome()
        else:
            yield name, f"wrong: {got[0]}, not {expected}"
