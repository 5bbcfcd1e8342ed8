//! The next step: after a failure, or when all is right.

use super::subject::Subject;
use grading::diagnose::{Diagnosis, Pattern};
use grading::outcome::{Category, Failure, Kind, Memory};
use grading::report::{CountGrade, GradeReport};
use terminal::command_line::quoted;

use crate::report::figures;

/// A thing for the reader to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextStep {
    /// A sentence or two.
    pub text: String,
    /// Commands to type for it.
    pub commands: Vec<String>,
}

/// The next steps after this report, whose first failure is given; at least one.
pub fn after(subject: &Subject, report: &GradeReport, failing: Option<&Failure>) -> Vec<NextStep> {
    match failing {
        None => when_right(subject, report),
        Some(failing) => vec![NextStep {
            text: about(failing).to_owned(),
            commands: commands(subject, report, failing),
        }],
    }
}

/// The next steps after a failure that is known before the report.
pub fn after_failure(failing: &Failure) -> Vec<NextStep> {
    let text = about(failing).to_owned();
    vec![NextStep {
        text,
        commands: Vec::new(),
    }]
}

/// The step after a failure.
fn about(failing: &Failure) -> &'static str {
    match failing.kind {
        Kind::MissingFile => {
            "the folder needs kernels.rs and launch.rs, as text; the lab's starter has both"
        }
        Kind::ForbiddenConstruct => {
            "do without it: docs/reference/submissions.md says what a submission may use, and what to write instead of the rest"
        }
        Kind::CompileError => "put this right and save: no case runs before both files compile",
        Kind::BuildLimit => {
            "make it smaller: fewer generic instances, no macros or constants that compute for long"
        }
        Kind::RecorderFailed => {
            "put launch.rs right for the case that is named: it must record a plan for every size, the smallest too"
        }
        Kind::RecorderForbidden | Kind::RecorderTimedOut | Kind::RecorderLimit => {
            "let launch.rs only record launches and copies: it has no files, no clock and little memory"
        }
        Kind::PlanMalformed | Kind::PlanInvalid | Kind::PlanTooLarge | Kind::LaunchRefused => {
            "compare the launch with the kernel: an argument for each parameter, in their order and types; \
             a grid that is not empty; blocks within the limits"
        }
        Kind::PtxInvalid | Kind::BundleDamaged | Kind::BundleVersion | Kind::BundleMismatch => {
            "save the files again; if it stays, `harness doctor` says whether the compiler is the right one"
        }
        Kind::OutOfBounds => {
            "compare the index with the size before this access: blocks are whole, so some threads lie beyond the last cell"
        }
        Kind::Misaligned => {
            "begin at an element whose address is a multiple of the access, and do the elements before and after one by one"
        }
        Kind::UninitializedRead => {
            "write this value before it is read: scratch buffers and shared memory hold nothing at first"
        }
        Kind::Race => match failing.memory {
            Some(Memory::Shared) => {
                "put a barrier between the two accesses: thread::sync_threads(), which every thread of the block must reach"
            }
            Some(Memory::Global) => {
                "give each element one thread that writes it, and write to another buffer than is read, or in a launch of its own: a \
                 barrier orders only the threads of one block"
            }
            None => {
                "order the two accesses: within a block by a barrier (thread::sync_threads()), between blocks by a launch of its \
                 own or another buffer"
            }
        },
        Kind::Barrier => {
            "let every thread of the block that goes on reach this barrier: no branch around it that only some of them take"
        }
        Kind::KernelFault => {
            "ask in this line which index or value can be out of range, for the thread that is named, and test it first"
        }
        Kind::Deadline => {
            "look for a loop that does not end, or a thread that waits for another block"
        }
        Kind::Crashed => {
            "grade again with Enter; if it stays, take out the last change and put it back by halves"
        }
        Kind::InputChanged => {
            "write to other buffers: this one is an input, and launches may only read it"
        }
        Kind::GuardOverwritten => {
            "grade on the emulated device: it names the line and the thread that writes outside"
        }
        Kind::ImpossibleSpeed | Kind::ClocksDisagree => {
            "let every launch do all of its work: the time is shorter than moving the bytes takes"
        }
        Kind::WrongResult | Kind::NonFinite | Kind::WrongLater => {
            wrong(failing.diagnosis.as_deref())
        }
    }
}

/// The step after wrong values.
fn wrong(diagnosis: Option<&Diagnosis>) -> &'static str {
    let patterns = diagnosis.map_or(&[][..], |diagnosis| &diagnosis.patterns);
    // A number of steps says more than that the field is also an input. That one output alone is
    // wrong says little of where to look.
    let is_step = |pattern: &&Pattern| matches!(pattern, Pattern::OtherStep { .. });
    let says_where = |pattern: &&Pattern| !matches!(pattern, Pattern::OneFieldOnly { .. });
    let has = |is: fn(&Pattern) -> bool| patterns.iter().any(is);
    if has(|it| matches!(it, Pattern::Unwritten { .. })) {
        return unwritten(patterns);
    }
    let is_unchanged = |it: &Pattern| {
        matches!(
            it,
            Pattern::CopyOfInput {
                others_computed: false,
                ..
            }
        )
    };
    let step = patterns.iter().find(is_step);
    if step.is_some() && has(is_unchanged) {
        return "nothing is computed yet: look at what the kernel stores first, then at the buffer that launch.rs returns";
    }
    match step.or_else(|| patterns.iter().find(says_where)) {
        Some(Pattern::AllZeros | Pattern::CopyOfInput { .. }) => {
            "follow the output in launch.rs: which launch writes this buffer, and is it the one that is returned?"
        }
        Some(Pattern::SwappedFields { .. } | Pattern::OtherStep { .. }) => {
            "count the launches, and follow the buffers' names from one to the next and into the returned outputs"
        }
        Some(Pattern::BorderOnly { .. }) => {
            "look at what the kernel does with cells at the border, where a neighbour is missing"
        }
        Some(Pattern::LastPartialTile { .. }) => {
            "look at the last block: is the number of blocks rounded up, and does it take the cells that are left?"
        }
        Some(Pattern::TileSeams { .. }) => {
            "look at where two blocks meet: is the halo wide enough, and loaded before it is read?"
        }
        Some(Pattern::Band { .. }) => {
            "look at how these cells get their values: from a source, a wall, or the halo of a block?"
        }
        Some(Pattern::Transposed { .. }) => {
            "look at the index: x is contiguous, and one step along y is a whole row"
        }
        Some(Pattern::Shifted { .. }) => {
            "look at the index of this access: it is off by a constant"
        }
        Some(Pattern::ReducedPrecision { .. }) => "keep every value in the field's own type",
        Some(Pattern::SignOfZero | Pattern::RoundingOnly { .. }) => {
            "compute in the order of the given functions, without mul_add: equal means equal to the last bit"
        }
        Some(
            Pattern::FewCells { .. } | Pattern::OneFieldOnly { .. } | Pattern::Unwritten { .. },
        )
        | None => {
            "compute the first wrong cell by hand: which elements does it read, and which does your kernel read?"
        }
    }
}

/// The step after cells that nothing wrote, by where they are.
fn unwritten(patterns: &[Pattern]) -> &'static str {
    let place = patterns.iter().find_map(|pattern| match pattern {
        Pattern::BorderOnly { .. } => Some(
            "write the walls too: nothing is in a new buffer, so each launch stores the border's cells, or a copy brings them before",
        ),
        Pattern::LastPartialTile { .. } => Some(
            "let the last block be there: round the number of blocks up, and let its threads past the end do nothing",
        ),
        Pattern::TileSeams { .. } | Pattern::Band { .. } => Some(
            "look at where two blocks meet: the cells between them belong to neither",
        ),
        _ => None,
    });
    place.unwrap_or(
        "let some thread write every cell: count the grid's threads, and write down the cells of one thread",
    )
}

/// Commands that show more of a failure.
fn commands(subject: &Subject, report: &GradeReport, failing: &Failure) -> Vec<String> {
    let grade = grade(subject);
    let device = match subject.device.as_str() {
        // As it finds a fault, and the line of it.
        "emulated" => " --device emulated",
        _ => "",
    };
    let seed = report.seed.map(|seed| format!(" --seed {seed}"));
    let all = format!("{grade}{device}{}", seed.unwrap_or_default());
    match failing.category {
        Category::Wrong if failing.diagnosis.is_some() => vec![format!("{all} --heat-maps wrong")],
        Category::Wrong | Category::Faulted | Category::TimedOut | Category::Crashed => vec![all],
        Category::Untrusted => vec![grade],
        Category::Refused => match failing.kind {
            Kind::PlanInvalid | Kind::LaunchRefused => {
                vec!["harness occupancy --threads 256".to_owned()]
            }
            _ => Vec::new(),
        },
    }
}

fn when_right(subject: &Subject, report: &GradeReport) -> Vec<NextStep> {
    let lab = &subject.lab;
    let step = |text: String, commands: Vec<String>| NextStep { text, commands };
    let hidden =
        "does anything depend on the sizes and parameters of lab.toml? Hidden cases have others";
    let mut steps = vec![step(hidden.to_owned(), Vec::new())];
    steps.extend(
        report
            .counted
            .iter()
            .filter_map(|counted| about_count(lab, counted)),
    );
    let perf = format!("harness perf {}", subject.problem);
    if report.totals.not_graded_here > 0.0 {
        let text = format!(
            "make it fast: labs/{lab}/README.md, part 2. Key c counts what it does, a GPU grades its speed, and perf times the CPU"
        );
        steps.push(step(text, vec![grade(subject), perf]));
    } else if report.totals.earned < report.totals.graded() {
        let text =
            format!("make it faster: labs/{lab}/README.md, part 2. perf shows the device's limits");
        steps.push(step(text, vec![perf]));
    }
    if let Some(next) = lab_after(lab) {
        steps.push(step(
            format!("begin with lab {next}"),
            vec![format!("harness watch {next}")],
        ));
    }
    steps
}

/// The points that a count has left, if it was counted and has some.
fn about_count(lab: &str, counted: &CountGrade) -> Option<NextStep> {
    let left = counted.points - counted.earned;
    let (true, Some(_)) = (left > 0.0, counted.counted) else {
        return None;
    };
    let text = format!(
        "{} points more for fewer {}: {}; labs/{lab}/README.md says how",
        figures::points(left),
        figures::count_of(counted),
        figures::count_in_words(counted)
    );
    let commands = Vec::new();
    Some(NextStep { text, commands })
}

fn grade(subject: &Subject) -> String {
    let flag = if subject.needs_lab_flag {
        format!(" --lab {}", subject.lab)
    } else {
        String::new()
    };
    format!("harness grade {}{flag}", quoted(&subject.folder))
}

/// The lab that comes next, in the order of labs/README.md.
fn lab_after(lab: &str) -> Option<&'static str> {
    let mut labs = in_order().skip_while(|name| *name != lab);
    labs.nth(1)
}

/// The labs in the order in which they build on each other: the table of labs/README.md, where
/// their names are code. Each comes before its sequels.
pub fn in_order() -> impl Iterator<Item = &'static str> {
    let page = include_str!("../../../../labs/README.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| [`"));
    rows.filter_map(|row| Some(row.split_once('`')?.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use grading::lab_spec;

    #[test]
    fn every_lab_has_its_place_in_the_order() {
        let mut named: Vec<&str> = in_order().collect();
        assert_eq!(lab_after(named[0]), Some(named[1]));
        assert_eq!(lab_after(named.last().unwrap()), None);
        let mut labs: Vec<&str> = lab_spec::names().collect();
        named.sort_unstable();
        labs.sort_unstable();
        assert_eq!(named, labs);
    }

    fn with_patterns(patterns: Vec<Pattern>) -> &'static str {
        // Its own patterns are of no matter here.
        let mut diagnosis = crate::watch::tests::diagnosis();
        diagnosis.patterns = patterns;
        wrong(Some(&diagnosis))
    }

    #[test]
    fn the_step_follows_the_memory_and_the_pattern() {
        let mut race = Failure::new(Kind::Race, "x");
        let mut of = |memory| {
            race.memory = memory;
            about(&race)
        };
        let [shared, global] = [Memory::Shared, Memory::Global].map(|memory| of(Some(memory)));
        assert!(shared.starts_with("put a barrier") && !shared.contains("buffer"));
        assert!(global.contains("another buffer") && !global.contains("sync_threads"));

        let unwritten = || Pattern::Unwritten { cells: 9 };
        let border = Pattern::BorderOnly {
            sides: vec!["x = 0".to_owned()],
            depth: 1,
        };
        let last = Pattern::LastPartialTile {
            axis: "x".to_owned(),
            from: 96,
            extent: 97,
        };
        let copy = |others_computed| Pattern::CopyOfInput {
            input: "u".to_owned(),
            others_computed,
        };
        let behind = || Pattern::OtherStep { behind: 1 };
        let steps = [
            vec![unwritten()],
            vec![unwritten(), border],
            vec![unwritten(), last],
            vec![copy(false), behind()],
            vec![copy(true), behind()],
        ];
        insta::assert_snapshot!(steps.map(with_patterns).join("\n"));
    }

    #[test]
    fn every_failure_has_a_next_step_in_a_line_or_three() {
        for &kind in Kind::ALL {
            let text = about(&Failure::new(kind, "x"));
            assert!(text.len() <= 200, "{kind}: {}", text.len());
            let first = text.chars().next();
            assert!(first.is_some_and(char::is_lowercase), "{kind}");
        }
    }
}
