//! The page that replays a test: the first that fails, else the first.

use std::path::Path;

use device::{CheckError, Device, Facts, NamedBuffers, Replay, WrongValue};
use exit::CommandError;
use lab::run::{explain, run_from};
use lab::{Axes, LabCase, Variant};
use replay::{Mistake, Page};
use select::course_root;
use terminal::stdout::Out;

/// The page, and the test that it is to show.
pub struct Replayed {
    page: Page,
    kept: Option<Kept>,
}

/// A test that was recorded.
struct Kept {
    replay: Replay,
    /// The variant, or the folder of a submission.
    solution: String,
    label: String,
    axes: Axes,
    is_wrong: bool,
}

impl Replayed {
    /// No test has run.
    pub fn new(page: Page) -> Replayed {
        Replayed { page, kept: None }
    }

    /// Records the test that comes, unless one that fails is there.
    pub fn begin(&self, device: &dyn Device) {
        if !self.has_wrong() {
            device.record(self.page.wish.clone(), None);
        }
    }

    /// Whether a test that fails was recorded.
    pub fn has_wrong(&self) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.is_wrong)
    }

    /// Keeps the test that has ended, if it is the one. One whose result is `wrong` runs again, to
    /// find the launch that stored it.
    pub fn end(
        &mut self,
        device: &dyn Device,
        variant: &Variant,
        case: &dyn LabCase,
        inputs: &NamedBuffers,
        wrong: Option<&CheckError>,
    ) {
        let Some(mut replay) = device.take_replay() else {
            return;
        };
        if let Some(error) = wrong {
            let text = explain(case, error);
            let plan = variant.record(case);
            let value = plan
                .ok()
                .and_then(|plan| WrongValue::first(&plan, error, &text));
            if value.is_some() {
                device.record(self.page.wish.clone(), value);
                let _ = run_from(device, case, variant, inputs);
                replay = device.take_replay().unwrap_or(replay);
            }
            replay.mistake.get_or_insert_with(|| Mistake::nowhere(text));
        }
        let is_wrong = replay.mistake.is_some();
        if self.kept.is_some() && !is_wrong {
            return;
        }
        let plan = variant.record(case);
        self.kept = Some(Kept {
            replay,
            solution: variant.name.clone(),
            label: case.label(),
            axes: plan.map_or_else(|_| Axes::new(), |plan| lab::axes(&plan, case)),
            is_wrong,
        });
    }

    /// Writes the page, and says so.
    ///
    /// # Errors
    ///
    /// A page that cannot be written; [`CommandError::Input`] if no test was recorded.
    pub fn write(self, out: &mut Out<'_>) -> Result<(), CommandError> {
        let Some(kept) = self.kept else {
            return Err(CommandError::Input(
                "--replay: no test has launched the blocks that are asked for".to_owned(),
            ));
        };
        let Replay {
            recording,
            executable,
            mistake,
        } = &kept.replay;
        let course = course_root::of_program().unwrap_or_default();
        let facts = Facts {
            axes: &|name| kept.axes.get(name).cloned().unwrap_or_default(),
            text: &|name| replay::source(&[Path::new(&kept.solution), &course], name),
        };
        let program = executable.program();
        let wrote = self
            .page
            .write(recording, program, mistake.as_ref(), &facts)?;
        out.line(format!("{wrote}, of {} on {}", kept.solution, kept.label))
    }
}
