# Warp's first programs: a kernel of vectors, a scan and a sort of its own, and a line of Python in a fault.
#
# needs: warp numpy
# run: emulate -- PROGRAM SCRATCH/kernels
# tells: (?m)^lengths: right$
# tells: (?m)^scan: right$
# tells: (?m)^sort: right$
# tells: no fault
# run: emulate -- PROGRAM SCRATCH/more past
# tells: out of bounds: load of 4 bytes
# tells: warp_first.py:30
# exit: 1
import sys

import numpy as np
import warp as wp

wp.config.kernel_cache_dir, wp.config.quiet, wp.config.enable_backward = sys.argv[1], True, False
wp.config.lineinfo = wp.config.line_directives = True
wp.init()


@wp.kernel
def lengths(x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    out[wp.tid()] = wp.length(x[wp.tid()])


@wp.kernel
def shift(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    out[wp.tid()] = x[wp.tid() + 1]


def tell(name, found, expected):
    print(f"{name}: {'right' if np.allclose(found, expected) else 'wrong'}", flush=True)


N, GPU = 200, "cuda:0"
out = wp.zeros(N, dtype=float, device=GPU)
if len(sys.argv) > 2:
    wp.launch(shift, dim=N, inputs=[wp.array(np.ones(N, np.float32), device=GPU), out], device=GPU)
    wp.synchronize()
    sys.exit("the kernel read past its array, and nothing told it")
points = np.random.default_rng(1).standard_normal((N, 3)).astype(np.float32)
wp.launch(lengths, dim=N, inputs=[wp.array(points, dtype=wp.vec3, device=GPU), out], device=GPU)
tell("lengths", out.numpy(), np.linalg.norm(points, axis=1))
numbers = wp.array(np.arange(N, dtype=np.int32), device=GPU)
sums = wp.zeros(N, dtype=int, device=GPU)
wp.utils.array_scan(numbers, sums)
tell("scan", sums.numpy(), np.cumsum(np.arange(N)))
keys = wp.array(np.concatenate([np.arange(N)[::-1], np.zeros(N)]).astype(np.int32), device=GPU)
values = wp.array(np.arange(2 * N, dtype=np.int32), device=GPU)
wp.utils.radix_sort_pairs(keys, values, N)
tell("sort", values.numpy()[:N], np.arange(N)[::-1])
