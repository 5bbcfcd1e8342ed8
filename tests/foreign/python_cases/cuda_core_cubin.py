# cuda.core, asked for machine code.
import numpy as np
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

device = Device()
device.set_current()
stream = device.create_stream()
options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
source = 'extern "C" __global__ void fill(int* a) { a[threadIdx.x] = threadIdx.x; }'
kernel = Program(source, code_type="c++", options=options).compile("cubin").get_kernel("fill")
shown = device.allocate(128, stream=stream)
launch(stream, LaunchConfig(grid=1, block=32), kernel, int(shown.handle))
stream.sync()
from cuda.bindings import driver

numbers = np.empty(32, np.int32)
(code,) = driver.cuMemcpyDtoH(numbers.ctypes.data, int(shown.handle), 128)
print("right" if code == 0 and (numbers == np.arange(32)).all() else "wrong")
