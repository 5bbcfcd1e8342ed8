//! Buffers that kernels and the host have at one address.

use std::sync::atomic::{AtomicU32, Ordering};

use ptx_emu::{Executable, Machine};

use crate::common::one_block;

const DOUBLE: &str = "
.version 7.8
.target sm_80
.address_size 64
.visible .entry double(.param .u64 data)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3];
    add.u32 %r2, %r2, %r2;
    st.global.u32 [%rd3], %r2;
    ret;
}";

static WORDS: [AtomicU32; 8] = [const { AtomicU32::new(3) }; 8];

#[test]
fn kernels_use_the_words_of_the_host() {
    let mut machine = Machine::default();
    let module = machine.load(Executable::parse(DOUBLE).unwrap()).unwrap();
    let used = machine.used_bytes();
    let mut asked = 0;
    let shared = machine.share(30, "shared", |address| {
        asked = address;
        Some(&WORDS)
    });
    let address = shared.unwrap();
    assert_eq!((address, address % 4096), (asked, 0));
    assert_eq!(machine.used_bytes(), used);
    let config = one_block(7);
    let mut launch = |at: u64| {
        let launched = machine.launch(&module, "double", &config, at.to_le_bytes());
        launched.map(|_| ()).map_err(|fault| fault.to_string())
    };
    // The host has written them, whatever the emulator has seen of it.
    launch(address).unwrap();
    assert_eq!(WORDS[6].load(Ordering::SeqCst), 6);
    assert_eq!(WORDS[7].load(Ordering::SeqCst), 3);
    let fault = launch(address + 4).unwrap_err();
    assert!(fault.starts_with("out of bounds"), "{fault}");
    assert!(machine.free(address));
    assert_eq!(machine.used_bytes(), used);
    let next = machine.allocate(4, "next").unwrap();
    assert!(next >= address + 4096);
}

#[test]
fn memory_that_cannot_be_mapped_is_none() {
    let mut machine = Machine::default();
    assert_eq!(machine.share(4, "none", |_| None), None);
    assert_eq!(machine.share(64, "too short", |_| Some(&WORDS)), None);
}
