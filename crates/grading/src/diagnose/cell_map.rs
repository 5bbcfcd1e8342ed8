//! The small map of a wrong field, in characters: right, wrong, never written.

use device::Stored;

use super::field::Field;
use super::finding::{CellMap, Writer};

/// Characters along the first axis, at most.
const COLUMNS: usize = 64;
/// Characters along the second axis, at most: a screen has more to say.
const ROWS: usize = 8;
/// Borders of blocks that are closer than this, in characters along a line and in lines, are not
/// shown.
const CLOSEST: [usize; 2] = [3, 2];

/// The thread that stored each cell last, where the device knows.
pub type Stores = [Option<Stored>];

/// The map of a field of one or two axes, or of the slice of one of three that has the first wrong
/// cell; after this number of steps if not after all.
pub fn draw(
    field: &Field<'_>,
    stores: Option<&Stores>,
    after_step: Option<u64>,
) -> Option<CellMap> {
    let stores = stores.filter(|stores| stores.len() == field.len());
    let first = field.wrong_cells().next()?;
    let [first_x, first_y, slice] = field.place(first);
    let [n_x, n_y, _] = field.extents();
    let borders = stores.map(|stores| Borders::of(field, stores, slice));
    let borders = borders.unwrap_or_default();
    let per_column = pooled(n_x, COLUMNS, &borders.columns);
    let per_row = pooled(n_y, ROWS, &borders.rows);
    let character = |column: usize, row: usize| {
        let mut worst = Cell::Right;
        for y in row * per_row..((row + 1) * per_row).min(n_y) {
            for x in column * per_column..((column + 1) * per_column).min(n_x) {
                worst = worst.max(Cell::at(field, x + n_x * (y + n_y * slice)));
            }
        }
        worst.character()
    };
    let (columns, rows) = (n_x.div_ceil(per_column), n_y.div_ceil(per_row));
    let line = |row: usize| (0..columns).map(|column| character(column, row)).collect();
    let mut shows = match field.axes.get(2) {
        None => field.name.to_owned(),
        Some(axis) => format!("{} at {} = {slice}", field.name, axis.name),
    };
    if let Some(step) = after_step {
        shows += &format!(" after step {step}");
    }
    Some(CellMap {
        shows,
        cells_per_column: per_column as u64,
        cells_per_row: per_row as u64,
        lines: (0..rows).map(line).collect(),
        block_columns: shown(&borders.columns, per_column, CLOSEST[0]),
        block_rows: shown(&borders.rows, per_row, CLOSEST[1]),
        first: [first_x / per_column, first_y / per_row].map(|at| at as u64),
        writer: match stores.map(|stores| stores[first]) {
            None => Writer::Unknown,
            Some(None) => Writer::Nobody,
            Some(Some(Stored { launch, thread })) => Writer::Thread {
                launch: launch as u64 + 1,
                thread: thread.to_string(),
            },
        },
    })
}

/// A cell, from the least worth a look to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cell {
    Right,
    Unwritten,
    Wrong,
}

impl Cell {
    fn at(field: &Field<'_>, index: usize) -> Cell {
        match (field.is_wrong[index], field.is_unwritten(index)) {
            (false, _) => Cell::Right,
            (true, true) => Cell::Unwritten,
            (true, false) => Cell::Wrong,
        }
    }

    fn character(self) -> char {
        match self {
            Cell::Right => CellMap::RIGHT,
            Cell::Unwritten => CellMap::UNWRITTEN,
            Cell::Wrong => CellMap::WRONG,
        }
    }
}

/// The coordinates at which blocks begin, except the first.
#[derive(Debug, Default)]
struct Borders {
    columns: Vec<usize>,
    rows: Vec<usize>,
}

impl Borders {
    /// Those along which all neighbours were stored by different blocks. Threads that take cells
    /// in another order have none.
    fn of(field: &Field<'_>, stores: &Stores, slice: usize) -> Borders {
        let [n_x, n_y, _] = field.extents();
        let block = |x: usize, y: usize| {
            let stored = stores[x + n_x * (y + n_y * slice)];
            stored.map(|stored| (stored.launch, stored.thread.block))
        };
        let is_border = |pairs: &mut dyn Iterator<Item = _>| {
            let mut known = pairs.filter_map(|(a, b)| Some((a?, b?))).peekable();
            known.peek().is_some() && known.all(|(a, b)| a != b)
        };
        let columns =
            (1..n_x).filter(|&x| is_border(&mut (0..n_y).map(|y| (block(x - 1, y), block(x, y)))));
        let rows =
            (1..n_y).filter(|&y| is_border(&mut (0..n_x).map(|x| (block(x, y - 1), block(x, y)))));
        Borders {
            columns: columns.collect(),
            rows: rows.collect(),
        }
    }
}

/// Cells in one character: the fewest that fit, or a few more if blocks then begin between two.
fn pooled(extent: usize, most: usize, borders: &[usize]) -> usize {
    let fewest = extent.div_ceil(most).max(1);
    let begins_between = |per: &usize| borders.iter().all(|border| border % per == 0);
    (fewest..=2 * fewest).find(begins_between).unwrap_or(fewest)
}

/// The characters before which a block begins, if all of them are this far apart.
fn shown(borders: &[usize], per: usize, closest: usize) -> Vec<u64> {
    let are_between = borders.iter().all(|border| border % per == 0);
    let characters: Vec<usize> = borders.iter().map(|border| border / per).collect();
    let are_apart = characters
        .windows(2)
        .all(|pair| pair[1] - pair[0] >= closest);
    if are_between && are_apart {
        characters.into_iter().map(|at| at as u64).collect()
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::Axis;
    use device::HostBuffer;

    /// The map of a field of these extents that is wrong at these cells.
    fn map(extents: &[(&str, u64)], wrong: &[usize]) -> CellMap {
        let axes = extents.iter().map(|(name, extent)| Axis {
            name: (*name).to_owned(),
            extent: *extent,
        });
        let len: u64 = extents.iter().map(|(_, extent)| extent).product();
        let expected: HostBuffer = vec![1.0_f32; len as usize].into();
        let mut values = vec![1.0_f32; len as usize];
        for &index in wrong {
            values[index] = 2.0;
        }
        let got: HostBuffer = values.into();
        let field = Field::compare("u", axes.collect(), &expected, &got, None).unwrap();
        draw(&field, None, Some(3)).expect("a cell is wrong")
    }

    #[test]
    fn of_three_axes_the_slice_of_the_first_wrong_cell_is_shown() {
        let of = map(
            &[("x", 4), ("y", 3), ("z", 5)],
            &[2 * 12 + 5, 2 * 12 + 6, 4 * 12],
        );
        assert_eq!(of.shows, "u at z = 2 after step 3");
        assert_eq!(of.lines, ["....", ".##.", "...."]);
        assert_eq!((of.first, of.writer), ([1, 1], Writer::Unknown));
    }

    #[test]
    fn a_line_is_a_row_and_one_wrong_cell_of_many_is_seen() {
        let of = map(&[("index", 1000)], &[999]);
        assert_eq!((of.cells_per_column, of.cells_per_row), (16, 1));
        assert_eq!(of.lines, [format!("{}#", ".".repeat(62))]);
        assert_eq!(of.first, [62, 0]);
    }
}
