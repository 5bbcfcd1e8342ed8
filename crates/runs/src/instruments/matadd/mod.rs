//! `harness run matadd --check-index`: which thread gets which element, of a built-in variant or a
//! submission.

use clap::Args;
use device::{DeviceKind, Sanitize};
use host::matadd::{LAB, Owner, Stores, check_index, stores};
use lab::{Variant, find_variant};
use plan::LaunchConfig;
use serde::Serialize;

use crate::flags::Extents;
use exit::{CommandError, Ending};
use select::catalogue::{self, SubmissionArg, Submitted, needs_solutions};
use select::devices::{DeviceName, Machine, Named, Wanted};
use terminal::json::JsonArg;
use terminal::look::Look;
use terminal::stdout::Out;
use terminal::table::{Align, Columns, Tone};

/// The arguments of `harness run matadd`.
#[derive(Debug, Clone, Args)]
pub struct MataddArgs {
    /// Print which thread gets which element: of this variant, or of the submission; `harness list
    /// matadd` has the names
    #[arg(long, value_name = "VARIANT", num_args = 0..=1)]
    check_index: Option<Option<String>>,
    #[command(flatten)]
    own: SubmissionArg,
    /// Columns and rows of the matrix
    #[arg(long, value_name = "N_X,N_Y", default_value = "8,6", value_parser = printable_shape)]
    shape: Extents<2>,
    /// Where: cuda, cuda:N, emulated [default: cuda if there is one, else emulated; a submission on
    /// emulated, which sees who stores]
    #[arg(long, value_name = "DEVICE")]
    device: Option<Wanted>,
    #[command(flatten)]
    json: JsonArg,
}

/// The most columns and rows that are printed.
const MOST: [u32; 2] = [32, 128];

fn printable_shape(text: &str) -> Result<Extents<2>, String> {
    let Extents([x, y]) = text.parse()?;
    if x == 0 || y == 0 {
        return Err("a matrix has at least 1 element along each axis".to_owned());
    }
    if x > MOST[0] || y > MOST[1] {
        let [most_x, most_y] = MOST;
        return Err(format!(
            "too large to print; at most {most_x} columns and {most_y} rows"
        ));
    }
    Ok(Extents([x, y]))
}

/// The owner of each element.
#[derive(Serialize)]
struct Report {
    variant: &'static str,
    device: String,
    /// Blocks of the first launch's grid along x and y.
    grid: [u32; 2],
    /// Threads of its blocks along x and y.
    block: [u32; 2],
    /// Grid and block of each launch.
    launches: Vec<[[u32; 2]; 2]>,
    /// Row by row. `None` for those that no thread stores.
    elements: Vec<Option<Owner>>,
}

/// Asks the device and prints.
///
/// # Errors
///
/// Invalid arguments, a missing device.
pub fn run(
    args: &MataddArgs,
    submitted: Submitted,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    let machine = Machine::discover(args.device.as_slice(), Sanitize::ALL);
    run_on(args, submitted, &machine, out)
}

fn run_on(
    args: &MataddArgs,
    submitted: Submitted,
    machine: &Machine,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    if args.device == Some(Wanted::Cpu) {
        return Err(CommandError::Input(
            "--device cpu: it has no grid of threads; name cuda or emulated".to_owned(),
        ));
    }
    let looked_at = args.check_index.as_ref().and_then(Option::as_deref);
    catalogue::one_solution("--check-index", looked_at, &args.own)?;
    let Extents([n_x, n_y]) = args.shape;
    let json = args.json.open()?;
    let report = match (&args.check_index, submitted.of(&LAB)) {
        (Some(Some(name)), _) => args.of_built_in(name, machine)?,
        (_, [.., own]) => args.of_submission(own)?,
        (_, []) => {
            return Err(CommandError::Input(
                "name what is looked at: --submission DIR, or --check-index VARIANT with one that `harness list matadd` shows".to_owned(),
            ));
        }
    };
    if json.wants_text() {
        let title = format!(
            "matadd  {n_x}x{n_y}, {} on {}",
            report.variant, report.device
        );
        out.line(out.look().title(&out.look().wrapped(&title, 0)))?;
        out.line(render(&report, n_x as usize, out.look()))?;
    }
    json.write("run matadd", report, out)?;
    Ok(Ending::Fine)
}

impl MataddArgs {
    /// The submissions that are named; the last one is looked at.
    pub fn own(&self) -> &SubmissionArg {
        &self.own
    }

    /// Asks the lab's own kernel in the launch of a built-in variant, or on the emulated device the
    /// variant itself.
    fn of_built_in(&self, name: &str, machine: &Machine) -> Result<Report, CommandError> {
        needs_solutions(
            host::labs(),
            &format!("--check-index {name} looks at a built-in solution"),
            "`harness run matadd --check-index --submission labs/matadd/starter` looks at yours",
        )?;
        let variant = find_variant(&LAB.variants, name)
            .map_err(|error| CommandError::from(error).context("--check-index"))?;
        let Named {
            name: device_name,
            device,
        } = machine.choose_one(self.device)?;
        let Extents([n_x, n_y]) = self.shape;
        if device.info().kind == DeviceKind::Emulated {
            return self.of_stores(variant);
        }
        let map = check_index(device, variant, n_x, n_y)?;
        let owners = (0..map.threads.len()).map(|i| Some(map.owner(i)));
        let named = device_name.to_string();
        Ok(Report::new(
            &variant.name,
            named,
            &[map.config],
            owners.collect(),
        ))
    }

    /// Reports which thread stores which element of a submission.
    fn of_submission(&self, own: &'static Variant) -> Result<Report, CommandError> {
        if let Some(device @ Wanted::Device(DeviceName::Cuda(_))) = self.device {
            return Err(CommandError::Input(format!(
                "--device {device}: a GPU does not tell which thread stores what; leave it out"
            )));
        }
        self.of_stores(own)
    }

    /// Runs a variant on the emulated device, and sees which thread stores which element.
    fn of_stores(&self, variant: &'static Variant) -> Result<Report, CommandError> {
        let Extents([n_x, n_y]) = self.shape;
        let Stores { configs, owners } = stores(variant, n_x, n_y)?;
        let device = DeviceName::Emulated.to_string();
        Ok(Report::new(&variant.name, device, &configs, owners))
    }
}

impl Report {
    fn new(
        variant: &'static str,
        device: String,
        configs: &[LaunchConfig],
        elements: Vec<Option<Owner>>,
    ) -> Report {
        let launches: Vec<_> = configs
            .iter()
            .map(|config| [config.grid, config.block].map(|[x, y, _]| [x, y]))
            .collect();
        let [grid, block] = launches.first().copied().unwrap_or_default();
        Report {
            variant,
            device,
            grid,
            block,
            launches,
            elements,
        }
    }
}

/// The matrix, each element with its thread.
fn render(report: &Report, n_x: usize, look: Look) -> String {
    // One number where the other axis has a single place, in every launch.
    let is_flat = |of: fn(&[[u32; 2]; 2]) -> [u32; 2]| {
        let mut extents = report.launches.iter().map(of);
        extents.all(|[_, rows]| rows == 1)
    };
    let [flat_grid, flat_block] = [is_flat(|launch| launch[0]), is_flat(|launch| launch[1])];
    let short = |[x, y]: [u32; 2], flat: bool, between: &str| {
        if flat {
            x.to_string()
        } else {
            format!("{x}{between}{y}")
        }
    };
    let mut headers = vec![("y \\ x".to_owned(), Align::Right)];
    headers.extend((0..n_x).map(|x| (x.to_string(), Align::Right)));
    let mut table = Columns::with_header(look, &headers);
    let several = report.launches.len() > 1;
    for (y, row) in report.elements.chunks(n_x).enumerate() {
        let threads = row.iter().map(|owner| {
            let Some(owner) = owner else {
                return (NOBODYS.to_owned(), Tone::Bad);
            };
            let launch = if several {
                format!("{}/", owner.launch)
            } else {
                String::new()
            };
            let block_idx = short(owner.block_idx, flat_grid, ",");
            let thread_idx = short(owner.thread_idx, flat_block, ",");
            (format!("{launch}{block_idx}:{thread_idx}"), Tone::Normal)
        });
        let y = (y.to_string(), Tone::Normal);
        table.row(std::iter::once(y).chain(threads));
    }
    let launches: Vec<String> = report
        .launches
        .iter()
        .map(|&[grid, block]| {
            let blocks = match grid {
                [1, 1] => "1 block".to_owned(),
                _ => format!("{} blocks", short(grid, flat_grid, " x ")),
            };
            format!("{blocks} of {} threads", short(block, flat_block, " x "))
        })
        .collect();
    let axes = |flat: bool, name: &str| {
        if flat {
            format!("{name}.x")
        } else {
            format!("{name}.x,{name}.y")
        }
    };
    let launch = if several { "launch/" } else { "" };
    let legend = format!(
        "{}; in each element {launch}{}:{}",
        launches.join(", "),
        axes(flat_grid, "blockIdx"),
        axes(flat_block, "threadIdx"),
    );
    let is_left_out = report.elements.contains(&None);
    let left_out = if is_left_out {
        format!("\n  {NOBODYS} no thread stores this element")
    } else {
        String::new()
    };
    let legend = look.wrapped(&legend, 2);
    format!("{legend}{left_out}\n\n{}", table.render(2))
}

/// Stands where no thread stores an element.
const NOBODYS: &str = "-";

#[cfg(test)]
mod tests;
