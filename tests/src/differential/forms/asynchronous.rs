//! Instructions that act beside the threads, or among the blocks of a cluster: objects of
//! `mbarrier`, copies in bulk, addresses of a cluster. `st.async` is missing: a GPU refuses it
//! where the launch names no cluster.

use fastrand::Rng;

use crate::differential::{Class, Form, Operand, Row};

const MODULE: &str = ".shared .align 8 .b64 gate; .shared .align 16 .b8 tile[8192]; .global .align 128 .b8 line[128];";

pub(super) fn forms() -> Vec<Form> {
    let mut all = waits();
    all.extend([copies_that_arrive(), bulk_load(), bulk_store()]);
    all.extend(clusters());
    all.extend(hints());
    all
}

/// A word of each thread, and what all threads of a block then have.
fn block(
    name: &str,
    body: &str,
    f: impl Fn(&[Row]) -> Vec<[u64; 1]> + Send + Sync + 'static,
) -> Form {
    let mut rng = Rng::with_seed(9);
    let rows = (0..8 * Form::BLOCK).map(|_| [rng.u32(..).into(), 0, 0, 0]);
    let form = Form::together(name, [Operand::I32], [Class::B32], Form::BLOCK, body, f);
    form.with_rows(rows.collect()).with_module(MODULE)
}

fn reversed(rows: &[Row]) -> Vec<[u64; 1]> {
    rows.iter().rev().map(|row| [row[0]]).collect()
}

/// Each thread's place in the tile, at 64 bytes from the next, in `%r14`; the gate in `%r12`.
const PLACES: &str = "mov.u32 %r15, tile; mad.lo.u32 %r14, %thread, 64, %r15; mov.u32 %r12, gate; setp.eq.u32 %p0, %thread, 0";
/// The word of the thread at the other end of the block.
const OTHER: &str =
    "xor.b32 %r13, %thread, 127; mad.lo.u32 %r13, %r13, 64, %r15; ld.shared.u32 %x, [%r13]";

/// Words exchanged through shared memory, behind an object that all threads arrive at.
fn waits() -> Vec<Form> {
    let form = |arrive: &str, wait: &str| {
        let name = format!("{arrive}, {wait}");
        let body = format!(
            "{PLACES}; @%p0 mbarrier.init.shared.b64 [%r12], 128; bar.sync 0; st.shared.u32 [%r14], %a; \
             {arrive} %d0, [%r12]; again: {wait}; @!%p1 bra again; {OTHER}"
        );
        block(&name, &body, reversed)
    };
    vec![
        form(
            "mbarrier.arrive.shared.b64",
            "mbarrier.test_wait.shared.b64 %p1, [%r12], %d0",
        ),
        form(
            "mbarrier.arrive.release.cta.shared::cta.b64",
            "mbarrier.try_wait.shared.b64 %p1, [%r12], %d0",
        ),
        form(
            "mbarrier.arrive.shared.b64",
            "mbarrier.try_wait.parity.shared.b64 %p1, [%r12], 0",
        ),
    ]
}

/// Copies of each thread's word, at whose end the object counts an arrival.
fn copies_that_arrive() -> Form {
    let name = "cp.async.ca.shared.global, cp.async.mbarrier.arrive.noinc";
    let body = format!(
        "{PLACES}; @%p0 mbarrier.init.shared.b64 [%r12], 128; bar.sync 0; st.global.u32 [%scratch], %a; \
         cp.async.ca.shared.global [%r14], [%scratch], 4; cp.async.mbarrier.arrive.noinc.shared.b64 [%r12]; \
         again: mbarrier.try_wait.parity.shared.b64 %p1, [%r12], 0; @!%p1 bra again; {OTHER}"
    );
    block(name, &body, reversed)
}

/// Scratch memory, filled by its threads, to shared memory.
fn bulk_load() -> Form {
    let name = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes, mbarrier.arrive.expect_tx";
    let body = format!(
        "{PLACES}; @%p0 mbarrier.init.shared.b64 [%r12], 1; st.global.u32 [%scratch], %a; fence.proxy.async; \
         bar.sync 0; @!%p0 bra again; mbarrier.arrive.expect_tx.shared.b64 %d0, [%r12], 8192; \
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r15], [%scratch], 8192, [%r12]; \
         again: mbarrier.try_wait.parity.shared.b64 %p1, [%r12], 0; @!%p1 bra again; {OTHER}"
    );
    block(name, &body, reversed)
}

/// Shared memory, filled by its threads, to scratch memory.
fn bulk_store() -> Form {
    let name = "cp.async.bulk.global.shared::cta.bulk_group, commit_group, wait_group";
    let body = format!(
        "{PLACES}; st.shared.v4.u32 [%r14], {{%a, %a, %a, %a}}; st.shared.v4.u32 [%r14+16], {{%a, %a, %a, %a}}; \
         st.shared.v4.u32 [%r14+32], {{%a, %a, %a, %a}}; st.shared.v4.u32 [%r14+48], {{%a, %a, %a, %a}}; \
         fence.proxy.async; bar.sync 0; @!%p0 bra done; \
         cp.async.bulk.global.shared::cta.bulk_group [%scratch], [%r15], 8192; cp.async.bulk.commit_group; \
         cp.async.bulk.wait_group 0; done:"
    );
    let form = block(name, &body, |rows| {
        rows.iter().map(|row| [row[0]]).collect()
    });
    form.with_collect("ld.global.u32 %x, [%scratch+60]")
}

/// Each block is a cluster of its own.
fn clusters() -> Vec<Form> {
    let store = format!("{PLACES}; st.shared.u32 [%r14], %a");
    let mapped = format!(
        "{store}; barrier.cluster.arrive; barrier.cluster.wait; mapa.shared::cluster.u32 %r15, %r15, 0; \
         xor.b32 %r13, %thread, 127; mad.lo.u32 %r13, %r13, 64, %r15; ld.shared::cluster.u32 %x, [%r13]"
    );
    let generic = format!(
        "{store}; barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned; \
         xor.b32 %r13, %thread, 127; mad.lo.u32 %r13, %r13, 64, %r15; cvt.u64.u32 %d0, %r13; \
         cvta.shared.u64 %d0, %d0; mapa.u64 %d0, %d0, 0; ld.u32 %x, [%d0]"
    );
    let rank = "mov.u32 %r15, tile; mapa.shared::cluster.u32 %r15, %r15, 0; getctarank.shared::cluster.u32 %x, %r15";
    let registers = "mov.u32 %x, %cluster_nctarank; mov.u32 %r0, %cluster_ctarank; mad.lo.u32 %x, %x, 16, %r0; \
                     mov.u32 %r0, %cluster_nctaid.x; mad.lo.u32 %x, %x, 16, %r0; mov.u32 %r0, %cluster_ctaid.x; \
                     mad.lo.u32 %x, %x, 16, %r0; mov.u32 %r0, %nclusterid.x; mov.u32 %r1, %nctaid.x; \
                     sub.u32 %r0, %r0, %r1; add.u32 %x, %x, %r0";
    vec![
        block(
            "mapa.shared::cluster.u32, barrier.cluster",
            &mapped,
            reversed,
        ),
        block("mapa.u64, barrier.cluster", &generic, reversed),
        block("getctarank.shared::cluster.u32", rank, |rows| {
            vec![[0]; rows.len()]
        }),
        block("%cluster_nctarank, %cluster_ctarank", registers, |rows| {
            vec![[0x1010]; rows.len()]
        }),
    ]
}

/// Instructions that change no value.
fn hints() -> [Form; 4] {
    [
        "createpolicy.fractional.L2::evict_last.b64 %d0, 0f3F800000; ld.global.L2::cache_hint.u32 %r0, [%from], %d0",
        "applypriority.global.L2::evict_normal [line], 128",
        "griddepcontrol.launch_dependents",
        "griddepcontrol.wait",
    ]
    .map(|line| {
        let body = format!("{line}; add.u32 %x, %a, 1");
        block(line, &body, |rows| rows.iter().map(|row| [row[0] + 1]).collect())
    })
}
