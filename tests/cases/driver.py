"""The driver's functions for the cases in Python, by ctypes. The library is the one that `harness emulate` puts there."""
import ctypes
import sys

LIBRARY = ctypes.CDLL("libcuda.so.1")
u64, pointer = ctypes.c_uint64, ctypes.c_void_p


def call(name, *arguments):
    """The name of the result of a function of the driver; whole numbers are passed with 64 bits."""
    given = [u64(value) if isinstance(value, int) else value for value in arguments]
    code = getattr(LIBRARY, name)(*given)
    text = ctypes.c_char_p()
    LIBRARY.cuGetErrorName(code, ctypes.byref(text))
    return (text.value or str(code).encode()).decode()


def must(name, *arguments):
    """Calls a function that is to succeed."""
    result = call(name, *arguments)
    if result != "CUDA_SUCCESS":
        sys.exit(f"{name}: {result}")


def made(name, *arguments, kind=pointer):
    """What a function makes and stores through its first argument."""
    value = kind()
    must(name, ctypes.byref(value), *arguments)
    return value


def start():
    """A context on the first device."""
    must("cuInit", 0)
    return made("cuCtxCreate_v2", 0, 0)


def allocate(size):
    return made("cuMemAlloc_v2", size, kind=u64)


def kernel(text, name):
    """The kernel of a text of PTX."""
    module = made("cuModuleLoadData", text.encode() + b"\0")
    return made("cuModuleGetFunction", module, name.encode())


def launch(function, threads, *values, stream=None, blocks=1):
    """Launches blocks of a number of threads; the arguments are ctypes' numbers."""
    addresses = (pointer * len(values))(*(ctypes.addressof(value) for value in values))
    return call("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, 0, stream, addresses, None)


def download(address, count):
    """`count` numbers of 32 bits from the device."""
    numbers = (ctypes.c_uint32 * count)()
    must("cuMemcpyDtoH_v2", numbers, address, ctypes.sizeof(numbers))
    return list(numbers)
