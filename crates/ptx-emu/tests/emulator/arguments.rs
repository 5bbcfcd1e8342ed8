//! Typed buffers and arguments of launches.

use insta::assert_snapshot;
use ptx_emu::{Arg, Executable, LaunchConfig, LoadedModule, Machine, Params, args};

/// `axpy(a: f32, x: &[f32], n: u64, y: *mut f32)` as rustc declares it, `every` with the other
/// types, and `untyped` as some compilers declare all of them.
const PTX: &str = "
.version 7.4
.target sm_80
.address_size 64
.visible .entry axpy(
    .param .f32 a, .param .u64 .ptr .align 4 x, .param .u64 n, .param .u64 .ptr .align 1 y)
{
    .reg .pred %p<2>;
    .reg .f32 %f<5>;
    .reg .b32 %r<2>;
    .reg .b64 %rd<9>;
    ld.param.f32 %f1, [a];
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [n];
    ld.param.u64 %rd3, [y];
    mov.u32 %r1, %tid.x;
    cvt.u64.u32 %rd4, %r1;
    setp.ge.u64 %p1, %rd4, %rd2;
    @%p1 bra done;
    shl.b64 %rd5, %rd4, 2;
    add.s64 %rd6, %rd1, %rd5;
    add.s64 %rd7, %rd3, %rd5;
    ld.global.f32 %f2, [%rd6];
    ld.global.f32 %f3, [%rd7];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    st.global.f32 [%rd7], %f4;
done:
    ret;
}
.visible .entry every(
    .param .u8 a, .param .s16 b, .param .f64 c, .param .align 8 .b8 d[16], .param .s64 e,
    .param .u64 .ptr .align 16 f)
{
    ret;
}
.visible .entry untyped(.param .b32 a, .param .b64 b)
{
    ret;
}";

fn loaded() -> (Machine, LoadedModule) {
    let mut machine = Machine::default();
    let module = machine.load(Executable::parse(PTX).unwrap()).unwrap();
    (machine, module)
}

/// The block of one warp.
fn one() -> LaunchConfig {
    LaunchConfig::new([1], [32])
}

#[test]
fn a_launch_with_typed_arguments() {
    let (mut machine, module) = loaded();
    let x = machine.buffer(&[1.0f32, 2.0, 3.0]).unwrap();
    let y = machine.buffer(&[0.5f32; 4]).unwrap();
    let arguments = args![2.0f32, x.slice(), &y];
    machine.launch(&module, "axpy", &one(), arguments).unwrap();
    assert_eq!(y.to_vec(&machine).unwrap(), [2.5, 4.5, 6.5, 0.5]);
    // From the second element on.
    let from_second = args![-1.0f32, x.slice(), y.at(1)];
    machine
        .launch(&module, "axpy", &one(), from_second)
        .unwrap();
    assert_eq!(y.to_vec(&machine).unwrap(), [2.5, 3.5, 4.5, -2.5]);
}

#[test]
fn the_parameter_block_has_each_argument_at_its_offset() {
    let (mut machine, module) = loaded();
    let wide = machine.buffer(&[[0u32; 4]; 2]).unwrap();
    let function = module.program().kernel("untyped").unwrap();
    let arguments = args![-2i32, &wide];
    let block = arguments.block(function).unwrap();
    let mut expected = vec![0xfe, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    expected.extend(wide.address().to_le_bytes());
    assert_eq!(*block, expected);

    let axpy = module.program().kernel("axpy").unwrap();
    let wrong = args![1.0f32, 7usize, 8usize, wide.address()];
    let types = wrong.block(axpy).unwrap_err().to_string();
    assert_snapshot!(types, @"argument 2 of `args!`, counted from 1, is u64, but the kernel takes a pointer there");
}

/// Why the machine refuses these arguments.
fn refusal<const N: usize>(kernel: &str, arguments: impl Fn(&mut Machine) -> [Arg; N]) -> String {
    let (mut machine, module) = loaded();
    let arguments = arguments(&mut machine);
    let fault = machine.launch(&module, kernel, &one(), arguments);
    fault.unwrap_err().to_string()
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    assert_snapshot!(refusal("axpy", |m| {
        let x = m.buffer(&[1.0f32]).unwrap();
        args![2.0f32, &x, &x]
    }), @"launch of `axpy`: `args!` has 3 arguments, which fill 3 of the kernel's 4 parameters (a slice fills two)");
    assert_snapshot!(refusal("axpy", |m| {
        let x = m.buffer(&[1.0f32]).unwrap();
        args![2.0f64, x.slice(), &x]
    }), @"launch of `axpy`: argument 1 of `args!`, counted from 1, is f64, but the kernel takes f32 there");
    assert_snapshot!(refusal("axpy", |m| {
        let x = m.buffer(&[1.0f32]).unwrap();
        args![2i32, x.slice(), &x]
    }), @"launch of `axpy`: argument 1 of `args!`, counted from 1, is i32, but the kernel takes f32 there");
    assert_snapshot!(refusal("axpy", |m| {
        let x = m.buffer(&[1.0f32]).unwrap();
        args![2.0f32, x.slice(), 3u32]
    }), @"launch of `axpy`: argument 3 of `args!`, counted from 1, is u32, but the kernel takes a pointer there");
    assert_snapshot!(refusal("untyped", |_| args![1u8, 2u64]), @"launch of `untyped`: argument 1 of `args!`, counted from 1, is u8, but the kernel takes a 32-bit value there");
}

/// PTX has the alignment of a slice's elements, and so tells those of other types apart. A pointer
/// may be to anything.
#[test]
fn a_slice_of_elements_of_another_alignment_is_refused() {
    assert_snapshot!(refusal("axpy", |m| {
        let x = m.buffer(&[1.0f64]).unwrap();
        args![2.0f32, x.slice(), &x]
    }), @"launch of `axpy`: argument 2 of `args!`, counted from 1, is a slice of f64, aligned to 8 bytes, but the kernel takes elements aligned to 4 bytes, such as f32, there");
    let (mut machine, module) = loaded();
    let x = machine.buffer(&[0u8; 16]).unwrap();
    let structure = Arg::structure([1u64, 2]);
    let all = args![true, -1i16, 0.5f64, structure, -1isize, x];
    machine.launch(&module, "every", &one(), all).unwrap();
}

#[test]
fn a_buffer_is_named_by_its_line() {
    let (mut machine, module) = loaded();
    let x = machine.buffer(&[1.0f32; 2]).unwrap();
    let y = machine.uninitialized::<f32>(2).unwrap();
    let arguments = args![1.0f32, x.slice(), &y];
    let fault = machine
        .launch(&module, "axpy", &one(), arguments)
        .unwrap_err()
        .to_string();
    let named = format!("buffer `2 x f32 of {}:", file!());
    assert!(fault.starts_with("uninitialized read"), "{fault}");
    assert!(fault.contains(&named), "{fault}");
}

#[test]
fn a_buffer_of_another_machine_is_refused() {
    let mut machine = Machine::default();
    let x = machine.buffer(&[1u32; 2]).unwrap();
    assert!(x.to_vec(&Machine::default()).is_err());
    machine.free(x.address());
    assert!(x.to_vec(&machine).is_err());
}
