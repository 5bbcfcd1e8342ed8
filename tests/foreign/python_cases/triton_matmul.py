# Triton's matmuls for Hopper: wgmma of what cp.async fetches, and of tiles that tensor maps name.
import ctypes
import sys

import cupy
import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

N, TILE = 128, 64


@triton.jit
def by_pointers(a, b, c, N, TILE: tl.constexpr):
    rows, columns = tl.program_id(0) * TILE + tl.arange(0, TILE), tl.program_id(1) * TILE + tl.arange(0, TILE)
    inner = tl.arange(0, TILE)
    a += rows[:, None] * N + inner[None, :]
    b += inner[:, None] * N + columns[None, :]
    sum = tl.zeros((TILE, TILE), dtype=tl.float32)
    for _ in range(0, N, TILE):
        sum = tl.dot(tl.load(a), tl.load(b), sum)
        a += TILE
        b += TILE * N
    tl.store(c + rows[:, None] * N + columns[None, :], sum.to(tl.float16))


@triton.jit
def by_maps(a, b, c, N, TILE: tl.constexpr):
    row, column = tl.program_id(0) * TILE, tl.program_id(1) * TILE
    sum = tl.zeros((TILE, TILE), dtype=tl.float32)
    for k in range(0, N, TILE):
        sum = tl.dot(a.load([row, k]), b.load([k, column]), sum)
    c.store([row, column], sum.to(tl.float16))


def map_of(array):
    """The arguments for a tensor map of an array: its 128 bytes, the extents, the strides."""
    room = (ctypes.c_uint64 * 32)()
    address = (ctypes.addressof(room) + 127) // 128 * 128
    u32, u64 = ctypes.c_uint32, ctypes.c_uint64
    made = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled(
        ctypes.c_void_p(address), 6, 2, ctypes.c_void_p(array.data.ptr), (u64 * 2)(N, N), (u64 * 1)(2 * N), (u32 * 2)(TILE, TILE),
        (u32 * 2)(1, 1), 0, 3, 2, 0,
    )
    assert made == 0, made
    words = np.frombuffer((u64 * 16).from_address(address), dtype=np.uint64).copy()
    return [words.view(np.dtype((np.void, 128)))[0], np.int32(N), np.int32(N), np.int64(N), np.int64(1)]


def product(kernel, kind, a, b, arguments, instruction):
    """Whether a kernel, which has this instruction, multiplies."""
    signature = {"a": kind, "b": kind, "c": kind, "N": "i32", "TILE": "constexpr"}
    aligned = {} if "desc" in kind else {(place,): [["tt.divisibility", 16]] for place in range(4)}
    source = ASTSource(kernel, signature=signature, constexprs={"TILE": TILE}, attrs=aligned)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_stages": 2})
    assert instruction in made.asm["ptx"] and "wgmma.mma_async" in made.asm["ptx"]
    module = cupy.cuda.function.Module()
    module.load(made.asm["cubin"])
    c = cupy.zeros((N, N), dtype=np.float16)
    # Behind its own parameters, a kernel of Triton has two for memory that it may ask for.
    arguments = [*arguments(cupy.asarray(a)), *arguments(cupy.asarray(b)), *arguments(c), np.int32(N), np.uint64(0), np.uint64(0)]
    launch = module.get_function(made.metadata.name)
    launch((N // TILE, N // TILE, 1), (32 * made.metadata.num_warps, 1, 1), tuple(arguments), shared_mem=made.metadata.shared)
    return np.array_equal(cupy.asnumpy(c), (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16))


a, b = (np.random.default_rng(seed).integers(-3, 4, (N, N)).astype(np.float16) for seed in range(2))
kept = []


def pointer(array):
    kept.append(array)
    return [array.data.ptr]


def tensor(array):
    kept.append(array)
    return map_of(array)


right = product(by_pointers, "*fp16", a, b, pointer, "cp.async.cg")
right &= product(by_maps, f"tensordesc<fp16[{TILE},{TILE}]>", a, b, tensor, "cp.async.bulk.tensor")
print("right" if right else "wrong")
sys.exit(not right)
