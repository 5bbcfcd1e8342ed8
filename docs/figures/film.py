#!/usr/bin/env python3
"""Makes the README's film: a barrier is deleted from lab 0's kernel, and the program says what that does.

usage: docs/figures/film.py            writes docs/figures/barrier-film.svg
       docs/figures/film.py --check    exits with 1 if that file is not what would be written

The kernel and its launch are those of docs/first-kernel.md, and what the terminal says is what the program says. HARNESS names it, by
default target/debug/harness. The film is an SVG with an animation of CSS, which a browser plays in an <img>; where the reader has asked
for less motion, and on paper, it is its last picture.
"""
import html
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from replay import HARNESS, HERE, submission

OUT = os.path.join(HERE, "barrier-film.svg")
BARRIER = "thread::sync_threads();"
COMMAND = "harness test matadd --submission first --device emulated --param n_x=1000 --param n_y=1"
ELEMENTS = ["--param", "n_x=1000", "--param", "n_y=1"]
# Seconds: the barrier is struck out, it is gone, the second command is typed, its answer comes, the two lines are marked, the end.
STRUCK, GONE, TYPED, ANSWERED, STORE, LOAD, END = 2.4, 3.6, 4.2, 5.6, 7.4, 9.0, 15.0
WIDTH, LINE, LEFT, COLUMNS = 880, 19, 18, 104


def said(folder):
    """What the program says of the folder `first` in `folder`, without its header and its last line."""
    command = [os.path.abspath(HARNESS), "test", "matadd", "--submission", "first", "--device", "emulated", *ELEMENTS]
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    lines = [line for line in answer.stdout.split("\n") if line.strip()]
    begin = next((n for n, line in enumerate(lines) if line.startswith("1000x1")), None)
    if begin is None:
        sys.exit(f"film.py: {' '.join(command)} said\n{answer.stdout}{answer.stderr}")
    lines = lines[begin:]
    blocks = [n for n, line in enumerate(lines) if not line.startswith((" ", "1000x1"))]
    return lines[: blocks[0]] if blocks else lines


def folded(line):
    """The line in lines of at most COLUMNS letters, the further ones indented."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    lines, rest = [], line
    while len(rest) > COLUMNS:
        cut = rest.rfind(" ", len(indent) + 1, COLUMNS + 1)
        lines.append(rest[:cut])
        rest = indent + rest[cut + 1 :]
    return lines + [rest]


class Film:
    """Texts and boxes, each from a second on, and perhaps up to another."""

    def __init__(self):
        self.parts, self.rules = [], []

    def add(self, part, begin=0.0, end=None):
        if begin == 0.0 and end is None:
            self.parts.append(part)
            return
        name = f"t{begin:g}-{end:g}".replace(".", "_") if end else f"t{begin:g}".replace(".", "_")
        percent = lambda second: f"{100 * second / END:.2f}"
        frames = f"0%{{opacity:{0 if begin else 1}}}"
        if begin:
            frames += f"{percent(begin)}%{{opacity:1}}"
        if end:
            frames += f"{percent(end)}%,100%{{opacity:0}}"
        rule = f"@keyframes {name}{{{frames}}}.{name}{{opacity:{0 if end else 1};animation:{name} {END:g}s step-end infinite}}"
        if rule not in self.rules:
            self.rules.append(rule)
        self.parts.append(f'<g class="{name}">{part}</g>')

    def text(self, x, y, text, style="", begin=0.0, end=None):
        style = f' class="{style}"' if style else ""
        self.add(f'<text x="{x:g}" y="{y:g}"{style}>{html.escape(text, quote=False)}</text>', begin, end)


def coloured(line):
    """The class of a line of the terminal."""
    if "FAIL" in line or "race in" in line:
        return "bad"
    return "good" if line.endswith("ok") else ""


def draw(right, wrong, kernels):
    """The film of both answers, and of the kernel with its barrier."""
    film = Film()
    begin = next(n for n, line in enumerate(kernels) if "shared_array!" in line)
    body = [(n + 1, line[4:]) for n, line in enumerate(kernels) if begin <= n and line.strip() and line != "}"]
    at = next(k for k, (_, line) in enumerate(body) if BARRIER in line)
    top = 52
    film.text(LEFT, 27, "first/kernels.rs", "title")
    numbers = {}
    for k, (number, line) in enumerate(body):
        y = top + LINE * k
        if k == at:
            film.add(f'<rect x="{LEFT}" y="{y - 14}" width="{WIDTH - 2 * LEFT}" height="{LINE}" class="struck"/>', STRUCK, GONE)
            film.text(LEFT, y, f"{number:3}  {line}", "", 0.0, GONE)
            film.add(f'<path d="M{LEFT + 70} {y - 4}h184" class="line"/>', STRUCK, GONE)
        elif k < at:
            numbers[number] = y
            film.text(LEFT, y, f"{number:3}  {line}")
        else:
            numbers[number - 1] = y - LINE
            film.text(LEFT, y, f"{number:3}  {line}", "", 0.0, GONE)
            film.text(LEFT, y - LINE, f"{number - 1:3}  {line}", "", GONE)
    # The two accesses that the message names.
    later = re.search(r"at kernels\.rs:(\d+)", " ".join(wrong)).group(1)
    earlier = re.search(r"earlier \w+ at kernels\.rs:(\d+)", " ".join(wrong)).group(1)
    warps = {}
    for number, thread in re.findall(r"kernels\.rs:(\d+) .*?thread \((\d+), 0, 0\)", "\n".join(wrong)):
        warps[number] = (thread, int(thread) // 32)
    for number, what, begin in [(later, "stores", STORE), (earlier, "loads", LOAD)]:
        thread, warp = warps[number]
        y = numbers[int(number)]
        box = f'<rect x="{LEFT}" y="{y - 14}" width="{WIDTH - 2 * LEFT}" height="{LINE}" class="mark"/>'
        film.add(box, begin)
        film.text(610, y, f"thread {thread}, warp {warp}, {what} here", "note", begin)
    edge = top + LINE * (len(body) - 1) + 14
    film.add(f'<rect x="0" y="{edge}" width="{WIDTH}" height="600" class="terminal"/>')
    y = edge + 26
    film.text(LEFT, y, "$ " + COMMAND)
    y += LINE
    for line in right:
        film.text(LEFT, y, line, coloured(line), 0.8)
        y += LINE
    # The second command is typed, a few letters at a time.
    typed = "$ " + COMMAND
    film.text(LEFT, y, "$ ", "", GONE, TYPED)
    pieces = 14
    for piece in range(1, pieces + 1):
        begin, end = (TYPED + (ANSWERED - 0.4 - TYPED) * n / pieces for n in (piece - 1, piece))
        shown = typed[: 2 + (len(typed) - 2) * piece // pieces]
        film.text(LEFT, y, shown, "", round(begin, 2), None if piece == pieces else round(end, 2))
    y += LINE
    for line in [part for whole in wrong for part in folded(whole)]:
        film.text(LEFT, y, line, coloured(line), ANSWERED)
        y += LINE
    height = y - 3
    style = (
        "text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d6deeb;white-space:pre}"
        ".title{fill:#7f8fa6}.good{fill:#7bd88f}.bad{fill:#ff7b72}.note{fill:#ffd479}"
        ".terminal{fill:#0d1117}.struck{fill:#5a1e24}.mark{fill:#ffd479;fill-opacity:.16}.line{stroke:#ff7b72;stroke-width:2;fill:none}"
    )
    rules = "".join(film.rules) + "@media (prefers-reduced-motion:reduce),print{*{animation:none!important}}"
    back = f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#161b22"/>'
    clip = f'<clipPath id="c"><rect width="{WIDTH}" height="{height}" rx="8"/></clipPath>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">'
    title = "<title>A barrier is deleted from a kernel, and the program names the two lines that race</title>"
    parts = "\n".join(film.parts)
    return f'{head}\n{title}\n<style>{style}{rules}</style>\n{clip}\n<g clip-path="url(#c)">\n{back}\n{parts}\n</g>\n</svg>\n'


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        first = os.path.join(folder, "first")
        submission(first)
        path = os.path.join(first, "kernels.rs")
        with open(path) as file:
            racing = file.read()
        whole = racing.replace("let t = 255", f"{BARRIER}\n        let t = 255")
        answers = []
        for kernels in [whole, racing]:
            with open(path, "w") as file:
                file.write(kernels)
            answers.append(said(folder))
    film = draw(*answers, whole.split("\n"))
    if not check:
        with open(OUT, "w") as file:
            file.write(film)
        return
    with open(OUT) as file:
        if file.read() != film:
            sys.exit("docs/figures/barrier-film.svg shows something else than the program says: docs/figures/film.py writes it")


main()
