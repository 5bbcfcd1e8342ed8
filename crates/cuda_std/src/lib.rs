//! Device library for kernels: indices, barriers, warps, shared memory, atomics, memory, clock.
