//! The labs' kernels, and the physics that kernel and CPU reference share.
