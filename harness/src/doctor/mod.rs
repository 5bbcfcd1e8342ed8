//! `harness doctor`: what this machine has, and how to get what is missing.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use classroom::arguments::course_root;
use cuda_builder::toolchain::{self, Toolchain};
use device::Sanitize;
use device::{DeviceInfo, DeviceKind};
use host::labs;
use lab::Lab;
use serde::Serialize;

use device::cpu;
use exit::{CommandError, Ending};
use grading::pack::Building;
use grading::pack::job::PackProcesses;
use sandbox::{InForce, Layer};
use select::devices::{Machine, too_old};
use select::tuned::Table;
use terminal::json::JsonArg;
use terminal::look::Look;
use terminal::progress::Bar;
use terminal::stdout::Out;
use terminal::table::{Align, Columns, Tone};
use units::{bytes, count};

/// Arguments of `harness doctor`.
#[derive(Debug, Clone, Default, Args)]
#[command(
    after_help = "Exits with 0 if everything needed to test on the CPU is there; a GPU is optional."
)]
pub struct DoctorArgs {
    /// Build now what submissions are compiled against, which the first grade would do: one to two
    /// minutes, once
    #[arg(long)]
    build: bool,
    #[command(flatten)]
    json: JsonArg,
}

/// A part of the machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Item {
    name: &'static str,
    status: Status,
    /// The thing that was found, or why nothing was.
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
    /// It is there, and of an older state.
    Outdated,
}

#[derive(Debug, Serialize)]
struct Report {
    /// Whether everything required is there.
    ready: bool,
    items: Vec<Item>,
    /// Every device, with all that is known about it.
    devices: Vec<DeviceInfo>,
    /// The next thing to do on a machine that is ready.
    #[serde(skip)]
    next: &'static str,
}

/// Examines the machine.
///
/// # Errors
///
/// [`CommandError::Input`] if `--json` names a file that cannot be written; with `--build`, what
/// the machine lacks for that.
pub fn run(args: &DoctorArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    let json = args.json.open()?;
    let machine = Machine::discover(&[], Sanitize::NONE);
    let mut items = vec![
        Item::ok("CPU", cpu::description()).required(),
        kernels(labs()).required(),
        compiler(toolchain::find()),
        course(course_root(None)),
        sandbox(sandbox::available()),
    ];
    items.extend(devices(&machine));
    items.extend(tuned(Table::in_force(labs()), &machine, labs()));
    items.push(terminal(out.look()));
    let report = Report::new(items, &machine, labs());
    if json.wants_text() {
        out.line(render(&report, out.look()))?;
    }
    if args.build && report.ready {
        build()?;
    }
    let ending = if report.ready {
        Ending::Fine
    } else {
        Ending::Lacking
    };
    json.write("doctor", report, out)?;
    Ok(ending)
}

/// Builds what submissions are compiled against.
fn build() -> Result<(), CommandError> {
    let mut options = grading::pack::Options::new(course_root(None)?);
    // Only the course's own crates are compiled.
    options.without_isolation = true;
    let label = |how_far| match how_far {
        Building::All => "building the libraries of kernels.rs and launch.rs",
        Building::OfKernels => "building the libraries of kernels.rs",
    };
    let mut bar = None;
    PackProcesses::new(options).prepare_for_any(&mut |how_far| {
        // One at a time.
        drop(bar.take());
        bar = Some(Bar::spinner(label(how_far)));
    })?;
    Ok(())
}

impl Report {
    fn new(items: Vec<Item>, machine: &Machine, labs: &[&Lab]) -> Report {
        let found = machine.found().iter().flat_map(|(_, found)| found);
        Report {
            ready: items
                .iter()
                .all(|item| !item.required || item.status == Status::Ok),
            items,
            devices: found
                .flatten()
                .map(|device| device.info().clone())
                .collect(),
            next: if labs.iter().all(|lab| lab.variants.is_empty()) {
                "Ready: `harness grade labs/matadd/starter`; labs/README.md explains the rest."
            } else {
                "Ready: `harness test`, then `harness perf`."
            },
        }
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

    fn missing(name: &'static str, found: impl Into<String>, remedy: &str) -> Item {
        Item {
            status: Status::Missing,
            remedy: Some(remedy.to_owned()),
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

/// The kernels that are part of this program.
fn kernels(labs: &[&Lab]) -> Item {
    let mut names = BTreeSet::new();
    for lab in labs {
        match lab.module.program() {
            Ok(program) => names.extend(program.kernels().map(|kernel| kernel.name.as_str())),
            Err(error) => {
                let remedy = "build the program again: cargo build -p harness";
                return Item::missing("kernels", error.to_string(), remedy);
            }
        }
    }
    Item::ok("kernels", format!("{} as PTX", names.len()))
}

/// The compiler for kernels. Only changing kernels needs it, since this program contains them
/// compiled.
fn compiler(found: Result<Toolchain, cuda_builder::Error>) -> Item {
    const NAME: &str = "compiler for kernels";
    match found {
        Ok(found) => {
            // Without commit and date.
            let rustc = found.rustc_version.split(" (").next().unwrap_or_default();
            Item::ok(
                NAME,
                format!("{rustc}, LLVM {} ({})", found.llvm_major, found.name),
            )
        }
        Err(error) => {
            // The rest of the message lists every place that was searched, and the remedy.
            let text = error.to_string();
            let reason = text.split([':', '.', '\n']).next().unwrap_or_default();
            let remedy = format!(
                "run {} in the project's folder (needed to change kernels only)",
                cuda_builder::SETUP
            );
            Item::missing(NAME, reason, &remedy)
        }
    }
}

/// The course's folder, which has the crates that a submission is compiled against.
fn course(found: Result<PathBuf, CommandError>) -> Item {
    const NAME: &str = "course's folder";
    match found {
        Ok(root) => Item::ok(NAME, root.display().to_string()),
        Err(CommandError::Input(reason)) => {
            Item::missing(NAME, reason, "correct the variable, or unset it")
        }
        Err(_) => Item::missing(
            NAME,
            "not here, not above, and not above this program",
            "for kernels of your own (grade, watch, --submission): run this there, or name it, \
             HARNESS_COURSE=DIR before the command",
        ),
    }
}

/// The protections under which a submission is compiled and recorded.
fn sandbox(available: std::io::Result<InForce>) -> Item {
    const NAME: &str = "sandbox for grading";
    let available = match available {
        Ok(available) => available,
        Err(error) => return Item::missing(NAME, error.to_string(), UNPROTECTED),
    };
    let mut lacking = Layer::ALL.to_vec();
    lacking.retain(|&layer| !available.has(layer));
    if lacking.is_empty() {
        return Item::ok(NAME, format!("all {} protections", Layer::ALL.len()));
    }
    let for_one_reason = lacking.chunk_by(|one, next| one.absence() == next.absence());
    let told = for_one_reason.map(|layers| {
        let names: Vec<_> = layers.iter().map(|layer| layer.name()).collect();
        format!("{} ({})", names.join(", "), layers[0].absence())
    });
    Item::missing(NAME, told.collect::<Vec<_>>().join("; "), UNPROTECTED)
}

const UNPROTECTED: &str =
    "submissions of people whom you trust can be graded; each report says what was missing";

fn devices(machine: &Machine) -> Vec<Item> {
    let mut items = Vec::new();
    for (kind, discovery) in machine.found() {
        let name = match kind {
            DeviceKind::Cuda => "GPU",
            DeviceKind::Emulated => "emulated device",
        };
        match discovery {
            Ok(devices) => {
                let infos = devices.iter().map(|device| device.info());
                if let Some((major, minor)) = infos.clone().next().and_then(|info| info.driver_cuda)
                {
                    let text = format!("supports CUDA {major}.{minor} and older");
                    items.push(Item::ok("CUDA driver", text));
                }
                items.extend(infos.map(|info| match too_old(info) {
                    None => Item::ok(name, describe(info)),
                    Some(reason) => Item::missing(name, describe(info), &reason),
                }));
            }
            Err(error) => {
                let remedy = format!("{}; tests and pictures work without", cuda::REMEDY);
                items.push(Item::missing(name, error.to_string(), &remedy));
            }
        }
    }
    items
}

/// The entries of `tuned.toml` for this machine's GPUs that are of other kernels than this
/// program's, and the labs that have none.
fn tuned(
    table: Result<Table, CommandError>,
    machine: &Machine,
    labs: &[&'static Lab],
) -> Vec<Item> {
    const NAME: &str = "tuned shapes";
    let table = match table {
        Ok(table) => table,
        Err(error) => {
            let remedy = "until then, no command of GPUs knows a shape";
            return vec![Item::missing(NAME, error.to_string(), remedy)];
        }
    };
    let mut items = Vec::new();
    let mut seen = BTreeSet::new();
    for device in machine
        .found()
        .iter()
        .flat_map(|(_, found)| found)
        .flatten()
    {
        let info = device.info();
        if info.kind != DeviceKind::Cuda || !seen.insert(info.name.as_str()) {
            continue;
        }
        items.extend(table.outdated(labs, info).into_iter().map(|one| Item {
            status: Status::Outdated,
            remedy: Some(one.remedy()),
            ..Item::ok(NAME, format!("{}: {}", one.gpu, one.what()))
        }));
        let untuned = untuned(&table, labs, &info.name);
        if !untuned.is_empty() {
            let untuned = untuned.join(", ");
            items.push(Item::missing(
                NAME,
                format!("{}: none for {untuned}", info.name),
                "default shapes are in use there; `harness tune --large` finds the fastest",
            ));
        }
    }
    items
}

/// The labs whose variants have shapes to choose from, but no entry for a GPU of this name.
fn untuned(table: &Table, labs: &[&'static Lab], gpu: &str) -> Vec<&'static str> {
    let is_shaped = |lab: &Lab| lab.variants.iter().any(|one| !one.shapes.is_empty());
    let is_tuned = |lab: &Lab| {
        let mut entries = table.entries.iter();
        entries.any(|entry| entry.gpu == gpu && entry.lab == lab.name)
    };
    let labs = labs.iter().filter(|lab| is_shaped(lab) && !is_tuned(lab));
    labs.map(|lab| lab.name).collect()
}

/// One line about a device.
fn describe(info: &DeviceInfo) -> String {
    let capability = info.compute_capability;
    let parts = [
        Some(info.name.clone()),
        capability.map(|(major, minor)| format!("compute capability {major}.{minor}")),
        info.multiprocessors
            .map(|number| count(number as usize, "multiprocessor")),
        info.memory_bytes
            .map(|memory| format!("{} memory", bytes(memory))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn terminal(look: Look) -> Item {
    let colours = if look.colour { "colours" } else { "no colours" };
    let characters = if look.unicode { "Unicode" } else { "ASCII" };
    Item::ok("output", format!("{colours}, {characters}"))
}

fn render(report: &Report, look: Look) -> String {
    let mut table = Columns::new(look, [Align::Left; 3]);
    for item in &report.items {
        let (status, tone) = match item.status {
            Status::Ok => ("ok", Tone::Good),
            Status::Missing if item.required => ("missing", Tone::Bad),
            Status::Missing => ("missing", Tone::Caution),
            Status::Outdated => ("outdated", Tone::Caution),
        };
        table.row([
            (status, tone),
            (item.name, Tone::Normal),
            (item.found.as_str(), Tone::Normal),
        ]);
        if let Some(remedy) = &item.remedy {
            let empty = ("", Tone::Normal);
            table.row([empty, empty, (remedy.as_str(), Tone::Faint)]);
        }
    }
    let verdict = if report.ready {
        report.next
    } else {
        "Not ready: install what is missing above."
    };
    format!("{}\n\n{verdict}", table.render(0))
}

#[cfg(test)]
mod tests;
