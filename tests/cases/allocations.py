# Memory lies where programs rely on it: at multiples of 512 bytes, and above 1 MiB at multiples of 2 MiB, as an H200's
# driver gives it (the CUDA guide promises 256). Programs align within what they have asked for. The size that
# cuMemGetAddressRange gives is the one that was asked for.
#
# run: emulate --orders 0..3 -- PROGRAM
# prints: 1 byte: multiple of 512, range of 1
# prints: 513 bytes: multiple of 512, range of 513
# prints: 1048575 bytes: multiple of 512, range of 1048575
# prints: 1048577 bytes: multiple of 2097152, range of 1048577
# prints: 5000000 bytes: multiple of 2097152, range of 5000000
# prints: 182452224 bytes: multiple of 2097152, range of 182452224
import ctypes

from driver import allocate, must, start, u64

MEBIBYTE = 1 << 20
start()
for size in (1, 513, MEBIBYTE - 1, MEBIBYTE + 1, 5_000_000, 174 * MEBIBYTE):
    step = 2 * MEBIBYTE if size > MEBIBYTE else 512
    allocations = [allocate(size) for _ in range(3)]
    if any(allocation.value % step for allocation in allocations):
        print(f"{size} bytes: not a multiple of {step}: {allocations}")
    base, length = u64(), ctypes.c_size_t()
    must("cuMemGetAddressRange_v2", ctypes.byref(base), ctypes.byref(length), allocations[1])
    print(f"{size} byte{'s' if size > 1 else ''}: multiple of {step}, range of {length.value}")
