//! The page while a grading is under way.

use std::time::Duration;

use terminal::look::Look;

use super::{Screen, next, painted};
use crate::watch::failure::{Alike, Detail};
use crate::watch::lines::wrapped;
use crate::watch::next_step::after_failure;
use crate::watch::sheet::{Rank, Sheet};
use grading::pack::Building;

impl Screen {
    /// The words for what goes on.
    pub(super) fn state(&self, grading_for: Option<Duration>) -> String {
        let Some(time) = grading_for else {
            return "waiting for a save".to_owned();
        };
        let seconds = time.as_secs();
        if self.is_counting {
            format!("counting a case of part 2, {seconds} s")
        } else if self.panicking.is_some() {
            format!("grading, {seconds} s: which panic it is takes a minute, the first time")
        } else if self.is_building(time) {
            format!("building, {seconds} s")
        } else if self.is_empty() {
            format!("grading, {seconds} s")
        } else {
            format!("grading, {seconds} s; above is the verdict on an earlier save")
        }
    }

    /// Whether a build is under way that takes a while. Where all is there, cargo needs a second to
    /// find that out.
    fn is_building(&self, time: Duration) -> bool {
        self.building.is_some() && self.is_empty() && time > Duration::from_secs(2)
    }

    /// The page; while a grading is under way, the first build or a panic that is known already, or
    /// else the old verdict, dimmed.
    pub(super) fn meanwhile(
        &self,
        grading_for: Option<Duration>,
        look: Look,
        columns: usize,
        room: usize,
    ) -> Vec<String> {
        let Some(time) = grading_for else {
            return self.within(look, columns, room);
        };
        if self.is_counting {
            return self.within(look, columns, room);
        }
        let Some((case, failure, files)) = &self.panicking else {
            if self.is_building(time) {
                let mut sheet = Sheet::default();
                sheet.add(Rank::Verdict, self.heading(look, columns));
                let of_kernels_alone = self.building == Some(Building::OfKernels);
                first_build(&mut sheet, of_kernels_alone, look, columns);
                return sheet.within(room, |_| String::new());
            }
            let colourless = Look {
                colour: false,
                ..look
            };
            let lines = self.within(colourless, columns, room);
            let dimmed = |line: &str| match line {
                "" => String::new(),
                _ => look.faint(line),
            };
            return painted(lines, dimmed);
        };
        let mut sheet = Sheet::default();
        sheet.add(Rank::Verdict, self.heading(look, columns));
        let first = Alike::alone(case, failure);
        first.explain(&mut sheet, Detail::Brief, look, columns);
        first.show_source(&mut sheet, files, look, columns);
        sheet.blank();
        for step in after_failure(failure) {
            next(&step, &mut sheet, look, columns);
        }
        sheet.within(room, |left_out| {
            let more = units::count(left_out, "line");
            look.faint(&format!("    ... {more} more"))
        })
    }
}

/// Adds which crates are built before the first grade, and how long that takes.
fn first_build(sheet: &mut Sheet, of_kernels_alone: bool, look: Look, columns: usize) {
    let mut add = |rank, text: &str, first: &str| {
        sheet.blank();
        sheet.add(rank, wrapped(text, first, 4, columns));
    };
    let host = if of_kernels_alone { "done" } else { "building" };
    add(
        Rank::Event,
        "Before the first grade, the libraries are built that your files are compiled against:",
        "  ",
    );
    let gpu = "core, cuda_std and kernels-gpu, for the GPU: building";
    add(Rank::Place, gpu, "    kernels.rs  ");
    let cpu = format!("plan and the crates that it needs, for this machine: {host}");
    sheet.add(Rank::Place, wrapped(&cpu, "    launch.rs   ", 4, columns));
    let time = "One to two minutes on two cores, once in this copy of the course. Later saves take a second or two.";
    sheet.blank();
    let time = wrapped(time, "  ", 4, columns);
    sheet.add(
        Rank::Detail,
        time.iter().map(|line| look.faint(line)).collect(),
    );
}
