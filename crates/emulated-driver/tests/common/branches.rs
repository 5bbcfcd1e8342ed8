//! Conditional nodes, and the kernels that set their values.

use std::ffi::{c_int, c_uint, c_void};

use super::{Handle, arg, function};
use crate::cu;

/// Kernels of one thread: `set(handle, from)` sets a value from memory, `down(handle, word)` counts
/// a word down and sets what is left, `up(word)` counts a word up.
pub const KERNELS: &str = "
.version 8.0
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry set(.param .u64 handle, .param .u64 from)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [handle];
    ld.param.u64 %rd2, [from];
    ld.global.u32 %r1, [%rd2];
    { .param .b64 h; .param .b32 v; st.param.b64 [h], %rd1; st.param.b32 [v], %r1;
      call cudaGraphSetConditional, (h, v); }
    ret;
}
.visible .entry down(.param .u64 handle, .param .u64 word)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [handle];
    ld.param.u64 %rd2, [word];
    ld.global.u32 %r1, [%rd2];
    sub.u32 %r1, %r1, 1;
    st.global.u32 [%rd2], %r1;
    { .param .b64 h; .param .b32 v; st.param.b64 [h], %rd1; st.param.b32 [v], %r1;
      call cudaGraphSetConditional, (h, v); }
    ret;
}
.visible .entry up(.param .u64 word)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [word];
    ld.global.u32 %r1, [%rd1];
    add.u32 %r1, %r1, 1;
    st.global.u32 [%rd1], %r1;
    ret;
}
";

pub const IF: c_int = 0;
pub const WHILE: c_int = 1;
pub const SWITCH: c_int = 2;

/// `CUgraphNodeParams`.
#[repr(C)]
pub struct Params {
    pub kind: c_int,
    pub reserved: [c_int; 3],
    pub own: [u64; 29],
    pub end: u64,
}

/// What a node of a kind has, as words.
pub fn params(kind: c_int, words: &[u64]) -> Params {
    let mut own = [0; 29];
    own[..words.len()].copy_from_slice(words);
    Params {
        kind,
        reserved: [0; 3],
        own,
        end: 0,
    }
}

pub fn graph() -> Handle {
    let mut graph = 0;
    let made = cu!(cuGraphCreate(&mut graph => *mut Handle, 0 => c_uint));
    assert_eq!(made, 0);
    graph
}

/// A node of any kind behind others.
pub fn add(graph: Handle, behind: &[Handle], given: &mut Params) -> Result<Handle, c_int> {
    let mut node = 0;
    let added = cu!(cuGraphAddNode_v2(&mut node => *mut Handle, graph => Handle, behind.as_ptr() => *const Handle, std::ptr::null() => *const u64, behind.len() => usize, given => *mut Params));
    if added == 0 { Ok(node) } else { Err(added) }
}

pub fn current_context() -> Handle {
    let mut context = 0;
    assert_eq!(cu!(cuCtxGetCurrent(&mut context => *mut Handle)), 0);
    context
}

/// A conditional handle; with a value at the beginning of launches, or without.
pub fn handle(graph: Handle, default: Option<u32>) -> u64 {
    let mut handle = 0;
    let made = cu!(cuGraphConditionalHandleCreate(&mut handle => *mut u64, graph => Handle, current_context() => Handle,
        default.unwrap_or(0) => c_uint, c_uint::from(default.is_some()) => c_uint));
    assert_eq!(made, 0);
    handle
}

/// A conditional node, and its bodies.
pub fn branch(
    graph: Handle,
    behind: &[Handle],
    handle: u64,
    kind: c_int,
    bodies: u32,
) -> Result<(Handle, Vec<Handle>), c_int> {
    let kind_and_bodies = kind as u64 | u64::from(bodies) << 32;
    let mut given = params(13, &[handle, kind_and_bodies, 0, current_context() as u64]);
    let node = add(graph, behind, &mut given)?;
    let graphs = given.own[2] as *const Handle;
    // SAFETY: the driver gives the address of as many graphs.
    let graphs = unsafe { std::slice::from_raw_parts(graphs, bodies as usize) };
    Ok((node, graphs.to_vec()))
}

/// A kernel of one thread behind others.
pub fn kernel(
    module: Handle,
    name: &str,
    graph: Handle,
    behind: &[Handle],
    args: &[u64],
) -> Handle {
    let pointers: Vec<*const c_void> = args.iter().map(arg).collect();
    let one = 1 | 1 << 32;
    let words = [
        function(module, name) as u64,
        one,
        one,
        one,
        0,
        pointers.as_ptr() as u64,
    ];
    add(graph, behind, &mut params(0, &words)).unwrap()
}

pub fn instantiate(graph: Handle) -> Result<Handle, c_int> {
    let mut made = 0;
    match cu!(cuGraphInstantiateWithFlags(&mut made => *mut Handle, graph => Handle, 0 => u64)) {
        0 => Ok(made),
        code => Err(code),
    }
}

pub fn run(executable: Handle, stream: Handle) -> c_int {
    cu!(cuGraphLaunch(executable => Handle, stream => Handle))
}
