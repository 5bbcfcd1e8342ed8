#!/usr/bin/env python3
"""Makes the slides of the course: `docs/figures/slides.py` writes docs/teach/slides.html, one slide per lab.

`--check` writes nothing, and exits with 1 if that file is not what would be written. A slide has the title, the goals and a figure of its
handout, a question for the room, and the answer, which the next press of a key shows. The page needs nothing but itself; printed, a slide is
a sheet with its answer.
"""

import base64
import html
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "docs/teach/slides.html"

# The handout, which of its figures, the question, the answer.
SLIDES = [
    ("docs/first-kernel.md", "barrier",
     "The result was right in a thousand runs. What is wrong with the program on the left?",
     "Nothing orders the store of one warp and the load of another. Whoever comes first, comes first; on the next GPU it may be the other."),
    ("labs/matadd/README.md", "sectors",
     "Four block shapes, the same matrix, the same addition. Which one makes memory move most, and how much of it in vain?",
     "Memory moves sectors of 32 bytes. A warp along a row uses all of each; a warp along a column takes a sector per lane and uses an "
     "eighth of it."),
    ("labs/membench/README.md", "lanes",
     "Eight lanes load eight values each way. How many times as many bytes move on the right?",
     "Eight times. Every lane is alone in its sector there, so seven eighths of what moves is thrown away, unless a cache keeps it for later."),
    ("labs/wave2d/README.md", "halo-tiles",
     "A block advances its tile by several timesteps before it writes anything. Why must tiles overlap, and by how much?",
     "A cell at the tile's edge lacks a neighbour, so every timestep spoils one more ring. After T of them T rings are wrong, and another "
     "block has to have computed them."),
    ("labs/poisson/README.md", "shared-tile",
     "Each point is read by six neighbours and by itself. Who should remember it: L1, shared memory, or the thread?",
     "The caches do it for nothing, until they are too small. A tile does it for certain, and costs a barrier and the threads that load the "
     "halo. Measure before you move."),
    ("labs/several-gpus/README.md", "slabs",
     "Two GPUs have twice the bandwidth. From which size of the cube on are they faster than one?",
     "The work of a slab grows with the cube, the exchange with its face, and asking for it costs the same at any size. Where the slab takes "
     "longer than asking, the second GPU pays."),
    ("labs/wave3d/README.md", "planes",
     "A site needs the plane before and the plane after its own. Why does device memory see each plane only once?",
     "If three planes fit in L2, the next two launches of blocks find them there. Turn the axes so that they do."),
    ("labs/stencil25/README.md", "streaming",
     "A thread keeps nine values of its column in registers. What does it save, and what does it pay?",
     "One load per point along x instead of nine, and no barrier for them. It pays in registers: only half as many warps fit, and the kernel "
     "is faster all the same."),
    ("labs/stencil25-advanced/README.md", "semi-stencil",
     "A sum can wait for its operands, or operands can go to the sums as they arrive. Which needs fewer registers, and is the result the same?",
     "Eight values instead of nine, and the last bits differ, since the order does. Whether it is faster is a question for your GPU: it was "
     "on one, and is not on the next."),
]  # fmt: skip

STYLE = """
:root { color-scheme: light; --ink: #1f2328; --soft: #59636e; --line: #d0d7de; --mark: #fff3d6; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: #fff; font: 2.2vmin/1.4 system-ui, sans-serif; }
section { min-height: 100vh; padding: 5vmin 7vmin; display: grid; grid-template-columns: 3fr 2fr; gap: 3vmin 5vmin;
  grid-template-rows: auto 1fr auto; border-bottom: 1px solid var(--line); page-break-after: always; break-after: page; }
h2 { grid-column: 1 / 3; margin: 0; font-size: 5vmin; line-height: 1.15; }
h2 small { display: block; color: var(--soft); font-size: 2vmin; font-weight: 400; }
figure { margin: 0; align-self: center; }
figure img { width: 100%; height: auto; }
figcaption { color: var(--soft); font-size: 1.7vmin; }
ul { margin: 0; padding-left: 1.2em; align-self: center; }
li { margin-bottom: 1em; }
.question { grid-column: 1 / 3; font-size: 3.2vmin; font-weight: 600; margin: 0; }
details { grid-column: 1 / 3; font-size: 2.6vmin; min-height: 4.5em; }
summary { color: var(--soft); cursor: pointer; }
details p { margin: 0.3em 0 0; padding: 0.5em 0.8em; background: var(--mark); }
@media (max-width: 700px) { section { grid-template-columns: 1fr; font-size: 1rem; }
  h2, .question, details { grid-column: 1; font-size: 1.2rem; } h2 { font-size: 1.6rem; } h2 small, figcaption { font-size: 0.9rem; } }
@media print { @page { size: 297mm 167mm; margin: 0; } body { font-size: 9pt; } section { min-height: 0; height: 166mm; border: 0;
  padding: 9mm 14mm; gap: 4mm 8mm; } h2 { font-size: 24pt; } h2 small, figcaption { font-size: 9pt; } .question { font-size: 14pt; }
  details { font-size: 11pt; min-height: 0; } ul { font-size: 11pt; } summary { display: none; } figure img { max-height: 74mm; } }
"""

SCRIPT = """
const slides = [...document.querySelectorAll("section")];
const shown = () => slides.reduce((best, slide, at) =>
  Math.abs(slide.getBoundingClientRect().top) < Math.abs(slides[best].getBoundingClientRect().top) ? at : best, 0);
addEventListener("keydown", (event) => {
  const forward = ["ArrowRight", "ArrowDown", "PageDown", " "].includes(event.key);
  const back = ["ArrowLeft", "ArrowUp", "PageUp"].includes(event.key);
  if (!forward && !back) return;
  event.preventDefault();
  const at = shown();
  const answer = slides[at].querySelector("details");
  if (forward && !answer.open) { answer.open = true; return; }
  const next = slides[Math.min(Math.max(at + (forward ? 1 : -1), 0), slides.length - 1)];
  if (next !== slides[at]) { next.querySelector("details").open = false; next.scrollIntoView(); }
});
addEventListener("beforeprint", () => slides.forEach((slide) => { slide.querySelector("details").open = true; }));
"""


def goals(page, text):
    """The list below "After this lab you can"; in lab 0 it is a row of a table."""
    row = re.search(r"^\| you can do afterwards \| (.*) \|$", text, flags=re.M)
    listed = re.search(r"\*\*After this lab you can\*\*\n\n((?:- .*\n(?:  .*\n)*)+)", text)
    if row:
        items = row.group(1).split("; ")
    elif listed:
        items = re.split(r"^- ", listed.group(1), flags=re.M)[1:]
    else:
        sys.exit(f"slides.py: {page} does not say what one can do after it")
    return [" ".join(item.split()).rstrip(".;") for item in items]


def inline(text):
    """Markdown of a line, as far as goals and titles have some."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text, quote=False))


def slide(page, figure, question, answer, pictures):
    """One slide. The handout must have the figure."""
    text = (ROOT / page).read_text(encoding="utf-8")
    title = re.match(r"# (.*)", text).group(1)
    shown = re.search(rf"!\[([^]]*)\]\([./]*(?:docs/)?figures/{figure}\.svg\)", text)
    if not shown:
        sys.exit(f"slides.py: {page} does not show {figure}.svg; name a figure that it shows")
    headings = re.findall(r"^##+ (.*)", text[: shown.start()], flags=re.M)
    place = inline(headings[-1]) if headings else "at the beginning"
    svg = base64.b64encode((pictures / f"{figure}.svg").read_bytes()).decode()
    alt = html.escape(shown.group(1))
    lines = [
        f"<section>\n<h2>{inline(title)}<small>{page}</small></h2>",
        f'<figure><img alt="{alt}" src="data:image/svg+xml;base64,{svg}"><figcaption>{alt}: {figure}.svg, {place}</figcaption></figure>',
        "<ul>" + "".join(f"<li>{inline(goal)}</li>" for goal in goals(page, text)) + "</ul>",
        f'<p class="question">{inline(question)}</p>',
        f"<details><summary>Answer</summary><p>{inline(answer)}</p></details>\n</section>",
    ]
    return "\n".join(lines)


def page():
    """The whole file."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, Path(__file__).with_name("make.py"), "--theme", "light", "--out", folder], check=True)
        slides = "\n".join(slide(*row, Path(folder)) for row in SLIDES)
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n'
        f"<title>GPU kernels in Rust: a slide per lab</title>\n<style>{STYLE}</style>\n{slides}\n<script>{SCRIPT}</script>\n</html>\n"
    )


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit("slides.py: takes --check, or nothing")
    text = page()
    if sys.argv[1:]:
        if not OUT.is_file() or OUT.read_text(encoding="utf-8") != text:
            sys.exit(f"slides.py: {OUT.relative_to(ROOT)} is not what the handouts and figures say; run docs/figures/slides.py")
    else:
        OUT.write_text(text, encoding="utf-8")


main()
