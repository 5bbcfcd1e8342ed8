# A text of PTX that is linked to a kernel, which is optimised without it.
import numpy as np
from numba import cuda

TEXT = """.version 7.0
.target sm_75
.address_size 64
.visible .func (.param .b32 code) plus_one (.param .b64 to, .param .b32 x)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<1>;
    ld.param.u64 %rd0, [to];
    ld.param.u32 %r0, [x];
    add.u32 %r1, %r0, 1;
    st.u32 [%rd0], %r1;
    mov.u32 %r0, 0;
    st.param.b32 [code], %r0;
    ret;
}
"""
plus_one = cuda.declare_device("plus_one", "int32(int32)", link=cuda.PTXSource(TEXT.encode()))


@cuda.jit
def fill(a):
    i = cuda.grid(1)
    a[i] = plus_one(i)


a = np.zeros(128, dtype=np.int32)
fill[1, 128](a)
print("right" if (a == np.arange(128) + 1).all() else "wrong")
