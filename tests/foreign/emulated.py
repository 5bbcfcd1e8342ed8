"""Programs and files of PTX under `harness emulate`, and nvcc."""
import json
import os
import re
import resource
import signal
import subprocess
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
HARNESS = os.environ.get("HARNESS", os.path.join(ROOT, "target", "debug", "harness"))
# Of processor time per process. The clock would depend on what else the machine does.
SECONDS = 120
TARGET = ["-gencode", "arch=compute_90,code=compute_90"]


class Run:
    """How a command under `harness emulate` ended: its exit code, its text, and the runs of its report."""

    def __init__(self, flags, command=(), folder=None, seconds=SECONDS):
        with tempfile.TemporaryDirectory() as scratch:
            report = os.path.join(scratch, "report.json")
            program = ["--", *command] if command else []
            line = [HARNESS, "emulate", f"--json={report}", *flags, *program]
            self.code, self.text, self.runs, self.unsupported, self.refused = None, "", [], [], []
            limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
            with subprocess.Popen(
                line, cwd=folder, preexec_fn=limit, start_new_session=True, **pipe
            ) as process:
                try:
                    text, _ = process.communicate(timeout=20 * seconds)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    return
            # The system ends what has used up its time with SIGKILL.
            self.code = None if process.returncode == 128 + signal.SIGKILL else process.returncode
            self.text = text.decode(errors="replace")
            if os.path.exists(report):
                with open(report) as file:
                    document = json.load(file)
                self.runs = document.get("runs", [])
                self.unsupported = document.get("unsupported", [])
                self.refused = document.get("refused", [])

    def faults(self):
        """The faults of all orders."""
        return [fault for run in self.runs for fault in run["faults"]]

    def told(self):
        """The first line that the driver or a launch told, or the last that anybody did."""
        lines = [line for line in self.text.splitlines() if line.strip()]
        told = [line.partition(": ")[2] for line in lines if re.match(r"emulated driver: |order \d+: (?!no fault)", line)]
        return (told or lines[-1:] or [""])[0]

    def outcome(self):
        """right, fault, not supported, too slow, or the program's own exit code."""
        if self.code is None:
            return f"too slow: longer than {SECONDS} s of processor time"
        if self.code == 0:
            return "right"
        if self.code == 3:
            return "not supported: " + self.told()
        if self.faults():
            return "fault: " + self.told()
        return f"ended with {self.code}: {self.told()}"


def nvcc(sources, program, folder=None, flags=()):
    """Whether nvcc makes the program, for another target if the flags name one."""
    target = [] if "-gencode" in flags else TARGET
    command = ["nvcc", "-w", *target, *flags, "-o", program, *sources]
    return subprocess.run(command, cwd=folder, capture_output=True).returncode == 0


def link_driver(folder):
    """Puts what the linker takes for the driver into a folder."""
    beside = os.path.dirname(os.path.abspath(HARNESS))
    library = os.path.join(beside, "libemulated_driver.so")
    if not os.path.exists(library):
        library = os.path.join(beside, "deps", "libemulated_driver.so")
    os.symlink(library, os.path.join(folder, "libcuda.so"))


def sources_of(folder):
    """The sources of a program that has a folder of its own."""
    return [name for name in sorted(os.listdir(folder)) if name.endswith((".cu", ".cpp"))]
