//! `harness doctor`.

use clap::Args;
use cuda_builder::toolchain::{self, Toolchain};
use host::device::Sanitize;
use host::{DeviceInfo, DeviceKind, Lab, labs};
use serde::Serialize;

use crate::cpu;
use crate::devices::Machine;
use crate::failure::{Ending, Failure};
use crate::json::JsonArg;
use crate::out::Out;
use crate::table::{Align, Columns, Tone};
use crate::terminal::Look;
use crate::units::{bytes, count};

/// What `harness doctor` is told.
#[derive(Debug, Clone, Default, Args)]
#[command(
    after_help = "Exits with 0 if everything is there that the CPU needs; a GPU is optional."
)]
pub struct DoctorArgs {
    #[command(flatten)]
    json: JsonArg,
}

/// What is looked at.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Item {
    name: &'static str,
    status: Status,
    /// What there is, or why there is nothing.
    found: String,
    /// How to get what is missing.
    remedy: Option<String>,
    /// Whether testing on the CPU needs it.
    required: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    Missing,
}

#[derive(Debug, Serialize)]
struct Report {
    /// Whether everything required is there.
    ready: bool,
    items: Vec<Item>,
    /// Every device, with all that is known about it.
    devices: Vec<DeviceInfo>,
    /// What to do on a machine that is ready.
    #[serde(skip)]
    next: &'static str,
}

/// Looks at the machine.
///
/// # Errors
///
/// [`Failure::Input`] if `--json` names a file that cannot be written.
pub fn run(args: &DoctorArgs, out: &mut Out<'_>) -> Result<Ending, Failure> {
    let json = args.json.open()?;
    let machine = Machine::discover(&[], Sanitize::NONE);
    let mut items = vec![cpu(), kernels(labs()), compiler(toolchain::find())];
    items.extend(devices(&machine));
    items.push(terminal(out.look()));
    let report = Report {
        ready: items
            .iter()
            .all(|item| !item.required || item.status == Status::Ok),
        items,
        devices: infos(&machine),
        next: next(labs()),
    };
    if json.wants_text() {
        out.line(render(&report, out.look()))?;
    }
    let ending = if report.ready {
        Ending::Fine
    } else {
        Ending::Lacking
    };
    json.write("doctor", report, out)?;
    Ok(ending)
}

fn next(labs: &[&dyn Lab]) -> &'static str {
    if labs.iter().all(|lab| lab.variants().is_empty()) {
        "Ready: `harness grade labs/matadd/starter`; labs/README.md has the rest."
    } else {
        "Ready: `harness test`, then `harness perf`."
    }
}

impl Item {
    fn ok(name: &'static str, found: impl Into<String>) -> Item {
        Item {
            name,
            status: Status::Ok,
            found: found.into(),
            remedy: None,
            required: false,
        }
    }

    fn missing(name: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Item {
        Item {
            status: Status::Missing,
            remedy: Some(remedy.into()),
            ..Item::ok(name, found)
        }
    }

    fn required(self) -> Item {
        Item {
            required: true,
            ..self
        }
    }
}

fn cpu() -> Item {
    Item::ok("CPU", cpu::description()).required()
}

/// The kernels that are part of this program.
fn kernels(labs: &[&dyn Lab]) -> Item {
    let mut names = Vec::new();
    for lab in labs {
        match lab.module().kernels() {
            Ok(kernels) => names.extend(kernels.iter().map(|kernel| kernel.name.clone())),
            Err(error) => {
                let remedy = "build the program again: cargo build --release -p harness";
                return Item::missing("kernels", error.to_string(), remedy).required();
            }
        }
    }
    names.sort();
    names.dedup();
    let names = format!("{} as PTX: {}", names.len(), names.join(", "));
    Item::ok("kernels", names).required()
}

/// What compiles kernels. This program holds its kernels; only who changes them needs it.
fn compiler(found: Result<Toolchain, cuda_builder::Error>) -> Item {
    match found {
        Ok(found) => {
            let Toolchain {
                name,
                rustc_version,
                llvm_major,
                ..
            } = found;
            Item::ok(
                "compiler for kernels",
                // Without commit and date.
                format!(
                    "{}, LLVM {llvm_major} ({name})",
                    rustc_version.split(" (").next().unwrap_or_default()
                ),
            )
        }
        Err(error) => {
            // The rest of the message lists every place looked at, and the remedy.
            let text = error.to_string();
            let reason = text
                .split([':', '.', '\n'])
                .next()
                .unwrap_or_default()
                .to_owned();
            let remedy = "run ./setup in the project's folder (needed to change kernels only)";
            Item::missing("compiler for kernels", reason, remedy)
        }
    }
}

fn devices(machine: &Machine) -> Vec<Item> {
    let mut items = Vec::new();
    for (kind, discovery) in machine.found() {
        let name = match kind {
            DeviceKind::Cuda => "GPU",
            DeviceKind::Emulated => "emulated device",
        };
        match discovery {
            Ok(devices) => {
                if let Some((major, minor)) =
                    devices.first().and_then(|device| device.info().driver_cuda)
                {
                    let text = format!("supports CUDA {major}.{minor} and older");
                    items.push(Item::ok("CUDA driver", text));
                }
                items.extend(
                    devices
                        .iter()
                        .map(|device| Item::ok(name, describe(device.info()))),
                );
            }
            Err(error) => {
                let remedy =
                    "to use a GPU, install NVIDIA's driver; tests and pictures work without";
                items.push(Item::missing(name, error.to_string(), remedy));
            }
        }
    }
    items
}

/// One line about a device.
pub fn describe(info: &DeviceInfo) -> String {
    let mut parts = vec![info.name.clone()];
    if let Some((major, minor)) = info.compute_capability {
        parts.push(format!("compute capability {major}.{minor}"));
    }
    if let Some(multiprocessors) = info.multiprocessors {
        parts.push(count(multiprocessors as usize, "multiprocessor"));
    }
    if let Some(memory) = info.memory_bytes {
        parts.push(format!("{} memory", bytes(memory)));
    }
    parts.join(", ")
}

fn infos(machine: &Machine) -> Vec<DeviceInfo> {
    machine
        .found()
        .iter()
        .filter_map(|(_, discovery)| discovery.as_ref().ok())
        .flatten()
        .map(|device| device.info().clone())
        .collect()
}

fn terminal(look: Look) -> Item {
    let text = match (look.colour, look.unicode) {
        (true, true) => "colours, Unicode",
        (true, false) => "colours, ASCII",
        (false, true) => "no colours, Unicode",
        (false, false) => "no colours, ASCII",
    };
    Item::ok("output", text)
}

fn render(report: &Report, look: Look) -> String {
    let mut table = Columns::new(look, [Align::Left; 3]);
    for item in &report.items {
        let (status, tone) = match item.status {
            Status::Ok => ("ok", Tone::Good),
            Status::Missing if item.required => ("missing", Tone::Bad),
            Status::Missing => ("missing", Tone::Caution),
        };
        table.row([
            (status, tone),
            (item.name, Tone::Normal),
            (item.found.as_str(), Tone::Normal),
        ]);
        if let Some(remedy) = &item.remedy {
            table.row([
                ("", Tone::Normal),
                ("", Tone::Normal),
                (remedy.as_str(), Tone::Faint),
            ]);
        }
    }
    let verdict = if report.ready {
        report.next
    } else {
        "Not ready: put right what is missing above."
    };
    format!("{}\n\n{verdict}", table.render(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn report(items: Vec<Item>) -> Report {
        let ready = items
            .iter()
            .all(|item| !item.required || item.status == Status::Ok);
        Report {
            ready,
            items,
            devices: Vec::new(),
            next: next(&testing::labs()),
        }
    }

    #[test]
    fn a_gpu_is_described() {
        let items = devices(&testing::machine());
        insta::assert_snapshot!(render(&report(items), Look::PLAIN), @r"
        ok  CUDA driver  supports CUDA 13.0 and older
        ok  GPU          Adder 9000, compute capability 9.0, 132 multiprocessors, 80.0 GiB memory

        Ready: `harness test`, then `harness perf`.
        ");
    }

    #[test]
    fn no_gpu_is_no_obstacle() {
        let items = devices(&testing::machine_without_gpu());
        insta::assert_snapshot!(render(&report(items), Look::PLAIN), @r"
        missing  GPU  no CUDA device: libcuda.so.1 not found
                      to use a GPU, install NVIDIA's driver; tests and pictures work without

        Ready: `harness test`, then `harness perf`.
        ");
    }

    #[test]
    fn a_missing_compiler_has_a_remedy() {
        let lacking = cuda_builder::Error::NoToolchain {
            tried: vec!["distribution: no opt".to_owned()],
        };
        insta::assert_snapshot!(render(&report(vec![compiler(Err(lacking))]), Look::PLAIN), @r"
        missing  compiler for kernels  no toolchain can compile kernels
                                       run ./setup in the project's folder (needed to change kernels only)

        Ready: `harness test`, then `harness perf`.
        ");
    }

    #[test]
    fn what_is_required_decides() {
        let broken = Item::missing("kernels", "they do not parse", "build again").required();
        assert!(!report(vec![cpu(), broken]).ready);
        assert!(report(vec![cpu(), kernels(&testing::labs())]).ready);
    }
}
