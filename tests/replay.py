#!/usr/bin/env python3
"""Opens pages of `emulate --replay` in Chromium, and looks at what they show. Usage: tests/replay.py

EMULATE and HARNESS name the programs, by default those in target/debug. Without Chromium nothing is tried, and that is said. What a page shows
is read from its document when its script has run; a step of the recording is opened by the page's address.
"""
import html
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from chromium import chromium as find_chromium

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
EMULATE = os.environ.get("EMULATE", os.path.join(ROOT, "target", "debug", "emulate"))
HARNESS = os.environ.get("HARNESS", os.path.join(ROOT, "target", "debug", "harness"))
RACES = os.path.join(ROOT, "crates/ptx-emu/tests/ui/races")
LONG = """.version 8.0
.target sm_90
.address_size 64
.visible .entry loop(.param .u64 out)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd2, %rd1, %rd2;
    mov.u32 %r2, 0;
$again:
    st.global.u32 [%rd2], %r2;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, 3000;
    @%p1 bra $again;
    ret;
}
"""

COPY = """.version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 in, .param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    .shared .align 4 .b8 tile[128];
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, tile;
    mad.lo.u32 %r2, %r1, 4, %r2;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    cp.async.ca.shared.global [%r2], [%rd1], 4;
    cp.async.wait_all;
    ld.shared.u32 %r3, [%r2];
    st.global.u32 [%rd2], %r3;
    ret;
}
"""

TEXTS = {"LONG": LONG, "COPY": COPY}

# The file and its arguments, or those of the harness; what is behind the page's address, and the keys that are pressed then; and what it must
# show.
PAGES = [
    # It opens at the fault, with both accesses.
    (
        "neighbour-in-the-block.ptx --kernel wrong --block 64",
        "",
        ["Step 9 of 9: block 0, warp 0", "race in shared memory", "No barrier between them", "stores word 1", "loads word 1", "no bank conflict"],
    ),
    # Without one, at the first access; any step by the address.
    ("neighbour-in-the-block.ptx --kernel right --block 64", "", ["Step 6 of", "st.shared.u32"]),
    ("neighbour-in-the-block.ptx --kernel right --block 64", "#step=1", ["Step 1 of", "mov.u32"]),
    # By the keyboard: back by an instruction, to the start, to the fault, and from there to the other access.
    ("neighbour-in-the-block.ptx --kernel wrong --block 64", "keys:ArrowLeft", ["Step 8 of 9"]),
    ("neighbour-in-the-block.ptx --kernel wrong --block 64", "keys:Home", ["Step 1 of 9"]),
    ("neighbour-in-the-block.ptx --kernel wrong --block 64", "keys:Home ArrowRight f", ["Step 9 of 9"]),
    ("neighbour-in-the-block.ptx --kernel wrong --block 64", "keys:f", ["Step [2-8] of 9", "stored last in step|nothing has stored"]),
    ("neighbour-in-the-block.ptx --kernel right --block 64", "keys:b", [r"bar.sync 0"]),
    # Both ends of an asynchronous copy.
    ("COPY --kernel copy f32[32]=1 f32[32]", "#step=9", ["32 lanes begin to copy 4 bytes each: shared memory", "an asynchronous copy is to store there"]),
    ("COPY --kernel copy f32[32]=1 f32[32]", "#step=10", ["32 lanes have copied 4 bytes each: shared memory"]),
    # A matrix of a lab has rows.
    ("harness test matadd --device emulated --param n_x=37 --param n_y=5", "", ["37 × 5; x to the right, y down", r"a\[0\] \(x = 0, y = 0\)"]),
    # 10,000 steps, and the page says that there were more.
    ("LONG --kernel loop u32[32]", "#step=9999", ["Step 9,?999 of 10,?000", "first 10,?000 steps|cut|more steps"]),
]


# Presses keys once the page is there, and says at its end how far it reaches beyond the window.
PRESS = """<script>
const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
window.addEventListener("load", () => setTimeout(() => {
  KEYS.forEach(press);
  document.body.append(`[${document.documentElement.scrollWidth - document.documentElement.clientWidth} px beyond]`);
}, 300));
</script>"""


def pressed(page, keys):
    """Adds keys to a page."""
    with open(page) as file:
        text = file.read()
    with open(page, "w") as file:
        file.write(text.replace("</body>", PRESS.replace("KEYS", json.dumps(keys)) + "</body>"))


def shown(chromium, page, address, flags=("--window-size=1240,900", "--virtual-time-budget=10000")):
    """The text that a page shows."""
    flags = [*flags, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    run = subprocess.run([chromium, *flags, f"file://{page}{address}"], capture_output=True, text=True, timeout=120)
    body = re.sub(r"(?s)<(script|style).*?</\1>", "", run.stdout)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", "", body)))


def main():
    chromium = find_chromium()
    if not chromium:
        print("replay: no Chromium, so no page was opened")
        return
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, text in TEXTS.items():
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        for command, address, expected in PAGES:
            name, *arguments = command.split()
            file = os.path.join(folder if name in TEXTS else RACES, name)
            page = os.path.join(folder, "page.html")
            program = [HARNESS, *arguments, "--replay", page] if name == "harness" else [EMULATE, file, "--replay", page, *arguments]
            # Flags stand before the arguments of a kernel. A fault is no failure here.
            run = subprocess.run(program, stdout=subprocess.DEVNULL)
            if run.returncode not in (0, 1):
                sys.exit(f"replay: {command} ended with {run.returncode}")
            if address.startswith("keys:"):
                pressed(page, address.removeprefix("keys:").split())
                address = ""
            text = shown(chromium, page, address)
            missing = [one for one in expected if not re.search(one, text)]
            if missing:
                wrong += 1
                print(f"replay: {command} {address}: not shown: {missing}\n  {text[:2000]}")
        # A phone, on which nothing is wider than the screen, and a hundred steps among ten thousand.
        page = os.path.join(folder, "long.html")
        subprocess.run([EMULATE, os.path.join(folder, "LONG"), "--replay", page, "--kernel", "loop", "u32[32]"], stdout=subprocess.DEVNULL)
        pressed(page, 100 * ["ArrowRight"])
        text = shown(chromium, page, "", ("--window-size=390,844", "--virtual-time-budget=10000"))
        narrow = "[0 px beyond]" in text and "Step 106 of 10000" in text
        if not narrow:
            print(f"replay: on a phone: {text[:2000]}")
    print(f"replay: {len(PAGES) - wrong} of {len(PAGES)} pages show what they should")
    sys.exit(wrong > 0 or not narrow)


main()
