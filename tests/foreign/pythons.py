"""Programs of Python whose libraries compile kernels while they run: `python_cases`, with their default settings.

A case prints `right`, or its first comments say what is told of it: `tells: PATTERN`, a regular expression.
"""
import os
import re
import subprocess
import sys

from emulated import ROOT, Run

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_cases")
MADE = os.path.abspath(os.path.join(ROOT, "target", "foreign", "python"))
# PYTHONS names an environment that has the packages already.
FOLDER = os.environ.get("PYTHONS", MADE)
PACKAGES = """numba-cuda==0.30.4 cupy-cuda13x==14.2.0 cuda-core==1.2.2 cuda-bindings==13.5.0 triton==3.9.0 numpy==2.4.6
nvidia-nvjitlink==13.5.37 nvidia-cuda-nvrtc==13.5.37 nvidia-nvvm==13.5.37 nvidia-cuda-runtime==13.5.37 nvidia-cuda-cccl==13.3.5.0.6
nvidia-cuda-nvcc==13.5.37 nvidia-cuda-crt==13.5.37""".split()


def installed(folder, packages=PACKAGES):
    """The Python of an environment with the packages, which is made where there is none. Another's is left as it is."""
    program, complete = os.path.join(folder, "bin", "python"), os.path.join(folder, "complete")
    if not os.path.exists(complete if folder.startswith(MADE) else program):
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], check=True)
        open(complete, "w").close()
    return program


def outcome(run, text):
    """What became of a case with this text."""
    expected = re.findall(r"^# tells: (.*)$", text, re.M)
    if not expected:
        is_right = run.code == 0 and "right" in run.text.splitlines()
        return "right" if is_right else "wrong: " + run.told()
    missing = [pattern for pattern in expected if not re.search(pattern, run.text)]
    if run.code != 1 or missing:
        return f"wrong: ended with {run.code}, and does not tell {missing}: {run.told()}"
    return "right"


def pythons(folder, _scratch):
    """Yields each case with its outcome."""
    program = installed(folder)
    packages = subprocess.check_output([program, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True)
    os.environ["PATH"] = os.pathsep.join([os.path.join(packages.strip(), "nvidia", "cu13", "bin"), os.environ["PATH"]])
    for name in sorted(os.listdir(CASES)):
        if not name.endswith(".py") or name == "loads.py":
            continue
        with open(os.path.join(CASES, name)) as file:
            text = file.read()
        run = Run([], [program, "-B", os.path.join(CASES, name)])
        yield name.removesuffix(".py"), outcome(run, text)
