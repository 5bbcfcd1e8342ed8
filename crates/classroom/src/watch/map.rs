//! The map of a wrong field, in characters.

use page::escape;
use terminal::look::Look;

use super::lines::wrapped;
use super::sheet::{Rank, Sheet};
use grading::diagnose::{Axis, CellMap, Diagnosis, Writer};

/// The sign of the first wrong cell.
const FIRST: char = '@';

/// More borders than this between lines take too much room.
const MAX_LINES_BETWEEN: usize = 3;

/// Adds the map of a diagnosis, where it has one.
pub fn add(sheet: &mut Sheet, diagnosis: &Diagnosis, look: Look, columns: usize) {
    let Some(map) = &diagnosis.map else {
        return;
    };
    let labels: Vec<String> = (0..map.lines.len())
        .map(|line| match diagnosis.axes.get(1) {
            Some(axis) => format!("{} = {}", axis.name, line as u64 * map.cells_per_row),
            None => String::new(),
        })
        .collect();
    let widest = labels.iter().map(|label| label.chars().count()).max();
    let width = widest.unwrap_or(0);
    // A window that is too narrow for it gets none.
    let longest = map
        .lines
        .iter()
        .map(|line| framed(line, map).chars().count())
        .max();
    if 4 + width + 2 + longest.unwrap_or(0) > columns {
        return;
    }
    let mut lines = Vec::new();
    let has_rows = map.block_rows.len() <= MAX_LINES_BETWEEN;
    for (row, (label, line)) in labels.iter().zip(&map.lines).enumerate() {
        if has_rows && map.block_rows.contains(&(row as u64)) {
            let dashes: String = line.chars().map(|_| '-').collect();
            let border = framed(&dashes, map).replace('|', "+");
            lines.push(format!("    {:width$}  {}", "", look.faint(&border)));
        }
        let mut cells: Vec<char> = line.chars().collect();
        let [first_column, first_row] = map.first.map(|at| at as usize);
        if row == first_row
            && let Some(cell) = cells.get_mut(first_column)
        {
            *cell = FIRST;
        }
        let cells: String = cells.into_iter().collect();
        let cells = escape::line(&framed(&cells, map));
        let cells = cells.replace(FIRST, &look.bad(&FIRST.to_string()));
        lines.push(format!("    {label:width$}  {cells}"));
    }
    lines.extend(wrapped(&legend(map, diagnosis), "    ", 6, columns));
    sheet.blank();
    sheet.add(Rank::Detail, lines);
}

/// The line with a bar before each character at which a block begins.
fn framed(line: &str, map: &CellMap) -> String {
    let mut framed = String::new();
    for (column, cell) in line.chars().enumerate() {
        if map.block_columns.contains(&(column as u64)) {
            framed.push('|');
        }
        framed.push(cell);
    }
    framed
}

/// The meaning of the characters that are there.
fn legend(map: &CellMap, diagnosis: &Diagnosis) -> String {
    let signs = [
        (CellMap::RIGHT, "right"),
        (CellMap::WRONG, "wrong"),
        (CellMap::UNWRITTEN, "never written"),
    ];
    let is_there = |sign: &char| map.lines.iter().any(|line| line.contains(*sign));
    let there = signs.iter().filter(|(sign, _)| is_there(sign));
    let mut parts: Vec<String> = there.map(|(sign, is)| format!("{sign} {is}")).collect();
    if !map.block_columns.is_empty() || !map.block_rows.is_empty() {
        parts.push("| - borders of blocks".to_owned());
    }
    let axis = |at: usize| diagnosis.axes.get(at).map(|axis: &Axis| axis.name.as_str());
    let cells = match (map.cells_per_column, map.cells_per_row) {
        (1, 1) => String::new(),
        (along, 1) => format!(", {along} cells a character"),
        (along, down) => format!(", {along} x {down} cells a character"),
    };
    let right = axis(0).unwrap_or("index");
    let shows = escape::line(&map.shows);
    format!(
        "{shows}, {right} to the right{cells}: {}, {FIRST} the first that is wrong",
        parts.join(", ")
    )
}

/// The thread of the first wrong cell, in a sentence, where it is known.
pub fn writer(map: &CellMap) -> Option<String> {
    match &map.writer {
        Writer::Unknown => None,
        Writer::Nobody => Some("no thread stored that cell".to_owned()),
        Writer::Thread { launch, thread } => {
            let of = match launch {
                1 => String::new(),
                _ => format!(" of launch {launch}"),
            };
            Some(format!(
                "that cell was stored by {}{of}",
                escape::line(thread)
            ))
        }
    }
}
