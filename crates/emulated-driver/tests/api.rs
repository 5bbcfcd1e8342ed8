//! Memory, modules, launches, faults: the driver API as a program calls it.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};

use common::{
    Handle, KERNELS, address, allocate, arg, context, function, launch, module, read, write,
};

#[test]
fn a_kernel_runs() {
    context();
    let add = function(module(KERNELS), "add");
    let data = allocate(128);
    write(data, &(0..32).collect::<Vec<_>>());
    assert_eq!(launch(add, 32, 0, &[arg(&data), arg(&5u32)]), 0);
    assert_eq!(read(data, 32), (5..37).collect::<Vec<_>>());
    // The same by a block of parameters.
    let block = [data.to_le_bytes(), 7u64.to_le_bytes()].concat();
    let size = block.len();
    let extra = [1, block.as_ptr() as usize, 2, &raw const size as usize, 0];
    let launched = cu!(cuLaunchKernel(add => Handle, 1 => u32, 1 => u32, 1 => u32, 32 => u32, 1 => u32, 1 => u32, 0 => u32,
        0 => Handle, 0 => usize, extra.as_ptr() => *const usize));
    assert_eq!((launched, read(data, 2)), (0, vec![12, 13]));
}

#[test]
fn managed_and_page_locked_memory_is_one_with_the_kernels() {
    context();
    let add = function(module(KERNELS), "add");
    let mut managed = 0u64;
    assert_eq!(
        cu!(cuMemAllocManaged(&mut managed => *mut u64, 128 => usize, 1 => c_uint)),
        0
    );
    let mut locked = 0u64;
    assert_eq!(
        cu!(cuMemHostAlloc(&mut locked => *mut u64, 128 => usize, 0 => c_uint)),
        0
    );
    for address in [managed, locked] {
        // SAFETY: the driver has just allocated 32 words there, and no kernel runs.
        let words = unsafe { std::slice::from_raw_parts_mut(address as *mut u32, 32) };
        words.fill(1);
        assert_eq!(launch(add, 32, 0, &[arg(&address), arg(&2u32)]), 0);
        assert_eq!(words, [3; 32]);
        assert_eq!(read(address, 32), [3; 32]);
    }
    let mut kind = 0u32;
    for (address, expected) in [(managed, 2), (locked, 1)] {
        assert_eq!(
            cu!(cuPointerGetAttribute(&mut kind => *mut u32, 2 => c_int, address + 4 => u64)),
            0
        );
        assert_eq!(kind, expected);
    }
    assert_eq!(cu!(cuMemFree_v2(managed => u64)), 0);
    assert_eq!(cu!(cuMemFreeHost(locked => u64)), 0);
}

#[test]
fn memory_of_the_program_is_registered() {
    context();
    let add = function(module(KERNELS), "add");
    let mut own = vec![4u32; 32];
    let host = own.as_mut_ptr();
    assert_eq!(
        cu!(cuMemHostRegister_v2(host => *mut u32, 128 => usize, 0 => c_uint)),
        0
    );
    let mut device = 0u64;
    assert_eq!(
        cu!(cuMemHostGetDevicePointer_v2(&mut device => *mut u64, host => *mut u32, 0 => c_uint)),
        0
    );
    assert_eq!(launch(add, 32, 0, &[arg(&device), arg(&2u32)]), 0);
    assert_eq!(cu!(cuMemHostUnregister(host => *mut u32)), 0);
    assert_eq!(own, [6; 32]);
    assert_eq!(cu!(cuMemHostUnregister(host => *mut u32)), 713);
}

#[test]
fn copies_in_two_dimensions_and_fills() {
    context();
    let (mut device, mut pitch) = (0u64, 0usize);
    let allocated = cu!(cuMemAllocPitch_v2(&mut device => *mut u64, &mut pitch => *mut usize, 12 => usize, 4 => usize, 4 => c_uint));
    assert_eq!((allocated, pitch), (0, 512));
    assert_eq!(
        cu!(cuMemsetD2D32_v2(device => u64, pitch => usize, 9 => c_uint, 3 => usize, 4 => usize)),
        0
    );
    let mut host = [0u32; 12];
    // From, to: x, y, memory, host, device, array, pitch; width, height.
    let copy = [
        0,
        0,
        2,
        0,
        device,
        0,
        pitch as u64,
        0,
        0,
        1,
        host.as_mut_ptr() as u64,
        0,
        0,
        12,
        12,
        4,
    ];
    assert_eq!(cu!(cuMemcpy2D_v2(copy.as_ptr() => *const u64)), 0);
    assert_eq!(host, [9; 12]);
    assert_eq!(cu!(cuMemsetD8_v2(device => u64, 0xab => u8, 3 => usize)), 0);
    assert_eq!(read(device, 1), [0x00ab_abab]);
    // Beyond the end.
    assert_eq!(cu!(cuMemsetD8_v2(device => u64, 0 => u8, 4096 => usize)), 1);
}

#[test]
fn arrays_are_described_and_copied() {
    context();
    // Width, height; f32 with two channels.
    let descriptor = [5u64, 3, 0x20 | 2 << 32];
    let mut array = 0;
    let made = cu!(cuArrayCreate_v2(&mut array => *mut Handle, descriptor.as_ptr() => *const u64));
    assert_eq!(made, 0);
    let mut known = [0u64; 3];
    let asked = cu!(cuArrayGetDescriptor_v2(known.as_mut_ptr() => *mut u64, array => Handle));
    assert_eq!((asked, known), (0, descriptor));
    let values: Vec<u32> = (0..30).collect();
    let from = values.as_ptr() as u64;
    // From, to: x, y, memory, host, device, array, pitch; width, height.
    let copy = [
        0,
        0,
        1,
        from,
        0,
        0,
        40,
        0,
        0,
        3,
        0,
        0,
        array as u64,
        0,
        40,
        3,
    ];
    assert_eq!(cu!(cuMemcpy2D_v2(copy.as_ptr() => *const u64)), 0);
    let mut row = [0u32; 10];
    let read = cu!(cuMemcpyAtoH_v2(row.as_mut_ptr() => *mut u32, array => Handle, 40 => usize, 40 => usize));
    assert_eq!((read, row.as_slice()), (0, &values[10..20]));
    assert_eq!(cu!(cuArrayDestroy(array => Handle)), 0);
    assert_eq!(cu!(cuArrayDestroy(array => Handle)), 400);
}

#[test]
fn an_access_out_of_bounds_is_an_illegal_address_from_then_on() {
    context();
    let kernels = module(KERNELS);
    let data = allocate(128);
    assert_eq!(launch(function(kernels, "far"), 1, 0, &[arg(&data)]), 700);
    assert_eq!(cu!(cuCtxSynchronize()), 700);
    let mut more = 0u64;
    assert_eq!(cu!(cuMemAlloc_v2(&mut more => *mut u64, 4 => usize)), 700);
    // Another context is not concerned.
    context();
    allocate(4);
}

/// `CUDA_RESOURCE_DESC` of linear memory with `f32`, in words of 64 bits.
fn linear(address: u64, bytes: u64) -> [u64; 18] {
    let mut resource = [0; 18];
    resource[..4].copy_from_slice(&[2, address, 1 << 32 | 0x20, bytes]);
    resource
}

/// `CUDA_TEXTURE_DESC` of points, clamped, in words of 64 bits.
fn points() -> [u64; 13] {
    let mut sampling = [0; 13];
    sampling[..2].copy_from_slice(&[1 << 32 | 1, 1]);
    sampling
}

fn texture(resource: &[u64; 18]) -> (i32, u64) {
    let (mut object, sampling) = (0u64, points());
    let made = cu!(cuTexObjectCreate(&mut object => *mut u64, resource.as_ptr() => *const u64, sampling.as_ptr() => *const u64,
        0 => usize));
    (made, object)
}

#[test]
fn textures_are_made_described_and_destroyed() {
    context();
    let data = allocate(64);
    write(data, &[0; 16]);
    let resource = linear(data, 64);
    let (made, object) = texture(&resource);
    assert_eq!(made, 0);
    let (mut known, mut sampling) = ([7u64; 18], [7u64; 13]);
    let asked = cu!(cuTexObjectGetResourceDesc(known.as_mut_ptr() => *mut u64, object => u64));
    assert_eq!((asked, &known[..4]), (0, &resource[..4]));
    let told = cu!(cuTexObjectGetTextureDesc(sampling.as_mut_ptr() => *mut u64, object => u64));
    assert_eq!((told, sampling), (0, points()));
    // A surface is of an array, and memory that there is not is of no texture.
    let mut surface = 0u64;
    let of_memory =
        cu!(cuSurfObjectCreate(&mut surface => *mut u64, resource.as_ptr() => *const u64));
    assert_eq!((of_memory, texture(&linear(16, 64)).0), (1, 1));
    assert_eq!(cu!(cuSurfObjectDestroy(object => u64)), 1);
    assert_eq!(cu!(cuTexObjectDestroy(object => u64)), 0);
    assert_eq!(cu!(cuTexObjectDestroy(object => u64)), 1);
}

/// No GPU is known to report it; the program may go on.
#[test]
fn a_fetch_of_a_texture_that_was_destroyed_is_told() {
    context();
    let sampled = function(module(KERNELS), "sampled");
    let data = allocate(64);
    write(data, &[0; 16]);
    let (_, object) = texture(&linear(data, 64));
    assert_eq!(launch(sampled, 1, 0, &[arg(&object)]), 0);
    assert_eq!(cu!(cuTexObjectDestroy(object => u64)), 0);
    assert_eq!(launch(sampled, 1, 0, &[arg(&object)]), 0);
    assert_eq!(cu!(cuCtxSynchronize()), 0);
}

#[test]
fn a_fetch_from_memory_that_was_freed_is_an_illegal_address() {
    context();
    let sampled = function(module(KERNELS), "sampled");
    let data = allocate(64);
    write(data, &[0; 16]);
    let (_, object) = texture(&linear(data, 64));
    assert_eq!(cu!(cuMemFree_v2(data => u64)), 0);
    assert_eq!(launch(sampled, 1, 0, &[arg(&object)]), 700);
}

/// As on a GPU: the launch ends well, with the last of the stores, and so do later ones.
#[test]
fn a_program_goes_on_after_a_race() {
    context();
    let kernels = module(KERNELS);
    let (race, add) = (function(kernels, "race"), function(kernels, "add"));
    let data = allocate(128);
    for _ in 0..2 {
        assert_eq!(launch(race, 32, 0, &[arg(&data)]), 0);
    }
    let after = read(data, 1)[0];
    assert!(after < 32, "{after}");
    assert_eq!(cu!(cuCtxSynchronize()), 0);
    assert_eq!(launch(add, 1, 0, &[arg(&data), arg(&5u32)]), 0);
    assert_eq!(read(data, 1), [after + 5]);
}

/// Each block waits for all others. As many as the device cannot hold at once are an error, and so
/// are shapes with more threads or blocks than numbers count.
#[test]
fn the_blocks_of_a_cooperative_launch_meet() {
    context();
    let meets = function(module(KERNELS), "meets");
    let data = allocate(8);
    write(data, &[0, 0]);
    let launched = |grid: [u32; 3], block: [u32; 3], shared: u32| {
        let args = [arg(&data)];
        cu!(cuLaunchCooperativeKernel(meets => Handle, grid[0] => u32, grid[1] => u32, grid[2] => u32, block[0] => u32,
            block[1] => u32, block[2] => u32, shared => u32, 0 => Handle, args.as_ptr() => *const *const c_void))
    };
    assert_eq!(launched([4, 1, 1], [1, 1, 1], 0), 0);
    assert_eq!(read(data, 2), [4, 16]);
    let all = u32::MAX;
    assert_eq!(launched([100_000, 1, 1], [64, 1, 1], 0), 720);
    assert_eq!(launched([all, all, all], [64, 1, 1], 0), 720);
    assert_eq!(launched([1, 1, 1], [all, all, all], 0), 1);
    assert_eq!(launched([1, 1, 1], [1, 1, 1], all), 1);
    assert_eq!(read(data, 2), [4, 16]);
}

#[test]
fn more_shared_memory_needs_consent() {
    context();
    let shared = function(module(KERNELS), "shared");
    let launched = || {
        cu!(cuLaunchKernel(shared => Handle, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 65536 => u32,
        0 => Handle, 0 => usize, 0 => usize))
    };
    assert_eq!(launched(), 1);
    assert_eq!(
        cu!(cuFuncSetAttribute(shared => Handle, 8 => c_int, 65536 => c_int)),
        0
    );
    assert_eq!(launched(), 0);
    let attribute = |which: c_int| {
        let mut value = -1;
        let asked =
            cu!(cuFuncGetAttribute(&mut value => *mut c_int, which => c_int, shared => Handle));
        (asked, value)
    };
    // The architecture, and constant memory.
    assert_eq!((attribute(5), attribute(2)), ((0, 80), (0, 4)));
    let mut blocks = 0;
    assert_eq!(
        cu!(cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks => *mut c_int, shared => Handle, 1024 => c_int, 65536 => usize)),
        0
    );
    assert_eq!(blocks, 2);
}

/// A kernel whose threads carry 40 doubles from round to round.
fn sums() -> String {
    let each =
        |line: &str| -> String { (0..40).map(|i| line.replace('#', &i.to_string())).collect() };
    format!(
        ".version 7.0 .target sm_80 .address_size 64 .visible .entry sums(.param .u64 data) {{\n\
         .reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>; .reg .f64 %s<40>; .reg .f64 %x<2>;\n\
         ld.param.u64 %rd1, [data]; mov.u32 %r1, 0;\n{}again: ld.global.f64 %x1, [%rd1];\n{}\
         add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra again;\n{}ret; }}",
        each("mov.f64 %s#, 0d0000000000000000;\n"),
        each("fma.rn.f64 %s#, %s#, %s#, %x1;\n"),
        each("add.f64 %x1, %x1, %s#;\n") + "st.global.f64 [%rd1], %x1;\n",
    )
}

#[test]
fn a_block_that_needs_more_registers_than_it_has_is_not_launched() {
    context();
    let sums = function(module(&sums()), "sums");
    let data = allocate(8);
    write(data, &[0, 0]);
    assert_eq!(launch(sums, 1024, 0, &[arg(&data)]), 701);
    // The program may go on.
    assert_eq!(launch(sums, 1, 0, &[arg(&data)]), 0);
    assert_eq!(cu!(cuCtxSynchronize()), 0);
    let attribute = |which: c_int| {
        let mut value = -1;
        let asked =
            cu!(cuFuncGetAttribute(&mut value => *mut c_int, which => c_int, sums => Handle));
        (asked, value)
    };
    // Threads of a block, and registers of a thread.
    assert_eq!((attribute(0), attribute(4)), ((0, 768), (0, 80)));
    let blocks = |threads: c_int| {
        let mut blocks = -1;
        let asked = cu!(cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks => *mut c_int, sums => Handle, threads => c_int, 0 => usize));
        (asked, blocks)
    };
    assert_eq!(
        [blocks(1024), blocks(768), blocks(128)],
        [(0, 0), (0, 1), (0, 6)]
    );
}

#[test]
fn variables_have_addresses() {
    context();
    let kernels = module(KERNELS);
    let (mut total, mut bytes) = (0u64, 0usize);
    let found = cu!(cuModuleGetGlobal_v2(&mut total => *mut u64, &mut bytes => *mut usize, kernels => Handle, c"total".as_ptr() => *const c_char));
    assert_eq!((found, bytes), (0, 4));
    assert_eq!(launch(function(kernels, "counts"), 10, 0, &[]), 0);
    assert_eq!(read(total, 1), [30]);
    let missing = cu!(cuModuleGetGlobal_v2(&mut total => *mut u64, &mut bytes => *mut usize, kernels => Handle, c"other".as_ptr() => *const c_char));
    assert_eq!(missing, 500);
}

#[test]
fn a_library_has_kernels_for_every_context() {
    let text = CString::new(KERNELS).unwrap();
    let mut library = 0;
    context();
    let loaded = cu!(cuLibraryLoadData(&mut library => *mut Handle, text.as_ptr() => *const c_char, 0 => usize, 0 => usize, 0 => u32,
        0 => usize, 0 => usize, 0 => u32));
    assert_eq!(loaded, 0);
    let mut kernel = 0;
    assert_eq!(
        cu!(cuLibraryGetKernel(&mut kernel => *mut Handle, library => Handle, c"add".as_ptr() => *const c_char)),
        0
    );
    for _ in 0..2 {
        context();
        let data = allocate(128);
        write(data, &[1; 32]);
        assert_eq!(launch(kernel, 32, 0, &[arg(&data), arg(&1u32)]), 0);
        assert_eq!(read(data, 32), [2; 32]);
    }
    let (mut offset, mut bytes) = (0usize, 0usize);
    assert_eq!(
        cu!(cuKernelGetParamInfo(kernel => Handle, 1 => usize, &mut offset => *mut usize, &mut bytes => *mut usize)),
        0
    );
    assert_eq!((offset, bytes), (8, 4));
    assert_eq!(cu!(cuLibraryUnload(library => Handle)), 0);
    assert_eq!(cu!(cuLibraryUnload(library => Handle)), 400);
}

/// Loads a module of functions; gives the result and the log of errors.
fn load_with_log(functions: &str) -> (c_int, String) {
    let mut log = [0u8; 256];
    let options = [5u32, 6];
    let mut values = [log.as_mut_ptr() as usize, log.len()];
    let text = format!(".version 7.8\n.target sm_80\n.address_size 64\n{functions}");
    let text = CString::new(text).unwrap();
    let mut module = 0;
    let loaded = cu!(cuModuleLoadDataEx(&mut module => *mut Handle, text.as_ptr() => *const c_char, 2 => u32, options.as_ptr() => *const u32, values.as_mut_ptr() => *mut usize));
    let told = CStr::from_bytes_until_nul(&log).unwrap().to_str().unwrap();
    assert_eq!(values[1], told.len());
    (loaded, told.to_owned())
}

#[test]
fn a_text_that_is_not_ptx_is_told_in_the_log() {
    context();
    let (loaded, told) = load_with_log(".entry broken() { nonsense }");
    assert_eq!(loaded, 218);
    assert!(
        told.starts_with("a module's PTX cannot be used: "),
        "{told}"
    );
}

#[test]
fn a_wrong_kernel_beside_others_is_told_when_it_is_launched() {
    context();
    let version = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let kernels = ".entry right() { ret; }\n.entry wrong() { nonsense }\n";
    let module = module(&[version, kernels].concat());
    assert_eq!(launch(function(module, "wrong"), 1, 0, &[]), 801);
    assert_eq!(launch(function(module, "right"), 1, 0, &[]), 0);
}

/// A GPU's driver takes as much static shared memory as a block may have, unlike `ptxas`.
#[test]
fn a_kernel_with_too_much_static_shared_memory_is_refused_when_it_is_loaded() {
    context();
    let kernel = |name: &str, variable: &str| {
        format!(".visible .entry {name}() {{ .reg .b32 %r<1>; mov.u32 %r0, {variable}; ret; }}\n")
    };
    let variables = ".shared .b8 large[232448];\n.shared .b8 small[4];\n";
    // Each kernel has one of them.
    let functions = [variables, &kernel("one", "large"), &kernel("two", "small")].concat();
    assert_eq!(load_with_log(&functions), (0, String::new()));
    // A kernel has both, one by a function that it calls.
    let both = ".func calls() { .reg .b32 %r<1>; mov.u32 %r0, small; ret; }\n\
                .visible .entry both() { .reg .b32 %r<1>; mov.u32 %r0, large; call calls; ret; }";
    let told = "ptxas error   : Entry function 'both' uses too much shared data (0x38c04 bytes, 0x38c00 max)";
    assert_eq!(
        load_with_log(&[&functions, both].concat()),
        (218, told.to_owned())
    );
}

#[test]
fn what_is_missing_is_a_named_error() {
    context();
    assert_eq!(
        cu!(cuMipmappedArrayGetSparseProperties(0 => usize, 0 => usize)),
        801
    );
    assert_eq!(launch(0x77, 1, 0, &[]), 400);
    assert_eq!(cu!(cuStreamSynchronize(0x77 => Handle)), 400);
    assert_eq!(cu!(cuMemFree_v2(12 => u64)), 1);
    let mut text = std::ptr::null::<c_char>();
    for (code, name) in [(700, c"CUDA_ERROR_ILLEGAL_ADDRESS"), (0, c"CUDA_SUCCESS")] {
        assert_eq!(
            cu!(cuGetErrorName(code => c_int, &mut text => *mut *const c_char)),
            0
        );
        // SAFETY: the text lives as long as the library.
        assert_eq!(unsafe { CStr::from_ptr(text) }, name);
    }
    assert_eq!(
        cu!(cuGetErrorName(12345 => c_int, &mut text => *mut *const c_char)),
        1
    );
}

#[test]
fn functions_are_found_by_name_and_version() {
    assert_eq!(cu!(cuInit(0 => u32)), 0);
    let mut found = std::ptr::null::<c_void>();
    let mut status = 9;
    let asked = cu!(cuGetProcAddress_v2(c"cuMemAlloc".as_ptr() => *const c_char, &mut found => *mut *const c_void, 12000 => c_int, 0 => u64, &mut status => *mut c_int));
    assert_eq!((asked, status, found), (0, 0, address("cuMemAlloc_v2")));
    let unknown = cu!(cuGetProcAddress_v2(c"cuSomethingElse".as_ptr() => *const c_char, &mut found => *mut *const c_void, 12000 => c_int, 0 => u64, &mut status => *mut c_int));
    assert_eq!((unknown, status, found), (0, 1, std::ptr::null()));
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
#[derive(Debug, Default, PartialEq)]
struct ArrayDescriptor {
    extent: [usize; 3],
    format: c_uint,
    channels: c_uint,
    flags: c_uint,
}

#[test]
fn a_mipmap_has_levels_down_to_one_element() {
    context();
    let whole = ArrayDescriptor {
        extent: [32, 8, 0],
        format: 0x20,
        channels: 1,
        flags: 0,
    };
    let (mut mipmap, mut level) = (0, 0);
    let made = cu!(cuMipmappedArrayCreate(&mut mipmap => *mut Handle, &whole => *const ArrayDescriptor, 99 => c_uint));
    assert_eq!(made, 0);
    let mut take = |number: u32| cu!(cuMipmappedArrayGetLevel(&mut level => *mut Handle, mipmap => Handle, number => c_uint));
    assert_eq!(take(6), 1, "it has six levels");
    assert_eq!(take(4), 0);
    let mut found = ArrayDescriptor::default();
    assert_eq!(
        cu!(cuArray3DGetDescriptor_v2(&mut found => *mut ArrayDescriptor, level => Handle)),
        0
    );
    assert_eq!(
        found,
        ArrayDescriptor {
            extent: [2, 1, 0],
            ..whole
        }
    );
    // A texture of it; surfaces are of its levels alone.
    let mut resource = [0u64; 18];
    (resource[0], resource[1]) = (1, mipmap as u64);
    let mut sampling = [0u32; 26];
    let (mut texture, mut surface) = (0u64, 0u64);
    let texture_of = |to: &mut u64, how: &[u32; 26]| cu!(cuTexObjectCreate(to => *mut u64, resource.as_ptr() => *const u64, how => *const [u32; 26], std::ptr::null() => *const c_void));
    assert_eq!(texture_of(&mut texture, &sampling), 0);
    sampling[6] = 2;
    assert_eq!(
        texture_of(&mut texture, &sampling),
        1,
        "there is no such filter of levels"
    );
    let surfaced =
        cu!(cuSurfObjectCreate(&mut surface => *mut u64, resource.as_ptr() => *const u64));
    assert_eq!(surfaced, 1);
    assert_eq!(cu!(cuMipmappedArrayDestroy(mipmap => Handle)), 0);
    assert_eq!(
        cu!(cuArray3DGetDescriptor_v2(&mut found => *mut ArrayDescriptor, level => Handle)),
        400
    );
}

/// libcu++ asks for a device's pool by its place.
#[test]
fn pools_are_of_a_place() {
    context();
    let (mut by_place, mut of_device, place) = (0, 0, [1 as c_int, 0]);
    let mut ask = |at: [c_int; 2], kind: c_int| cu!(cuMemGetDefaultMemPool(&mut by_place => *mut Handle, &at => *const [c_int; 2], kind => c_int));
    assert_eq!(
        (ask([2, 0], 1), ask([1, 0], 2), ask(place, 1)),
        (801, 801, 0)
    );
    let asked = cu!(cuDeviceGetDefaultMemPool(&mut of_device => *mut Handle, 0 => c_int));
    assert_eq!((asked, by_place), (0, of_device));
    let (mut made, mut current) = (0, 0);
    let properties = [1 as c_int, 0, 1, 0];
    let created = cu!(cuMemPoolCreate(&mut made => *mut Handle, &properties => *const [c_int; 4]));
    let set = cu!(cuMemSetMemPool(&place => *const [c_int; 2], 1 => c_int, made => Handle));
    let told =
        cu!(cuMemGetMemPool(&mut current => *mut Handle, &place => *const [c_int; 2], 1 => c_int));
    assert_eq!((created, set, told, current), (0, 0, 0, made));
    // With a stream of its own, no context need be current.
    let (stream, mut popped, mut address) = (common::stream(0), 0, 0u64);
    assert_eq!(cu!(cuCtxPopCurrent_v2(&mut popped => *mut Handle)), 0);
    let allocated = cu!(cuMemAllocFromPoolAsync(&mut address => *mut u64, 64 => usize, made => Handle, stream => Handle));
    let freed = cu!(cuMemFreeAsync(address => u64, stream => Handle));
    assert_eq!((allocated, freed), (0, 0));
}
