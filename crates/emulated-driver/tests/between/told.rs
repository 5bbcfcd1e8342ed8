//! A program of a test: its calls, and what was told of it.

use std::collections::HashMap;
use std::ffi::{c_int, c_uint, c_void};
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::KERNELS;
use crate::common::{Handle, arg, context, function, launch, module};
use crate::cu;

static REPORT: LazyLock<Mutex<PathBuf>> = LazyLock::new(|| {
    let path = tempfile::tempdir().unwrap().keep().join("report");
    // SAFETY: each test comes here before it calls the driver, which alone reads the variable.
    unsafe { std::env::set_var("EMULATED_DRIVER_REPORT", &path) };
    Mutex::new(path)
});

/// Runs a program in a context of its own; gives the messages.
pub fn told(program: impl FnOnce(&Program)) -> String {
    // One after the other, so that a message is of this program.
    let path = REPORT.lock().unwrap_or_else(PoisonError::into_inner);
    let read = || std::fs::read_to_string(&*path).unwrap_or_default();
    let before = read().len();
    let own = Program {
        context: context(),
        kernels: module(KERNELS),
    };
    program(&own);
    assert_eq!(cu!(cuCtxSynchronize()), 0);
    let lines = read().split_off(before);
    let records = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let texts = records.filter_map(
        |record: serde_json::Value| match record["record"].as_str() {
            Some("fault") => Some(record["text"].as_str().unwrap().to_owned()),
            Some("started") => None,
            _ => Some(record.to_string()),
        },
    );
    texts
        .map(|text| plain(&text))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The message without what differs from run to run: numbers by letters, addresses and places left
/// out.
fn plain(text: &str) -> String {
    let mut letters: HashMap<String, HashMap<String, char>> = HashMap::new();
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let number: String = word.chars().take_while(char::is_ascii_digit).collect();
        let before = words.last().map_or("", String::as_str).to_owned();
        let is_counted = ["stream", "allocation", "thread"].contains(&before.trim_end());
        // That of a conditional node is in base 16, and alone in its message.
        if before == "handle" && word.starts_with("0x") {
            let digits = word.trim_start_matches("0x");
            let rest = digits.trim_start_matches(|digit: char| digit.is_ascii_hexdigit());
            words.push(format!("H{rest}"));
            continue;
        }
        if is_counted && !number.is_empty() {
            let known = letters.entry(before).or_default();
            let next = (b'A' + known.len() as u8) as char;
            let letter = *known.entry(number.clone()).or_insert(next);
            words.push(format!("{letter}{}", &word[number.len()..]));
        } else {
            words.push(word.to_owned());
        }
    }
    let lines = words.join(" ");
    let lines = lines.lines().map(|line| {
        let line = line.split(", called at ").next().unwrap();
        line.split(" at 0x").next().unwrap().to_owned()
    });
    // Whether there are places depends on the lines that the tests are compiled with.
    let places = ["a node of the graph, added at", "the node was added at"];
    let kept = lines.filter(|line| !places.iter().any(|place| line.contains(place)));
    kept.collect::<Vec<_>>().join("\n")
}

/// A program with a context and kernels of its own.
pub struct Program {
    pub context: Handle,
    pub kernels: Handle,
}

pub const NON_BLOCKING: c_uint = 1;

impl Program {
    /// A blocking stream.
    pub fn stream(&self) -> Handle {
        self.stream_with(0)
    }

    pub fn stream_with(&self, flags: c_uint) -> Handle {
        let mut stream = 0;
        let made = cu!(cuStreamCreate(&mut stream => *mut Handle, flags => c_uint));
        assert_eq!(made, 0);
        stream
    }

    pub fn event(&self) -> Handle {
        let mut event = 0;
        assert_eq!(
            cu!(cuEventCreate(&mut event => *mut Handle, 2 => c_uint)),
            0
        );
        event
    }

    pub fn record(&self, event: Handle, stream: Handle) {
        assert_eq!(cu!(cuEventRecord(event => Handle, stream => Handle)), 0);
    }

    pub fn wait(&self, stream: Handle, event: Handle) {
        let waited = cu!(cuStreamWaitEvent(stream => Handle, event => Handle, 0 => c_uint));
        assert_eq!(waited, 0);
    }

    /// Lets one stream wait for what another has now.
    pub fn join(&self, stream: Handle, other: Handle) {
        let event = self.event();
        self.record(event, other);
        self.wait(stream, event);
    }

    pub fn synchronize(&self, stream: Handle) {
        assert_eq!(cu!(cuStreamSynchronize(stream => Handle)), 0);
    }

    /// Launches a kernel on 32 threads with pointers.
    pub fn launch(&self, kernel: &str, stream: Handle, pointers: &[u64]) {
        let function = function(self.kernels, kernel);
        let args: Vec<*const c_void> = pointers.iter().map(arg).collect();
        assert_eq!(launch(function, 32, stream, &args), 0);
    }

    /// 256 bytes of device memory, which hold 0.
    pub fn memory(&self) -> u64 {
        let address = crate::common::allocate(256);
        let filled = cu!(cuMemsetD8_v2(address => u64, 0 => u8, 256 => usize));
        assert_eq!(filled, 0);
        assert_eq!(cu!(cuCtxSynchronize()), 0);
        address
    }

    /// 256 bytes of page-locked memory.
    pub fn pinned(&self) -> u64 {
        let mut address = 0u64;
        let made = cu!(cuMemAllocHost_v2(&mut address => *mut u64, 256 => usize));
        assert_eq!(made, 0);
        address
    }

    /// Copies 128 bytes in a stream.
    pub fn copy(&self, to: u64, from: u64, stream: Handle) {
        let copied = cu!(cuMemcpyAsync(to => u64, from => u64, 128 => usize, stream => Handle));
        assert_eq!(copied, 0);
    }

    /// Copies 128 bytes by a call without a stream.
    pub fn copy_now(&self, to: u64, from: u64) {
        assert_eq!(cu!(cuMemcpy(to => u64, from => u64, 128 => usize)), 0);
    }

    /// Takes 128 bytes to the host by a call without a stream.
    pub fn take(&self, from: u64) -> [u32; 32] {
        let mut values = [0; 32];
        let taken =
            cu!(cuMemcpyDtoH_v2(values.as_mut_ptr() => *mut u32, from => u64, 128 => usize));
        assert_eq!(taken, 0);
        values
    }
}

/// Two programs: what is told of the wrong one, and nothing of the right one.
macro_rules! planted {
    ($(#[$what:meta])* $name:ident, wrong: $wrong:expr, right: $right:expr, told: @$told:literal $(,)?) => {
        $(#[$what])*
        #[test]
        fn $name() {
            assert_eq!($crate::told::told($right), "");
            // What the host accesses too early is not there yet, and nothing is told.
            if $crate::orders::is_inside() && module_path!().ends_with("::accesses") {
                return;
            }
            insta::assert_snapshot!($crate::told::told($wrong), @$told);
        }
    };
}

/// Calls a function with a stream, as `cuLaunchHostFunc` does.
pub fn call(stream: Handle, function: unsafe extern "C" fn(*mut c_void), data: usize) -> c_int {
    cu!(cuLaunchHostFunc(stream => Handle, function => unsafe extern "C" fn(*mut c_void), data => usize))
}
