//! Machine code without PTX: where it comes from, and what its user can do.
//!
//! Code that a program compiles on the spot comes as PTX, by crate `emulated-compilers`. So this is
//! about libraries that bring machine code, compilers that are within another library, and programs
//! that have lost the crate's library.

use std::ffi::{CStr, c_void};

use crate::settings::file_at;

/// Where machine code was found, and in what company.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The file's name of the library that has it; none for code that the program has read or made.
    library: Option<String>,
    /// Python is in the process.
    has_python: bool,
    /// JAX's compiler is.
    has_xla: bool,
    /// The stand-in for compilers is.
    has_stand_in: bool,
}

impl Origin {
    /// That of the code at an address.
    pub(crate) fn of(address: *const c_void) -> Origin {
        let loaded = loaded();
        let has = |start: &str| loaded.iter().any(|name| name.starts_with(start));
        Origin {
            library: library_of(address),
            has_python: has("libpython") || is_python(),
            has_xla: has("xla_cuda") || has("libxla") || has("xla_extension"),
            has_stand_in: has("libemulated_compilers"),
        }
    }

    /// Whether Python runs the program.
    pub(crate) fn has_python(&self) -> bool {
        self.has_python
    }

    /// Whether the program has made the code, or read it.
    pub(crate) fn is_program(&self) -> bool {
        self.library.is_none()
    }

    /// A remedy, as the end of a sentence.
    pub(crate) fn remedy(&self) -> String {
        match &self.library {
            Some(library) => remedy_for(library),
            None if !self.has_python => NVCC.to_owned(),
            None if self.has_xla => {
                "JAX compiles to machine code within its own library; run the program with \
                 JAX_PLATFORMS=cpu, and its Pallas kernels with interpret=True, both without checks"
                    .to_owned()
            }
            None if self.has_stand_in => format!(
                "the program has made it where `emulate` does not see it, or has kept it of an \
                 earlier run. Run it again, since `emulate` now empties the caches that are its own; \
                 if this stays, {ASK_FOR_PTX}"
            ),
            None => format!(
                "`emulate` gives PTX to programs that compile while they run, but this process has \
                 lost the variable LD_PRELOAD; let it through (tox: pass_env = *), or \
                 {ASK_FOR_PTX}"
            ),
        }
    }
}

const NVCC: &str =
    "compile with PTX in it, for example by `nvcc -gencode arch=compute_90,code=compute_90`";

const ASK_FOR_PTX: &str = "ask for PTX (CuPy: CUPY_COMPILE_WITH_PTX=1; \
                           Warp: cuda_output=\"ptx\"; cuda.core: compile(\"ptx\"); \
                           Numba: uninstall nvidia-nvjitlink)";

/// NVIDIA's libraries that come without PTX, by the beginnings of their files' names.
const CLOSED: [&str; 10] = [
    "libcublas",
    "libcudnn",
    "libcufft",
    "libcurand",
    "libcusolver",
    "libcusparse",
    "libcutensor",
    "libnccl",
    "libnpp",
    "libnvjpeg",
];

fn remedy_for(library: &str) -> String {
    if CLOSED.iter().any(|start| library.starts_with(start)) {
        return format!(
            "it is of {library}, and NVIDIA's libraries come as machine code, which only a GPU runs; \
             compute this step on the CPU (NumPy), or by a kernel whose source you have"
        );
    }
    if library.starts_with("libtorch") || library.starts_with("libc10") {
        return format!(
            "it is of {library}, and PyTorch's wheels have PTX for the newest GPUs at most; build \
             PyTorch with TORCH_CUDA_ARCH_LIST=9.0+PTX, or call your own kernels (Triton's, an \
             extension's with PTX) without PyTorch's"
        );
    }
    format!("it is of {library}; {NVCC}")
}

/// The file's name of the library at an address. The program itself is none.
fn library_of(address: *const c_void) -> Option<String> {
    let path = file_at(address)?;
    let is_library = |name: &String| name.contains(".so");
    let name = path.file_name()?.to_string_lossy().into_owned();
    Some(name).filter(is_library)
}

/// Whether the program is a Python that has its library within.
fn is_python() -> bool {
    // SAFETY: a name that ends in a NUL, which is looked for in all libraries.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"Py_IsInitialized".as_ptr()) };
    !found.is_null()
}

/// The names of the files of all libraries in this process.
fn loaded() -> Vec<String> {
    unsafe extern "C" fn add(
        info: *mut libc::dl_phdr_info,
        _bytes: usize,
        names: *mut c_void,
    ) -> i32 {
        // SAFETY: the system gives a library, and what it was given itself below.
        let (path, names) = unsafe { ((*info).dlpi_name, &mut *names.cast::<Vec<String>>()) };
        if !path.is_null() {
            // SAFETY: the library's path, which ends in a NUL.
            let path = unsafe { CStr::from_ptr(path) }.to_string_lossy();
            let name = path.rsplit('/').next().unwrap_or_default();
            names.push(name.to_owned());
        }
        0
    }
    let mut names = Vec::new();
    // SAFETY: `add` gets the names, and takes them for that.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut names).cast()) };
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_is_that_of_the_origin() {
        let python = Origin {
            has_python: true,
            ..Origin::default()
        };
        let says = |origin: &Origin, part: &str| {
            let remedy = origin.remedy();
            assert!(remedy.contains(part), "{remedy}");
        };
        says(&Origin::default(), "nvcc -gencode");
        says(&python, "LD_PRELOAD");
        let stand_in = Origin {
            has_stand_in: true,
            ..python.clone()
        };
        says(&stand_in, "CUPY_COMPILE_WITH_PTX=1");
        let jax = Origin {
            has_xla: true,
            ..stand_in.clone()
        };
        says(&jax, "JAX_PLATFORMS=cpu");
        let of = |library: &str| Origin {
            library: Some(library.to_owned()),
            ..stand_in.clone()
        };
        says(&of("libcublasLt.so.13"), "of libcublasLt.so.13");
        says(&of("libcudnn_ops.so.9"), "NumPy");
        says(&of("libtorch_cuda.so"), "TORCH_CUDA_ARCH_LIST=9.0+PTX");
        says(&of("own.cpython-311.so"), "of own.cpython-311.so; compile");
    }

    #[test]
    fn code_of_a_library_is_told_from_code_of_the_program() {
        static OWN: u32 = 0;
        let made = Box::new(0u32);
        assert_eq!(library_of((&raw const OWN).cast()), None);
        assert_eq!(library_of((&raw const *made).cast()), None);
        let library = library_of(libc::getpid as *const c_void);
        assert_eq!(library.as_deref(), Some("libc.so.6"));
        assert!(loaded().contains(&"libc.so.6".to_owned()));
    }
}
