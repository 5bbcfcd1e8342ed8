//! Orders in which streams are late: a program that lacks an edge has a wrong result in some of
//! them, and one that has it the right result in all.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_uint, c_void};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use crate::common::{Handle, arg, context, function, launch, module};
use crate::told::{NON_BLOCKING, Program, call};
use crate::{KERNELS, cu};

const ORDER: &str = "EMULATED_DRIVER_ORDER";
const INSIDE: &str = "ORDERS_TEST_INSIDE";

/// Whether the process is one of another order.
pub fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// A program with an edge or without, whose first word is to be 5.
type Edged = fn(&Program, bool) -> u32;

const PROGRAMS: [(&str, Edged); 9] = [
    ("a kernel in another stream", another_stream),
    ("an upload in a stream of its own", upload),
    ("a result before its stream is done", result),
    ("a buffer that is filled again", filled_again),
    ("a fill without a stream", fill),
    ("an event that is recorded too early", early_event),
    ("a graph without an edge", graph),
    ("a function of the program", host_function),
    ("a copy without a stream on the device", device_copy),
];

/// Words of page-locked memory.
fn words(p: &Program) -> &'static [AtomicU32] {
    let address = p.pinned();
    // SAFETY: the driver has allocated 256 bytes, and nothing frees them.
    unsafe { std::slice::from_raw_parts(address as *const AtomicU32, 64) }
}

fn address(words: &[AtomicU32]) -> u64 {
    words.as_ptr() as u64
}

/// Stores 5 into each word.
fn five(to: u64, stream: Handle) {
    let filled = cu!(cuMemsetD32Async(to => u64, 5 => c_uint, 32 => usize, stream => Handle));
    assert_eq!(filled, 0);
}

/// The first word, once everything is done.
fn word(p: &Program, data: u64) -> u32 {
    assert_eq!(cu!(cuCtxSynchronize()), 0);
    p.take(data)[0]
}

fn another_stream(p: &Program, has_edge: bool) -> u32 {
    let [data, out, one, other] = [p.memory(), p.memory(), p.stream() as u64, p.stream() as u64];
    let [one, other] = [one, other].map(|stream| stream as Handle);
    five(data, one);
    if has_edge {
        p.join(other, one);
    }
    p.launch("consume", other, &[data, out]);
    word(p, out)
}

fn upload(p: &Program, has_edge: bool) -> u32 {
    let [data, out] = [p.memory(), p.memory()];
    let [copies, computes] = [p.stream(), p.stream()];
    let host = words(p);
    host[0].store(5, SeqCst);
    p.copy(data, address(host), copies);
    if has_edge {
        p.join(computes, copies);
    }
    p.launch("consume", computes, &[data, out]);
    word(p, out)
}

fn result(p: &Program, has_edge: bool) -> u32 {
    let (data, stream, host) = (p.memory(), p.stream(), words(p));
    five(data, stream);
    p.copy(address(host), data, stream);
    if has_edge {
        p.synchronize(stream);
    }
    host[0].load(SeqCst)
}

fn filled_again(p: &Program, has_edge: bool) -> u32 {
    let (data, stream, host) = (p.memory(), p.stream(), words(p));
    host[0].store(5, SeqCst);
    p.copy(data, address(host), stream);
    if has_edge {
        let event = p.event();
        p.record(event, stream);
        assert_eq!(cu!(cuEventSynchronize(event => Handle)), 0);
    }
    host[0].store(9, SeqCst);
    word(p, data)
}

fn fill(p: &Program, has_edge: bool) -> u32 {
    let (data, apart) = (p.memory(), p.stream_with(NON_BLOCKING));
    assert_eq!(
        cu!(cuMemsetD32_v2(data => u64, 4 => c_uint, 32 => usize)),
        0
    );
    if has_edge {
        p.synchronize(0);
    }
    p.launch("update", apart, &[data]);
    word(p, data)
}

fn early_event(p: &Program, has_edge: bool) -> u32 {
    let [data, out] = [p.memory(), p.memory()];
    let [one, other, event] = [p.stream(), p.stream(), p.event()];
    if !has_edge {
        p.record(event, one);
    }
    five(data, one);
    if has_edge {
        p.record(event, one);
    }
    p.wait(other, event);
    // A later record, which may be first, changes nothing.
    p.record(event, other);
    p.launch("consume", other, &[data, out]);
    word(p, out)
}

fn graph(p: &Program, has_edge: bool) -> u32 {
    let [data, out] = [p.memory(), p.memory()];
    let [main, side, begin, end] = [p.stream(), p.stream(), p.event(), p.event()];
    assert_eq!(cu!(cuStreamBeginCapture_v2(main => Handle, 1 => i32)), 0);
    p.record(begin, main);
    p.wait(side, begin);
    five(data, side);
    if has_edge {
        p.record(end, side);
        p.wait(main, end);
    }
    p.launch("consume", main, &[data, out]);
    p.record(end, side);
    p.wait(main, end);
    let [mut graph, mut executable] = [0; 2];
    assert_eq!(
        cu!(cuStreamEndCapture(main => Handle, &mut graph => *mut Handle)),
        0
    );
    let made =
        cu!(cuGraphInstantiateWithFlags(&mut executable => *mut Handle, graph => Handle, 0 => u64));
    assert_eq!(made, 0);
    assert_eq!(cu!(cuGraphLaunch(executable => Handle, main => Handle)), 0);
    word(p, out)
}

unsafe extern "C" fn stores(word: *mut c_void) {
    // SAFETY: the program gives the address of a word that lives.
    unsafe { AtomicU32::from_ptr(word.cast()) }.store(5, SeqCst);
}

fn host_function(p: &Program, has_edge: bool) -> u32 {
    let (stream, host) = (p.stream(), words(p));
    assert_eq!(call(stream, stores, address(host) as usize), 0);
    if has_edge {
        p.synchronize(stream);
    }
    host[0].load(SeqCst)
}

fn device_copy(p: &Program, has_edge: bool) -> u32 {
    let [from, to] = [p.memory(), p.memory()];
    let apart = p.stream_with(NON_BLOCKING);
    assert_eq!(
        cu!(cuMemsetD32_v2(from => u64, 4 => c_uint, 32 => usize)),
        0
    );
    p.copy_now(to, from);
    if has_edge {
        p.synchronize(0);
    }
    p.launch("update", apart, &[to]);
    word(p, to)
}

/// What holds in each order, of programs that are right.
fn hold(p: &Program) {
    let [stream, other] = [p.stream(), p.stream()];
    let data = p.memory();
    // Pageable memory is the program's own again when the call returns.
    let mut values = [5u32; 32];
    p.copy(data, values.as_ptr() as u64, stream);
    values = [0; 32];
    p.copy(values.as_mut_ptr() as u64, data, stream);
    assert_eq!(values, [5; 32]);
    // Memory in the order of a stream.
    let mut own = 0u64;
    let made = cu!(cuMemAllocAsync(&mut own => *mut u64, 256 => usize, stream => Handle));
    assert_eq!(made, 0);
    p.launch("produce", stream, &[own]);
    p.copy(data, own, stream);
    assert_eq!(cu!(cuMemFreeAsync(own => u64, stream => Handle)), 0);
    assert_eq!(cu!(cuMemFreeAsync(own + 1 => u64, stream => Handle)), 1);
    p.join(other, stream);
    p.launch("update", other, &[data]);
    // A query ends what it asks for, and the legacy stream is behind blocking ones.
    assert_eq!(cu!(cuStreamQuery(0 => Handle)), 0);
    assert_eq!(p.take(data)[31], 32);
    let event = p.event();
    p.launch("update", other, &[data]);
    p.record(event, other);
    assert_eq!(cu!(cuEventQuery(event => Handle)), 0);
    // Handles may go while there is work.
    p.launch("update", other, &[data]);
    p.record(event, other);
    p.wait(stream, event);
    p.launch("update", stream, &[data]);
    assert_eq!(cu!(cuEventDestroy_v2(event => Handle)), 0);
    assert_eq!(cu!(cuStreamDestroy_v2(other => Handle)), 0);
    p.synchronize(stream);
    assert_eq!(p.take(data)[31], 35);
    // More than may wait.
    for _ in 0..3000 {
        p.launch("update", stream, &[data]);
    }
    assert_eq!(word(p, data), 3004);
}

/// A program waits for a flag, without a call.
fn waits_without_a_call(p: &Program) {
    let (stream, host) = (p.stream(), words(p));
    five(address(host), stream);
    while host[0].load(SeqCst) != 5 {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// An impossible launch is an error of its call; a fault of a kernel, of a later call and of all.
fn errors() {
    let lost = context();
    let update = function(module(KERNELS), "update");
    let mut stream = 0;
    let made = cu!(cuStreamCreate(&mut stream => *mut Handle, NON_BLOCKING => c_uint));
    assert_eq!(made, 0);
    let nothing = 0u64;
    assert_eq!(launch(update, 2000, stream, &[arg(&nothing)]), 1);
    assert_eq!(launch(update, 32, stream, &[arg(&nothing)]), 0);
    assert_eq!(cu!(cuStreamSynchronize(stream => Handle)), 700);
    assert_eq!(launch(update, 32, stream, &[arg(&nothing)]), 700);
    assert_eq!(cu!(cuCtxDestroy_v2(lost => Handle)), 0);
}

/// A kernel that nothing waits for has its fault told all the same.
fn leaves_work() {
    context();
    let update = function(module(KERNELS), "update");
    let mut stream = 0;
    let made = cu!(cuStreamCreate(&mut stream => *mut Handle, 0 => c_uint));
    assert_eq!(made, 0);
    assert_eq!(launch(update, 32, stream, &[arg(&16u64)]), 0);
}

/// The programs, in the order of the process.
#[test]
fn inside() {
    if !is_inside() {
        return;
    }
    let p = Program {
        context: context(),
        kernels: module(KERNELS),
    };
    for (name, program) in PROGRAMS {
        for has_edge in [true, false] {
            println!("=={name}=={has_edge}=={}", program(&p, has_edge));
        }
    }
    hold(&p);
    if std::env::var(ORDER).is_ok_and(|order| order == "1") {
        waits_without_a_call(&p);
    }
    errors();
    leaves_work();
}

fn run(order: u32, args: &[&str]) -> String {
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(args)
        .env(INSIDE, "")
        .env_remove("EMULATED_DRIVER_REPORT")
        .env(ORDER, order.to_string())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(
        ended.status.success(),
        "order {order}: {told}{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    if args.contains(&"orders::inside") {
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert!(
            stderr.contains("load of 4 bytes at address 0x10"),
            "{stderr}"
        );
    }
    told
}

/// The programs with their results.
fn results(told: &str) -> Vec<(&str, &str, &str)> {
    let lines = told
        .lines()
        .map(|line| line.split("==").collect::<Vec<_>>());
    let results = lines.filter_map(|parts| match parts[..] {
        ["", name, has_edge, value] => Some((name, has_edge, value)),
        _ => None,
    });
    results.collect()
}

#[test]
fn a_missing_edge_makes_a_result_wrong_in_some_order() {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for order in 1..=20 {
        let told = run(order, &["--exact", "orders::inside", "--nocapture"]);
        if order == 2 {
            let again = run(order, &["--exact", "orders::inside", "--nocapture"]);
            assert_eq!(results(&again), results(&told));
        }
        for (name, has_edge, value) in results(&told) {
            if has_edge == "true" {
                assert_eq!(value, "5", "order {order}: {name}");
            } else {
                found
                    .entry(name.to_owned())
                    .or_default()
                    .insert(value.to_owned());
            }
        }
    }
    for (name, _) in PROGRAMS {
        let values = &found[name];
        assert!(
            values.iter().any(|value| value != "5"),
            "{name}: {values:?}"
        );
    }
}

/// The messages of this file's neighbours, and the silence of their twins, in other orders. Left
/// out are a program with several races, of which other pairs are told, one whose second kernel
/// takes a flag for set that it does not wait for, and those whose memory is freed before its use,
/// or is not there yet.
#[test]
fn races_are_told_the_same_in_each_order() {
    if is_inside() {
        return;
    }
    for order in 1..=6 {
        let left_out = [
            "orders::",
            "a_graph_in_a_graph",
            "order_by_memory_is_believed",
            "memory_is_freed_in_another_stream",
            "graph_memory::wrong",
        ];
        run(order, &left_out.map(|name| ["--skip", name]).concat());
    }
}
