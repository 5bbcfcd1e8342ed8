#!/usr/bin/env python3
"""Makes the picture of a replay, from the race that lab 0 makes on purpose. Usage: docs/figures/replay.py

Writes docs/figures/replay.png. The kernel is that of docs/first-kernel.md; HARNESS names the program, by default
target/debug/harness. It needs Chromium.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
HARNESS = os.environ.get("HARNESS", os.path.join(ROOT, "target", "debug", "harness"))


def submission(folder):
    """Writes the kernel with the race, and its launch, as the page tells its reader to."""
    with open(os.path.join(ROOT, "docs", "first-kernel.md")) as page:
        blocks = re.findall(r"(?s)```rust\n(.*?)```", page.read())
    whole = next(block for block in blocks if "#[kernel]" in block)
    body = next(block for block in blocks if "shared_array!" in block)
    launch = next(block for block in blocks if "impl Solution" in block)
    head = whole[: whole.index("{\n", whole.index("pub unsafe fn")) + 2]
    os.mkdir(folder)
    with open(os.path.join(folder, "kernels.rs"), "w") as file:
        file.write(head + body + "}\n")
    with open(os.path.join(folder, "launch.rs"), "w") as file:
        file.write(launch.replace("LaunchConfig::new(1, 1)", "LaunchConfig::new(n.div_ceil(256), 256)"))


def main():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium:
        sys.exit("replay.py: no Chromium; on Debian: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        first, page = os.path.join(folder, "first"), os.path.join(folder, "page.html")
        submission(first)
        test = [HARNESS, "test", "matadd", "--submission", first, "--device", "emulated"]
        subprocess.run([*test, "--param", "n_x=1000", "--param", "n_y=1", "--replay", page], stdout=subprocess.DEVNULL)
        picture = os.path.join(HERE, "replay.png")
        shot = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1240,880", "--virtual-time-budget=5000"]
        subprocess.run([*shot, f"--screenshot={picture}", f"file://{page}"], check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
