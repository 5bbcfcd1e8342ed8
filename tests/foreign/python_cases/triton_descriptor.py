# Triton's matmul with tensor maps that the kernel makes itself (`tensormap.replace`), in memory that the launcher gives it.
import cupy
import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

N, TILE, BLOCKS = 128, 64, 2


@triton.jit
def product(a, b, c, N, TILE: tl.constexpr):
    a_map = tl.make_tensor_descriptor(a, shape=[N, N], strides=[N, 1], block_shape=[TILE, TILE])
    b_map = tl.make_tensor_descriptor(b, shape=[N, N], strides=[N, 1], block_shape=[TILE, TILE])
    c_map = tl.make_tensor_descriptor(c, shape=[N, N], strides=[N, 1], block_shape=[TILE, TILE])
    row, column = tl.program_id(0) * TILE, tl.program_id(1) * TILE
    sum = tl.zeros((TILE, TILE), dtype=tl.float32)
    for k in range(0, N, TILE):
        sum = tl.dot(a_map.load([row, k]), b_map.load([k, column]), sum)
    c_map.store([row, column], sum.to(tl.float16))


signature = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "N": "i32", "TILE": "constexpr"}
aligned = {(place,): [["tt.divisibility", 16]] for place in range(4)}
source = ASTSource(product, signature=signature, constexprs={"TILE": TILE}, attrs=aligned)
made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_stages": 1})
assert "tensormap.replace" in made.asm["ptx"]
rows, columns = np.arange(N)[:, None] % 5, np.arange(N)[None, :] % 3
a, b = (rows - columns).astype(np.float16), (rows + columns - 2).astype(np.float16)
c = cupy.zeros((N, N), np.float16)
scratch = cupy.zeros(BLOCKS * BLOCKS * made.metadata.global_scratch_size, np.uint8)
arguments = (cupy.array(a), cupy.array(b), c, np.int32(N), scratch, np.intp(0))
module = cupy.cuda.function.Module()
module.load(made.asm["cubin"])
kernel = module.get_function("product")
kernel((BLOCKS, BLOCKS), (32 * made.metadata.num_warps,), arguments, shared_mem=made.metadata.shared)
print("right" if (c.get() == a.astype(np.float32) @ b.astype(np.float32)).all() else "wrong")
