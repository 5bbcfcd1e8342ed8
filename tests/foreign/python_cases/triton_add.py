# Triton's cubin, as its own launcher would load it: that asks for PyTorch.
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from loads import doubles


@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(z + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


signature = {"x": "*fp32", "y": "*fp32", "z": "*fp32", "n": "i32", "BLOCK": "constexpr"}
source = ASTSource(add, signature=signature, constexprs={"BLOCK": 128})
made = triton.compile(source, target=GPUTarget("cuda", 90, 32))
# Behind its own parameters, a kernel of Triton has two for memory that it may ask for.
threads, shared = 32 * made.metadata.num_warps, made.metadata.shared
print("right" if doubles(made.asm["cubin"], "add", threads, shared, pointers_behind=2) else "wrong")
