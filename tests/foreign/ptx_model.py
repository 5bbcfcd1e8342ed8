"""Data races by PTX's memory model, sought in interleavings of a litmus test: an oracle beside the emulator.

Written after "Memory consistency model" of the PTX ISA: two accesses of a location, one of them a store, race if they are not morally
strong and causality orders neither before the other. As in the emulator, a store of the value that is there already is no conflict.
"""
import random
import re

SCHEDULES = 400
STEPS = 80
ACQUIRES, RELEASES = {"acquire", "acq_rel", "sc"}, {"release", "acq_rel", "sc"}


class Event:
    """A fence or an access, with what happens before it: `clock` has the number of such events per thread."""

    def __init__(self, thread, block, order, scope, clock):
        self.thread, self.block, self.order, self.scope = thread, block, order, scope
        self.clock = dict(clock)
        self.index = self.clock[thread]
        self.location, self.writes, self.reads, self.source, self.fences = None, False, False, None, []

    def is_strong_with(self, other):
        """Both are strong, and the scope of each has the other's thread."""
        strong = self.order != "weak" and other.order != "weak"
        return strong and (self.block == other.block or "cta" not in (self.scope, other.scope))

    def is_before(self, clock):
        return clock.get(self.thread, 0) >= self.index

    def chain(self):
        """This write, and those that a reader of it observes through read-modify-writes."""
        yield self
        if self.source is not None and self.reads and self.is_strong_with(self.source):
            yield from self.source.chain()

    def releases(self):
        """The first operations of the release patterns that end in this write."""
        return [*([self] if self.order in RELEASES else []), *self.fences]


class Execution:
    """One interleaving, one instruction after the other."""

    def __init__(self, test):
        self.test, self.racy = test, False
        count = len(test.threads)
        self.at, self.registers = [0] * count, [{} for _ in range(count)]
        self.clocks = [{thread: 0} for thread in range(count)]
        self.reads, self.releasing = [[] for _ in range(count)], [[] for _ in range(count)]
        self.memory = {name: test.initial.get(name, 0) for name in test.locations}
        self.latest, self.accesses, self.fences_sc = {}, [], []
        self.waiting, self.arrived = {}, {}

    def value(self, thread, text):
        return self.registers[thread].get(text, 0) if re.match(r"r\d+$", text) else int(text)

    def event(self, thread, order, scope):
        self.clocks[thread][thread] += 1
        return Event(thread, self.test.blocks[thread], order, scope, self.clocks[thread])

    def join(self, thread, event):
        clock = self.clocks[thread]
        for other, count in event.clock.items():
            clock[other] = max(clock.get(other, 0), count)

    def synchronize(self, thread, read, last):
        """The acquire pattern from a read to `last` meets the release patterns that the read observes."""
        if read.source is None or not read.is_strong_with(read.source):
            return
        for write in read.source.chain():
            for first in write.releases():
                if first.is_strong_with(last):
                    self.join(thread, first)

    def fence(self, thread, order, scope):
        fence = self.event(thread, order, scope)
        if order in ACQUIRES:
            for read in self.reads[thread]:
                self.synchronize(thread, read, fence)
        if order == "sc":
            for other in self.fences_sc:
                if other.is_strong_with(fence):
                    self.join(thread, other)
            self.fences_sc.append(fence)
        fence.clock = dict(self.clocks[thread])
        if order in RELEASES:
            self.releasing[thread].append(fence)

    def access(self, thread, location, order, scope, reads, new):
        """A load, store or read-modify-write; gives what was there."""
        access = self.event(thread, order, scope)
        access.location, access.reads = location, reads
        old = self.memory[location]
        value = None if new is None else new(old) & 0xFFFFFFFF
        access.writes = value is not None
        if reads:
            access.source = self.latest.get(location)
            if order in ACQUIRES:
                self.synchronize(thread, access, access)
            if order != "weak":
                self.reads[thread].append(access)
        access.clock = dict(self.clocks[thread])
        for other in self.accesses:
            apart = other.thread != thread and other.location == location
            changes = value != old or not (other.writes and not reads)
            if apart and (access.writes or other.writes) and changes:
                if not access.is_strong_with(other) and not other.is_before(access.clock):
                    self.racy = True
        self.accesses.append(access)
        if value is not None:
            if order != "weak":
                access.fences = list(self.releasing[thread])
            self.memory[location] = value
            self.latest[location] = access
        return old

    def barrier(self, thread, mode, barrier, count):
        key = (self.test.blocks[thread], barrier)
        self.event(thread, "weak", None)
        arrived = self.arrived.setdefault(key, [])
        arrived.append((thread, dict(self.clocks[thread])))
        if mode == "sync":
            self.waiting[thread] = key
        if len(arrived) == count:
            for other in [other for other, waits in self.waiting.items() if waits == key]:
                del self.waiting[other]
                for _, clock in arrived:
                    own = self.clocks[other]
                    own.update({t: max(own.get(t, 0), n) for t, n in clock.items()})
            self.arrived[key] = []

    def step(self, thread):
        cells = self.test.threads[thread]
        words = re.split(r"[\s,]+", cells[self.at[thread]])
        self.at[thread] += 1
        opcode, args = words[0], words[1:]
        value = lambda text: self.value(thread, text)
        kind, *modifiers = opcode.split(".")
        if opcode.endswith(":"):
            return
        if opcode == "goto":
            self.at[thread] = cells.index(args[0] + ":")
        elif re.match(r"b(eq|ne|lt|gt|le|ge)$", opcode):
            a, b = value(args[0]), value(args[1])
            if {"eq": a == b, "ne": a != b, "lt": a < b, "gt": a > b, "le": a <= b, "ge": a >= b}[opcode[1:]]:
                self.at[thread] = cells.index(args[2] + ":")
        elif kind == "fence":
            self.fence(thread, *modifiers)
        elif kind == "bar":
            peers = self.test.blocks.count(self.test.blocks[thread])
            count = value(args[2]) if len(args) > 2 else peers
            self.barrier(thread, modifiers[1], value(args[1] if len(args) > 1 else args[0]), count)
        elif kind in ("st", "ld") and modifiers:
            order, scope = modifiers[0], (modifiers + [None])[1]
            if kind == "st":
                self.access(thread, args[0], order, scope, False, lambda _: value(args[1]))
            else:
                self.registers[thread][args[0]] = self.access(thread, args[1], order, scope, True, None)
        elif kind in ("atom", "red"):
            order, scope, operation = modifiers
            place, *operands = args if kind == "red" else args[1:]
            operands = [value(operand) for operand in operands]
            new = {
                "add": lambda old: old + operands[0],
                "sub": lambda old: old - operands[0],
                "and": lambda old: old & operands[0],
                "or": lambda old: old | operands[0],
                "xor": lambda old: old ^ operands[0],
                "exch": lambda old: operands[0],
                "cas": lambda old: operands[1] if old == operands[0] else old,
            }[operation]
            old = self.access(thread, place, order, scope, True, new)
            if kind == "atom":
                self.registers[thread][args[0]] = old
        else:
            a, b = value(args[1]), value(args[-1])
            self.registers[thread][args[0]] = {"add": a + b, "sub": a - b, "mul": a * b, "ld": a}[opcode]

    def run(self, source):
        """Goes on until a race, the end, or a deadlock."""
        for _ in range(STEPS):
            ends = [len(cells) for cells in self.test.threads]
            ready = [t for t, end in enumerate(ends) if self.at[t] < end and t not in self.waiting]
            if not ready or self.racy:
                return
            self.step(source.choice(ready))


def is_racy(test):
    """Whether some interleaving has a race."""
    source = random.Random(1)
    for _ in range(SCHEDULES):
        execution = Execution(test)
        execution.run(source)
        if execution.racy:
            return True
    return False
