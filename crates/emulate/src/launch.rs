//! A launch of a kernel of a PTX file.

use std::path::Path;
use std::sync::Arc;

use exit::CommandError;
use forge::Place;
use ptx_emu::{DeviceLimits, Executable, Fault, FaultPlace, LaunchConfig, Options, ProgramFault};
use replay::{Facts, Mistake, Page};
use terminal::look::Look;
use trial::{Counts, Refused, Trial};

use crate::options::{EmulateArgs, sanitize};
use crate::runs::{self, Run};

/// A launch that was asked for.
pub(crate) struct Launch<'a> {
    args: &'a EmulateArgs,
    trial: Trial<'a>,
    executable: &'a Executable,
}

impl<'a> Launch<'a> {
    /// The launch that the flags ask for.
    ///
    /// # Errors
    ///
    /// No such kernel, or arguments that it does not take, in words.
    pub(crate) fn new(
        args: &'a EmulateArgs,
        name: &str,
        executable: &'a Arc<Executable>,
    ) -> Result<Launch<'a>, String> {
        let program = executable.program();
        let target = program.target.first().map_or("", String::as_str);
        if let Some((major, minor)) = args.compute_capability
            && ptx::capability(target).is_some_and(|needed| needed > (major, minor))
        {
            return Err(format!(
                "--compute-capability {major}.{minor}: the file is for {target} and newer; compile it for sm_{major}{minor}, or emulate a newer device"
            ));
        }
        let config = LaunchConfig {
            grid: args.grid.0,
            block: args.block.0,
            shared_mem_bytes: args.shared,
            cluster: args.cluster.0,
        };
        let trial = Trial::new(executable, name, config, &args.arguments);
        let mut trial = trial.map_err(|refused| match refused {
            Refused::Kernel(reason) => format!("--kernel {name}: {reason}"),
            Refused::Argument(reason) => reason,
        })?;
        trial.limits = args
            .compute_capability
            .map_or_else(DeviceLimits::default, DeviceLimits::of);
        trial.options = Options {
            sanitize: sanitize(&args.check),
            volatile_is_plain: args.volatile_is_plain,
            ..Options::default()
        };
        Ok(Launch {
            args,
            trial,
            executable,
        })
    }

    /// Launches in one order, on a machine of its own.
    ///
    /// # Errors
    ///
    /// A launch that is not possible, and too little memory for its buffers.
    pub(crate) fn run(&self, order: u32) -> Result<Launched<'_>, CommandError> {
        let launched = self.trial.run(order).map_err(CommandError::Environment)?;
        self.judge(order, launched)
    }

    /// Launches once more in an order, in which a launch ended so, writes a page that replays it,
    /// and says so.
    ///
    /// # Errors
    ///
    /// Those of [`Self::run`], blocks that the grid does not have, and a file that cannot be
    /// written.
    pub(crate) fn replay(
        &self,
        order: u32,
        fault: Option<&ProgramFault>,
        page: Page,
    ) -> Result<String, CommandError> {
        let plan = page.wish.plan(self.trial.config.grid, fault)?;
        let recording = self.trial.record(order, plan);
        let recording = recording.map_err(CommandError::Environment)?;
        let mistake = fault.map(|fault| Mistake::fault(&recording, fault));
        let program = self.executable.program();
        page.write(&recording, program, mistake.as_ref(), &Facts::LOCAL)
    }

    /// The findings of a launch.
    fn judge<'l>(
        &self,
        order: u32,
        launched: trial::Launched<'l>,
    ) -> Result<Launched<'l>, CommandError> {
        let mut run = Run {
            order,
            started: true,
            ..Run::default()
        };
        let mut found = None;
        match &launched.outcome {
            Ok(report) => {
                run.notes
                    .extend(report.notes().into_iter().map(|(_, text)| text));
                if self.args.counts {
                    run.counts
                        .insert(report.kernel.clone(), Counts::from(report));
                }
            }
            Err(fault @ Fault::Program(program)) => {
                run.faults.push(runs::Fault {
                    kernel: self.trial.kernel().name.clone(),
                    grid: self.trial.config.grid,
                    block: self.trial.config.block,
                    kind: program.kind.name().to_owned(),
                    text: fault.to_string(),
                    places: self.places(program),
                });
                found = Some(program.clone());
            }
            Err(fault @ Fault::Unsupported(_)) => {
                run.unsupported.push(fault.to_string());
                run.needs_more = true;
            }
            Err(fault @ Fault::Launch(_)) => return Err(CommandError::Input(fault.to_string())),
        }
        Ok(Launched {
            run,
            fault: found,
            made: launched,
        })
    }

    /// The source lines of a fault, or the lines of the file of PTX where there are none.
    fn places(&self, fault: &ProgramFault) -> Vec<Place> {
        let file = self.args.file.as_deref().unwrap_or(Path::new("PTX"));
        let place = |place: FaultPlace| match place.source {
            Some(source) => Place::new(place.role, &*source.file, source.line, source.column),
            None => Place::new(place.role, file.to_string_lossy(), place.ptx_line, 0),
        };
        fault.places().into_iter().map(place).collect()
    }
}

/// A launch that was made.
pub(crate) struct Launched<'a> {
    /// Its outcome.
    pub(crate) run: Run,
    /// The fault among it.
    pub(crate) fault: Option<Box<ProgramFault>>,
    made: trial::Launched<'a>,
}

impl Launched<'_> {
    /// The outcome, what the kernel has printed, its counts if they are wanted, and the buffers
    /// where nothing went wrong.
    pub(crate) fn words(&self, wants_counts: bool, look: Look) -> String {
        let faults = self.run.faults.iter().map(|fault| &fault.text);
        let wrong = faults.chain(&self.run.unsupported).next();
        let order = self.run.order;
        let mut lines = vec![match wrong {
            Some(text) => look.bad(&format!("order {order}: {text}")),
            None => format!("order {order}: no fault"),
        }];
        if !self.made.printed.is_empty() {
            lines.push(self.made.printed.trim_end().to_owned());
        }
        if wrong.is_none() {
            if wants_counts {
                lines.push(self.run.table(look).trim_end().to_owned());
            }
            lines.extend(self.made.buffers().map(|shown| format!("  {shown}")));
        }
        lines.join("\n")
    }
}
