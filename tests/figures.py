#!/usr/bin/env python3
"""Opens the book's figures to play with in Chromium: what they compute must be what the Rust code does, over a grid of inputs, and they must
be of use with a keyboard, on a phone, and on paper. The places for answers are tried too. Usage: tests/figures.py [--pictures FOLDER]

EXPECTED names the program that prints what follows in Rust, by default target/debug/examples/figures. Without Chromium nothing is opened,
and that is said. With --pictures, pictures of each figure are written instead, in light, dark and on a phone, to be looked at.
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from chromium import Browser, chromium as find_chromium, serve

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
EXPECTED = os.environ.get("EXPECTED", os.path.join(ROOT, "target", "debug", "examples", "figures"))
LIVE = os.path.join(ROOT, "docs", "figures", "live")
RESULTS = os.path.join(ROOT, "docs", "results")
NAMES = ["occupancy", "coalescing", "tile", "roofline"]

# A page as the book makes it, with names that its own scripts take: a still picture, or an empty place, and questions.
PAGE = """<!doctype html><html class="light"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Figures</title>
<style>html.coal {{ background: #141617; color: #c8c9db; --bg: #141617; --fg: #c8c9db; --quote-bg: #242637; --table-border-color: #333; --links: #2b79a2 }}</style>
<body><script>const html = document.documentElement, path_to_root = "", default_theme = "light"; let theme;</script><nav class="sidebar"><a href="index.html">Index</a> <a href="plain.html">Plain</a></nav><main class="content">{places}
<h2 id="check-yourself">Check yourself</h2><ol><li>One?</li><li>Two?</li></ol><details><summary>Answers</summary><ol><li>1</li><li>2</li></ol></details>
</main><script src="figures/live/load.js"></script></body></html>"""

# Compares what a figure computes with what is expected, in the page; gives the first that differ.
COMPARE = """
(async () => {
  const wrong = [], about = (await (await fetch("expected.json")).json());
  const same = (a, b) => typeof b === "number" ? Math.abs(a - b) <= 1e-5 * Math.abs(b) : JSON.stringify(a) === JSON.stringify(b);
  let all = 0;
  for (const { figure, cases } of about) {
    for (const [inputs, follows] of cases) {
      all++;
      const result = interactive.figures[figure].compute(inputs);
      const differs = follows === null ? (result.error ? [] : ["error"]) : Object.keys(follows).filter((key) => !same(result[key], follows[key]));
      if (differs.length) wrong.push(`${figure} ${JSON.stringify(inputs)}: ${differs.map((key) => `${key} is ${JSON.stringify(result[key])}, in Rust ${JSON.stringify(follows?.[key])}`)}`);
    }
  }
  return { all, wrong: wrong.length, first: wrong.slice(0, 5) };
})()
"""


def rooflines():
    """Runs that were timed, and the least times that `harness perf` has stated. What fits into L2 has its bytes from there, which is not the
    figure's matter: of such a run, only its operations can be compared. All of those equal the CPU's bit for bit, without fused ones."""
    cases = []
    for card in ["h100", "h200"]:
        with open(os.path.join(RESULTS, f"{card}.json"), encoding="utf-8") as file:
            document = json.load(file)
        for case in document["cases"]:
            for row in case["rows"]:
                bound = row.get("bound")
                if row["device"] != "cuda" or not bound or bound["by"] == "l2" or not row.get("flops"):
                    continue
                is_memory = bound["by"] == "memory"
                inputs = {"card": card, "kind": "fp32" if is_memory else f"{bound['by']} unfused", "operations": row["flops"], "bytes": row["bytes"] if is_memory else 1, "lab": ""}
                follows = {"seconds": bound["run_s"], "by": bound["by"]}
                cases.append([inputs, {**follows, "intensity": bound["intensity"]} if is_memory else follows])
    return {"figure": "roofline", "cases": cases}


def book(folder):
    """The address of a folder with pages like the book's."""
    shutil.copytree(LIVE, os.path.join(folder, "figures", "live"))
    place = '<div data-figure="{}"><p><img alt="still"></p></div>'
    pages = {"index": "".join(map(place.format, NAMES)), "plain": "", **{name: place.format(name) for name in NAMES}}
    for name, places in pages.items():
        text = PAGE.format(places=places)
        with open(os.path.join(folder, f"{name}.html"), "w") as file:
            file.write(text.replace(' id="check-yourself"', "") if name in ["plain", *NAMES] else text)
    return serve(folder)


def ready(browser, names):
    """Waits until the page's scripts have run, and what they drew is there."""
    script = f"document.readyState === 'complete' && document.querySelectorAll('.interactive svg[viewBox]').length === {len(names)}"
    wait(browser, script)


def wait(browser, script):
    browser.ask(f"new Promise((done) => {{ const look = () => ({script} ? done() : setTimeout(look, 20)); look(); setTimeout(done, 10000); }})")


def key(browser, name, code):
    for kind in ["keyDown", "keyUp"]:
        browser.say("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)


def phone(browser, width=320):
    browser.say("Emulation.setDeviceMetricsOverride", width=width, height=640, deviceScaleFactor=1, mobile=True)


def compared(browser, folder, address):
    """How many inputs have another result than in Rust."""
    lines = subprocess.run([EXPECTED], capture_output=True, text=True, check=True).stdout.splitlines()
    gpus, *about = map(json.loads, lines)
    with open(os.path.join(folder, "expected.json"), "w") as file:
        json.dump([*about, rooflines()], file)
    browser.open(f"{address}/index.html")
    ready(browser, NAMES)
    found = browser.ask(COMPARE)
    wrong = found["wrong"]
    print(f"figures: {found['all'] - wrong} of {found['all']} inputs have the result of the Rust code")
    for line in found["first"]:
        print(f"figures: {line}")
    options = browser.ask("interactive.figures.occupancy.fields.find(({ name }) => name === 'gpu').options")
    if options != gpus["cases"]:
        wrong += 1
        print(f"figures: the GPUs of the menu are {options}, in Rust {gpus['cases']}")
    return wrong


def used(browser, address):
    """How many things that a reader does went wrong."""
    wrong = []

    def holds(what, script):
        value = browser.ask(script)
        if value is not True:
            wrong.append(f"{what}: {script} is {value}")

    # Every input has a name, and says so; a keyboard moves a slider, and the page stays.
    browser.open(f"{address}/index.html")
    ready(browser, NAMES)
    holds("names of inputs", "[...document.querySelectorAll('.interactive :is(input, select)')].every((it) => it.labels.length || it.ariaLabel)")
    holds("what is told", "[...document.querySelectorAll('.interactive .says')].every((it) => it.ariaLive === 'polite' && it.textContent)")
    browser.ask("window.turned = 0; document.addEventListener('keydown', () => window.turned++)")
    browser.ask("window.box = document.querySelector('[data-figure=occupancy] .interactive'); window.input = (name) => [...box.querySelectorAll('label')].find((it) => it.textContent.startsWith(name)).control")
    holds("at first", "box.querySelector('.says').textContent === '6 blocks, 48 of 64 warps: occupancy 75 %. Limited by registers.'")
    browser.ask("input('Registers').focus()")
    key(browser, "ArrowRight", 39)
    holds("a slider by key", "input('Registers').value === '41' && window.turned === 0")
    holds("what follows", "box.querySelector('.says').textContent.startsWith('5 blocks, 40 of 64 warps')")
    holds("the focus is seen", "getComputedStyle(input('Registers')).outlineStyle === 'solid'")
    browser.ask("input('Shared').focus()")
    key(browser, "ArrowRight", 39)
    holds("a coarse slider by key", "input('Shared').value === '256'")
    # A number that is typed: too large, then right; then all as it was.
    type_number = "((it, to) => { it.value = to; it.dispatchEvent(new Event('input')); })(box.querySelectorAll('input[type=number]')[1], "
    browser.ask(f"{type_number}'999')")
    holds("a number out of range", "box.querySelectorAll('input[type=number]')[1].ariaInvalid === 'true' && input('Registers').value === '41'")
    browser.ask(f"{type_number}'72')")
    holds("a number", "input('Registers').value === '72' && box.querySelector('.says').textContent.startsWith('3 blocks, 24 of 64 warps')")
    browser.ask("input('GPU').value = 't4'; input('GPU').onchange(); ((it) => { it.value = 100000; it.oninput(); })(input('Shared'))")
    holds("what cannot be", "box.querySelector('.says').classList.contains('wrong') && box.querySelector('.says').textContent.includes('65,536 bytes')")
    browser.ask("box.querySelector('button').click()")
    holds("reset", "box.querySelector('.says').textContent.startsWith('6 blocks, 48 of 64 warps') && input('GPU').value === 'h100'")
    # On paper the still picture, on a screen the other.
    holds("on a screen", "[...document.querySelectorAll('.still')].every((it) => getComputedStyle(it).display === 'none')")
    browser.say("Emulation.setEmulatedMedia", media="print")
    holds("on paper", "[...document.querySelectorAll('.still')].every((it) => getComputedStyle(it).display !== 'none') && [...document.querySelectorAll('.interactive, .answer')].every((it) => getComputedStyle(it).display === 'none')")
    browser.say("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    holds("without motion", "document.getAnimations().length === 0 && [...document.querySelectorAll('.interactive, .interactive *')].every((it) => parseFloat(getComputedStyle(it).transitionDuration) === 0)")
    # A phone: nothing is wider than it, and no text smaller than on a desk.
    phone(browser)
    browser.open(f"{address}/index.html")
    ready(browser, NAMES)
    holds("a phone's width", "document.documentElement.scrollWidth <= 320")
    holds("drawings on a phone", "[...document.querySelectorAll('.interactive svg')].every((it) => [...it.querySelectorAll('text')].every((text) => text.getBoundingClientRect().right <= it.getBoundingClientRect().right + 1 && text.getBoundingClientRect().height >= 12))")
    browser.say("Emulation.clearDeviceMetricsOverride")
    # Answers are kept, and forgotten.
    browser.open(f"{address}/index.html")
    ready(browser, NAMES)
    holds("no tick before the answers are seen", "[...document.querySelectorAll('.answer label')].every((it) => it.hidden)")
    browser.ask("((it) => { it.value = ' 8 blocks '; it.oninput(); })(document.querySelectorAll('.answer textarea')[1]); document.querySelector('details').open = true")
    wait(browser, "!document.querySelector('.answer label').hidden")
    browser.ask("document.querySelectorAll('.answer input')[1].click()")
    holds("progress", "document.querySelector('.kept').textContent.startsWith('1 of 2 answered, 1 right.') && document.querySelector('.sidebar').textContent === 'Index 1/2 Plain'")
    browser.open(f"{address}/index.html")
    ready(browser, NAMES)
    holds("answers are kept", "document.querySelectorAll('.answer textarea')[1].value === '8 blocks' && document.querySelectorAll('.answer input')[1].checked")
    browser.ask("document.querySelector('.kept button').click()")
    holds("answers are forgotten", "localStorage.length === 0 && document.querySelector('.sidebar').textContent === 'Index Plain' && document.querySelectorAll('.answer textarea')[1].value === ''")
    # A page without a figure loads nothing.
    browser.open(f"{address}/plain.html")
    wait(browser, "document.readyState === 'complete' && document.querySelector('h2')")
    holds("a page without figures", "document.scripts.length === 2 && document.querySelectorAll('link').length === 0")
    print("\n".join(f"figures: {one}" for one in wrong) or "figures: keyboard, phone, paper and answers are right")
    return len(wrong)


def pictures(browser, address, folder):
    os.makedirs(folder, exist_ok=True)
    for name in NAMES:
        for kind, width, theme in [("light", 860, "light"), ("dark", 860, "coal"), ("phone", 320, "light")]:
            phone(browser, width)
            browser.open(f"{address}/{name}.html")
            ready(browser, [name])
            browser.ask(f"document.documentElement.className = '{theme}'")
            height = browser.ask("document.querySelector('.interactive').getBoundingClientRect().bottom + 20")
            shot = browser.say("Page.captureScreenshot", captureBeyondViewport=True, clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})
            with open(os.path.join(folder, f"{name}-{kind}.png"), "wb") as file:
                file.write(base64.b64decode(shot["data"]))


def main():
    subprocess.run([os.path.join(LIVE, "measured.py"), "--check"], check=True)
    chromium = find_chromium()
    if not chromium:
        print("figures: skipped: no Chromium, so no page was opened")
        return
    with tempfile.TemporaryDirectory() as folder:
        address, browser = book(folder), Browser(chromium, folder)
        wrong = 0
        if sys.argv[1:2] == ["--pictures"]:
            pictures(browser, address, sys.argv[2])
        else:
            wrong = compared(browser, folder, address) + used(browser, address)
        browser.close()
    sys.exit(wrong > 0)


main()
