//! The lines that tuning prints, which appear one by one.

use lab::Variant;
use select::tuned::{Entry, Measured, Tried};
use units::significant;

/// How the lines of a variant's shapes are laid out.
pub struct Columns {
    first: usize,
}

impl Columns {
    pub fn of(variant: &Variant) -> Columns {
        let labels = variant.shapes.iter().filter_map(|shape| shape.label());
        Columns {
            first: labels.map(str::len).max().unwrap_or(0).max("shape".len()),
        }
    }

    pub fn header(&self, unit: &str) -> String {
        let width = self.first;
        format!(
            "  {:width$}  {unit:>17}  {:>8}  vs default",
            "shape", "default"
        )
    }

    pub fn row(&self, tried: &Tried) -> String {
        let width = self.first;
        let shape = format!("  {:width$}", tried.shape());
        match tried {
            Tried::PassedOver { passed_over, .. } => format!("{shape}  passed over: {passed_over}"),
            Tried::Measured(measured) => {
                let Measured {
                    step,
                    default_step,
                    vs_default,
                    interval,
                    ..
                } = measured;
                let [step, default] = [step, default_step].map(|step| significant(*step, 4));
                let interval = interval
                    .map(|[low, high]| format!(" ({low:.3} to {high:.3})"))
                    .unwrap_or_default();
                format!("{shape}  {step:>17}  {default:>8}  {vs_default:.3}{interval}")
            }
        }
    }
}

/// The answer, and where it is `saved`.
pub fn verdict(entry: &Entry, default: &str, saved: &str) -> String {
    match entry.shape.as_deref() {
        Some(shape) if shape != default => {
            let mut measured = entry.tried.iter().filter_map(Tried::measured);
            let best = measured.rfind(|measured| measured.shape == shape);
            let ratio = best.map_or(f64::NAN, |best| best.vs_default);
            format!("  best: {shape}, {ratio:.3} times as fast as {default}{saved}")
        }
        _ => format!(
            "  best: {default}, the default: no other beats it by more than the noise{saved}"
        ),
    }
}

/// The answer for a variant with one shape.
pub fn of_one_shape(entry: &Entry, saved: &str) -> String {
    match entry.tried.last() {
        Some(Tried::PassedOver { passed_over, .. }) => format!("  passed over: {passed_over}"),
        Some(Tried::Measured(Measured { step, .. })) => {
            format!("  {} {}{saved}", significant(*step, 4), entry.unit)
        }
        None => "  not timed: no time was left".to_owned(),
    }
}
