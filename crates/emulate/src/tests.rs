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

#[derive(clap::Parser)]
struct Command {
    #[command(flatten)]
    args: EmulateArgs,
}

/// The command's words about a file of this text, and how it ends.
fn emulate(ptx: &str, args: &[&str]) -> String {
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
    let said = String::from_utf8(said)
        .unwrap()
        .replace(folder.path().to_str().unwrap(), "FOLDER");
    match ending {
        Ok(ending) => format!("{said}{ending:?}"),
        Err(error) => format!("{said}error: {error}"),
    }
}

#[test]
fn a_body_that_is_refused_is_told_and_the_others_run() {
    let wrong = "\n.visible .entry wrong()\n{\n    .reg .b16 %h<2>;\n    cvt.sat.s16.s16 %h1, %h0;\n    ret;\n}";
    let ptx = format!("{SAXPY}{wrong}");
    insta::assert_snapshot!(emulate(&ptx, &[]), @r"
    FOLDER/saxpy.ptx for sm_80

    kernel  bytes of parameters  shared  local  orders
                                  bytes  bytes
    --------------------------------------------------
    saxpy   8, 8, 4, 4                0      0  agree

    1 function refused, as a GPU's driver refuses the file:
      line 33 of `wrong`: `.sat` has no effect: every value of .s16 is one of .s16
    Lacking
    ");
    let launch = |kernel| emulate(&ptx, &["--kernel", kernel, "--block", "32"]);
    insta::assert_snapshot!(launch("wrong"), @r"
    error: --kernel wrong: its body is refused: 33:5: `.sat` has no effect: every value of .s16 is one of .s16
    33 |     cvt.sat.s16.s16 %h1, %h0;
       |     ^^^
    ");
}

#[test]
fn a_file_says_what_it_needs() {
    insta::assert_snapshot!(emulate(SAXPY, &[]), @r"
    FOLDER/saxpy.ptx for sm_80

    kernel  bytes of parameters  shared  local  orders
                                  bytes  bytes
    --------------------------------------------------
    saxpy   8, 8, 4, 4                0      0  agree

    The emulator has everything that it needs.
    Fine
    ");
    let strange = SAXPY.replace(
        "fma.rn.f32 %f4, %f1, %f2, %f3;",
        "tcgen05.fence::before_thread_sync;",
    );
    insta::assert_snapshot!(emulate(&strange, &[]), @r"
    FOLDER/saxpy.ptx for sm_80

    kernel  bytes of parameters  shared  local  orders
                                  bytes  bytes
    --------------------------------------------------
    saxpy   8, 8, 4, 4                0      0  agree

    1 instruction not supported, a fault where a thread reaches it:
      line 26 of `saxpy`: instruction `tcgen05` (in `tcgen05.fence::before_thread_sync`)
    Lacking
    ");
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
    insta::assert_snapshot!(emulate(SAXPY, &launch), @r"
    order 0: no fault
    kernel  launches  instructions  sectors       bank  barriers  local
                                             conflicts            bytes
    -------------------------------------------------------------------
    saxpy          1           380        9          0         0      0
      x: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 ... (20 in all)
      y: 0.5 2.5 4.5 6.5 8.5 10.5 12.5 14.5 16.5 18.5 20.5 22.5 24.5 26.5 28.5 30.5 ... (20 in all)
    Fine
    ");
}

/// Nothing is made of a buffer but its memory, and the elements that are shown.
#[test]
fn a_large_buffer_is_shown_by_its_first_elements() {
    let args = [
        "--kernel=saxpy",
        "--check=none",
        "--block=8",
        "u8[4294967296]",
        "f32[20]=1",
        "2.0f32",
        "8u32",
    ];
    let said = emulate(SAXPY, &args);
    let shown = "  x: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 ... (4294967296 in all)\n";
    assert!(said.contains(shown), "{said}");
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
    insta::assert_snapshot!(emulate(SAXPY, &launch), @r"
    order 0: uninitialized read: load of 4 bytes from byte 0 of buffer `y`, which nothing has written before
      in kernel `saxpy` at PTX line 25, block (0, 0, 0), thread (0, 0, 0)
      at PTX line 27, a store to global memory of it
    order 1: uninitialized read: load of 4 bytes from byte 0 of buffer `y`, which nothing has written before
      in kernel `saxpy` at PTX line 25, block (0, 0, 0), thread (0, 0, 0)
      at PTX line 27, a store to global memory of it
    Wrong
    ");
}

#[test]
fn arguments_that_do_not_fit() {
    let refused = |args: &[&str]| emulate(SAXPY, &[&["--kernel=saxpy"], args].concat());
    insta::assert_snapshot!(refused(&["f32[20]"]), @"error: kernel `saxpy` takes 4 arguments, not 1");
    insta::assert_snapshot!(refused(&["f32[20]", "f32[20]", "2.0f64", "20u32"]), @"error: argument 3 of `saxpy` has 4 bytes (a buffer is a pointer of 8), and 8 were given: 2.0f64");
    insta::assert_snapshot!(refused(&["f32[20]", "f32[0]", "2.0f32", "20u32"]), @"error: argument f32[0]: a buffer has a count of 1 or more; write f32[1024]=iota, u8[64], 2.0f32 or 5i32");
    insta::assert_snapshot!(refused(&["f32[20]", "f32[20]", "2.0f32", "20"]), @"error: argument 20: it is not a number with its type, and not a buffer; write f32[1024]=iota, u8[64], 2.0f32 or 5i32");
    insta::assert_snapshot!(refused(&["u64[2305843009213693953]", "f32[20]", "2.0f32", "20u32"]), @"error: argument u64[2305843009213693953]: no machine has as many bytes; write f32[1024]=iota, u8[64], 2.0f32 or 5i32");
    insta::assert_snapshot!(refused(&["f32[20]", "f32[4]=1e400", "2.0f32", "20u32"]), @"error: argument f32[4]=1e400: its value is not one of its type; write f32[1024]=iota, u8[64], 2.0f32 or 5i32");
    insta::assert_snapshot!(refused(&["u64[2305843009213693951]", "f32[20]", "2.0f32", "20u32"]), @"error: argument u64[2305843009213693951]: the emulated device cannot allocate 18446744073709551608 bytes for `x`: 0 of 17179869184 bytes are in use");
    insta::assert_snapshot!(emulate(SAXPY, &["--kernel=saxpi"]), @"error: --kernel saxpi: the module has no kernel `saxpi`; it has `saxpy`");
    insta::assert_snapshot!(emulate(SAXPY, &["2.0f32"]), @"error: arguments are of a kernel: name it with --kernel");
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

/// The page's commands are ones that the program takes.
#[test]
fn the_page_on_emulation_has_commands_that_there_are() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/emulate.md");
    let page = std::fs::read_to_string(page).unwrap();
    let lines = page.lines().filter_map(|line| {
        let code = line.strip_prefix("    ")?;
        let words = code.strip_prefix("$ ").unwrap_or(code).split_whitespace();
        words.clone().next().filter(|name| *name == "emulate")?;
        Some(words)
    });
    let mut count = 0;
    for words in lines {
        count += 1;
        if let Err(error) = <Command as clap::Parser>::try_parse_from(words) {
            panic!("{error}");
        }
    }
    assert!(count >= 7, "{count} commands");
}

#[test]
fn a_replay_is_of_the_blocks_that_matter() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let replay = |more: &[&str]| {
        let out = page.to_str().unwrap();
        let words = ["--kernel", "saxpy", "--grid", "4", "--replay", out];
        let arguments = ["f32[120]=iota", "f32[128]=0", "2.0f32", "128u32"];
        emulate(SAXPY, &[&words, more, &arguments].concat()).replace(out, "PAGE")
    };
    // The last block reads past the end.
    let said = replay(&[]);
    assert!(
        said.ends_with("wrote PAGE: 14 steps of 1 block\nWrong"),
        "{said}"
    );
    let written = std::fs::read_to_string(&page).unwrap();
    assert!(written.starts_with("<!doctype html>"));
    let cut = replay(&["--replay-blocks", "0,1", "--replay-steps", "5"]);
    let expected = "wrote PAGE: 5 steps of 2 blocks, the last; --replay-steps takes more\nWrong";
    assert!(cut.ends_with(expected), "{cut}");
    let refused = replay(&["--replay-blocks", "4"]);
    assert!(
        refused.ends_with("--replay-blocks 4: the grid has 4 blocks, the last is 3"),
        "{refused}"
    );
    let idle = emulate(SAXPY, &["--replay", page.to_str().unwrap()]);
    assert!(idle.contains("--replay is of a launch"), "{idle}");
}
