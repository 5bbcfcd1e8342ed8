#!/usr/bin/env python3
"""Draws the figures of the handouts: `python3 docs/figures/make.py` writes an SVG for each function.

The same script always writes the same bytes. A figure has two sets of colours, and follows the
reader's system. It has a ground of its own: a page's theme may be another than the system's. `--theme dark` writes the dark set alone, for
a renderer that does not know the media query; `--out DIR` names another folder. `--check` writes nothing, and exits with 1 if a file there
is not what would be written.
"""

import argparse
import math
import sys
from pathlib import Path

LIGHT = {
    "ground": "#ffffff",
    "ink": "#1f2328",
    "soft": "#59636e",
    "plain": "#e6eaef",
    "blue": "#a8d1ff",
    "orange": "#ffcf94",
    "green": "#a9e5b4",
    "red": "#ffb8b2",
    "violet": "#d9c2ff",
}
DARK = {
    "ground": "#12161b",
    "ink": "#e6edf3",
    "soft": "#9da7b3",
    "plain": "#30363d",
    "blue": "#1a4f8a",
    "orange": "#7d4a0b",
    "green": "#1d6634",
    "red": "#8c2f2a",
    "violet": "#573a8c",
}
FILLS = ["plain", "blue", "orange", "green", "red", "violet"]


def rules(colours):
    """The style sheet of one set of colours."""
    lines = [f".ground{{fill:{colours['ground']}}}", f"text{{fill:{colours['ink']}}}", f".soft{{fill:{colours['soft']}}}"]
    lines += [f".{name}{{fill:{colours[name]}}}" for name in FILLS]
    lines += [
        f".edge{{stroke:{colours['soft']};stroke-width:1}}",
        f".line{{stroke:{colours['ink']};stroke-width:1.5;fill:none}}",
        f".thin{{stroke:{colours['soft']};stroke-width:1;fill:none}}",
        f".grid{{stroke:{colours['soft']};stroke-width:1;stroke-opacity:0.3;fill:none}}",
        f".head{{fill:{colours['ink']}}}",
    ]
    return "".join(lines)


class Figure:
    """One drawing. Lengths are pixels, and y grows downwards."""

    def __init__(self, width, height, title):
        assert width <= 760
        self.width, self.height, self.title, self.parts = width, height, title, []

    def add(self, text):
        self.parts.append(text)

    def rect(self, x, y, w, h, fill="plain", edge=True, dash=False, round_=0):
        name = f"{fill} edge" if edge else fill
        dashes = ' stroke-dasharray="4 3"' if dash else ""
        corner = f' rx="{round_}"' if round_ else ""
        self.add(f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" class="{name}"{corner}{dashes}/>')

    def frame(self, x, y, w, h, dash=False):
        """A rectangle without a filling."""
        dashes = ' stroke-dasharray="5 4"' if dash else ""
        self.add(f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" class="line"{dashes}/>')

    def text(self, x, y, text, size=13, anchor="start", soft=False, bold=False):
        assert size >= 12
        text = text.replace("&", "&amp;").replace("<", "&lt;")
        name = ' class="soft"' if soft else ""
        weight = ' font-weight="bold"' if bold else ""
        self.add(f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}"{name}{weight}>{text}</text>')

    def label(self, x, y, text, size=13, soft=False, bold=False):
        """Text centred on x; y is its middle."""
        self.text(x, y + size * 0.35, text, size, "middle", soft, bold)

    def line(self, *points, thin=False, dash=False, grid=False):
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        dashes = ' stroke-dasharray="4 3"' if dash else ""
        name = "grid" if grid else "thin" if thin else "line"
        self.add(f'<polyline points="{path}" class="{name}"{dashes}/>')

    def polygon(self, points, fill, edge=True):
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self.add(f'<polygon points="{path}" class="{fill}{" edge" if edge else ""}"/>')

    def circle(self, x, y, r, fill):
        self.add(f'<circle cx="{x:g}" cy="{y:g}" r="{r:g}" class="{fill} edge"/>')

    def arrow(self, x0, y0, x1, y1, thin=False):
        """A line with a head at its end."""
        length = math.hypot(x1 - x0, y1 - y0)
        ux, uy = (x1 - x0) / length, (y1 - y0) / length
        bx, by = x1 - 8 * ux, y1 - 8 * uy
        self.line((x0, y0), (round(bx, 1), round(by, 1)), thin=thin)
        corners = [(x1, y1), (bx - 4 * uy, by + 4 * ux), (bx + 4 * uy, by - 4 * ux)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        self.add(f'<polygon points="{path}" class="head"/>')

    def svg(self, theme):
        if theme == "both":
            style = rules(LIGHT) + f"@media(prefers-color-scheme:dark){{{rules(DARK)}}}"
        else:
            style = rules(LIGHT if theme == "light" else DARK)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
            f'viewBox="0 0 {self.width} {self.height}" role="img" font-family="system-ui, sans-serif">'
        )
        ground = f'<rect width="{self.width}" height="{self.height}" class="ground"/>'
        body = "\n".join([ground, *self.parts])
        return f"{head}\n<title>{self.title}</title>\n<style>{style}</style>\n{body}\n</svg>\n"


def grid():
    """A matrix of 8 x 6 elements under blocks of 4 x 2 threads."""
    f = Figure(720, 330, "A matrix of 8 x 6 elements, covered by a grid of 2 x 3 blocks of 4 x 2 threads")
    left, top, cell = 70, 50, 42
    fills = ["blue", "orange", "green", "violet", "red", "plain"]
    for y in range(6):
        for x in range(8):
            block = (y // 2) * 2 + x // 4
            f.rect(left + x * cell, top + y * cell, cell, cell, fills[block])
            f.label(left + (x + 0.5) * cell, top + (y + 0.5) * cell, str(y * 8 + x))
    for by in range(3):
        for bx in range(2):
            f.frame(left + bx * 4 * cell, top + by * 2 * cell, 4 * cell, 2 * cell)
    for bx in range(2):
        f.label(left + (4 * bx + 2) * cell, 34, f"block_idx_x() = {bx}")
    for by in range(3):
        for line, text in enumerate(["block_", "idx_y()", f"= {by}"]):
            f.label(36, top + (2 * by + 1) * cell + 17 * (line - 1), text)
    f.text(left, top + 6 * cell + 22, "The number in a cell is its element: y * n_x + x.", 13, soft=True)
    x0 = 440
    f.text(x0, 70, "One thread", 14, bold=True)
    f.text(x0, 94, "block (1, 2), thread (2, 1):")
    f.text(x0, 118, "x = 1 * 4 + 2 = 6")
    f.text(x0, 138, "y = 2 * 2 + 1 = 5")
    f.text(x0, 158, "element 5 * 8 + 6 = 46 (framed)")
    f.frame(left + 6 * cell + 4, top + 5 * cell + 4, cell - 8, cell - 8)
    f.text(x0, 210, "One block", 14, bold=True)
    f.text(x0, 234, "4 x 2 threads, numbered x first:")
    for t in range(8):
        f.rect(x0 + (t % 4) * 40, 246 + (t // 4) * 28, 40, 28)
        f.label(x0 + (t % 4 + 0.5) * 40, 246 + (t // 4 + 0.5) * 28, str(t))
    return f


def divergence():
    """A branch on which the lanes of a warp disagree, and one on which they agree."""
    f = Figure(740, 270, "Lanes of one warp that disagree about a branch execute both sides, one after the other")
    cell, left = 15, 200
    f.text(20, 24, "if lane < 16 { A } else { B }", 14, bold=True)
    f.text(300, 24, "the 32 lanes of one warp", 13, soft=True)
    for row, (label, first, second) in enumerate([("first", "green", "plain"), ("then", "plain", "orange")]):
        y = 38 + row * 36
        f.text(20, y + 20, label)
        for lane in range(32):
            f.rect(left + lane * cell, y, cell - 1, 28, first if lane < 16 else second, edge=False)
        f.label(left + 8 * cell, y + 14, "A" if row == 0 else "idle", 13, bold=row == 0)
        f.label(left + 24 * cell, y + 14, "idle" if row == 0 else "B", 13, bold=row == 1)
    f.text(20, 152, "if warp is even { A } else { B }", 14, bold=True)
    f.text(300, 152, "two warps that agree, each with itself", 13, soft=True)
    for row, (label, fill, name) in enumerate([("warp 0", "green", "A"), ("warp 1", "orange", "B")]):
        y = 166 + row * 36
        f.text(20, y + 20, label)
        for lane in range(32):
            f.rect(left + lane * cell, y, cell - 1, 28, fill, edge=False)
        f.label(left + 16 * cell, y + 14, name, 13, bold=True)
    f.text(20, 258, "The first branch takes the time of both sides, the second costs nothing.", 13, soft=True)
    return f


def hiding():
    """One warp that waits for each load, and four warps that wait in turns."""
    f = Figure(740, 300, "A warp alone waits for each of its loads; four warps in turn keep the memory busy")
    left, step = 120, 25

    def load(row_y, start):
        f.rect(left + start * step, row_y, step, 24, "blue")
        f.rect(left + (start + 1) * step, row_y, 6 * step, 24, "plain", dash=True)
        f.rect(left + (start + 7) * step, row_y, step, 24, "green")

    f.text(20, 24, "one warp, one load at a time", 14, bold=True)
    load(36, 0)
    load(36, 8)
    load(36, 16)
    f.text(20, 53, "warp 0")
    f.text(20, 100, "four warps in turn", 14, bold=True)
    for warp in range(4):
        y = 112 + warp * 32
        f.text(20, y + 17, f"warp {warp}")
        for turn in range(2):
            load(y, 2 * warp + 8 * turn)
    f.arrow(left, 252, left + 600, 252, thin=True)
    f.text(20, 256, "time", 13, soft=True)
    for x0, fill, text in [(120, "blue", "a load starts"), (260, "plain", "in flight"), (420, "green", "its value is used")]:
        f.rect(x0, 272, 14, 14, fill)
        f.text(x0 + 22, 284, text)
    return f


def lanes():
    """Neighbouring and strided lanes, and the sectors that they touch."""
    f = Figure(740, 270, "Eight lanes load neighbours from one sector, or elements eight apart from eight sectors")
    cell, left = 11, 20
    for row, (title, stride, note) in enumerate(
        [
            ("coalesced: lane i loads element i", 1, "8 lanes touch 1 sector of 32 bytes and use all of it"),
            ("strided: lane i loads element 8 i", 8, "8 lanes touch 8 sectors and use 4 of each 32 bytes"),
        ]
    ):
        top = 20 + row * 130
        f.text(left, top + 4, title, 14, bold=True)
        for lane in range(8):
            x = left + lane * 88 + 44 if stride == 8 else left + lane * 26 + 13
            f.circle(x, top + 26, 11, "orange")
            f.label(x, top + 26, str(lane), 12)
            target = left + lane * stride * cell + cell / 2
            f.arrow(x, top + 37, target, top + 66, thin=True)
        for element in range(64):
            sector = element // 8
            used = element % stride == 0 and element // stride < 8
            touched = sector == 0 or stride == 8
            fill = "green" if used else "red" if touched else "plain"
            f.rect(left + element * cell, top + 66, cell, 18, fill)
        for sector in range(8):
            f.frame(left + sector * 8 * cell, top + 66, 8 * cell, 18)
        f.text(left, top + 102, note, 13, soft=True)
    return f


def sectors():
    """How many sectors one load of a warp touches, by the block's width."""
    f = Figure(740, 330, "Sectors that a warp's load of 4-byte elements touches, for four block shapes")
    left, cell = 150, 12
    rows = [
        ("32 x 8", 32, 1, "1 row of 128 bytes: 4 sectors"),
        ("16 x 16", 16, 2, "2 rows of 64 bytes: 4 sectors"),
        ("8 x 32", 8, 4, "4 rows of 32 bytes: 4 sectors"),
        ("1 x 256", 1, 32, "32 rows of 4 bytes: 32 sectors"),
    ]
    top = 40
    f.text(20, 24, "block", 13, bold=True)
    f.text(left, 24, "elements of a warp in rows of the matrix (each frame is one sector)", 13, bold=True)
    for name, width, height, note in rows:
        shown = min(height, 4)
        f.text(20, top + 14, name, 14)
        for row in range(shown):
            for x in range(32):
                sector_used = x // 8 * 8 < width
                fill = "green" if x < width else "red" if sector_used else "plain"
                f.rect(left + x * cell, top + row * 15, cell, 11, fill, edge=False)
            for sector in range(4):
                f.frame(left + sector * 8 * cell, top + row * 15, 8 * cell, 11)
        f.text(left + 32 * cell + 14, top + 11, note.split(": ")[0])
        f.text(left + 32 * cell + 14, top + 29, note.split(": ")[1], 13, bold=True)
        if height > 4:
            f.text(left, top + shown * 15 + 14, "... and 28 more rows", 12, soft=True)
        top += max(shown * 15, 34) + 16
    f.rect(20, 306, 14, 12, "green")
    f.text(40, 317, "used by this load")
    f.rect(190, 306, 14, 12, "red")
    f.text(210, 317, "moved, but not used by this load")
    return f


def valid_region():
    """A tile over three timesteps: the region that is still right shrinks."""
    f = Figure(740, 250, "The valid region of a tile shrinks by one ring in each timestep")
    cell, n = 18, 9
    for step in range(4):
        left = 20 + step * 182
        f.label(left + n * cell / 2, 20, "loaded" if step == 0 else f"after timestep {step}", 14, bold=True)
        for y in range(n):
            for x in range(n):
                ring = min(x, y, n - 1 - x, n - 1 - y)
                fill = "red" if ring < step else "orange" if ring < 3 else "green"
                f.rect(left + x * cell, 36 + y * cell, cell, cell, fill)
    f.rect(20, 216, 14, 14, "green")
    f.text(40, 228, "right, and written at the end")
    f.rect(260, 216, 14, 14, "orange")
    f.text(280, 228, "halo, still right")
    f.rect(420, 216, 14, 14, "red")
    f.text(440, 228, "wrong: a neighbour's value was missing")
    return f


def halo_tiles():
    """Tiles that are loaded overlap; tiles that are written do not."""
    f = Figure(740, 330, "Blocks write tiles side by side, and load larger tiles that overlap")
    left, top, w, h, halo = 40, 40, 120, 75, 22
    for by in range(3):
        for bx in range(3):
            f.rect(left + bx * w, top + by * h, w, h, "plain")
    f.rect(left + w - halo, top + h - halo, w + 2 * halo, h + 2 * halo, "orange")
    f.rect(left + w, top + h, w, h, "green")
    f.frame(left + 2 * w - halo, top + h - halo, w + 2 * halo, h + 2 * halo, dash=True)
    f.label(left + 1.5 * w - 11, top + 1.5 * h - 8, "block A")
    f.label(left + 1.5 * w - 11, top + 1.5 * h + 10, "writes this")
    f.label(left + 2.6 * w, top + 1.5 * h, "block B")
    f.arrow(left + 1.5 * w, top + 2 * h, left + 1.5 * w, top + 2 * h + halo)
    f.text(left + 1.5 * w + 6, top + 2 * h + 16, "T", 13)
    f.text(left, top + 3 * h + 28, "9 of the domain's blocks", 13, soft=True)
    x0 = 450
    f.rect(x0, 60, 14, 14, "green")
    f.text(x0 + 22, 72, "written by block A")
    f.rect(x0, 86, 14, 14, "orange")
    f.text(x0 + 22, 98, "halo of A: loaded, computed,")
    f.text(x0 + 22, 116, "thrown away")
    f.line((x0, 140), (x0 + 14, 140), dash=True)
    f.text(x0 + 22, 144, "loaded by block B")
    f.text(x0, 186, "Tile 128 x 64, T = 10 timesteps:", 14, bold=True)
    f.text(x0, 208, "written 108 x 44 cells")
    f.text(x0, 228, "computed / written = 1.72")
    f.text(x0, 248, "bytes per cell and timestep:")
    f.text(x0, 268, "(8 * 1.72 + 8) / 10 = 2.2, not 12")
    return f


def shared_tile():
    """A block's points and its halo in shared memory, and who loads what."""
    f = Figure(740, 300, "A block of 8 x 4 threads, its tile of 10 x 6 cells in shared memory, and the barrier")
    left, top, cell = 30, 50, 32
    f.text(left, 30, "tile in shared memory: 10 x 6 cells", 14, bold=True)
    for y in range(6):
        for x in range(10):
            inside = 1 <= x <= 8 and 1 <= y <= 4
            corner = x in (0, 9) and y in (0, 5)
            fill = "green" if inside else "plain" if corner else "orange"
            f.rect(left + x * cell, top + y * cell, cell, cell, fill)
    f.frame(left + cell, top + cell, 8 * cell, 4 * cell)
    cx, cy = left + 4.5 * cell, top + 2.5 * cell
    f.circle(cx, cy, 7, "blue")
    for dx, dy in [(1, 0), (-1, 0), (0, 1), (0, -1)]:
        f.arrow(cx + dx * (cell - 3), cy + dy * (cell - 3), cx + dx * 9, cy + dy * 9)
    f.text(left, top + 6 * cell + 26, "The thread of the blue cell reads four cells that other threads loaded.", 13, soft=True)
    x0 = 400
    steps = [
        ("green", "1. Each thread loads its own cell."),
        ("orange", "2. Threads at an edge load the halo too."),
        (None, "3. sync_threads(): all loads are done."),
        ("blue", "4. Each thread reads its neighbours."),
        (None, "5. sync_threads(): all reads are done."),
        (None, "6. Only now may a cell be overwritten."),
    ]
    for i, (fill, text) in enumerate(steps):
        y = 70 + i * 30
        if fill:
            f.rect(x0, y - 11, 14, 14, fill)
        else:
            f.line((x0, y - 4), (x0 + 14, y - 4))
        f.text(x0 + 24, y, text)
    return f


def barrier():
    """Two warps, a store and a load, without and with a barrier."""
    f = Figure(740, 260, "Without a barrier warp 3 may load a cell before warp 4 has stored it")
    for column, (title, wait) in enumerate([("without a barrier", False), ("with sync_threads()", True)]):
        left = 20 + column * 370
        f.text(left, 22, title, 14, bold=True)
        for row, warp in enumerate(["warp 3", "warp 4"]):
            y = 46 + row * 84
            f.text(left, y + 24, warp)
            start = left + 60
            delay = 0 if row == 0 else 56
            f.rect(start + delay, y, 86, 36, "green")
            f.label(start + delay + 43, y + 18, "store tile[t]", 12)
            load = start + 92 + (delay if not wait else 64)
            f.rect(load, y, 110, 36, "blue")
            f.label(load + 55, y + 18, "load tile[255 - t]", 12)
        if wait:
            f.line((left + 60 + 148, 40), (left + 60 + 148, 172))
            f.label(left + 60 + 148, 188, "barrier", 13)
        else:
            f.arrow(left + 60 + 130, 84, left + 60 + 76, 128)
            f.text(left + 60, 188, "loads what is not there yet: a race", 13)
        f.arrow(left + 60, 214, left + 340, 214, thin=True)
        f.text(left + 60, 234, "time", 13, soft=True)
    return f


def prism(f, x, y, w, h, depth, fill, edge=True):
    """A box in oblique view, its front at x, y."""
    d = depth
    f.polygon([(x, y), (x + w, y), (x + w + d, y - d), (x + d, y - d)], fill, edge)
    f.polygon([(x + w, y), (x + w + d, y - d), (x + w + d, y + h - d), (x + w, y + h)], fill, edge)
    f.polygon([(x, y), (x + w, y), (x + w, y + h), (x, y + h)], fill, edge)


def streaming():
    """2.5D streaming: nine values of a column in registers, one plane in shared memory."""
    f = Figure(740, 310, "Streaming through planes: a thread keeps nine values of its column in registers")
    for i in range(9):
        x = 40 + i * 42
        fill = "orange" if i == 4 else "blue"
        f.polygon([(x, 110), (x + 60, 60), (x + 60, 200), (x, 250)], fill)
        f.circle(x + 30, 155, 5, "green")
        name = f"{i - 4:+d}" if i != 4 else "0"
        f.label(x, 266, name, 12, soft=True)
    f.label(210, 288, "planes, counted from the one that is computed", 13, soft=True)
    f.arrow(60, 36, 400, 36)
    f.text(60, 26, "the block streams along x")
    x0 = 480
    f.rect(x0, 66, 14, 14, "orange")
    f.text(x0 + 22, 78, "this plane and its halo:")
    f.text(x0 + 22, 96, "in shared memory, for y and z")
    f.rect(x0, 116, 14, 14, "blue")
    f.text(x0 + 22, 128, "eight more planes: one value")
    f.text(x0 + 22, 146, "of each in a register")
    f.circle(x0 + 7, 173, 5, "green")
    f.text(x0 + 22, 178, "the column of one thread")
    f.text(x0, 216, "Next plane: load one value,")
    f.text(x0, 234, "drop one. Shift the nine registers,")
    f.text(x0, 252, "or unroll the loop nine times.")
    return f


def stencil25():
    """The 25 points."""
    f = Figure(740, 340, "The 25 points of the stencil: the middle and four on each side along x, y and z")
    cx, cy, s = 200, 165, 30
    axes = [("z", (1, 0), "blue"), ("y", (0, 1), "orange"), ("x", (0.62, -0.5), "green")]
    for name, (dx, dy), fill in axes:
        f.line((cx - 5 * s * dx, cy - 5 * s * dy), (cx + 5 * s * dx, cy + 5 * s * dy), thin=True)
        f.label(cx + 5.4 * s * dx, cy + 5.3 * s * dy, name, 14, bold=True)
    for name, (dx, dy), fill in axes:
        for r in range(1, 5):
            for sign in (1, -1):
                f.circle(cx + sign * r * s * dx, cy + sign * r * s * dy, 8, fill)
    f.circle(cx, cy, 11, "red")
    x0 = 430
    f.text(x0, 60, "1 + 3 * 8 = 25 values of u", 14, bold=True)
    f.circle(x0 + 8, 87, 8, "blue")
    f.text(x0 + 26, 92, "along z: 1 element apart")
    f.circle(x0 + 8, 117, 8, "orange")
    f.text(x0 + 26, 122, "along y: one row (pitch) apart")
    f.circle(x0 + 8, 147, 8, "green")
    f.text(x0 + 26, 152, "along x: one plane apart")
    f.text(x0, 194, "Reuse", 14, bold=True)
    f.text(x0, 216, "Each value of u is read by 25 points.")
    f.text(x0, 238, "Registers, shared memory, L1 or L2")
    f.text(x0, 256, "must serve most of these reads.")
    return f


def semi_stencil():
    """The semi-stencil: one arriving plane completes one sum and begins another."""
    f = Figure(740, 300, "Semi-stencil: each arriving plane is added to the sums of planes before it")
    left, top, cell = 150, 54, 38
    f.text(left, 24, "plane of u that arrives", 13, bold=True)
    for column in range(9):
        f.label(left + (column + 0.5) * cell, 42, str(column), 13)
    for row in range(5):
        y = top + row * cell
        f.text(20, y + 24, f"sum of plane {row}")
        for column in range(9):
            part = column - row
            inside = -4 <= part <= 4
            fill = ("blue" if part < 0 else "red" if part == 0 else "orange") if inside else "plain"
            f.rect(left + column * cell, y, cell, cell, fill)
            if inside:
                f.label(left + (column + 0.5) * cell, y + cell / 2, f"{part:+d}" if part else "0", 12)
    f.frame(left + 4 * cell, top - 3, cell, 5 * cell + 6)
    f.text(left, top + 5 * cell + 24, "Plane 4 (framed) completes the sum of plane 0, is added to those of 1, 2 and 3,", 13)
    f.text(left, top + 5 * cell + 42, "and begins its own sum with the four planes before it.", 13)
    x0 = 520
    f.rect(x0, 70, 14, 14, "blue")
    f.text(x0 + 22, 82, "forward: planes before")
    f.rect(x0, 98, 14, 14, "red")
    f.text(x0 + 22, 110, "the plane itself")
    f.rect(x0, 126, 14, 14, "orange")
    f.text(x0 + 22, 138, "backward: planes after")
    f.text(x0, 176, "Each plane is loaded once.")
    return f


def slabs():
    """Slabs of layers on several GPUs, and the layers that they exchange."""
    f = Figure(740, 310, "A cube in four slabs on four GPUs; after each iteration neighbours exchange one layer")
    fills = ["blue", "orange", "green", "violet"]
    for gpu, fill in enumerate(fills):
        x = 30 + gpu * 130
        prism(f, x, 100, 62, 140, 16, fill)
        f.label(x + 31, 262, f"GPU {gpu}", 14)
        if gpu:
            f.rect(x - 14, 100, 10, 140, fills[gpu - 1])
        if gpu < 3:
            f.rect(x + 82, 100, 10, 140, fills[gpu + 1])
            f.arrow(x + 62, 140, x + 116, 140)
            f.arrow(x + 130, 200, x + 92, 200)
    f.text(30, 24, "z: the slowest axis, so a layer is contiguous", 13)
    f.arrow(30, 36, 340, 36)
    f.text(30, 292, "Narrow bars are halo layers: copies of the neighbour's outermost layer.", 13, soft=True)
    x0 = 540
    f.text(x0, 90, "per seam and iteration:", 14, bold=True)
    f.text(x0, 112, "N * N points each way")
    f.text(x0, 152, "per GPU and iteration:", 14, bold=True)
    f.text(x0, 174, "N * N * N / 4 points")
    return f


def memory():
    """The levels of an H100's memory, with what was measured."""
    f = Figure(740, 330, "Memory of an H100: size, latency and bandwidth of each level, as measured")
    rows = [
        ("registers", "256 KiB per multiprocessor", "0", "", 120, "violet"),
        ("shared memory", "227 KiB per block at most", "12 ns (23.5 cycles)", "32.4 TB/s", 190, "green"),
        ("L1", "192 KiB of 256 KiB", "16 ns (32 cycles)", "33.0 TB/s", 260, "green"),
        ("L2", "50 MiB, in two halves", "137 ns (271 cycles)", "7.6 TB/s", 330, "orange"),
        ("device memory", "79 GiB", "341 ns (675 cycles)", "2.94 TB/s (copy)", 400, "red"),
    ]
    f.text(440, 24, "latency of a load", 13, bold=True)
    f.text(600, 24, "bandwidth", 13, bold=True)
    for i, (name, size, latency, bandwidth, width, fill) in enumerate(rows):
        y = 36 + i * 54
        f.rect(215 - width / 2, y, width, 44, fill, round_=4)
        if i == 0:
            f.label(215, y + 22, name, 14, bold=True)
            f.text(290, y + 27, size, 13)
            continue
        f.label(215, y + 14, name, 14, bold=True)
        f.label(215, y + 32, size, 12)
        f.text(440, y + 27, latency)
        f.text(600, y + 27, bandwidth)
    f.line((20, 36 + 3 * 54 - 5), (720, 36 + 3 * 54 - 5), thin=True, dash=True)
    f.text(20, 322, "Above the dashed line: one per multiprocessor (132). Below: one per GPU. Bandwidth: whole GPU.", 13, soft=True)
    return f


def latency():
    """Latency over the footprint of a chase: plateaus, as measured on an H100."""
    f = Figure(740, 330, "Latency of a dependent load over the footprint, on an H100: three plateaus")
    left, top, w, h = 80, 30, 620, 230
    low, high = 10, 30  # 1 KiB to 1 GiB, as powers of two

    def at(log2_bytes, cycles):
        x = left + (log2_bytes - low) / (high - low) * w
        return round(x, 1), round(top + h - cycles / 800 * h, 1)

    for cycles in range(0, 801, 200):
        f.line((left, at(low, cycles)[1]), (left + w, at(low, cycles)[1]), grid=True)
        f.text(left - 8, at(low, cycles)[1] + 4, str(cycles), 12, "end")
    for power, name in [(10, "1 KiB"), (15, "32 KiB"), (20, "1 MiB"), (25, "32 MiB"), (30, "1 GiB")]:
        f.label(at(power, 0)[0], top + h + 16, name, 12)
    f.label(left + w / 2, top + h + 38, "footprint of the chain", 13)
    f.text(14, 20, "cycles per load", 13)
    kib = lambda n: 10 + math.log2(n)
    l1 = [at(10, 32), at(kib(192), 32)]
    l2 = [at(kib(320), 271), at(kib(24 * 1024), 271)]
    far = [at(kib(56 * 1024), 675), at(30, 675)]
    for level in (l1, l2, far):
        f.line(*level)
    f.line(l1[1], l2[0], dash=True)
    f.line(l2[1], far[0], dash=True)
    f.label((l1[0][0] + l1[1][0]) / 2, l1[0][1] - 14, "L1: 32 cycles, up to 192 KiB")
    f.label((l2[0][0] + l2[1][0]) / 2, l2[0][1] - 14, "L2: 271 cycles, up to 24 MiB")
    f.text(far[0][0] - 8, far[0][1] - 14, "device memory: 675 cycles", 13, "end")
    f.text(left, top + h + 62, "Solid: measured plateaus (ld.global.ca, 1.98 GHz). Dashed: between the levels.", 13, soft=True)
    return f


def occupancy():
    """What limits the blocks of a multiprocessor."""
    f = Figure(740, 320, "A multiprocessor has room for 64 warps; blocks, threads, registers or shared memory run out first")
    cell = 13
    cases = [
        ("blocks of 32 threads", "32 blocks are the limit:", "32 of 64 warps, 50 %", 32, 1, 32),
        ("blocks of 256 threads", "threads are the limit:", "8 blocks, 64 warps, 100 %", 8, 8, 64),
        ("256 threads, 72 registers", "registers are the limit:", "3 blocks, 24 warps, 37.5 %", 3, 8, 24),
    ]
    fills = ["blue", "orange", "green", "violet"]
    for i, (title, limit, result, blocks, warps, used) in enumerate(cases):
        left = 20 + i * 245
        f.text(left, 22, title, 14, bold=True)
        for slot in range(64):
            x, y = slot % 8, slot // 8
            fill = fills[(slot // warps) % (2 if warps == 1 else 4)] if slot < used else "plain"
            if warps == 1 and slot < used:
                fill = fills[(x + y) % 2]
            f.rect(left + x * 2 * cell, 36 + y * 2 * cell, 2 * cell - 3, 2 * cell - 3, fill)
        f.text(left, 36 + 16 * cell + 22, limit)
        f.text(left, 36 + 16 * cell + 42, result, 13, bold=True)
    f.text(20, 310, "Each square is room for one warp; a colour is a block. H100: 2048 threads, 65,536 registers, 32 blocks.", 13, soft=True)
    return f


def roofline():
    """The roofline of an H100 with the labs' kernels."""
    f = Figure(740, 430, "Roofline of an H100: below the ridge point bandwidth is the limit")
    left, top, w, h = 90, 30, 610, 270
    x0, x1, y0, y1 = -4, 7, -2, 7  # powers of two: FLOP/B, TFLOP/s

    def at(intensity, tflops):
        x = left + (math.log2(intensity) - x0) / (x1 - x0) * w
        return round(x, 1), round(top + h - (math.log2(tflops) - y0) / (y1 - y0) * h, 1)

    for power in range(x0, x1 + 1):
        name = f"1/{2 ** -power}" if power < 0 else str(2**power)
        f.line(at(2.0**power, 2.0**y0), at(2.0**power, 2.0**y1), grid=True)
        f.label(at(2.0**power, 1)[0], top + h + 16, name, 12)
    for power in range(y0, y1 + 1):
        name = f"1/{2 ** -power}" if power < 0 else str(2**power)
        f.line(at(2.0**x0, 2.0**power), at(2.0**x1, 2.0**power), grid=True)
        f.text(left - 8, at(1, 2.0**power)[1] + 4, name, 12, "end")
    bandwidth = 3.0
    f.line(at(0.25 / bandwidth, 0.25), at(33.5 / bandwidth, 33.5), at(2.0**x1, 33.5))
    f.line(at(33.5 / bandwidth, 33.5), at(66.9 / bandwidth, 66.9), at(2.0**x1, 66.9))
    f.text(left + w, at(1, 33.5)[1] + 17, "f64: 33.5 TFLOP/s", 13, "end")
    f.text(left + w, at(1, 66.9)[1] - 7, "f32: 66.9 TFLOP/s", 13, "end")
    f.circle(*at(33.5 / bandwidth, 33.5), 5, "red")
    f.text(at(11.2, 1)[0] - 10, at(1, 33.5)[1] - 4, "ridge point, f64: 11 FLOP/B", 13, "end")
    f.text(at(2.3, 1)[0], at(1, 4.0)[1] + 4, "copy bandwidth: 3.0 TB/s", 13)
    points = [
        (12 / 88, "wave3d, 88 bytes: nothing is reused", "orange", 0.136 * 3.0),
        (12 / 24, "wave3d, 24 bytes: all is reused", "green", 0.5 * 3.0),
        (41 / 16, "stencil25 inside, 16 bytes", "blue", 2.56 * 3.0),
    ]
    legend = [(100, 366), (400, 366), (100, 390)]
    for (intensity, name, fill, tflops), (x, y) in zip(points, legend):
        f.circle(*at(intensity, tflops), 6, fill)
        f.circle(x, y, 6, fill)
        f.text(x + 14, y + 5, name)
    f.label(left + w / 2, top + h + 40, "arithmetic intensity, FLOP per byte of device memory", 13)
    f.text(14, 20, "TFLOP/s", 13)
    f.text(30, 420, "Both axes are logarithmic. Peaks count a fused multiply-add as two operations; unfused code has half.", 13, soft=True)
    return f


def room():
    """The room of lab poisson."""
    f = Figure(740, 320, "The room: five walls at 20 degrees, one at 0, and a radiator")
    left, top, size = 50, 60, 210

    def plan_view(x0, across, up, title, low, box, cold):
        f.label(x0 + size / 2, 28, title, 14, bold=True)
        f.rect(x0, top, size, size, "orange")
        f.rect(x0 + 10, top + 10, size - 20, size - 20, "plain")
        if cold:
            f.rect(x0, top + size - 10, size, 10, "blue")
        scale = size / 2
        (a0, a1), (b0, b1) = box
        f.rect(x0 + (a0 + 1) * scale, top + size - (b1 + 1) * scale, (a1 - a0) * scale, (b1 - b0) * scale, "red")
        f.label(x0 + (a0 + a1 + 2) / 2 * scale, top + size - (b0 + b1 + 2) / 2 * scale, "f = 200", 12)
        f.label(x0 + size / 2, top + size + 18, across, 13)
        f.label(x0 - 14, top + size / 2, up, 13)

    plan_view(left, "x from -1 to 1", "y", "slice at z = -1/3", 0, ((-1, -3 / 8), (-1, -1 / 2)), True)
    plan_view(left + 270, "x from -1 to 1", "z", "slice at y = -3/4", 0, ((-1, -3 / 8), (-2 / 3, 0)), False)
    x0 = 560
    f.rect(x0, 80, 14, 14, "orange")
    f.text(x0 + 22, 92, "wall, u = 20")
    f.rect(x0, 106, 14, 14, "blue")
    f.text(x0 + 22, 118, "wall y = -1, u = 0")
    f.rect(x0, 132, 14, 14, "red")
    f.text(x0 + 22, 144, "radiator, f = 200")
    f.text(x0, 184, "radiator:")
    f.text(x0, 206, "-1 <= x <= -3/8")
    f.text(x0, 226, "-1 <= y <= -1/2")
    f.text(x0, 246, "-2/3 <= z <= 0")
    f.text(left, 310, "The radiator touches the cold wall, y = -1, and the wall x = -1.", 13, soft=True)
    return f


def boxes():
    """The inside and the six boxes of the absorbing shell."""
    f = Figure(740, 300, "The inside and the six boxes of the shell: seven launches in each timestep")
    left, top, w, h, s = 40, 50, 300, 200, 40
    f.text(left, 30, "slice: x across, z down", 14, bold=True)
    f.rect(left, top, w, h, "plain")
    f.rect(left, top, s, h, "blue")
    f.rect(left + w - s, top, s, h, "blue")
    f.rect(left + s, top, w - 2 * s, s, "green")
    f.rect(left + s, top + h - s, w - 2 * s, s, "green")
    f.label(left + w / 2, top + h / 2, "inside", 14, bold=True)
    f.label(left + s / 2, top + h / 2, "left", 12)
    f.label(left + w - s / 2, top + h / 2, "right", 12)
    f.label(left + w / 2, top + s / 2, "front", 12)
    f.label(left + w / 2, top + h - s / 2, "back", 12)
    f.text(left, top + h + 24, "the two boxes across y are before and behind this slice", 13, soft=True)
    x0 = 400
    f.text(x0, 70, "inside: u, v and vp", 14, bold=True)
    f.text(x0, 92, "one launch, 41 operations per point")
    f.text(x0, 130, "shell: eta and phi too", 14, bold=True)
    f.text(x0, 152, "six launches; left and right have all of y and z,")
    f.text(x0, 170, "the other four have the rest")
    f.text(x0, 208, "1000^3 points, a shell of 16:", 14, bold=True)
    f.text(x0, 230, "9.3 % of the points are in the shell")
    return f


def planes():
    """Which planes of a 3D field L2 must hold."""
    f = Figure(740, 290, "A site needs the planes before and after its own: L2 must hold what lies between")
    for i in range(7):
        x = 30 + i * 58
        fill = {2: "orange", 3: "green", 4: "orange"}.get(i, "plain")
        if i < 2:
            fill = "blue"
        f.polygon([(x, 90), (x + 54, 50), (x + 54, 190), (x, 230)], fill)
        f.label(x + 6, 248, f"i{i - 3:+d}" if i != 3 else "i", 13)
    f.circle(231, 140, 6, "red")
    f.line((173, 140), (289, 140), thin=True)
    f.circle(173, 140, 5, "red")
    f.circle(289, 140, 5, "red")
    f.arrow(40, 276, 400, 276, thin=True)
    f.text(410, 280, "launch goes this way", 13, soft=True)
    x0 = 480
    f.rect(x0, 60, 14, 14, "green")
    f.text(x0 + 22, 72, "plane that is computed")
    f.rect(x0, 86, 14, 14, "orange")
    f.text(x0 + 22, 98, "its neighbours: from L2 or new")
    f.rect(x0, 112, 14, 14, "blue")
    f.text(x0 + 22, 124, "no longer needed")
    f.text(x0, 160, "one plane:", 14, bold=True)
    f.text(x0, 182, "8 bytes * n_y * n_z")
    f.text(x0, 210, "L2 of an H100: 50 MiB")
    return f


FIGURES = [
    grid, lanes, sectors, barrier, memory, latency, occupancy, roofline, valid_region, halo_tiles, shared_tile,
    room, slabs, planes, stencil25, boxes, streaming, semi_stencil, divergence, hiding,
]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--theme", choices=["both", "light", "dark"], default="both")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for figure in FIGURES:
        file = arguments.out / f"{figure.__name__.replace('_', '-')}.svg"
        text = figure().svg(arguments.theme)
        if not arguments.check:
            file.write_text(text, encoding="utf-8")
        elif not file.is_file() or file.read_text(encoding="utf-8") != text:
            sys.exit(f"make.py: {file} is not what this script draws; run docs/figures/make.py")


main()
