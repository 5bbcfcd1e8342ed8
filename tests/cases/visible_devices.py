# CUDA_VISIBLE_DEVICES is read by the driver, inside a wrapper or a launcher too (one process for each GPU). CUDA guide,
# "Environment Variables": the devices in this order, by number or by the beginning of a UUID; the list ends at the
# first entry that names no device; a device named twice leaves none. The answers to odd lists are those of an H200.
#
# run: emulate --devices 3 -- PROGRAM
# prints: 0 1 2
# run: emulate --devices 3 -- env CUDA_VISIBLE_DEVICES= PROGRAM
# prints: none: CUDA_ERROR_NO_DEVICE
# run: emulate --devices 3 -- env CUDA_VISIBLE_DEVICES=-1 PROGRAM
# prints: none: CUDA_ERROR_NO_DEVICE
# run: emulate --devices 3 -- env CUDA_VISIBLE_DEVICES=1 PROGRAM
# prints: 1
# run: emulate --devices 3 -- env CUDA_VISIBLE_DEVICES=2,0 PROGRAM
# prints: 2 0
# run: emulate --devices 3 -- env CUDA_VISIBLE_DEVICES=0,9,1 PROGRAM
# prints: 0
# run: emulate --devices 3 -- env CUDA_VISIBLE_DEVICES=2,-1,1 PROGRAM
# prints: 2
# run: emulate --devices 3 -- env CUDA_VISIBLE_DEVICES=1,1 PROGRAM
# prints: none: CUDA_ERROR_NO_DEVICE
# run: emulate --devices 3 -- env CUDA_VISIBLE_DEVICES=none PROGRAM
# prints: none: CUDA_ERROR_NO_DEVICE
# run: emulate --devices 3 -- env "CUDA_VISIBLE_DEVICES=2, 1," PROGRAM
# prints: 2 1
# run: emulate --devices 3 -- env CUDA_VISIBLE_DEVICES=,0 PROGRAM
# prints: none: CUDA_ERROR_NO_DEVICE
# run: emulate --devices 3 -- env CUDA_VISIBLE_DEVICES=1abc PROGRAM
# prints: none: CUDA_ERROR_NO_DEVICE
# run: emulate --devices 3 -- PROGRAM uuid 2
# prints: 2
# run: emulate --devices 3 -- PROGRAM uuid 1,0
# prints: 1 0
# run: emulate --devices 3 -- PROGRAM uuid 0,0
# prints: none: CUDA_ERROR_NO_DEVICE
# run: emulate --devices 3 -- env CUDA_VISIBLE_DEVICES=MIG-6f0d2a7c-0000-0000-0000-000000000000 PROGRAM
# tells: MIG
# prints: none: CUDA_ERROR_NO_DEVICE
import ctypes
import os
import sys

from driver import call, must

# CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: a device keeps it whatever number it has. Those of the emulated driver have 1, 2, 3.
BUS = 33


def devices():
    """The device of each number: its bus and its UUID."""
    count = ctypes.c_int()
    must("cuDeviceGetCount", ctypes.byref(count))
    found = []
    for number in range(count.value):
        bus, uuid = ctypes.c_int(), (ctypes.c_uint8 * 16)()
        must("cuDeviceGetAttribute", ctypes.byref(bus), BUS, number)
        must("cuDeviceGetUuid", uuid, number)
        text = bytes(uuid).hex()
        parts = [text[:8], text[8:12], text[12:16], text[16:20], text[20:]]
        found.append((bus.value, "GPU-" + "-".join(parts)))
    return found


if sys.argv[1:2] == ["uuid"]:
    # This program finds all devices, and starts itself with the UUIDs of some. It tells them apart by their bus.
    must("cuInit", 0)
    names = [name for _, name in devices()]
    chosen = ",".join(names[int(number)] for number in sys.argv[2].split(","))
    os.environ["CUDA_VISIBLE_DEVICES"] = chosen
    os.execv(sys.executable, [sys.executable, sys.argv[0]])
result = call("cuInit", 0)
if result != "CUDA_SUCCESS":
    print("none:", result)
else:
    print(*(bus - 1 for bus, _ in devices()))
