//! Axes and their ticks.

use units::three;

/// One of the two axes.
#[derive(Clone)]
pub struct Axis {
    /// The axis' quantity, with the unit.
    pub label: String,
    /// The base of the ticks, if the axis is logarithmic (equal distances are equal ratios).
    pub log_base: Option<f64>,
    /// Writes a tick.
    pub tick: fn(f64) -> String,
    /// Whether the axis starts at 0, where it is not logarithmic.
    pub from_zero: bool,
}

/// A tick's number: three digits, no zeros behind the point.
pub fn tick(value: f64) -> String {
    let text = three(value);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A tick for counts: nothing between whole numbers.
pub fn whole(value: f64) -> String {
    if (value - value.round()).abs() < 1e-9 {
        tick(value)
    } else {
        String::new()
    }
}

impl Axis {
    /// A linear axis from 0.
    pub fn linear(label: &str, tick: fn(f64) -> String) -> Axis {
        Axis {
            label: label.to_owned(),
            log_base: None,
            tick,
            from_zero: true,
        }
    }

    /// A logarithmic axis.
    pub fn log(label: &str, base: f64, tick: fn(f64) -> String) -> Axis {
        Axis {
            label: label.to_owned(),
            log_base: Some(base),
            tick,
            from_zero: false,
        }
    }

    /// Where the axis begins and ends, to show these values.
    pub(super) fn bounds(&self, least: f64, most: f64) -> (f64, f64) {
        if self.log_base.is_some() {
            return (least / 1.25, most * 1.25);
        }
        let least = if self.from_zero {
            least.min(0.0)
        } else {
            least
        };
        let span = if most > least {
            most - least
        } else {
            most.abs().max(1.0)
        };
        let below = if self.from_zero && least >= 0.0 {
            0.0
        } else {
            0.04 * span
        };
        (least - below, least + 1.06 * span)
    }
}
