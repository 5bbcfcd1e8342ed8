//! Does what its first argument says, as a submission would that wants out. Compiled and run by the
//! sandbox's tests.

use std::io::{Read, Write};
use std::process::Command;
use std::time::{Duration, Instant};

unsafe extern "C" {
    fn fork() -> i32;
    fn setsid() -> i32;
    fn ptrace(request: i64, pid: i32, address: usize, data: usize) -> i64;
    fn getppid() -> i32;
    fn geteuid() -> u32;
    fn getpid() -> i32;
    fn syscall(number: i64, ...) -> i64;
    fn chown(path: *const std::ffi::c_char, uid: u32, gid: u32) -> i32;
}

#[cfg(target_arch = "x86_64")]
const CALLS: [i64; 3] = [234, 302, 72];
#[cfg(target_arch = "aarch64")]
const CALLS: [i64; 3] = [131, 261, 25];

const TGKILL: i64 = CALLS[0];
const PRLIMIT64: i64 = CALLS[1];
const FCNTL: i64 = CALLS[2];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let place = arguments.get(2).map_or("", String::as_str);
    match arguments[1].as_str() {
        "echo" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).unwrap();
            print!("{text}");
            eprint!("told");
        }
        "exit" => std::process::exit(7),
        "abort" => std::process::abort(),
        "environment" => {
            for (name, value) in std::env::vars() {
                println!("{name}={value}");
            }
        }
        "read" => match std::fs::read(place) {
            Ok(bytes) => println!("read {} bytes", bytes.len()),
            Err(error) => println!("{error}"),
        },
        "create" => match std::fs::write(place, "text") {
            Ok(()) => println!("created"),
            Err(error) => println!("{error}"),
        },
        "overwrite" => {
            let file = std::fs::OpenOptions::new().write(true).open(place);
            match file.and_then(|mut file| file.write_all(b"text")) {
                Ok(()) => println!("overwritten"),
                Err(error) => println!("{error}"),
            }
        }
        "connect" => match std::net::TcpStream::connect(place) {
            Ok(_) => println!("connected"),
            Err(error) => println!("{error}"),
        },
        "run" => match Command::new(place).env("PATH", "/usr/bin").status() {
            Ok(status) => println!("{status}"),
            Err(error) => println!("{error}"),
        },
        "thread" => println!("{:?}", std::thread::Builder::new().spawn(|| ()).map(|_| ())),
        "trace" => println!("{}", unsafe { ptrace(16, getppid(), 0, 0) }),
        // Each would reach the parent without a protection. Signal 0 only asks, and no limit is
        // changed.
        "meddle" => {
            let (parent, own) = unsafe { (getppid(), getpid()) };
            let mut limits = [0u64; 2];
            let limits = limits.as_mut_ptr();
            let none = std::ptr::null::<u64>();
            let calls = unsafe {
                match place {
                    "tgkill" => [parent, own].map(|to| syscall(TGKILL, to, to, 0)),
                    "prlimit64" => [parent, own].map(|of| syscall(PRLIMIT64, of, 7, none, limits)),
                    "prlimit64 of the caller" => [parent, 0].map(|of| syscall(PRLIMIT64, of, 7, none, limits)),
                    // F_SETOWN, F_SETSIG to SIGKILL, F_SETOWN_EX; beside them F_GETFD.
                    "owner" => [8, 1].map(|command| syscall(FCNTL, 1, command, parent)),
                    "signal" => [10, 1].map(|command| syscall(FCNTL, 1, command, 9)),
                    "owner_ex" => [15, 1].map(|command| syscall(FCNTL, 1, command, &[1, parent])),
                    other => panic!("{other}"),
                }
            };
            println!("{calls:?}");
        }
        "chown" => {
            let path = std::ffi::CString::new(place).unwrap();
            println!("{} {}", unsafe { geteuid() }, unsafe {
                chown(path.as_ptr(), 12345, 12345)
            });
        }
        // Each child leaves the group and would go on for a minute.
        "forks" => {
            let mut forked = 0;
            for _ in 0..1000 {
                match unsafe { fork() } {
                    0 => {
                        unsafe { setsid() };
                        std::thread::sleep(Duration::from_secs(60));
                        return;
                    }
                    -1 => break,
                    _ => forked += 1,
                }
            }
            println!("forked {forked}");
        }
        "fill" => {
            let mut file = std::fs::OpenOptions::new()
                .write(true)
                .open(place)
                .unwrap();
            let block = vec![1; 1 << 20];
            for _ in 0..10 << 10 {
                if let Err(error) = file.write_all(&block) {
                    println!("{error}");
                    return;
                }
            }
            println!("filled");
        }
        "open" => {
            let mut files = Vec::new();
            for _ in 0..10_000 {
                match std::fs::File::open(place) {
                    Ok(file) => files.push(file),
                    Err(error) => {
                        println!("{error} after {}", files.len());
                        return;
                    }
                }
            }
        }
        "print" => loop {
            println!("{}", "y".repeat(1000));
        },
        "sleep" => std::thread::sleep(Duration::from_secs(600)),
        "spin" => {
            let start = Instant::now();
            while start.elapsed() < Duration::from_secs(600) {}
        }
        "allocate" => {
            let bytes = vec![1u8; 100 << 30];
            println!("allocated {}", bytes[1 << 30]);
        }
        other => panic!("{other}"),
    }
}
