//! Against a library that only behaves like NCCL (`fake.c`). `tests/nccl.rs` of this crate has the
//! real one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use super::library::{candidates, open_first, version};
use super::*;

const SHORT: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(20);
const ID: UniqueId = [42; 128];

/// A library of its own for each test, since its counters are global.
struct Fake {
    nccl: Nccl,
    library: libloading::Library,
}

impl Fake {
    fn build(name: &str, version: u32) -> PathBuf {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/gpus/nccl/tests/fake.c");
        let file = std::env::temp_dir().join(format!("fake-nccl-{}-{name}.so", std::process::id()));
        let output = Command::new("cc")
            .args(["-shared", "-fPIC", &format!("-DVERSION={version}"), "-o"])
            .args([&file, &source])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        file
    }

    fn new(name: &str) -> Fake {
        let file = Fake::build(name, 21_405);
        let nccl = open_first(std::slice::from_ref(&file)).unwrap();
        // SAFETY: it has no initialisers.
        let library = unsafe { libloading::Library::new(&file) }.unwrap();
        std::fs::remove_file(&file).unwrap();
        Fake { nccl, library }
    }

    fn count(&self, name: &str) -> i32 {
        // SAFETY: these are its integers, and the threads that change them have been joined.
        unsafe { **self.library.get::<*mut i32>(name.as_bytes()).unwrap() }
    }

    fn init(&self, rank: usize, longest: Duration) -> Result<Comm, NcclError> {
        Comm::init(&self.nccl, 4, rank, &ID, longest)
    }

    fn exchange(&self, comm: &Comm) -> Result<(), NcclError> {
        self.nccl.group(SHORT, |group| {
            // SAFETY: the library does not use the memory.
            unsafe {
                group.send(comm, 0x1000, 24, 1, null_mut())?;
                group.receive(comm, 0x2000, 24, 1, null_mut())
            }
        })
    }
}

#[test]
fn a_group_is_done_when_nothing_is_in_progress() {
    let fake = Fake::new("group");
    assert_eq!(fake.nccl.version(), "2.14.5");
    assert_eq!(fake.nccl.unique_id(), Ok(ID));
    let comm = fake.init(0, LONG).unwrap();
    fake.exchange(&comm).unwrap();
    fake.exchange(&comm).unwrap();
    comm.check().unwrap();
    drop(comm);
    let counts = ["fake_sends", "fake_destroys", "fake_aborts", "fake_depth"];
    assert_eq!(counts.map(|name| fake.count(name)), [4, 1, 0, 0]);
}

#[test]
fn a_rank_that_never_comes_hangs_nobody() {
    let fake = Fake::new("late");
    let began = Instant::now();
    let error = fake.init(1, SHORT).unwrap_err();
    assert!(began.elapsed() < LONG);
    insta::assert_snapshot!(error, @"NCCL: ncclCommInitRankConfig did not end within 0.1 s: another rank does not take part");
    assert_eq!(fake.count("fake_aborts"), 1);
}

#[test]
fn errors_say_what_nccl_says() {
    let fake = Fake::new("errors");
    insta::assert_snapshot!(fake.init(3, LONG).unwrap_err(), @"NCCL: ncclCommInitRankConfig: unhandled system error (Call to connect failed); NCCL_DEBUG=WARN shows more");
    let comm = fake.init(2, LONG).unwrap();
    comm.check().unwrap();
    insta::assert_snapshot!(fake.exchange(&comm).unwrap_err(), @"NCCL: ncclCommGetAsyncError: unhandled system error (Call to connect failed); NCCL_DEBUG=WARN shows more");
    assert!(comm.check().is_err());
    // A failed communicator is aborted, not destroyed.
    drop(comm);
    assert_eq!(fake.count("fake_depth"), 0);
    assert_eq!(
        ["fake_destroys", "fake_aborts"].map(|name| fake.count(name)),
        [0, 1]
    );
}

#[test]
fn several_gpus_of_a_thread_become_members_together_or_not_at_all() {
    let fake = Fake::new("several");
    let mut entered = Vec::new();
    let mut make = |ranks: [usize; 2]| {
        let [first, second] = ranks;
        let log = std::cell::RefCell::new(Vec::new());
        let mut enter = [first, second].map(|rank| {
            let shared = &log;
            move || shared.borrow_mut().push(rank)
        });
        let [one, other] = &mut enter;
        let mut members = [
            Member {
                rank: first,
                enter: one,
            },
            Member {
                rank: second,
                enter: other,
            },
        ];
        let made = Comm::init_several(&fake.nccl, 4, &ID, &mut members, SHORT);
        entered.extend(log.take());
        made
    };
    let comms = make([2, 0]).unwrap();
    let why = "rank 7 is lost";
    abort(&comms.iter().collect::<Vec<_>>(), why);
    for comm in &comms {
        let aborted = Err(NcclError::Aborted {
            why: why.to_owned(),
        });
        assert_eq!(comm.check(), aborted);
        assert_eq!(fake.exchange(comm), aborted);
    }
    drop(comms);
    assert_eq!(fake.count("fake_aborts"), 2);
    assert!(make([0, 1]).is_err());
    assert_eq!(fake.count("fake_aborts"), 4);
    assert_eq!(entered, [2, 0, 0, 1]);
    assert_eq!(fake.count("fake_depth"), 0);
}

#[test]
fn another_thread_aborts_what_waits() {
    let fake = Fake::new("abort");
    // Made, then it waits for ever for its first exchange: as rank 1 does, once it is made.
    let comm = fake.init(0, LONG).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            loop {
                if let Err(error) = comm.check() {
                    return error;
                }
            }
        });
        std::thread::sleep(SHORT);
        comm.abort("rank 3 failed: out of memory");
        comm.abort("a second time");
        let error = waiting.join().unwrap();
        insta::assert_snapshot!(error, @"NCCL: the communicator was aborted: rank 3 failed: out of memory");
    });
    drop(comm);
    assert_eq!(fake.count("fake_aborts"), 1);
}

#[test]
fn absence_names_the_remedy() {
    let none = open_first(&["libno-such-nccl.so.2", "libno-such-nccl.so"].map(PathBuf::from));
    insta::assert_snapshot!(none.unwrap_err(), @"no NCCL: libnccl.so.2 not found; install the package libnccl2, or set HARNESS_NCCL to the file libnccl.so.2 (the pip package nvidia-nccl-cu13 has one)");
    let named = open_first(&[PathBuf::from("/no/such/libnccl.so.2")]).unwrap_err();
    assert!(
        named
            .to_string()
            .starts_with("no NCCL: /no/such/libnccl.so.2 not found; "),
        "{named}"
    );
    let other = PathBuf::from("libm.so.6");
    let error = open_first(&[other]).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("no NCCL: libm.so.6 has no ncclGetVersion; "),
        "{error}"
    );
}

#[test]
fn an_old_version_says_so() {
    let file = Fake::build("old", 21_304);
    let error = open_first(std::slice::from_ref(&file)).unwrap_err();
    std::fs::remove_file(&file).unwrap();
    let text = error
        .to_string()
        .replace(&file.display().to_string(), "FILE");
    insta::assert_snapshot!(text, @"NCCL 2.13.4 (FILE) is too old: 2.14 or newer is needed; install a newer package libnccl2, or set HARNESS_NCCL to a newer file");
    assert_eq!([23_203, 2804].map(version), ["2.32.3", "2.8.4"]);
}

#[test]
fn settings_say_where_it_is() {
    let found = |setting: Option<&str>, variables: &[(&str, &str)]| {
        let variable = |name: &str| {
            let of_name = variables.iter().find(|(other, _)| *other == name);
            of_name.map(|(_, value)| PathBuf::from(value))
        };
        candidates(setting.map(Path::new), variable)
    };
    let files = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
    let set = [("HARNESS_NCCL", "/b.so"), ("NCCL_HOME", "/opt/nccl")];
    assert_eq!(found(Some("/a.so"), &set), files(&["/a.so"]));
    assert_eq!(found(None, &set), files(&["/b.so"]));
    assert_eq!(
        found(None, &[("HARNESS_NCCL", ""), set[1]]),
        files(&[
            "/opt/nccl/lib/libnccl.so.2",
            "/opt/nccl/lib64/libnccl.so.2",
            "libnccl.so.2",
            "libnccl.so"
        ])
    );
}
