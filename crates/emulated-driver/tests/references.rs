//! Texture and surface references of old PTX, as a program binds them.
#![cfg(target_os = "linux")]

#[macro_use]
mod common;

use std::ffi::{CString, c_char, c_float, c_int, c_uint};

use common::{Handle, allocate, arg, context, function, launch, module, read, write};

/// As NVRTC 11.8 writes it, of `texture<float, 2>`, `texture<int4>` and `surface<void, 2>`.
const KERNELS: &str = "
.version 7.8
.target sm_80
.address_size 64
.global .texref plane;
.global .texref row;
.global .surfref made;
.visible .entry k(.param .u64 out)
{
    .reg .f32 %f<8>;
    .reg .b32 %r<12>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    cvt.rn.f32.u32 %f1, %r1;
    mov.f32 %f2, 0f3F000000;
    tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [plane, {%f1, %f2}];
    tex.1d.v4.s32.s32 {%r2, %r3, %r4, %r5}, [row, {%r1}];
    cvt.rn.f32.s32 %f7, %r3;
    add.f32 %f3, %f3, %f7;
    shl.b32 %r6, %r1, 2;
    mov.u32 %r7, 0;
    mov.b32 %r8, %f3;
    sust.b.2d.b32.trap [made, {%r6, %r7}], {%r8};
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    st.global.f32 [%rd1], %f3;
    ret;
}
";

fn texture(of: Handle, name: &str) -> (c_int, Handle) {
    let (mut found, text) = (0, CString::new(name).unwrap());
    let asked = cu!(cuModuleGetTexRef(&mut found => *mut Handle, of => Handle, text.as_ptr() => *const c_char));
    (asked, found)
}

fn surface(of: Handle, name: &str) -> (c_int, Handle) {
    let (mut found, text) = (0, CString::new(name).unwrap());
    let asked = cu!(cuModuleGetSurfRef(&mut found => *mut Handle, of => Handle, text.as_ptr() => *const c_char));
    (asked, found)
}

/// An array of 4 elements of one `f32`.
fn array() -> Handle {
    let (mut array, descriptor) = (0, [4u64, 1, 1 << 32 | 0x20]);
    let made = cu!(cuArrayCreate_v2(&mut array => *mut Handle, descriptor.as_ptr() => *const u64));
    assert_eq!(made, 0);
    array
}

fn run(kernel: Handle) -> Vec<f32> {
    let out = allocate(16);
    assert_eq!(launch(kernel, 4, 0, &[arg(&out)]), 0);
    assert_eq!(cu!(cuCtxSynchronize()), 0);
    read(out, 4).into_iter().map(f32::from_bits).collect()
}

#[test]
fn references_are_bound_and_bound_again() {
    context();
    let kernels = module(KERNELS);
    let kernel = function(kernels, "k");
    let ((found, plane), (also, row)) = (texture(kernels, "plane"), texture(kernels, "row"));
    assert_eq!((found, also), (0, 0));
    assert_eq!(texture(kernels, "plane"), (0, plane));
    assert_eq!(texture(kernels, "elsewhere").0, 500);
    let (written_too, made) = surface(kernels, "made");
    assert_eq!(written_too, 0);

    // The plane is rows in memory, first with a point, then filtered.
    let rows = allocate(64);
    write(rows, &[1.0f32, 2.0, 4.0, 8.0].map(f32::to_bits));
    let descriptor = [4u64, 1, 1 << 32 | 0x20];
    let bound = cu!(cuTexRefSetAddress2D_v3(plane => Handle, descriptor.as_ptr() => *const u64, rows => u64, 64 => usize));
    assert_eq!(bound, 0);
    let (mut offset, elements) = (7usize, allocate(64));
    write(
        elements,
        &[0, 10, 0, 0, 0, 20, 0, 0, 0, 30, 0, 0, 0, 40, 0, 0],
    );
    // CU_AD_FORMAT_SIGNED_INT32, CU_TRSF_READ_AS_INTEGER.
    assert_eq!(
        cu!(cuTexRefSetFormat(row => Handle, 0x0a => c_uint, 4 => c_int)),
        0
    );
    assert_eq!(cu!(cuTexRefSetFlags(row => Handle, 1 => c_uint)), 0);
    let row_bound = cu!(cuTexRefSetAddress_v2(&mut offset => *mut usize, row => Handle, elements => u64, 64 => usize));
    assert_eq!((row_bound, offset), (0, 0));
    let written = array();
    assert_eq!(
        cu!(cuSurfRefSetArray(made => Handle, written => Handle, 0 => c_uint)),
        0
    );
    assert_eq!(run(kernel), [11.0, 22.0, 34.0, 48.0]);
    assert_eq!(cu!(cuTexRefSetFilterMode(plane => Handle, 1 => c_uint)), 0);
    assert_eq!(run(kernel), [11.0, 21.5, 33.0, 46.0]);
    assert_eq!(cu!(cuTexRefSetFilterMode(plane => Handle, 2 => c_uint)), 1);

    // What the surface has, as a texture.
    assert_eq!(
        cu!(cuTexRefSetArray(plane => Handle, written => Handle, 0 => c_uint)),
        1
    );
    assert_eq!(
        cu!(cuTexRefSetArray(plane => Handle, written => Handle, 1 => c_uint)),
        0
    );
    assert_eq!(cu!(cuTexRefSetFilterMode(plane => Handle, 0 => c_uint)), 0);
    let other = array();
    assert_eq!(
        cu!(cuSurfRefSetArray(made => Handle, other => Handle, 0 => c_uint)),
        0
    );
    assert_eq!(run(kernel), [21.0, 41.5, 63.0, 86.0]);
    // The memory that it was bound to no longer matters.
    assert_eq!(cu!(cuMemFree_v2(rows => u64)), 0);
    assert_eq!(run(kernel), [21.0, 41.5, 63.0, 86.0]);
    assert_eq!(cu!(cuModuleUnload(kernels => Handle)), 0);
    assert_eq!(
        cu!(cuTexRefSetFilterMode(plane => Handle, 0 => c_uint)),
        400
    );
}

#[test]
fn references_tell_what_was_set() {
    context();
    let kernels = module(KERNELS);
    let (_, plane) = texture(kernels, "plane");
    let (mut mode, mut handle, mut address) = (9 as c_uint, 0, 0u64);
    assert_eq!(
        cu!(cuTexRefGetAddressMode(&mut mode => *mut c_uint, plane => Handle, 1 => c_int)),
        0
    );
    assert_eq!(mode, 1);
    assert_eq!(
        cu!(cuTexRefSetAddressMode(plane => Handle, 1 => c_int, 3 => c_uint)),
        0
    );
    assert_eq!(
        cu!(cuTexRefSetAddressMode(plane => Handle, 3 => c_int, 3 => c_uint)),
        1
    );
    assert_eq!(
        cu!(cuTexRefGetAddressMode(&mut mode => *mut c_uint, plane => Handle, 1 => c_int)),
        0
    );
    assert_eq!(mode, 3);
    assert_eq!(
        cu!(cuTexRefGetArray(&mut handle => *mut Handle, plane => Handle)),
        1
    );
    assert_eq!(
        cu!(cuTexRefGetAddress_v2(&mut address => *mut u64, plane => Handle)),
        1
    );
    let array = array();
    assert_eq!(
        cu!(cuTexRefSetArray(plane => Handle, array => Handle, 1 => c_uint)),
        0
    );
    assert_eq!(
        cu!(cuTexRefGetArray(&mut handle => *mut Handle, plane => Handle)),
        0
    );
    assert_eq!(handle, array);
    let (color, mut found) = ([0.5 as c_float, 1.0, 2.0, 3.0], [0.0; 4]);
    assert_eq!(
        cu!(cuTexRefSetBorderColor(plane => Handle, color.as_ptr() => *const c_float)),
        0
    );
    assert_eq!(
        cu!(cuTexRefGetBorderColor(found.as_mut_ptr() => *mut c_float, plane => Handle)),
        0
    );
    assert_eq!(found, color);
}

/// `CUDA_RESOURCE_VIEW_DESC`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct View {
    format: c_uint,
    extent: [usize; 3],
    levels: [c_uint; 2],
    layers: [c_uint; 2],
    reserved: [c_uint; 16],
}

/// A texture of an array, by a view.
fn viewed(array: Handle, view: &View) -> (c_int, u64) {
    let (mut resource, mut sampling, mut object) = ([0u64; 18], [0u64; 13], 0u64);
    resource[1] = array as u64;
    // Clamped, by points; CU_TRSF_READ_AS_INTEGER.
    sampling[..3].copy_from_slice(&[1 << 32 | 1, 1, 1]);
    let made = cu!(cuTexObjectCreate(&mut object => *mut u64, resource.as_ptr() => *const u64, sampling.as_ptr() => *const u64,
        view => *const View));
    (made, object)
}

/// Elements of one `f32` are seen as four bytes each, and layers from the second on.
#[test]
fn a_view_has_other_elements_and_a_part_of_the_layers() {
    const FETCH: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 object)
{
    .reg .f32 %f<3>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [object];
    mov.f32 %f1, 0f3F800000;
    mov.u32 %r1, 0;
    tex.a1d.v4.u32.f32 {%r2, %r3, %r4, %r5}, [%rd2, {%r1, %f1}];
    st.global.v4.u32 [%rd1], {%r2, %r3, %r4, %r5};
    ret;
}
";
    context();
    let (mut array, flags) = (0, 1u32);
    let descriptor = [4u64, 0, 3, 1 << 32 | 0x20, flags.into()];
    let made =
        cu!(cuArray3DCreate_v2(&mut array => *mut Handle, descriptor.as_ptr() => *const u64));
    assert_eq!(made, 0);
    let values: Vec<u32> = (0..12).map(|k| 0x0403_0200 + k).collect();
    // CUDA_MEMCPY3D: of the host (1) to an array (3), 16 bytes by 1 by 3.
    let mut copy = [0u64; 25];
    (copy[4], copy[5]) = (1, values.as_ptr() as u64);
    (copy[9], copy[10]) = (16, 1);
    (copy[15], copy[18]) = (3, array as u64);
    copy[22..].copy_from_slice(&[16, 1, 3]);
    assert_eq!(cu!(cuMemcpy3D_v2(copy.as_ptr() => *const u64)), 0);
    const UINT_4X8: c_uint = 3;
    let view = View {
        format: UINT_4X8,
        extent: [4, 0, 0],
        layers: [1, 2],
        ..View::default()
    };
    let (seen, object) = viewed(array, &view);
    assert_eq!(seen, 0);
    let kernel = function(module(FETCH), "k");
    let out = allocate(16);
    assert_eq!(launch(kernel, 1, 0, &[arg(&out), arg(&object)]), 0);
    // The second element of the second layer is the sixth.
    assert_eq!(read(out, 4), [5, 2, 3, 4]);
    let mut known = View::default();
    assert_eq!(
        cu!(cuTexObjectGetResourceViewDesc(&mut known => *mut View, object => u64)),
        0
    );
    assert_eq!((known.format, known.layers), (UINT_4X8, [1, 2]));
    for wrong in [
        View { format: 1, ..view },
        View {
            extent: [3, 0, 0],
            ..view
        },
        View {
            layers: [1, 3],
            ..view
        },
        View {
            levels: [1, 1],
            ..view
        },
    ] {
        assert_eq!(viewed(array, &wrong).0, 1);
    }
}
