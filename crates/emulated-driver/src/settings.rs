//! The settings, which are environment variables of the program.
//!
//! Tools change the environment of what they start: tox passes `LD_LIBRARY_PATH` and little else.
//! The settings of `harness emulate` must not get lost so, least of all the name of the record. It
//! leaves them beside this library too, each as a symbolic link with the variable's name that leads
//! to the value, and a link is followed before a variable. (To read a link takes no descriptor, of
//! which a program may have none left.)
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `EMULATED_DRIVER_DEVICES` | number of devices, 1 to 16 | 1 |
//! | `EMULATED_DRIVER_MULTIPROCESSORS` | of a device; programs size grids by it | 132 |
//! | `EMULATED_DRIVER_COMPUTE_CAPABILITY` | of the devices: 7.5, 8.6, 12.0; PTX for newer ones is refused | 9.0, which takes any |
//! | `EMULATED_DRIVER_ORDER` | 0: threads by index, streams at once; others: [`Schedule::Random`], `late.rs` | 0 |
//! | `EMULATED_DRIVER_CHECK` | beyond bounds: of `races,unset,barriers,streams`, or `none` | all |
//! | `EMULATED_DRIVER_HOST_ACCESSES` | 0: the program's own accesses to memory in use are not looked at | 1 |
//! | `EMULATED_DRIVER_VOLATILE_IS_PLAIN` | 1: volatile accesses race as plain ones do | 0 |
//! | `EMULATED_DRIVER_AFTER_FAULT` | `continue`: the launch is skipped; `stop`: as on a GPU | `stop` |
//! | `EMULATED_DRIVER_REPLAY` | a page that replays a launch; `_BLOCKS`, `_STEPS` | none |
//! | `EMULATED_DRIVER_KNOWN` | a file of known faults, beside the library's own | none |
//! | `EMULATED_DRIVER_EACH` | 1: a fault is recorded each time, and told once | 0 |
//! | `EMULATED_DRIVER_REPORT` | a file for records, each a line with a JSON object | none |
//! | `EMULATED_DRIVER_RECORD` | set by `harness emulate`, for the same records: see `record.rs` | none |
//! | `EMULATED_DRIVER_LEAKS` | 1: memory that is not freed at the end is told | 0 |
//! | `EMULATED_DRIVER_COUNTS` | 1: the report has a record of each launch | 0 |
//! | `EMULATED_DRIVER_TRACE` | 1: each call of a function is told on standard error | 0 |
//! | `CUDA_VISIBLE_DEVICES` | which of the devices, in which order: see `visible.rs` | all |
//!
//! `CUDA_DEVICE_ORDER` changes nothing: the devices are alike, and counted by their bus numbers.

use std::ffi::{CStr, OsStr, OsString, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ptx_emu::{DeviceLimits, KnownFaults, Options, Sanitize, Schedule, Undo, parse_capability};

use replay::Wish;

use crate::stderr::tell;
use crate::visible::visible;

/// The most devices.
const MAX_DEVICES: u32 = 16;

/// Where records go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A file of this path.
    Report { path: PathBuf },
    /// The file that `harness emulate` has made.
    Record { path: PathBuf, inode: u64 },
}

impl Target {
    pub(crate) fn path(&self) -> &Path {
        let (Target::Report { path } | Target::Record { path, .. }) = self;
        path
    }
}

/// The settings.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The numbers of the devices that the program sees, in its order.
    pub(crate) devices: Vec<u32>,
    pub(crate) multiprocessors: u32,
    /// The compute capability that was asked for, major and minor.
    pub(crate) capability: Option<(u32, u32)>,
    /// Of the emulator.
    pub(crate) options: Options,
    /// The seed of the order in which late streams go on. Without one, work is done at once.
    pub(crate) late: Option<u64>,
    /// Whether the program goes on after any fault.
    pub(crate) goes_on: bool,
    /// The page that replays a launch, if one is asked for.
    pub(crate) replay: Option<(PathBuf, Wish)>,
    pub(crate) target: Option<Target>,
    pub(crate) known: KnownFaults,
    /// Whether a fault is recorded each time.
    pub(crate) each: bool,
    /// Whether commands are compared that may run at the same time.
    pub(crate) streams: bool,
    /// Whether the program's own accesses are compared with commands.
    pub(crate) host_accesses: bool,
    /// Whether memory is told that is not freed at the end.
    pub(crate) leaks: bool,
    pub(crate) counts: bool,
    pub(crate) trace: bool,
}

/// Faults in headers of others, which no user can mend, and why they are harmless.
const KNOWN: &str = include_str!("known.txt");

impl Settings {
    /// The settings of this process. A value that makes no sense is told once, and left out.
    pub(crate) fn get() -> &'static Settings {
        static SETTINGS: OnceLock<Settings> = OnceLock::new();
        SETTINGS.get_or_init(|| {
            let folder = folder();
            let link = |name: &str| std::fs::read_link(folder.as_ref()?.join(name)).ok();
            let (settings, problems) = Settings::read(|name| {
                let value = link(name).map(PathBuf::into_os_string);
                value.or_else(|| std::env::var_os(name))
            });
            for problem in problems {
                tell(format_args!("{problem}"));
            }
            settings
        })
    }

    /// The compute capability of the devices, major and minor.
    pub(crate) fn capability(&self) -> (u32, u32) {
        self.capability.unwrap_or((9, 0))
    }

    /// The limits of a device.
    pub(crate) fn limits(&self) -> DeviceLimits {
        DeviceLimits {
            multiprocessors: self.multiprocessors,
            ..DeviceLimits::of(self.capability())
        }
    }

    pub(crate) fn read(of_any_bytes: impl Fn(&str) -> Option<OsString>) -> (Settings, Vec<String>) {
        let variable =
            |name: &str| of_any_bytes(name).map(|value| value.to_string_lossy().into_owned());
        let mut problems = Vec::new();
        let mut number = |name: &str, default: u32, most: u32| {
            let Some(text) = variable(name).filter(|text| !text.is_empty()) else {
                return default;
            };
            match text.parse() {
                Ok(number) if number <= most => number,
                _ => {
                    problems.push(format!("{name} is {text}: write a number from 0 to {most}"));
                    default
                }
            }
        };
        let devices = number("EMULATED_DRIVER_DEVICES", 1, MAX_DEVICES);
        let most = DeviceLimits::default().multiprocessors;
        let multiprocessors = number("EMULATED_DRIVER_MULTIPROCESSORS", most, most).max(1);
        let order = number("EMULATED_DRIVER_ORDER", 0, 1000);
        let counts = number("EMULATED_DRIVER_COUNTS", 0, 1) == 1;
        let leaks = number("EMULATED_DRIVER_LEAKS", 0, 1) == 1;
        let host_accesses = number("EMULATED_DRIVER_HOST_ACCESSES", 1, 1) == 1;
        let trace = number("EMULATED_DRIVER_TRACE", 0, 1) == 1;
        let each = number("EMULATED_DRIVER_EACH", 0, 1) == 1;
        let volatile_is_plain = number("EMULATED_DRIVER_VOLATILE_IS_PLAIN", 0, 1) == 1;
        let devices = match variable("CUDA_VISIBLE_DEVICES") {
            None => (0..devices).collect(),
            Some(list) => {
                let (numbers, problem) = visible(&list, devices);
                problems.extend(
                    problem.map(|problem| format!("CUDA_VISIBLE_DEVICES is {list}: {problem}")),
                );
                numbers
            }
        };
        let (sanitize, streams) = match variable("EMULATED_DRIVER_CHECK") {
            None => (Sanitize::ALL, true),
            Some(list) => checks(&list).unwrap_or_else(|problem| {
                problems.push(problem);
                (Sanitize::ALL, true)
            }),
        };
        let schedule = match order {
            0 => Schedule::InOrder,
            // The kind of order is in the last three bits, which are those of the number below 8.
            seed => Schedule::Random { seed: seed.into() },
        };
        const CAPABILITY: &str = "EMULATED_DRIVER_COMPUTE_CAPABILITY";
        let asked_for = variable(CAPABILITY).filter(|text| !text.is_empty());
        let capability = asked_for.and_then(|text| {
            let parsed = parse_capability(&text);
            parsed
                .map_err(|problem| problems.push(format!("{CAPABILITY}: {problem}")))
                .ok()
        });
        let replay = of_any_bytes("EMULATED_DRIVER_REPLAY").filter(|path| !path.is_empty());
        let replay = replay.map(|path| {
            let steps = variable("EMULATED_DRIVER_REPLAY_STEPS");
            let steps = steps.and_then(|steps| steps.parse().ok());
            let blocks = variable("EMULATED_DRIVER_REPLAY_BLOCKS").unwrap_or_default();
            let wish = Wish {
                blocks: blocks
                    .split(',')
                    .filter_map(|block| block.parse().ok())
                    .collect(),
                steps: steps.unwrap_or(Wish::STEPS),
            };
            (PathBuf::from(path), wish)
        });
        let goes_on = match variable("EMULATED_DRIVER_AFTER_FAULT").as_deref() {
            Some("continue") => true,
            None | Some("" | "stop") => false,
            Some(other) => {
                problems.push(format!(
                    "EMULATED_DRIVER_AFTER_FAULT is {other}: write stop or continue"
                ));
                false
            }
        };
        let mut known = KnownFaults::parse(KNOWN).expect("a test reads it");
        if let Some(path) = of_any_bytes("EMULATED_DRIVER_KNOWN").filter(|path| !path.is_empty()) {
            let path = PathBuf::from(path);
            let read = std::fs::read_to_string(&path).map_err(|error| error.to_string());
            match read.and_then(|text| KnownFaults::parse(&text)) {
                Ok(more) => known.add(more),
                Err(problem) => problems.push(format!(
                    "EMULATED_DRIVER_KNOWN: {}: {problem}",
                    path.display()
                )),
            }
        }
        let record = of_any_bytes("EMULATED_DRIVER_RECORD").and_then(|value| {
            let record = record(&value);
            if record.is_none() {
                problems.push(format!(
                    "EMULATED_DRIVER_RECORD is {}: leave it to `harness emulate`",
                    value.display()
                ));
            }
            record
        });
        let report = || of_any_bytes("EMULATED_DRIVER_REPORT").map(PathBuf::from);
        let target = record.or_else(|| report().map(|path| Target::Report { path }));
        let settings = Settings {
            devices,
            multiprocessors,
            capability,
            options: Options {
                sanitize,
                volatile_is_plain,
                schedule,
                // A launch that is replayed begins again with the memory that it found.
                undo: if goes_on || replay.is_some() {
                    Undo::Always
                } else {
                    Undo::Unnoticed
                },
                ..Options::default()
            },
            late: (order > 0).then(|| order.into()),
            goes_on,
            replay,
            target,
            known,
            each,
            streams,
            host_accesses: host_accesses && streams,
            leaks,
            counts,
            trace,
        };
        (settings, problems)
    }
}

/// The folder of this library's file, if that is still there.
fn folder() -> Option<PathBuf> {
    let own = folder as fn() -> Option<PathBuf> as *const c_void;
    // A program may have found the library by a link of its own.
    let file = file_at(own)?.canonicalize();
    file.ok()?.parent().map(Path::to_owned)
}

/// The file of the program or the library at an address, as it was opened.
pub(crate) fn file_at(address: *const c_void) -> Option<PathBuf> {
    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: it only looks the address up, and fills `info` where it does not return 0.
    let found = unsafe { libc::dladdr(address, info.as_mut_ptr()) } != 0;
    // SAFETY: it is filled, with a name that stays as long as the library is loaded.
    let name = found.then(|| unsafe { CStr::from_ptr(info.assume_init().dli_fname) })?;
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

/// The inode and the path of `EMULATED_DRIVER_RECORD`.
fn record(value: &OsStr) -> Option<Target> {
    let bytes = value.as_bytes();
    let colon = bytes.iter().position(|byte| *byte == b':')?;
    Some(Target::Record {
        inode: std::str::from_utf8(&bytes[..colon]).ok()?.parse().ok()?,
        path: OsString::from_vec(bytes[colon + 1..].to_vec()).into(),
    })
}

/// The checks of a list: within kernels, and whether there is that between commands.
fn checks(list: &str) -> Result<(Sanitize, bool), String> {
    let mut checks = Sanitize::NONE;
    let mut streams = false;
    for name in list
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
    {
        match name {
            "races" => checks.races = true,
            "unset" => checks.uninitialized = true,
            "barriers" => checks.barriers = true,
            "bounds" | "none" => {}
            "streams" => streams = true,
            "all" => (checks, streams) = (Sanitize::ALL, true),
            _ => {
                return Err(format!(
                    "EMULATED_DRIVER_CHECK names {name}: there are races, unset, barriers, streams, bounds (always made), all, none"
                ));
            }
        }
    }
    Ok((checks, streams))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(set: &[(&str, &str)]) -> (Settings, Vec<String>) {
        Settings::read(|name| {
            let found = set.iter().find(|(set, _)| *set == name);
            found.map(|(_, value)| (*value).into())
        })
    }

    #[test]
    fn defaults_check_everything_on_one_device() {
        let (settings, problems) = read(&[]);
        assert_eq!((settings.devices, settings.multiprocessors), (vec![0], 132));
        assert_eq!(settings.options.sanitize, Sanitize::ALL);
        assert_eq!(settings.options.schedule, Schedule::InOrder);
        assert_eq!(settings.late, None);
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(settings.options.undo, Undo::Unnoticed);
        assert!(!settings.known.is_empty());
    }

    #[test]
    fn values_are_taken() {
        let (settings, problems) = read(&[
            ("EMULATED_DRIVER_DEVICES", "3"),
            ("EMULATED_DRIVER_MULTIPROCESSORS", "2"),
            ("EMULATED_DRIVER_ORDER", "5"),
            ("EMULATED_DRIVER_CHECK", "races,bounds"),
            ("EMULATED_DRIVER_COMPUTE_CAPABILITY", "8.6"),
            ("EMULATED_DRIVER_AFTER_FAULT", "continue"),
        ]);
        assert_eq!(settings.options.undo, Undo::Always);
        assert_eq!(settings.capability(), (8, 6));
        assert_eq!(settings.limits().shared_bytes, 99 << 10);
        assert_eq!(settings.devices, [0, 1, 2]);
        assert_eq!(settings.multiprocessors, 2);
        assert_eq!(settings.options.schedule, Schedule::Random { seed: 5 });
        assert_eq!(settings.late, Some(5));
        let races = Sanitize {
            races: true,
            ..Sanitize::NONE
        };
        assert_eq!(settings.options.sanitize, races);
        assert!(!settings.streams);
        assert_eq!(problems, Vec::<String>::new());
        let target = |set| read(&[set]).0.target;
        let path = PathBuf::from("/proc/7/fd/3");
        assert_eq!(
            target(("EMULATED_DRIVER_RECORD", "12:/proc/7/fd/3")),
            Some(Target::Record { path, inode: 12 })
        );
        let report = PathBuf::from("a:b");
        assert_eq!(
            target(("EMULATED_DRIVER_REPORT", "a:b")),
            Some(Target::Report { path: report })
        );
        assert_eq!(read(&[("CUDA_VISIBLE_DEVICES", "")]).0.devices, [0; 0]);
    }

    #[test]
    fn nonsense_is_told_and_left_out() {
        let (settings, problems) = read(&[
            ("EMULATED_DRIVER_DEVICES", "many"),
            ("EMULATED_DRIVER_CHECK", "everything"),
            ("CUDA_VISIBLE_DEVICES", "0,2"),
            ("EMULATED_DRIVER_AFTER_FAULT", "go"),
            ("EMULATED_DRIVER_KNOWN", "/no/such/file"),
        ]);
        assert_eq!(settings.devices, [0]);
        assert_eq!(settings.options.sanitize, Sanitize::ALL);
        assert_eq!(
            problems,
            [
                "EMULATED_DRIVER_DEVICES is many: write a number from 0 to 16",
                "CUDA_VISIBLE_DEVICES is 0,2: it ends before 2, which is not a device: there is device 0 alone",
                "EMULATED_DRIVER_CHECK names everything: there are races, unset, barriers, streams, bounds (always made), all, none",
                "EMULATED_DRIVER_AFTER_FAULT is go: write stop or continue",
                "EMULATED_DRIVER_KNOWN: /no/such/file: No such file or directory (os error 2)",
            ]
        );
    }
}
