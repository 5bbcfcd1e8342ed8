//! Where the program called the driver: addresses are taken at each call, which is cheap, and
//! become files and lines when a message needs them.
//!
//! The line that a user knows is the innermost one of her own code. Left out are the driver itself,
//! functions of the CUDA runtime (`cuda...`), the stubs that nvcc makes for kernels, headers of
//! CUDA, and crates of the registry (`cust`, `cudarc`). A program of Python has the line of its own
//! innermost frame, unless an extension of its own has one.

mod frame;
mod lines;
mod python;

use std::ffi::{CStr, c_int, c_void};
use std::path::Path;
use std::sync::Arc;

use frame::Frame;
pub(crate) use frame::Line;
use ptx_emu::short_name;

/// Calls that are taken: those of a program's own code lie within, and an interpreter's need not be
/// looked at in full. Without optimisation, the driver's own calls are several times as many.
pub(crate) const DEPTH: usize = if cfg!(debug_assertions) { 48 } else { 16 };

/// A call of the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    calls: Arc<[usize]>,
    /// Python's frame, whose line is known while the call lasts alone.
    python: Option<Arc<Frame>>,
}

impl Site {
    /// The call that this thread makes now.
    pub(crate) fn here() -> Site {
        let mut stack = [std::ptr::null_mut::<c_void>(); DEPTH];
        #[cfg(target_env = "gnu")]
        // SAFETY: there is room for as many addresses.
        let count = unsafe { libc::backtrace(stack.as_mut_ptr(), DEPTH as c_int) };
        #[cfg(not(target_env = "gnu"))]
        let count: c_int = 0;
        let count = usize::try_from(count).unwrap_or(0);
        Site {
            calls: stack[..count].iter().map(|at| *at as usize).collect(),
            python: python::here().map(Arc::new),
        }
    }

    /// The call at which these addresses return.
    pub(crate) fn of(addresses: Vec<usize>) -> Site {
        Site {
            calls: addresses.into(),
            python: None,
        }
    }

    /// The innermost line of the program's own code; `None` where it has no debug information.
    pub(crate) fn line(&self) -> Option<Line> {
        let frames = self.frames();
        let native = own(&frames).iter().find_map(|frame| frame.line.clone());
        native.or_else(|| self.python.as_ref()?.line.clone())
    }

    /// Words for a message: `main.cu:12, in main`, or the function alone, or nothing.
    pub(crate) fn place(&self) -> Option<String> {
        let frames = self.frames();
        let own = own(&frames);
        let with_line = own
            .iter()
            .chain(self.python.as_deref())
            .find_map(|frame| Some((frame, frame.line.as_ref()?)));
        if let Some((frame, Line { file, line, .. })) = with_line {
            let function = match frame.function.as_str() {
                "" | "<module>" => String::new(),
                function => format!(", in {}", short_name(function)),
            };
            return Some(format!("{file}:{line}{function}"));
        }
        let named = own.iter().find(|frame| !frame.function.is_empty())?;
        Some(format!("in {}", short_name(&named.function)))
    }

    /// Frames from the innermost one on, without those of the driver.
    fn frames(&self) -> Vec<Frame> {
        let own = lines::module_of(Site::here as fn() -> Site as usize).map(|module| module.bias);
        let mut frames = Vec::new();
        for &return_address in &*self.calls {
            // The call lies before the address that it returns to.
            let address = return_address.saturating_sub(1);
            let Some(module) = lines::module_of(address) else {
                continue;
            };
            if Some(module.bias) == own {
                continue;
            }
            // Behind it there are Python's own frames.
            if is_interpreter(&module.path) {
                break;
            }
            match lines::frames(&module, address) {
                found if !found.is_empty() => frames.extend(found),
                _ => frames.push(Frame {
                    function: symbol(address).unwrap_or_default(),
                    line: None,
                }),
            }
        }
        frames
    }
}

/// The frames from the first of the program's own on, as far as an interpreter.
fn own(frames: &[Frame]) -> &[Frame] {
    let is_python = |frame: &Frame| {
        let starts = [
            "_Py",
            "Py",
            "__pyx_",
            "__Pyx_",
            "cfunction_",
            "do_call_core",
        ];
        starts.iter().any(|start| frame.function.starts_with(start))
    };
    let end = frames.iter().position(is_python);
    let frames = &frames[..end.unwrap_or(frames.len())];
    let mut first = 0;
    for (index, frame) in frames.iter().enumerate() {
        let name = &frame.function;
        let is_stub = name.contains("__device_stub__");
        let is_runtime = is_stub
            || name.starts_with("cuda")
            || name.starts_with("__cuda")
            || name.starts_with("libcudart")
            || name.starts_with("cu") && name[2..].starts_with(char::is_uppercase)
            || name.contains("cudaLaunchKernel")
            || frame
                .line
                .as_ref()
                .is_some_and(|line| is_foreign(&line.file));
        if is_runtime {
            // The function of the kernel itself calls its stub, and has the kernel's line.
            first = index + 1 + usize::from(is_stub);
        }
        // Behind the program's own code there is that of others again, which called it.
        if !is_runtime && index >= first && frame.line.is_some() {
            break;
        }
    }
    frames.get(first..).unwrap_or_default()
}

/// Whether code is CPython's, or of an extension that comes with it, as `_ctypes`.
fn is_interpreter(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_own = ["python", "libpython"]
        .iter()
        .any(|start| name.starts_with(start));
    is_own
        || path
            .components()
            .any(|part| part.as_os_str() == "lib-dynload")
}

/// Whether a file is of CUDA, or of a crate that wraps it.
fn is_foreign(file: &str) -> bool {
    [
        "/cuda_runtime",
        "/crt/",
        ".stub.c",
        "/.cargo/registry/",
        "/rustc/",
        "/.rustup/",
    ]
    .iter()
    .any(|part| file.contains(part))
}

/// The name of a function that its file exports.
fn symbol(address: usize) -> Option<String> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: it only looks the address up, and fills `info` where it does not return 0.
    let found = unsafe { libc::dladdr(address as *const c_void, info.as_mut_ptr()) } != 0;
    // SAFETY: it is zeros, or filled.
    let name = unsafe { info.assume_init() }.dli_sname;
    if !found || name.is_null() {
        return None;
    }
    // SAFETY: the name stays as long as its file is loaded.
    Some(
        unsafe { CStr::from_ptr(name) }
            .to_string_lossy()
            .into_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, file: &str, line: u32) -> Frame {
        Frame {
            function: function.to_owned(),
            line: (!file.is_empty()).then(|| Line {
                file: file.to_owned(),
                line,
                column: 0,
            }),
        }
    }

    #[test]
    fn the_line_is_that_of_the_program() {
        let launched = [
            frame("cudaLaunchKernel", "", 0),
            frame(
                "cudaLaunchKernel<char>",
                "/cuda/include/cuda_runtime.h",
                211,
            ),
            frame("__device_stub__Z7producePi", "/tmp/main.cudafe1.stub.c", 14),
            frame("produce", "main.cu", 4),
            frame("main", "main.cu", 21),
            frame("__libc_start_main", "", 0),
        ];
        assert_eq!(own(&launched)[0], frame("main", "main.cu", 21));
        let wrapped = [
            frame(
                "cust::memory::copy",
                "/root/.cargo/registry/src/x/cust/memory.rs",
                9,
            ),
            frame("upload", "src/main.rs", 7),
            frame("core::ops::call_once", "/rustc/abc/core/ops.rs", 250),
            frame("main", "src/main.rs", 30),
        ];
        assert_eq!(own(&wrapped)[0], frame("upload", "src/main.rs", 7));
        assert_eq!(own(&[frame("cudaMemcpy", "", 0)]), []);
        let python = [
            frame("cuLaunchKernel", "", 0),
            frame("__pyx_f_4cuda_launch", "", 0),
            frame("_PyEval_EvalFrameDefault", "Python/ceval.c", 7352),
        ];
        assert_eq!(own(&python), []);
    }

    #[test]
    fn extensions_of_the_interpreter_are_not_the_programs_own() {
        let is = |path: &str| is_interpreter(Path::new(path));
        assert!(is("/usr/bin/python3.11"));
        assert!(is("/opt/lib/libpython3.13.so.1.0"));
        assert!(is("/opt/lib/python3.11/lib-dynload/_ctypes.cpython-311.so"));
        assert!(!is("/home/me/kernels/_step.cpython-311.so"));
    }

    /// The test program has debug information, or at least a name.
    #[test]
    fn a_call_has_a_place() {
        let Site { calls, .. } = Site::here();
        assert!(!calls.is_empty());
    }
}
