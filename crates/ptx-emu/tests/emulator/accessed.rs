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
    machine.take_accessed_pages(|page| pages.push(page));
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
    let read: u32 = found.iter().map(|page| bytes(&page.read)).sum();
    let written: u32 = found.iter().map(|page| bytes(&page.written)).sum();
    assert_eq!((read, written), (4 * 4096, 4 * 4096));
    assert!(
        found
            .iter()
            .all(|page| page.address.is_multiple_of(PAGE_BYTES))
    );
    // Every second word.
    let stored = found.iter().find(|page| bytes(&page.written) == 2048);
    assert_eq!(stored.unwrap().written, [0x0f0f_0f0f_0f0f_0f0f; 64]);
    assert_eq!(pages(&mut machine), []);
    let counts = machine.launch(&module, "counts", &one_block(32), args![&to]);
    counts.unwrap();
    let counted = |page: &PageAccess| {
        let sets = [
            &page.read,
            &page.written,
            &page.strongly_read,
            &page.strongly_written,
        ];
        sets.map(bytes)
    };
    let counted: Vec<_> = pages(&mut machine).iter().map(counted).collect();
    assert_eq!(counted, [[0, 0, 4, 4]]);
}
