# Text that a GPU's driver refuses is refused when it is loaded, with its line, and what the driver takes is loaded. Each
# text below is tried alone; a line that ends with `//!` is the one that is named. ptxas 13.5 was asked about all of
# them, and an H200's driver about most.
#
# The exit code says that texts could not be used.
#
# run: emulate -- PROGRAM
# prints: all as they should be
# exit: 3
import ctypes
import re

from driver import call, pointer, start

# `lines` is the body of a kernel with registers of all kinds, `before` what is in front of it.
MODULE = """.version {version}
.target {target}
.address_size 64
{before}
.visible .entry k(.param .u64 out)
{{
.reg .b64 %out, %d<4>;
.reg .b32 %r<40>;
.reg .f64 %e<4>;
.reg .pred %p<4>;
ld.param.u64 %out, [out];
{lines}
ret;
}}
"""
REFUSED = {
    "a vote without .sync": "setp.eq.u32 %p1, 0, 0;\nvote.ballot.b32 %r2, %p1; //!",
    "vote.all without .sync": "setp.eq.u32 %p1, 0, 0;\nvote.all.pred %p2, %p1; //!",
    "vote.uni without .sync": "setp.eq.u32 %p1, 0, 0;\nvote.uni.pred %p2, %p1; //!",
    "a shuffle without .sync": "mov.u32 %r1, 3;\nshfl.idx.b32 %r2, %r1, 3, 31; //!",
    "a name declared in a range": ".reg .u32 %r1; //!",
    "the last name of a range": ".reg .f32 %r39; //!",
    "a range over a name": ".reg .b32 %x7;\n.reg .b32 %x<8>; //!",
    "a range over a range": ".reg .b32 %r<3>; //!",
    "a label twice": "L: mov.u32 %r1, 1;\nL: mov.u32 %r1, 2; //!",
    "a register that nothing declares": "add.u32 %zz, %r1, 1; //!",
    "a label that is not there": "bra NOWHERE; //!",
    "shared memory with a value, in a kernel": ".shared .u32 s = 5; //!",
    "local memory with a value": ".local .u32 s = 5; //!",
    "a type that PTX lacks": "ld.global.v2.u4 {%d1, %d2}, [%out]; //!",
    "an operation that its type lacks": "atom.global.max.f64 %e1, [%out], %e2; //!",
    "a register of another width": "mov.u32 %d1, 5; //!",
}
REFUSED_BEFORE = {
    "shared memory with a value": ".shared .u32 s = 5; //!",
    "shared memory with values": ".shared .align 4 .u32 s[3] = {1, 2, 3}; //!",
    "constants beyond 64 KiB": ".const .b8 s[65537]; //!",
    "constants beyond 64 KiB together": ".const .b8 s[65000];\n.const .align 8 .b8 t[600];",
    "shared memory twice": ".shared .b8 s[4];\n.shared .b8 s[8]; //!",
}
TAKEN = {
    "registers of an inner scope": "{\n.reg .u32 %r1;\nmov.u32 %r1, 1;\n}",
    "the name behind a range": ".reg .u32 %r40;\nmov.u32 %r40, 1;",
    "an immediate that is too wide": "mov.u32 %r1, 0x1ffffffff;",
    "a vote with .sync": "setp.eq.u32 %p1, 0, 0;\nvote.sync.ballot.b32 %r2, %p1, -1;",
}
TAKEN_BEFORE = {
    "constants of 64 KiB": ".const .b8 s[65536];",
    "constants and globals with values": ".const .u32 s = 5;\n.global .u32 g[2] = {1, 2};",
}
# Votes and shuffles without .sync are deprecated from version 6.0 on, and gone from 6.4 on for sm_70 and newer.
VOTE = "setp.eq.u32 %p1, 0, 0;\nvote.ballot.b32 %r2, %p1;"
SHUFFLE = "mov.u32 %r1, 3;\nshfl.idx.b32 %r2, %r1, 3, 31;"
# CU_JIT_ERROR_LOG_BUFFER, and its size.
LOG, LOG_BYTES = 5, 6


def loaded(text):
    """The result of loading a text, and what the log of errors says."""
    log, module = ctypes.create_string_buffer(4096), pointer()
    options = (ctypes.c_int * 2)(LOG, LOG_BYTES)
    values = (pointer * 2)(ctypes.addressof(log), 4096)
    result = call("cuModuleLoadDataEx", ctypes.byref(module), text.encode() + b"\0", ctypes.c_uint(2), options, values)
    return result, log.value.decode()


def check(name, text, right):
    """Prints what is wrong with the answer to a text."""
    result, log = loaded(text)
    if result != right:
        print(f"{name}: {result}, not {right}")
        return False
    line = next((number for number, line in enumerate(text.splitlines(), 1) if line.endswith("//!")), None)
    if line and not re.search(rf"\b{line}\b", log):
        print(f"{name}: the log does not name line {line}: {log!r}")
        return False
    return True


def module(lines="", before="", version="8.0", target="sm_90"):
    return MODULE.format(version=version, target=target, before=before, lines=lines)


start()
BAD, GOOD = "CUDA_ERROR_INVALID_PTX", "CUDA_SUCCESS"
rights = [check(name, module(lines), BAD) for name, lines in REFUSED.items()]
rights += [check(name, module(before=before), BAD) for name, before in REFUSED_BEFORE.items()]
rights += [check(name, module(lines), GOOD) for name, lines in TAKEN.items()]
rights += [check(name, module(before=before), GOOD) for name, before in TAKEN_BEFORE.items()]
rights += [check("a vote of version 6.3", module(VOTE, version="6.3", target="sm_70"), GOOD)]
rights += [check("a vote of version 3.2", module(VOTE, version="3.2", target="sm_30"), GOOD)]
rights += [check("a shuffle of version 3.2", module(SHUFFLE, version="3.2", target="sm_30"), GOOD)]
# ptxas refuses these 64 KiB of static shared memory; an H200's driver takes them.
large = ".shared .align 4 .b8 s[65536];\nst.shared.u32 [s], 1;"
rights += [check("64 KiB of static shared memory", module(large), GOOD)]
if all(rights):
    print("all as they should be")
