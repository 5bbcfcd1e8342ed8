//! The accesses of launches, page by page: for those who compare commands.

use ptx_emu::{LaunchConfig, Machine, PAGE_BYTES, PageAccess, PageBits, args};

use crate::common::{load, one_block};

const KERNELS: &str = "
.version 7.8
.target sm_80
.address_size 64
.visible .entry adds(.param .u64 from, .param .u64 to)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r1, %r1, %r2, %r3;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd4, %rd1, %rd3;
    ld.global.u32 %r2, [%rd4];
    add.u64 %rd4, %rd4, %rd3;
    mul.wide.u32 %rd5, %r1, 8;
    add.u64 %rd4, %rd2, %rd5;
    st.global.u32 [%rd4], %r2;
    ret;
}
.visible .entry counts(.param .u64 word)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [word];
    red.global.add.u32 [%rd1], 1;
    ret;
}
";

fn bytes(bits: &PageBits) -> u32 {
    bits.iter().map(|word| word.count_ones()).sum()
}

fn pages(machine: &mut Machine) -> Vec<PageAccess> {
    let mut pages = Vec::new();
    machine.take_accessed_pages(|page| pages.push(page.clone()));
    pages
}

#[test]
fn each_launch_has_its_own_pages() {
    let mut machine = Machine::default();
    let module = load(&mut machine, KERNELS);
    let from = machine.buffer(&[1u32; 4096]).unwrap();
    // Nothing is noted before it is asked for.
    machine.take_accessed_pages(|page| panic!("{page:?}"));
    machine.watch_accesses();
    // A buffer that is made later is watched as well.
    let to = machine.buffer(&[0u32; 8192]).unwrap();
    let config = LaunchConfig::new([32], [128]);
    let adds = machine.launch(&module, "adds", &config, args![&from, &to]);
    adds.unwrap();
    let found = pages(&mut machine);
    let count = |writes: bool| -> u32 {
        let of = found.iter().filter(|page| page.writes == writes);
        of.map(|page| bytes(&page.bytes)).sum()
    };
    assert_eq!((count(false), count(true)), (4 * 4096, 4 * 4096));
    let is_right = |page: &PageAccess| page.address.is_multiple_of(PAGE_BYTES) && !page.is_strong;
    assert!(found.iter().all(is_right));
    // Every second word.
    let stored = found
        .iter()
        .find(|page| page.writes && bytes(&page.bytes) == 2048);
    assert_eq!(stored.unwrap().bytes, [0x0f0f_0f0f_0f0f_0f0f; 64]);
    assert_eq!(pages(&mut machine), []);
    let counts = machine.launch(&module, "counts", &one_block(32), args![&to]);
    counts.unwrap();
    let seen = |page: &PageAccess| (page.writes, page.is_strong, bytes(&page.bytes));
    let counted: Vec<_> = pages(&mut machine).iter().map(seen).collect();
    assert_eq!(counted, [(false, true, 4), (true, true, 4)]);
}
