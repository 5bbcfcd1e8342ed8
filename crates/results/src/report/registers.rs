//! The effect of caps of registers on kernels.

use page::Page;

use super::command::TABLE;
use super::rows::timed;
use crate::document::Results;
use crate::tables::registers::{columns, lines};
use terminal::table::Table;

/// A table, if variants were timed under caps.
pub fn add(page: &mut Page, results: &Results, command: &str) {
    let rows = timed(results);
    let lines = lines(rows.iter().map(|timed| timed.of));
    if lines.is_empty() {
        return;
    }
    page.section("Caps of registers");
    page.fold(TABLE, |page| {
    columns(Table::new(&lines), "time, us").add_to(page, |line| &line.heading);
    page.remark(
        "Each kernel compiled under a limit of registers per thread (.maxnreg). Spilled: bytes that its instructions store and load for want of registers, as the compiler tells; stack: local memory of a thread, which holds them. The time is of one timestep where there are any; \"vs no cap\" is time without a cap / time.",
    );
    page.command(command);
    });
}
