"""Launches a kernel of a PTX file by the driver's functions, and prints its output.

usage: launch.py FILE.ptx KERNEL THREADS INPUT BYTES

The kernel gets the address of the input, given as hexadecimal digits (`-` for none), and that of an output of so many bytes.
"""
import ctypes
import sys


def main():
    file, kernel, threads, given, size = sys.argv[1:]
    driver = ctypes.CDLL("libcuda.so.1")

    def call(name, *arguments):
        result = getattr(driver, name)(*arguments)
        if result:
            sys.exit(f"{name} returned {result}")

    def buffer(content):
        address = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(len(content)))
        call("cuMemcpyHtoD_v2", address, content, ctypes.c_size_t(len(content)))
        return address

    context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuCtxCreate_v2", ctypes.byref(context), 0, 0)
    with open(file, "rb") as text:
        call("cuModuleLoadData", ctypes.byref(module), text.read() + b"\0")
    call("cuModuleGetFunction", ctypes.byref(function), module, kernel.encode())
    output = buffer(bytes(int(size)))
    source = output if given == "-" else buffer(bytes.fromhex(given))
    pointers = (ctypes.c_void_p * 2)(ctypes.addressof(source), ctypes.addressof(output))
    call("cuLaunchKernel", function, 1, 1, 1, int(threads), 1, 1, 1024, None, pointers, None)
    result = (ctypes.c_char * int(size))()
    call("cuMemcpyDtoH_v2", result, output, ctypes.c_size_t(int(size)))
    print("result", bytes(result).hex())


main()
