//! `harness run matadd --check-index`.

use clap::Args;
use host::device::Sanitize;
use host::matadd::{IndexMap, LAB, Owner, check_index};
use host::{Lab, find_variant};
use serde::Serialize;

use crate::catalogue::needs_solutions;
use crate::devices::{Machine, Named, Wanted};
use crate::failure::{Ending, Failure};
use crate::json::JsonArg;
use crate::out::Out;
use crate::table::{Align, Columns, Tone};
use crate::terminal::Look;

/// What `harness run matadd` is told.
#[derive(Debug, Clone, Args)]
pub struct MataddArgs {
    /// Print which thread of this variant's launch gets which element; `harness list matadd` has the names
    #[arg(long, value_name = "VARIANT")]
    check_index: String,
    /// Columns and rows of the matrix
    #[arg(long, value_name = "N_X,N_Y", default_value = "8,6")]
    shape: Shape,
    /// Where: cuda, cuda:N, emulated [default: cuda if there is one, else emulated]
    #[arg(long, value_name = "DEVICE")]
    device: Option<Wanted>,
    #[command(flatten)]
    json: JsonArg,
}

/// Columns and rows that are printed at most.
const MOST: [u32; 2] = [32, 128];

/// Columns and rows of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape([u32; 2]);

impl std::str::FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Shape, String> {
        let extents: Result<Vec<u32>, _> =
            text.split(',').map(|part| part.trim().parse()).collect();
        let extents: Option<[u32; 2]> = extents.ok().and_then(|extents| extents.try_into().ok());
        match extents {
            None => Err("write columns and rows: 8,6".to_owned()),
            Some([x, y]) if x == 0 || y == 0 => {
                Err("a matrix has at least 1 element along each axis".to_owned())
            }
            Some([x, y]) if x > MOST[0] || y > MOST[1] => Err(format!(
                "too large to print; at most {} columns and {} rows",
                MOST[0], MOST[1]
            )),
            Some(extents) => Ok(Shape(extents)),
        }
    }
}

/// Who gets which element.
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
/// What makes no sense, a device that is not there.
pub fn run(args: &MataddArgs, out: &mut Out<'_>) -> Result<Ending, Failure> {
    needs_solutions(
        "run matadd runs the built-in solution",
        "`harness grade labs/matadd/starter` runs yours",
    )?;
    let wanted: &[Wanted] = match &args.device {
        Some(device) => &[*device],
        None => &[],
    };
    run_on(args, &Machine::discover(wanted, Sanitize::ALL), out)
}

fn run_on(args: &MataddArgs, machine: &Machine, out: &mut Out<'_>) -> Result<Ending, Failure> {
    let variant = find_variant(LAB.variants(), &args.check_index)
        .map_err(|error| Failure::from(error).context("--check-index"))?
        .name;
    if args.device == Some(Wanted::Cpu) {
        return Err(Failure::Input(
            "--device cpu: it has no grid of threads; name cuda or emulated".to_owned(),
        ));
    }
    let wanted: Vec<Wanted> = args.device.into_iter().collect();
    let chosen = machine.choose(&wanted)?;
    let Some(&Named { name, device }) = chosen.devices.first() else {
        return Err(Failure::Bug("no device is chosen".to_owned()));
    };
    let json = args.json.open()?;
    let Shape([n_x, n_y]) = args.shape;
    let map = check_index(device, variant, n_x, n_y)?;
    if json.wants_text() {
        let title = format!("matadd  {n_x}x{n_y}, {variant} on {name}");
        out.line(out.look().title(&title))?;
        out.line(render(&map, out.look()))?;
    }
    let [grid, block] = [map.config.grid, map.config.block].map(|[x, y, _]| [x, y]);
    let report = Report {
        variant,
        device: device.info().name.clone(),
        grid,
        block,
        elements: (0..map.threads.len()).map(|i| map.owner(i)).collect(),
    };
    json.write("run matadd", report, out)?;
    Ok(Ending::Fine)
}

/// The matrix, each element with its thread.
fn render(map: &IndexMap, look: Look) -> String {
    let [grid, block] = [map.config.grid, map.config.block];
    let n_x = map.n_x as usize;
    let owners: Vec<Owner> = (0..map.threads.len()).map(|i| map.owner(i)).collect();
    // One number where the other axis has a single place.
    let place = |[x, y]: [u32; 2], rows: u32| match rows {
        1 => x.to_string(),
        _ => format!("{x},{y}"),
    };
    let columns: Vec<String> = (0..n_x).map(|x| x.to_string()).collect();
    let mut headers = vec![("y \\ x", Align::Right)];
    headers.extend(columns.iter().map(|x| (x.as_str(), Align::Right)));
    let mut table = Columns::with_header(look, &headers);
    for (y, row) in owners.chunks(n_x).enumerate() {
        let cells = row.iter().map(|owner| {
            let (block_idx, thread_idx) = (
                place(owner.block_idx, grid[1]),
                place(owner.thread_idx, block[1]),
            );
            format!("{block_idx}:{thread_idx}")
        });
        let cells = std::iter::once(y.to_string()).chain(cells);
        table.row(cells.map(|cell| (cell, Tone::Normal)));
    }
    let shape = |[x, y, _]: [u32; 3]| match y {
        1 => x.to_string(),
        _ => format!("{x} x {y}"),
    };
    let axes = |rows: u32, name: &str| match rows {
        1 => format!("{name}.x"),
        _ => format!("{name}.x,{name}.y"),
    };
    format!(
        "  {} of {} threads; in each element {}:{}\n\n{}",
        match map.config.blocks() {
            1 => "1 block".to_owned(),
            _ => format!("{} blocks", shape(grid)),
        },
        shape(block),
        axes(grid[1], "blockIdx"),
        axes(block[1], "threadIdx"),
        table.render(2)
    )
}

#[cfg(test)]
mod tests;
