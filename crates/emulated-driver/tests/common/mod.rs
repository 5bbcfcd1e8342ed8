//! The library as a program finds it, and its functions by name.
#![allow(dead_code)] // Each test program uses a part of it.

pub mod branches;

use std::ffi::{CString, c_int, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;

use libloading::Library;

pub type Handle = usize;

/// The library that cargo has built beside the test program.
pub fn path() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let path = program.with_file_name("libemulated_driver.so");
    assert!(path.exists(), "no {}", path.display());
    path
}

fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    // SAFETY: the library's initialisers have no preconditions.
    LIBRARY.get_or_init(|| unsafe { Library::new(path()) }.unwrap())
}

/// The address of a function.
pub fn address(name: &str) -> *const c_void {
    // SAFETY: the symbol is only taken as an address here.
    let symbol = unsafe { library().get::<unsafe extern "C" fn()>(name.as_bytes()) };
    *symbol.unwrap_or_else(|_| panic!("no {name}")) as *const c_void
}

/// Calls a function with arguments of these types; gives its result.
#[macro_export]
macro_rules! cu {
    ($name:ident($($arg:expr => $type:ty),* $(,)?)) => {{
        let address = $crate::common::address(stringify!($name));
        // The arguments are values, with no code of their own that would be unsafe.
        #[allow(clippy::macro_metavars_in_unsafe)]
        {
            // SAFETY: the tests call each function with the types of `cuda.h`, and live pointers.
            unsafe {
                let function: unsafe extern "C" fn($($type),*) -> std::ffi::c_int =
                    std::mem::transmute(address);
                function($($arg),*)
            }
        }
    }};
}

/// A new context, current on this thread.
pub fn context() -> Handle {
    assert_eq!(cu!(cuInit(0 => u32)), 0);
    let mut context = 0;
    assert_eq!(
        cu!(cuCtxCreate_v2(&mut context => *mut Handle, 0 => u32, 0 => c_int)),
        0
    );
    context
}

pub fn module(ptx: &str) -> Handle {
    let text = CString::new(ptx).unwrap();
    let mut module = 0;
    assert_eq!(
        cu!(cuModuleLoadData(&mut module => *mut Handle, text.as_ptr() as _ => *const c_void)),
        0
    );
    module
}

pub fn function(module: Handle, name: &str) -> Handle {
    let name = CString::new(name).unwrap();
    let mut function = 0;
    let found = cu!(cuModuleGetFunction(&mut function => *mut Handle, module => Handle, name.as_ptr() as _ => *const c_void));
    assert_eq!(found, 0);
    function
}

pub fn allocate(bytes: usize) -> u64 {
    let mut address = 0;
    assert_eq!(
        cu!(cuMemAlloc_v2(&mut address => *mut u64, bytes => usize)),
        0
    );
    address
}

/// A stream of the current context; with flag 1, one that does not wait for the default stream.
pub fn stream(flags: u32) -> Handle {
    let mut stream = 0;
    assert_eq!(
        cu!(cuStreamCreate(&mut stream => *mut Handle, flags => u32)),
        0
    );
    stream
}

pub fn event() -> Handle {
    let mut event = 0;
    assert_eq!(cu!(cuEventCreate(&mut event => *mut Handle, 0 => u32)), 0);
    event
}

pub fn write(address: u64, values: &[u32]) {
    let bytes = size_of_val(values);
    assert_eq!(
        cu!(cuMemcpyHtoD_v2(address => u64, values.as_ptr() => *const u32, bytes => usize)),
        0
    );
}

pub fn read(address: u64, count: usize) -> Vec<u32> {
    let mut values = vec![0; count];
    assert_eq!(
        cu!(cuMemcpyDtoH_v2(values.as_mut_ptr() => *mut u32, address => u64, 4 * count => usize)),
        0
    );
    values
}

/// Launches with one block of `threads` threads; gives the result.
pub fn launch(function: Handle, threads: u32, stream: Handle, args: &[*const c_void]) -> c_int {
    cu!(cuLaunchKernel(function => Handle, 1 => u32, 1 => u32, 1 => u32, threads => u32, 1 => u32, 1 => u32, 0 => u32,
        stream => Handle, args.as_ptr() => *const *const c_void, 0 => usize))
}

/// A pointer to an argument.
pub fn arg<T>(value: &T) -> *const c_void {
    std::ptr::from_ref(value).cast()
}

/// Waits for a forked process to end; gives its exit status.
pub fn wait_for(child: libc::pid_t) -> c_int {
    let mut status = 0;
    // SAFETY: the child is of this process, and the thread that forked it alone waits for it.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert!(
        libc::WIFEXITED(status),
        "ended by {}",
        libc::WTERMSIG(status)
    );
    libc::WEXITSTATUS(status)
}

/// Kernels for the tests: `add` adds a number to each element, `race` stores each thread's number
/// to one word, `far` stores behind the end of a buffer, `counts` adds up in a variable, `sampled`
/// reads a texture, `meets` lets each block wait for all others.
pub const KERNELS: &str = include_str!("../kernels.ptx");
