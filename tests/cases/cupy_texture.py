# Textures and surfaces as CuPy makes them, with kernels in CUDA C++: a filtered texture that wraps, and a surface.
#
# needs: cupy numpy
# run: emulate --orders 0..1 -- PROGRAM
# prints: texture: right
# prints: surface: right
import cupy as cp
import numpy as np
from cupy.cuda import runtime
from cupy.cuda.texture import ChannelFormatDescriptor, CUDAarray, ResourceDescriptor, SurfaceObject, TextureDescriptor, TextureObject

SOURCE = r"""
extern "C" {
__global__ void sample(float *out, cudaTextureObject_t t, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        out[y * width + x] = tex2D<float>(t, (x + 1.0f) / width, (y + 0.5f) / height);
}
__global__ void twice(cudaSurfaceObject_t s, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float value;
    if (x < width && y < height) {
        surf2Dread(&value, s, x * 4, y);
        surf2Dwrite(2 * value, s, x * 4, y);
    }
}
}
"""
WIDTH, HEIGHT = 20, 12
image = np.random.default_rng(1).integers(0, 64, (HEIGHT, WIDTH)).astype(np.float32)
format = ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
module = cp.RawModule(code=SOURCE)
grid, block = ((WIDTH + 7) // 8, (HEIGHT + 7) // 8), (8, 8)

array = CUDAarray(format, WIDTH, HEIGHT)
array.copy_from(image)
wraps = runtime.cudaAddressModeWrap
sampling = TextureDescriptor((wraps, wraps), runtime.cudaFilterModeLinear, runtime.cudaReadModeElementType, normalizedCoords=1)
resource = ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
texture = TextureObject(resource, sampling)
out = cp.zeros((HEIGHT, WIDTH), cp.float32)
module.get_function("sample")(grid, block, (out, texture, WIDTH, HEIGHT))
# Halfway between each element and the next one of its row.
right = (image + np.roll(image, -1, axis=1)) / 2
print("texture:", "right" if np.allclose(out.get(), right, atol=64 / 128) else "wrong")

written = CUDAarray(format, WIDTH, HEIGHT, 0, runtime.cudaArraySurfaceLoadStore)
written.copy_from(image)
surface = SurfaceObject(ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=written))
module.get_function("twice")(grid, block, (surface, WIDTH, HEIGHT))
found = np.empty_like(image)
written.copy_to(found)
print("surface:", "right" if (found == 2 * image).all() else "wrong")
