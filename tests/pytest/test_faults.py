"""Tests that launch kernels: `.ci/wheel` runs them with pytest under `emulate`, and knows which must fail."""
import ctypes

import driver
import pytest

TEXT = """.version 7.4
.target sm_80
.address_size 64
.visible .entry NAME(.param .u64 x) {
  .reg .b32 %i;
  .reg .b64 %x, %offset;
  ld.param.u64 %x, [x];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %offset, %i, STRIDE;
  add.s64 %x, %x, %offset;
  st.global.u32 [%x], %i;
  ret;
}
"""


@pytest.fixture(scope="module")
def context():
    return driver.start()


# Kernels by the bytes between the elements that threads store to: 0 for one element of all, 512 for one behind the end.
KERNELS = {}


def stored(stride):
    """What two threads leave in a buffer of two elements."""
    if stride not in KERNELS:
        name = f"stride_{stride}"
        KERNELS[stride] = driver.kernel(TEXT.replace("NAME", name).replace("STRIDE", str(stride)), name)
    x = driver.allocate(8)
    driver.must("cuMemcpyHtoD_v2", x, (ctypes.c_uint32 * 2)(7, 7), 8)
    assert driver.launch(KERNELS[stride], 2, x) == "CUDA_SUCCESS"
    return driver.download(x, 2)


@pytest.mark.parametrize("stride", [4, 512, 4, 0, 0])
def test_stride(context, stride):
    assert stored(stride)[1] in (1, 7)


@pytest.mark.xfail(reason="the kernel is known to race", strict=True)
def test_known(context):
    stored(0)


def test_own_failure_too(context):
    assert stored(512) == [0, 1]


@pytest.fixture
def broken(context):
    return stored(0)


def test_fixture(broken):
    pass
