use super::arguments::Argument;
use super::orders::Orders;
use super::*;

const SAXPY: &str = "
.version 7.8
.target sm_80
.address_size 64
.visible .entry saxpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<5>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.f32 %f1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 ret;
    mul.wide.u32 %rd3, %r5, 4;
    add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4];
    ld.global.f32 %f3, [%rd5];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    st.global.f32 [%rd5], %f4;
    ret;
}";

/// What the command says of that file, and how it ends.
fn emulate(ptx: &str, args: &[&str]) -> String {
    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        args: EmulateArgs,
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("saxpy.ptx");
    std::fs::write(&file, ptx).unwrap();
    let words = [&["emulate", file.to_str().unwrap()], args].concat();
    let command = <Command as clap::Parser>::try_parse_from(words).unwrap();
    let mut said = Vec::new();
    let ending = run(
        &command.args,
        &mut Out::new(&mut said, terminal::Look::PLAIN),
    );
    let said = String::from_utf8(said).unwrap();
    let said = said.replace(folder.path().to_str().unwrap(), "FOLDER");
    match ending {
        Ok(ending) => format!("{said}{ending:?}"),
        Err(error) => format!("{said}error: {error}"),
    }
}

#[test]
fn a_file_says_what_it_needs() {
    insta::assert_snapshot!(emulate(SAXPY, &[]), @"");
    let strange = SAXPY.replace(
        "fma.rn.f32 %f4, %f1, %f2, %f3;",
        "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2}];",
    );
    insta::assert_snapshot!(emulate(&strange, &[]), @"");
}

#[test]
fn a_kernel_is_launched() {
    let launch = [
        "--kernel=saxpy",
        "--grid=3",
        "--block=8",
        "--counts",
        "f32[20]=iota",
        "f32[20]=0.5",
        "2.0f32",
        "20u32",
    ];
    insta::assert_snapshot!(emulate(SAXPY, &launch), @"");
}

#[test]
fn a_fault_is_told_for_each_order() {
    let launch = [
        "--kernel=saxpy",
        "--block=32",
        "--orders=0..1",
        "f32[20]=iota",
        "f32[20]",
        "2.0f32",
        "20u32",
    ];
    insta::assert_snapshot!(emulate(SAXPY, &launch), @"");
}

#[test]
fn arguments_that_do_not_fit() {
    let refused = |args: &[&str]| emulate(SAXPY, &[&["--kernel=saxpy"], args].concat());
    insta::assert_snapshot!(refused(&["f32[20]"]), @"");
    insta::assert_snapshot!(refused(&["f32[20]", "f32[20]", "2.0f64", "20u32"]), @"");
    insta::assert_snapshot!(refused(&["f32[20]", "f32[0]", "2.0f32", "20u32"]), @"");
    insta::assert_snapshot!(refused(&["f32[20]", "f32[20]", "2.0f32", "20"]), @"");
    insta::assert_snapshot!(emulate(SAXPY, &["--kernel=saxpi"]), @"");
    insta::assert_snapshot!(emulate(SAXPY, &["2.0f32"]), @"");
}

#[test]
fn numbers_and_buffers_are_read() {
    let number = |text: &str| match text.parse() {
        Ok(Argument::Number(bytes)) => bytes,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(number("2.0f32"), 2f32.to_le_bytes());
    assert_eq!(number("-5i32"), (-5i32).to_le_bytes());
    assert_eq!(number("-128i8"), [0x80]);
    assert_eq!(number("255u8"), [255]);
    assert_eq!(number("7u64"), 7u64.to_le_bytes());
    for wrong in [
        "256u8",
        "128i8",
        "-1u32",
        "1.5i32",
        "f32",
        "u32[4",
        "b32[4]",
        "u8[2]=300",
        "5i32=1",
    ] {
        assert!(wrong.parse::<Argument>().is_err(), "{wrong}");
    }
    let Ok(Argument::Buffer(buffer)) = "i16[3]=iota".parse() else {
        panic!()
    };
    assert_eq!(buffer.first().unwrap(), [0, 0, 1, 0, 2, 0]);
    assert_eq!(buffer.words(&[0xff, 0xff, 2, 0]), ["-1", "2"]);
}

#[test]
fn orders_are_read() {
    let orders = |text: &str| text.parse::<Orders>().map(|orders| orders.0);
    assert_eq!(orders("0..3").unwrap(), [0, 1, 2, 3]);
    assert_eq!(orders("2").unwrap(), [2]);
    assert_eq!(orders("0,4..5").unwrap(), [0, 4, 5]);
    for wrong in ["", "5..2", "x", "-1", "0..2000"] {
        assert!(orders(wrong).is_err(), "{wrong}");
    }
}
