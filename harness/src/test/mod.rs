//! `harness test`: every variant against the CPU reference, on small cases.

mod grid;
mod replayed;
mod report;
mod suite;
#[cfg(test)]
mod tests;

use std::time::Instant;

use clap::Args;
use device::Sanitize;
use host::labs;
use lab::Lab;

use exit::{CommandError, Ending};
use forge::ForgeArgs;
use replay::ReplayArgs;
use replayed::Replayed;
use report::{LabReport, Report};
use select::catalogue::{self, OfLab, SubmissionArg, Submitted};
use select::devices::{Chosen, GenerationArg, Machine, Named, Wanted};
use select::tuned::Table;
use suite::{Pace, Suite};
use terminal::json::JsonArg;
use terminal::stdout::Out;

/// Arguments of `harness test`.
#[derive(Debug, Clone, Default, Args)]
pub struct TestArgs {
    /// Only this lab
    pub lab: Option<String>,
    /// Only on this device: cpu, cuda, cuda:N, emulated; may be repeated [default: cpu and cuda, or
    /// without a GPU cpu and emulated]
    #[arg(long, value_name = "DEVICE", value_delimiter = ',')]
    device: Vec<Wanted>,
    #[command(flatten)]
    generation: GenerationArg,
    /// Only this variant; may be repeated
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    variant: Vec<String>,
    /// A case of your own instead of the small ones: a parameter of the lab; may be repeated
    #[arg(long, value_name = "NAME=VALUE", requires = "lab")]
    param: Vec<String>,
    /// Whether the emulated device looks for races, reads of uninitialized memory, and barriers
    /// that only a part of a block reaches; it always finds accesses beyond buffers
    #[arg(
        long,
        value_name = "WHETHER",
        value_parser = ["on", "off"],
        num_args = 0..=1,
        require_equals = true,
        default_value = "on",
        default_missing_value = "on"
    )]
    sanitize: String,
    /// Solutions beside the built-in ones.
    #[command(flatten)]
    pub own: SubmissionArg,
    #[command(flatten)]
    json: JsonArg,
    #[command(flatten)]
    forge: ForgeArgs,
    #[command(flatten)]
    replay: ReplayArgs,
}

impl TestArgs {
    fn sanitize(&self) -> Sanitize {
        match self.sanitize.as_str() {
            "off" => Sanitize::NONE,
            _ => Sanitize::ALL,
        }
    }
}

/// Tests the labs.
///
/// # Errors
///
/// Invalid arguments, or a device that was asked for and is missing. A wrong result is not an
/// error: it is in the report.
pub fn run(
    args: &TestArgs,
    submitted: Submitted,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    let machine = Machine::discover_as(args.generation, &args.device, args.sanitize())?;
    run_on(
        args,
        labs(),
        submitted,
        &machine,
        &Table::in_force(labs())?,
        out,
    )
}

fn run_on(
    args: &TestArgs,
    labs: &[&'static Lab],
    submitted: Submitted,
    machine: &Machine,
    tuned: &Table,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    catalogue::needs_device(&args.device, &args.variant, &args.own)?;
    let labs = catalogue::select(labs, args.lab.as_deref())?;
    let labs = catalogue::for_its_own_sake(&labs, &args.variant, submitted)?;
    let params = catalogue::params(&args.param)?;
    let chosen = machine.choose(&args.device)?;
    let json = args.json.open()?;
    let forms = args.forge.open(json.wants_text())?;

    let mut replayed = self::replayed(&args.replay, &chosen)?;

    let began = Instant::now();
    let has_no_variants = labs.iter().all(|of| of.variants.is_empty());
    let mut suites = Vec::new();
    for OfLab { lab, variants } in labs {
        let cases = match &params {
            None => lab.small_cases(),
            Some(params) => vec![catalogue::own_case(lab, params)?],
        };
        suites.push(Suite {
            lab,
            cases,
            columns: suite::columns(&chosen, &variants, !args.variant.is_empty()),
        });
    }
    let mut pace = Pace::new(&suites);
    let mut reports = Vec::new();
    for suite in &suites {
        let show = json.wants_text().then_some(&mut *out);
        let results = suite::run(suite, tuned, &mut pace, replayed.as_mut(), show)?;
        reports.push(LabReport {
            lab: suite.lab.name,
            results,
        });
    }
    drop(pace);
    let report = Report {
        labs: reports,
        skipped: chosen.absent,
    };
    if json.wants_text() {
        let look = out.look();
        for line in report.summary(look, began.elapsed()).lines() {
            out.line(look.wrapped(line, 0))?;
        }
        if has_no_variants {
            let note = "this copy of the course has no built-in variants: only the CPU references were tested; \
                        `harness test LAB --submission labs/LAB/starter` tests yours";
            out.line(look.wrapped(note, 0))?;
        }
    }
    if let Some(replayed) = replayed {
        replayed.write(out)?;
    }
    let ending = report.ending();
    forms.write(|| report.for_forges(), out)?;
    json.write("test", report, out)?;
    Ok(ending)
}

/// The page that is asked for: of the emulated device, which alone records.
fn replayed(args: &ReplayArgs, chosen: &Chosen<'_>) -> Result<Option<Replayed>, CommandError> {
    let Some(page) = args.open()? else {
        return Ok(None);
    };
    let emulated = |named: &Named<'_>| Wanted::from(named.name) == Wanted::EMULATED;
    if !chosen.devices.iter().any(emulated) {
        return Err(CommandError::Input(
            "--replay: no other device than the emulated one records; write --device emulated"
                .to_owned(),
        ));
    }
    Ok(Some(Replayed::new(page)))
}
