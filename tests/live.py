#!/usr/bin/env python3
"""Asks the emulator of the book's page, in WebAssembly, and this machine's: each kernel, with each choice of its switches, must have
the same answer, byte for byte, and the fault and replay of `emulate`. Usage: tests/live.py [--speed]

`.ci/live target/live` makes what is tried. Node runs it, and Chromium opens the page, where they are. ANSWER and EMULATE name this
machine's programs, by default those of target/debug. With --speed both run one long kernel instead, and times are told.
"""
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from chromium import Browser, chromium as find_chromium, serve

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PROGRAMS = os.path.join(ROOT, "target", "debug")
ANSWER = os.environ.get("ANSWER", os.path.join(PROGRAMS, "examples", "answer"))
EMULATE = os.environ.get("EMULATE", os.path.join(PROGRAMS, "emulate"))
WASM = os.path.join(ROOT, "target", "live", "live.wasm")
PAGE = os.path.join(ROOT, "docs", "live")

# What Node runs: the page's own script, on a file of questions, a line for each.
NODE = """
import { readFileSync, writeFileSync } from "node:fs";
const [script, wasm, questions, answers] = process.argv.slice(2);
const { asking } = await import(`data:text/javascript,${encodeURIComponent(readFileSync(script, "utf8"))}`);
const begun = performance.now();
const ask = await asking(readFileSync(wasm));
const times = [performance.now() - begun];
const said = readFileSync(questions, "utf8").trim().split("\\n").map((line) => {
  const from = performance.now(), answer = ask(JSON.parse(line));
  times.push(performance.now() - from);
  return answer;
});
writeFileSync(answers, said.join("\\n"));
console.log(JSON.stringify(times));
"""

LOOP = """.version 8.0
.target sm_80
.address_size 64
.visible .entry sum(.param .u64 out, .param .u32 rounds)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    .shared .align 4 .b8 tile[1024];
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r4, [rounds];
    mov.u32 %r1, %tid.x;
    shl.b32 %r5, %r1, 2;
    mov.u32 %r2, 0;
    mov.u32 %r3, 0;
    st.shared.u32 [%r5], %r1;
$again:
    ld.shared.u32 %r1, [%r5];
    add.u32 %r3, %r3, %r1;
    st.shared.u32 [%r5], %r3;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r4;
    @%p1 bra $again;
    mul.wide.u32 %rd2, %r5, 1;
    add.u64 %rd2, %rd1, %rd2;
    st.global.u32 [%rd2], %r3;
    ret;
}
"""


def launch(arguments, **others):
    return {"kernel": "", "grid": "1", "block": "256", "arguments": arguments, "order": 0, **others}


# Texts of a reader's: right, too large, refused, endless, with a character of several bytes.
OWN = [
    {"ask": "own", "ptx": LOOP, "launch": launch("u32[256] 20u32")},
    {"ask": "own", "ptx": LOOP, "launch": launch("u32[256] 20u32", grid="70000", block="1024")},
    {"ask": "own", "ptx": LOOP.replace("add.u32 %r3", "ädd.u32 %r3"), "launch": launch("u32[256] 20u32")},
    {"ask": "own", "ptx": LOOP, "launch": launch("u32[256] 4000000000u32", block="32", steps=50)},
    {"ask": "own", "ptx": "", "launch": launch("")},
]


def native(questions):
    run = subprocess.run([ANSWER], input="".join(json.dumps(question) + "\n" for question in questions), capture_output=True, text=True, check=True)
    return run.stdout.strip().split("\n")


def questions_of(examples):
    for example in examples:
        options = [range(len(switch["options"])) for switch in example["switches"]]
        for choices in itertools.product(*options):
            for order in [0, 1, 4]:
                yield {"ask": "example", "name": example["name"], "choices": choices, "order": order}


def in_node(node, questions, folder):
    """The answers, and the times in milliseconds: until the emulator is ready, and of each question."""
    script, asked, said = (os.path.join(folder, name) for name in ["ask.mjs", "questions", "answers"])
    with open(script, "w") as file:
        file.write(NODE)
    with open(asked, "w") as file:
        file.write("\n".join(map(json.dumps, questions)))
    run = subprocess.run([node, script, os.path.join(PAGE, "emulator.js"), WASM, asked, said], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"live: node: {run.stderr}")
    with open(said) as file:
        return file.read().split("\n"), json.loads(run.stdout)


def by_command(answers, folder):
    """How many answers `emulate` differs from: in the fault, or in the page, where it has no sources either."""
    wrong = 0
    for answer in answers:
        words = answer["command"].split()
        run = subprocess.run([EMULATE, *words[1:]], cwd=folder, capture_output=True, text=True)
        fault = answer["made"]["fault"]
        expected = f"order {answer['launch']['order']}: {fault or 'no fault'}\n"
        with open(os.path.join(folder, "replay.html")) as page:
            is_page = page.read() == answer["made"]["page"]
        if not run.stdout.startswith(expected) or not is_page:
            wrong += 1
            print(f"live: {answer['command']}: {'another fault' if is_page else 'another page'}: {run.stdout[:300]}")
    return wrong


def served(folder):
    """The address of the page. The book is not needed: the page is HTML."""
    book = os.path.join(folder, "book")
    shutil.copytree(PAGE, os.path.join(book, "live"))
    shutil.copy(WASM, os.path.join(book, "live"))
    with open(os.path.join(ROOT, "docs", "live.md")) as file:
        body = "\n".join(line for line in file if line.startswith("<"))
    with open(os.path.join(book, "live.html"), "w") as file:
        file.write(f'<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">{body}')
    return f"{serve(book)}/live.html"


# The address's end, what is done there, and what is shown then.
PAGES = [
    ("", "", ["Lab 0: one thread per element", "No fault", "5,752", "emulate live-kernels.ptx --kernel add", "The replay has 50 steps"]),
    # A switch: the first option of `Barrier` has a race, the second has none.
    ("#reverse", "", ["race in shared memory", "reverse.rs:"]),
    ("#reverse", "document.querySelectorAll('#live [name=switch0]')[1].click()", ["No fault", "9,400"]),
    ("#strided=2,0@0", "", ["No fault", "144", "0 8 16 24"]),
    ("#strided=2,0@0", "[...document.querySelectorAll('#live button')].find((one) => one.textContent === 'Change the launch').click()", ["No fault", "144", "emulate kernels.ptx --kernel strided --grid 2 --block 64"]),
    # A text of the reader's: with an error, then an endless one that is stopped, then a right one.
    ("#own", "own('nothing')", ["1:1: expected `.version`"]),
    ("#own", "own(LOOP, 'u32[256] 4000000000u32'); setTimeout(() => document.querySelectorAll('#live .pair button').forEach((one) => one.textContent === 'Stop' && one.click()), 400)", ["The emulator has ended: it was stopped"]),
    ("", "own(LOOP, 'u32[256] 20u32')", ["No fault", "emulate kernels.ptx --kernel sum"]),
]
# Fills the form, and runs it.
FORM = """
function own(text, words = "") {
  document.querySelector("#live [data-tab=own]").click();
  document.querySelector("#live textarea").value = text;
  const [kernel, grid, block, shared, blocks, list] = document.querySelectorAll("#live .own .field input");
  [block.value, list.value] = [256, words];
  document.querySelector("#live form").requestSubmit();
}
"""


def in_chromium(chromium, folder):
    """Opens the page at some addresses, and looks for what it must show."""
    address, browser, wrong = served(folder), Browser(chromium, folder), 0
    for end, action, expected in PAGES:
        browser.open(address + end)
        missing, _ = browser.shown(["Lab 0: one thread per element", *([] if end == "#own" else ["The replay has"])])
        if action and not missing:
            browser.ask(f"{{ const LOOP = {json.dumps(LOOP)}; {FORM} {action} }}")
        missing, text = browser.shown(expected, 10)
        if missing:
            wrong += 1
            print(f"live: {end or 'the page'} {action}: not shown: {missing}\n  {text[:1500]}")
    browser.close()
    print(f"live: {len(PAGES) - wrong} of {len(PAGES)} pages show what they should")
    return wrong


def speed(node, chromium, folder):
    """Times, in words: the best of three."""
    question = {"ask": "own", "ptx": LOOP, "launch": launch("u32[256] 60000u32", steps=1)}
    native_times = []
    for _ in range(3):
        begun = os.times()
        native([question])
        ended = os.times()
        native_times.append(1000 * (ended.children_user - begun.children_user))
    _, times = in_node(node, [question] * 3, folder)
    print(f"live: a long kernel, twice: {min(times[1:]):.0f} ms in node, {min(native_times):.0f} ms on this machine")
    if not chromium:
        return
    address, browser, times = served(folder), Browser(chromium, folder), []
    for _ in range(3):
        begun = time.monotonic()
        browser.open(address)
        browser.shown(["No fault"])
        times.append(1000 * (time.monotonic() - begun))
    browser.close()
    print(f"live: Chromium shows the first launch {times[0]:.0f} ms after its page was asked for, {min(times[1:]):.0f} ms when it knows the files")


def main():
    node, chromium = shutil.which("node"), find_chromium()
    if not os.path.exists(WASM):
        print("live: skipped: no target/live/live.wasm, which .ci/live makes")
        return
    with tempfile.TemporaryDirectory() as folder:
        if sys.argv[1:] == ["--speed"]:
            if not node:
                return print("live: skipped: no node, so nothing was timed")
            return speed(node, chromium, folder)
        catalogue = json.loads(native([{"ask": "examples"}])[0])
        questions = [*questions_of(catalogue["examples"]), *OWN, {"ask": "examples"}]
        expected = native(questions)
        wrong = 0
        if node:
            answers, _ = in_node(node, questions, folder)
            for question, mine, others in zip(questions, expected, answers, strict=True):
                if mine != others:
                    wrong += 1
                    print(f"live: {question}: on this machine {mine[:300]}\n  in WebAssembly {others[:300]}")
            print(f"live: {len(questions) - wrong} of {len(questions)} answers of WebAssembly are those of this machine")
        else:
            print("live: skipped: no node, so nothing was compared")
        # As the reader's own text, which has no sources: `emulate` finds none in a folder of its own.
        with open(os.path.join(folder, "kernels.ptx"), "w") as file:
            file.write(catalogue["ptx"])
        launches = [json.loads(answer)["launch"] for answer in expected[: -len(OWN) - 1]]
        own = native([{"ask": "own", "ptx": catalogue["ptx"], "launch": one} for one in launches])
        differ = by_command([json.loads(answer) for answer in own], folder)
        print(f"live: {len(own) - differ} of {len(own)} launches have the fault and the page of `emulate`")
        wrong += differ
        if chromium:
            wrong += in_chromium(chromium, folder)
        else:
            print("live: skipped: no Chromium, so no page was opened")
    sys.exit(wrong > 0)


main()
