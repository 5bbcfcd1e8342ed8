//! `harness run matadd --check-index`.

use clap::Args;
use device::Sanitize;
use host::matadd::{LAB, Owner, check_index};
use lab::find_variant;
use serde::Serialize;

use super::flags::Extents;
use exit::{CommandError, Ending};
use lab::catalogue::needs_solutions;
use lab::devices::{Machine, Named, Wanted};
use terminal::json::JsonArg;
use terminal::look::Look;
use terminal::stdout::Out;
use terminal::table::{Align, Columns};

/// The arguments of `harness run matadd`.
#[derive(Debug, Clone, Args)]
pub struct MataddArgs {
    /// Print which thread of this variant's launch gets which element; `harness list matadd` has
    /// the names
    #[arg(long, value_name = "VARIANT")]
    check_index: String,
    /// Columns and rows of the matrix
    #[arg(long, value_name = "N_X,N_Y", default_value = "8,6", value_parser = printable_shape)]
    shape: Extents<2>,
    /// Where: cuda, cuda:N, emulated [default: cuda if there is one, else emulated]
    #[arg(long, value_name = "DEVICE")]
    device: Option<Wanted>,
    #[command(flatten)]
    json: JsonArg,
}

/// Most columns and rows that are printed.
const MOST: [u32; 2] = [32, 128];

fn printable_shape(text: &str) -> Result<Extents<2>, String> {
    let Extents([x, y]) = text.parse()?;
    if x == 0 || y == 0 {
        return Err("a matrix has at least 1 element along each axis".to_owned());
    }
    if x > MOST[0] || y > MOST[1] {
        let [x, y] = MOST;
        return Err(format!(
            "too large to print; at most {x} columns and {y} rows"
        ));
    }
    Ok(Extents([x, y]))
}

/// The owner of each element.
#[derive(Serialize)]
struct Report {
    variant: &'static str,
    device: String,
    /// Blocks of the grid along x and y.
    grid: [u32; 2],
    /// Threads of a block along x and y.
    block: [u32; 2],
    /// Row by row.
    elements: Vec<Owner>,
}

/// Asks the device and prints.
///
/// # Errors
///
/// Invalid arguments, a missing device.
pub fn run(args: &MataddArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    needs_solutions(
        host::labs(),
        "run matadd runs the built-in solution",
        "`harness grade labs/matadd/starter` runs yours",
    )?;
    let machine = Machine::discover(args.device.as_slice(), Sanitize::ALL);
    run_on(args, &machine, out)
}

fn run_on(args: &MataddArgs, machine: &Machine, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    let variant = find_variant(&LAB.variants, &args.check_index)
        .map_err(|error| CommandError::from(error).context("--check-index"))?;
    if args.device == Some(Wanted::Cpu) {
        return Err(CommandError::Input(
            "--device cpu: it has no grid of threads; name cuda or emulated".to_owned(),
        ));
    }
    let Named { name, device } = machine.choose_one(args.device)?;
    let json = args.json.open()?;
    let Extents([n_x, n_y]) = args.shape;
    let map = check_index(device, variant, n_x, n_y)?;
    let [grid, block] = [map.config.grid, map.config.block].map(|[x, y, _]| [x, y]);
    let report = Report {
        variant: &variant.name,
        device: device.info().name.clone(),
        grid,
        block,
        elements: (0..map.threads.len()).map(|i| map.owner(i)).collect(),
    };
    if json.wants_text() {
        let title = format!("matadd  {n_x}x{n_y}, {} on {name}", variant.name);
        out.line(out.look().title(&title))?;
        out.line(render(&report, n_x as usize, out.look()))?;
    }
    json.write("run matadd", report, out)?;
    Ok(Ending::Fine)
}

/// The matrix, each element with its thread.
fn render(report: &Report, n_x: usize, look: Look) -> String {
    let Report { grid, block, .. } = *report;
    // One number where the other axis has a single place.
    let short = |[x, y]: [u32; 2], [_, rows]: [u32; 2], between: &str| match rows {
        1 => x.to_string(),
        _ => format!("{x}{between}{y}"),
    };
    let mut headers = vec![("y \\ x".to_owned(), Align::Right)];
    headers.extend((0..n_x).map(|x| (x.to_string(), Align::Right)));
    let mut table = Columns::with_header(look, &headers);
    for (y, row) in report.elements.chunks(n_x).enumerate() {
        let threads = row.iter().map(|owner| {
            let block_idx = short(owner.block_idx, grid, ",");
            format!("{block_idx}:{}", short(owner.thread_idx, block, ","))
        });
        table.row(std::iter::once(y.to_string()).chain(threads));
    }
    let blocks = match grid {
        [1, 1] => "1 block".to_owned(),
        _ => format!("{} blocks", short(grid, grid, " x ")),
    };
    let axes = |[_, rows]: [u32; 2], name: &str| match rows {
        1 => format!("{name}.x"),
        _ => format!("{name}.x,{name}.y"),
    };
    format!(
        "  {blocks} of {} threads; in each element {}:{}\n\n{}",
        short(block, block, " x "),
        axes(grid, "blockIdx"),
        axes(block, "threadIdx"),
        table.render(2)
    )
}

#[cfg(test)]
mod tests;
