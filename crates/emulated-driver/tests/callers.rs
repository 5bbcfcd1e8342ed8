//! Those who may not call the driver: functions that streams call, and forked processes.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::{c_int, c_uint, c_void};
use std::io::Read;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex};

use common::{Handle, KERNELS, address, allocate, arg, context, function, launch, module, read};

/// The driver's records, of all tests of this program.
static REPORT: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap().keep();
    let report = folder.join("report");
    // SAFETY: each test begins here, and nothing has called the driver before, which alone reads
    // the variable.
    unsafe { std::env::set_var("EMULATED_DRIVER_REPORT", &report) };
    report
});

/// The answers to a function of a stream: names and results.
type Answers = Vec<(&'static str, c_int)>;

/// Page-locked memory, which the functions try to free.
static LOCKED: LazyLock<u64> = LazyLock::new(|| {
    let mut address = 0;
    let allocated = cu!(cuMemHostAlloc(&mut address => *mut u64, 64 => usize, 0 => c_uint));
    assert_eq!(allocated, 0);
    address
});

/// Calls what waits for streams, what changes something, what only asks, and what is not supported.
fn call_all() -> Answers {
    let (mut word, mut handle, mut number) = (0u64, 0usize, 0 as c_int);
    let locked = *LOCKED;
    vec![
        ("cuCtxSynchronize", cu!(cuCtxSynchronize())),
        ("cuStreamSynchronize", cu!(cuStreamSynchronize(0 => Handle))),
        ("cuMemFreeHost", cu!(cuMemFreeHost(locked => u64))),
        (
            "cuMemcpyDtoH_v2",
            cu!(cuMemcpyDtoH_v2(&mut word => *mut u64, locked => u64, 8 => usize)),
        ),
        (
            "cuMemAlloc_v2",
            cu!(cuMemAlloc_v2(&mut word => *mut u64, 4 => usize)),
        ),
        (
            "cuEventCreate",
            cu!(cuEventCreate(&mut handle => *mut Handle, 0 => c_uint)),
        ),
        ("cuStreamQuery", cu!(cuStreamQuery(0 => Handle))),
        ("cuCtxSetCurrent", cu!(cuCtxSetCurrent(0 => Handle))),
        (
            "cuCtxGetDevice",
            cu!(cuCtxGetDevice(&mut number => *mut c_int)),
        ),
        (
            "cuLaunchHostFunc",
            cu!(cuLaunchHostFunc(0 => Handle, 0 => usize, 0 => usize)),
        ),
        ("cuTexObjectDestroy", cu!(cuTexObjectDestroy(1 => u64))),
    ]
}

/// Those that need nothing of the driver's state, and with which errors are told.
fn call_allowed() -> Vec<c_int> {
    let (mut text, mut number) = (0usize, 0 as c_int);
    vec![
        cu!(cuInit(0 => c_uint)),
        cu!(cuGetErrorName(800 => c_int, &mut text => *mut usize)),
        cu!(cuGetErrorString(800 => c_int, &mut text => *mut usize)),
        cu!(cuDriverGetVersion(&mut number => *mut c_int)),
    ]
}

unsafe extern "C" fn of_stream(answers: *mut c_void) {
    // SAFETY: the test gives the address of answers that live until the stream has ended.
    let answers = unsafe { &*answers.cast::<Mutex<Answers>>() };
    let mut answers = answers.lock().unwrap();
    assert_eq!(call_allowed(), [0; 4]);
    answers.extend(call_all());
}

unsafe extern "C" fn callback(_stream: Handle, _status: c_int, answers: *mut c_void) {
    // SAFETY: as documented there.
    unsafe { of_stream(answers) };
}

type Function = unsafe extern "C" fn(*mut c_void);
type Callback = unsafe extern "C" fn(Handle, c_int, *mut c_void);

/// Launches a graph whose one node calls the function.
fn launch_graph(data: *const Mutex<Answers>) {
    let (mut graph, mut node, mut executable) = (0, 0, 0);
    assert_eq!(
        cu!(cuGraphCreate(&mut graph => *mut Handle, 0 => c_uint)),
        0
    );
    let parameters = [of_stream as Function as usize, data as usize];
    assert_eq!(
        cu!(cuGraphAddHostNode(&mut node => *mut Handle, graph => Handle, 0 => usize, 0 => usize, parameters.as_ptr() => *const usize)),
        0
    );
    assert_eq!(
        cu!(cuGraphInstantiateWithFlags(&mut executable => *mut Handle, graph => Handle, 0 => u64)),
        0
    );
    assert_eq!(cu!(cuGraphLaunch(executable => Handle, 0 => Handle)), 0);
}

#[test]
fn a_function_of_a_stream_is_permitted_no_call() {
    LazyLock::force(&REPORT);
    context();
    LazyLock::force(&LOCKED);
    let answers = Mutex::new(Answers::new());
    let data: *const Mutex<Answers> = &answers;
    let enqueue: [&dyn Fn(); 3] = [
        &|| {
            let launched = cu!(cuLaunchHostFunc(0 => Handle, of_stream => Function, data => *const Mutex<Answers>));
            assert_eq!(launched, 0);
        },
        &|| {
            let added = cu!(cuStreamAddCallback(0 => Handle, callback => Callback, data => *const Mutex<Answers>, 0 => c_uint));
            assert_eq!(added, 0);
        },
        &|| launch_graph(data),
    ];
    for call in enqueue {
        call();
        assert_eq!(cu!(cuCtxSynchronize()), 0);
        let answers = std::mem::take(&mut *answers.lock().unwrap());
        assert_eq!(answers.len(), 11);
        assert!(
            answers.iter().all(|(_, result)| *result == 800),
            "{answers:?}"
        );
    }
    // The memory is still there, and the thread of the program may call.
    assert_eq!(cu!(cuMemFreeHost(*LOCKED => u64)), 0);
    let records = std::fs::read_to_string(&*REPORT).unwrap();
    for name in ["cuCtxSynchronize", "cuMemFreeHost", "cuTexObjectDestroy"] {
        let told = format!("{name} was called by a function that a stream calls");
        assert_eq!(records.matches(&told).count(), 1, "{name}: {records}");
    }
}

/// A GPU's driver answers questions about events there, and waits for none here.
#[test]
fn a_function_of_a_stream_may_ask_for_events_and_not_wait() {
    unsafe extern "C" fn ask(data: *mut c_void) {
        // SAFETY: the test gives the address of events and answers that live until the stream has
        // ended, and looks at them afterwards.
        let (events, answers) = unsafe { &mut *data.cast::<([Handle; 2], [c_int; 4])>() };
        let asked = events.map(|event| cu!(cuEventQuery(event => Handle)));
        let waited = events.map(|event| cu!(cuEventSynchronize(event => Handle)));
        *answers = [asked[0], waited[0], asked[1], waited[1]];
    }
    LazyLock::force(&REPORT);
    context();
    let mut data = ([0 as Handle; 2], [-1 as c_int; 4]);
    for event in &mut data.0 {
        assert_eq!(cu!(cuEventCreate(event => *mut Handle, 0 => c_uint)), 0);
    }
    let [before, after] = data.0;
    let record = |event| cu!(cuEventRecord(event => Handle, 0 => Handle));
    let address: *mut ([Handle; 2], [c_int; 4]) = &mut data;
    // The function waits for the flag, so that the second event is recorded behind it.
    let mut flag = 0u64;
    assert_eq!(
        cu!(cuMemHostAlloc(&mut flag => *mut u64, 4 => usize, 0 => c_uint)),
        0
    );
    assert_eq!(record(before), 0);
    assert_eq!(
        cu!(cuStreamWaitValue32_v2(0 => Handle, flag => u64, 1 => c_uint, 1 => c_uint)),
        0
    );
    assert_eq!(
        cu!(cuLaunchHostFunc(0 => Handle, ask => Function, address => *mut ([Handle; 2], [c_int; 4]))),
        0
    );
    assert_eq!(record(after), 0);
    // SAFETY: the memory was just allocated, and the driver alone reads it meanwhile.
    unsafe { (flag as *mut u32).write_volatile(1) };
    assert_eq!(cu!(cuCtxSynchronize()), 0);
    // Done: success twice; behind the function: not ready, and not permitted.
    assert_eq!(data.1, [0, 0, 600, 800]);
}

/// The CUDA runtime asks for its state before each call, and takes an error there for its own.
#[test]
fn a_function_of_a_stream_has_the_context_of_the_stream() {
    unsafe extern "C" fn ask(context: *mut c_void) {
        let asked = cu!(cuCtxGetCurrent(context => *mut c_void));
        assert_eq!(asked, 0);
    }
    LazyLock::force(&REPORT);
    let own = context();
    let mut stream = 0;
    assert_eq!(
        cu!(cuStreamCreate(&mut stream => *mut Handle, 0 => c_uint)),
        0
    );
    context();
    let mut current: Handle = 0;
    assert_eq!(
        cu!(cuLaunchHostFunc(stream => Handle, ask => Function, &mut current => *mut Handle)),
        0
    );
    assert_eq!(cu!(cuStreamSynchronize(stream => Handle)), 0);
    assert_eq!(current, own);
}

/// Does something in a forked process; gives what it gave, and what went to standard error.
fn forked(body: impl FnOnce() -> u8) -> (c_int, String) {
    let (mut told, error) = std::io::pipe().unwrap();
    // SAFETY: the child calls `body`, which takes no lock that another thread may hold, and ends.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        use std::os::fd::AsRawFd;
        // SAFETY: both are files of this process. If it hangs, the alarm ends it.
        unsafe {
            libc::alarm(20);
            libc::dup2(error.as_raw_fd(), 2);
            libc::_exit(body().into())
        }
    }
    drop(error);
    let mut text = String::new();
    told.read_to_string(&mut text).unwrap();
    (common::wait_for(child), text)
}

/// Calls a function without looking it up, which a forked process should not.
macro_rules! call {
    ($address:expr, ($($arg:expr => $type:ty),*)) => {{
        // SAFETY: the function has these types, and the pointers are live.
        unsafe {
            let function: unsafe extern "C" fn($($type),*) -> c_int = std::mem::transmute($address);
            function($($arg),*)
        }
    }};
}

#[test]
fn a_process_forked_after_cuda_was_used_gets_an_error_from_every_call() {
    LazyLock::force(&REPORT);
    context();
    let add = function(module(KERNELS), "add");
    let data = allocate(128);
    common::write(data, &[0; 32]);
    // The threads that run kernels are there now, and would be missing in the child.
    assert_eq!(launch(add, 32, 0, &[arg(&data), arg(&1u32)]), 0);
    let [free, name, init, count, synchronize, run, texture] = [
        "cuMemFree_v2",
        "cuGetErrorName",
        "cuInit",
        "cuDeviceGetCount",
        "cuCtxSynchronize",
        "cuLaunchKernel",
        "cuTexObjectCreate",
    ]
    .map(address);
    let args = [arg(&data), arg(&1u32)];
    let mut number = 0 as c_int;
    let mut text = 0usize;
    let (wrong, told) = forked(|| {
        let answers = [
            call!(free, (data => u64)),
            call!(init, (0 => c_uint)),
            call!(count, (&mut number => *mut c_int)),
            call!(synchronize, ()),
            call!(run, (add => Handle, 1 => u32, 1 => u32, 1 => u32, 32 => u32, 1 => u32, 1 => u32, 0 => u32,
                0 => Handle, args.as_ptr() => *const *const c_void, 0 => usize)),
            call!(texture, ()),
        ];
        let is_named = call!(name, (3 => c_int, &mut text => *mut usize)) == 0;
        answers.iter().filter(|answer| **answer != 3).count() as u8 + u8::from(!is_named)
    });
    assert_eq!(wrong, 0, "{told}");
    // Libraries free what they have when a process ends: the first line is about the call behind.
    assert!(
        told.starts_with("emulated driver: cuInit was called in a process"),
        "{told}"
    );
    assert!(told.contains("`spawn`"), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    // The parent goes on.
    assert_eq!(launch(add, 32, 0, &[arg(&data), arg(&1u32)]), 0);
    assert_eq!(read(data, 1), [2]);
}

#[test]
fn a_child_that_only_ends_is_not_told_of() {
    LazyLock::force(&REPORT);
    context();
    let [unload, release] = ["cuLibraryUnload", "cuDevicePrimaryCtxRelease_v2"].map(address);
    let (right, told) = forked(|| {
        let answers = [call!(unload, (1 => Handle)), call!(release, (0 => c_int))];
        u8::from(answers == [3, 3])
    });
    assert_eq!((right, told.as_str()), (1, ""));
}
