"""Litmus tests of PTX's memory model, from Dat3M's `litmus/PTX`.

A test becomes a kernel: each of its threads is a warp, whose first lane accesses memory. An outcome that the model forbids must never be
seen. And the emulator must report a race in just those tests in which `ptx_model` finds one.

`python3 tests/foreign/litmus.py DAT3M` says which of the outcomes that the model allows are seen.
"""
import csv
import os
import re
import sys
import tempfile

import ptx_model
from emulated import Run

ORDERS = "0..39"
MANY_ORDERS = "0..399"
SECONDS = 20
EXPECTED = os.path.join("dartagnan", "src", "test", "resources", "PTXv6_0-expected.csv")


class Litmus:
    """A test: initial values, per thread its block and instructions, and the assertion."""

    def __init__(self, text):
        text = re.sub(r'"[^"]*"', "", text)
        head, rest = text.split("}", 1)
        self.initial = {}
        for entry in head.split("{", 1)[1].split(";"):
            name, equals, value = entry.partition("=")
            if equals and ":" not in name:
                self.initial[name.strip()] = int(value)
        body = re.split(r"(~\s*exists|\bexists|\bforall|\bfilter)\b", rest, maxsplit=1)
        self.quantifier, self.assertion = body[1].replace(" ", ""), body[2]
        rows = [line.rstrip(" ;").split("|") for line in body[0].splitlines() if line.strip()]
        places = [re.search(r"cta\s+(\d+)\s*,\s*gpu\s+(\d+)", cell).groups() for cell in rows[0]]
        self.gpus = {gpu for _, gpu in places}
        blocks = sorted({cta for cta, _ in places}, key=int)
        self.blocks = [blocks.index(cta) for cta, _ in places]
        cells = [[row[i].strip() if i < len(row) else "" for row in rows[1:]] for i in range(len(places))]
        self.threads = [[cell for cell in thread if cell] for thread in cells]
        named = re.findall(r"(?:st|ld|atom|red)\.[\w.]+ (?:r\d+, *)?([A-Za-z_]\w*)", body[0])
        self.locations = sorted({*self.initial, *(name for name in named if not re.match(r"r\d+$", name))})

    def lacks(self):
        """What keeps it from being one launch, if anything does."""
        text = "\n".join(cell for thread in self.threads for cell in thread)
        if len(self.gpus) > 1:
            return "several GPUs"
        if re.search(r"proxy|\b(tld|suld|cold|sust|suatom|sured)\b", text):
            return "proxies"
        if self.quantifier == "filter":
            return "a filter"
        return None

    def holds(self, registers, memory):
        """Whether the assertion's condition holds of an outcome."""
        text = re.sub(r"P?(\d+):\s*(r\d+)", r'registers.get((\1, "\2"), 0)', self.assertion)
        text = text.replace("/\\", " and ").replace("\\/", " or ")
        text = re.sub(r"(?<![=!<>])=(?!=)", "==", re.sub(r"~(?!=)", " not ", text))
        for name in self.locations:
            text = re.sub(rf"\b{name}\b(?!['\"(])", f'memory["{name}"]', text)
        return eval(' '.join(text.split()), {"registers": registers, "memory": memory})


def operand(text):
    return f"%{text}" if re.match(r"r\d+$", text) else text


def address(name):
    return f"[%at_{name}]"


def translated(cell, number, warps):
    """The PTX of an instruction."""
    words = re.split(r"[\s,]+", cell)
    opcode, args = words[0], words[1:]
    share = lambda register: f"shfl.sync.idx.b32 %{register}, %{register}, 0, 31, -1;"
    if cell.endswith(":"):
        return f"T{number}_{cell}"
    if opcode == "goto":
        return f"bra.uni T{number}_{args[0]};"
    if re.match(r"b(eq|ne|lt|gt|le|ge)$", opcode):
        compare = f"setp.{opcode[1:]}.s32 %taken, {operand(args[0])}, {operand(args[1])};"
        return f"{compare}\n@%taken bra T{number}_{args[2]};"
    if opcode in ("add", "sub"):
        return f"{opcode}.s32 %{args[0]}, {operand(args[1])}, {operand(args[2])};"
    if opcode == "mul":
        return f"mul.lo.s32 %{args[0]}, {operand(args[1])}, {operand(args[2])};"
    if opcode == "ld":
        return f"mov.u32 %{args[0]}, {operand(args[1])};"
    kind, *modifiers = opcode.split(".")
    if kind == "fence":
        return f"{opcode};"
    if kind == "bar":
        barrier = operand(args[1] if len(args) > 1 else args[0])
        if len(args) > 2:
            count = operand(args[2])
            if not count.isdigit():
                return f"mul.lo.s32 %count, {count}, 32;\nbarrier.cta.{modifiers[1]}.aligned {barrier}, %count;"
            return f"barrier.cta.{modifiers[1]}.aligned {barrier}, {32 * int(count)};"
        count = f", {32 * warps}" if modifiers[1] == "arrive" else ""
        return f"barrier.cta.{modifiers[1]}.aligned {barrier}{count};"
    order = ".".join(modifiers)
    if kind == "st":
        return f"@%first st.{order}.global.u32 {address(args[0])}, {operand(args[1])};"
    if kind == "ld":
        return f"@%first ld.{order}.global.u32 %{args[0]}, {address(args[1])};\n{share(args[0])}"
    if not modifiers:
        raise ValueError(f"not an instruction: {cell}")
    order, operation = ".".join(modifiers[:-1]), modifiers[-1]
    kinds = {"and": "b32", "or": "b32", "xor": "b32", "exch": "b32", "cas": "b32"}
    if kind == "red":
        value, minus = operand(args[1]), ""
        if operation == "sub":
            operation, minus, value = "add", f"neg.s32 %minus, {value};\n", "%minus"
        return f"{minus}@%first red.{order}.global.{operation}.{kinds.get(operation, 'u32')} {address(args[0])}, {value};"
    values, minus = [operand(value) for value in args[2:]], ""
    if operation == "sub":
        operation, minus, values = "add", f"mov.u32 %minus, {values[0]};\nneg.s32 %minus, %minus;\n", ["%minus"]
    kind = kinds.get(operation, "u32")
    return (
        f"{minus}@%first atom.{order}.global.{operation}.{kind} %{args[0]}, {address(args[1])}, {', '.join(values)};\n"
        f"{share(args[0])}"
    )


def kernel(test):
    """The test as a kernel, and the extents of its launch."""
    in_block = [[t for t, own in enumerate(test.blocks) if own == block] for block in range(max(test.blocks) + 1)]
    warps = max(map(len, in_block))
    parameters = [f".param .u64 p_{name}" for name in test.locations]
    parameters += [f".param .u64 out_{number}" for number in range(len(test.threads))]
    lines = [".version 8.0", ".target sm_90", ".address_size 64"]
    lines += [f".visible .entry litmus({', '.join(parameters)})", "{"]
    lines += [".reg .b32 %r<16>;", ".reg .b32 %warp, %lane, %block, %minus, %count;", ".reg .b64 %out;"]
    lines += [".reg .pred %first, %taken, %here;"]
    lines += ["mov.u32 %warp, %tid.x;", "and.b32 %lane, %warp, 31;", "shr.u32 %warp, %warp, 5;"]
    lines += ["mov.u32 %block, %ctaid.x;", "setp.eq.u32 %first, %lane, 0;"]
    lines += [f"mov.u32 %r{number}, 0;" for number in range(16)]
    for name in test.locations:
        lines += [f".reg .b64 %at_{name};", f"ld.param.u64 %at_{name}, [p_{name}];"]
    for block, threads in enumerate(in_block):
        for warp, number in enumerate(threads):
            lines += [f"setp.eq.u32 %here, %block, {block};", f"setp.eq.and.u32 %here, %warp, {warp}, %here;"]
            lines += [f"@%here bra T{number};"]
    lines += ["ret;"]
    for number, cells in enumerate(test.threads):
        lines += [f"T{number}:"]
        lines += [translated(cell, number, len(in_block[test.blocks[number]])) for cell in cells]
        lines += [f"ld.param.u64 %out, [out_{number}];", "@!%first ret;"]
        lines += [f"st.global.u32 [%out+{4 * register}], %r{register};" for register in range(16)]
        lines += ["ret;"]
    return "\n".join(lines + ["}", ""]), len(in_block), 32 * warps


def outcomes(text):
    """Registers and memory after each order that had no fault."""
    for part in re.split(r"^order \d+:", text, flags=re.M)[1:]:
        memory = {name: int(value) for name, value in re.findall(r"^  p_(\w+): (\d+)", part, re.M)}
        registers = {}
        for number, row in re.findall(r"^  out_(\d+): ([\d ]+)$", part, re.M):
            registers.update({(int(number), f"r{i}"): int(value) for i, value in enumerate(row.split())})
        if memory or registers:
            yield registers, memory


def is_forbidden(test, holds, expected):
    """Whether the suite's expectation forbids an outcome: 1 says that the assertion is true."""
    return {
        ("exists", 0): holds,
        ("~exists", 1): holds,
        ("forall", 1): not holds,
    }.get((test.quantifier, expected), False)


def arguments(test, file, orders):
    """How `emulate` is called for a test, but for its buffers, and these."""
    text, grid, block = kernel(test)
    with open(file, "w") as target:
        target.write(text)
    buffers = [f"u32[1]={test.initial.get(name, 0)}" for name in test.locations]
    buffers += ["u32[16]=0"] * len(test.threads)
    return [file, "--kernel", "litmus", "--grid", str(grid), "--block", str(block), "--orders", orders], buffers


def judged(test, expected, file):
    launch, buffers = arguments(test, file, ORDERS)
    free = Run([*launch, "--check", "none", *buffers], seconds=SECONDS)
    if free.code not in (0, 1):
        return "not run: " + free.told()
    for registers, memory in outcomes(free.text):
        if is_forbidden(test, test.holds(registers, memory), expected):
            return f"wrong: an outcome that the model forbids, {registers} {memory}"
    checked = Run([*launch, *buffers], seconds=SECONDS)
    if checked.code is None:
        return "too slow"
    for registers, memory in outcomes(checked.text):
        if is_forbidden(test, test.holds(registers, memory), expected):
            return f"wrong: late stores show an outcome that the model forbids, {registers} {memory}"
    races = [fault["kind"] for fault in checked.faults() if fault["kind"].startswith("race")]
    others = [fault["kind"] for fault in checked.faults() if not fault["kind"].startswith("race")]
    is_racy = ptx_model.is_racy(test)
    if is_racy and not races:
        return "missed: a race by the model" + (f", told as {others[0]}" if others else "")
    if races and not is_racy:
        return "false alarm: " + checked.told()
    return "right"


def tests(folder):
    """The tests that have an expectation: name, test, expectation."""
    with open(os.path.join(folder, EXPECTED)) as file:
        rows = [(row[0], int(row[1])) for row in csv.reader(file) if len(row) == 2]
    for name, expected in rows:
        with open(os.path.join(folder, name)) as file:
            yield name.removeprefix("litmus/PTX/").removesuffix(".litmus"), Litmus(file.read()), expected


def litmus(folder, scratch):
    """Yields each test with an expectation, and its outcome."""
    for short, test, expected in tests(folder):
        lacks = test.lacks()
        if lacks:
            yield short, "not run: " + lacks
            continue
        yield short, judged(test, expected, os.path.join(scratch, "litmus.ptx"))


def shows_allowed(folder):
    """Prints the tests whose outcome the model allows, and whether it is seen."""
    counts = {}
    with tempfile.TemporaryDirectory() as scratch:
        for short, test, expected in tests(folder):
            if test.lacks() or (test.quantifier, expected) not in {("exists", 1), ("~exists", 0)}:
                continue
            launch, buffers = arguments(test, os.path.join(scratch, "litmus.ptx"), MANY_ORDERS)
            found = "not seen"
            if ptx_model.is_racy(test):
                found = "a race, which is told"
            else:
                run = Run([*launch, *buffers], seconds=10 * SECONDS)
                if any(test.holds(*outcome) for outcome in outcomes(run.text)):
                    found = "seen"
            counts[found] = counts.get(found, 0) + 1
            print(f"{short}: {found}", flush=True)
    print(", ".join(f"{count} {found}" for found, count in sorted(counts.items())))


if __name__ == "__main__":
    shows_allowed(sys.argv[1])
