//! Figures that compare a row with another, or with a limit. They are said only if the rows are results.

use host::Cpu;

use super::bound::Bound;
use super::results::{CaseResults, Correctness, Figures, Ratio, Row};

/// A row, and those that it may be compared with.
#[derive(Debug, Clone, Copy)]
pub struct Compared<'c> {
    /// Those of its lab, perhaps among others.
    pub cases: &'c [CaseResults],
    /// The one that it was timed for.
    pub case: &'c CaseResults,
    pub row: &'c Row,
}

/// A reference's row: of the case, or of the lab's first.
pub fn cpu<'c>(cases: &'c [CaseResults], case: &'c CaseResults, cpu: Cpu) -> Option<&'c Row> {
    let of_lab = cases.iter().filter(|other| other.lab == case.lab);
    let rows = std::iter::once(case).chain(of_lab);
    let mut rows = rows.flat_map(|case| &case.rows);
    rows.find(|row| is_cpu(row) && row.variant == cpu.name())
}

/// Whether it is a reference's.
pub fn is_cpu(row: &Row) -> bool {
    row.device == "cpu"
}

impl<'c> Compared<'c> {
    /// Time of the lab's first variant over its own.
    pub fn vs_first(&self) -> Option<Ratio> {
        self.with(self.of_variant(&self.case.first_variant))?
            .vs_first
    }

    /// Of a peer, or of a variant under a cap of registers: time of the variant as it is over its own.
    pub fn vs_variant(&self) -> Option<Ratio> {
        let capped = self.row.capped.as_ref();
        let variant = capped.map_or(&self.row.variant, |capped| &capped.of);
        self.with(self.of_variant(variant))?.vs_variant
    }

    /// Rate over that of all cores.
    pub fn vs_cpu(&self) -> Option<f64> {
        self.with(cpu(self.cases, self.case, Cpu::Parallel))?.vs_cpu
    }

    /// Rate over that of one core.
    pub fn vs_serial(&self) -> Option<f64> {
        self.with(cpu(self.cases, self.case, Cpu::Serial))?
            .vs_serial
    }

    /// Time in CUDA C++ over its own: above 1, this one is faster. Of several builds, the fastest counts.
    pub fn vs_cuda(&self) -> Option<f64> {
        let own_over_its = |peer: &&Row| Some(peer.figures()?.vs_variant?.estimate);
        let by_ratio = |a: &&Row, b: &&Row| {
            let ratio = |peer| own_over_its(&peer).unwrap_or(0.0);
            ratio(*a).total_cmp(&ratio(*b))
        };
        let fastest = self.cuda_peers().max_by(by_ratio)?;
        self.with(Some(fastest))?;
        Some(1.0 / own_over_its(&fastest)?)
    }

    /// The same variant in CUDA C++, as far as it was timed and gave no wrong values.
    pub fn cuda_peers(&self) -> impl Iterator<Item = &'c Row> {
        let Compared { case, row, .. } = *self;
        case.rows.iter().filter(move |peer| {
            let language = peer.language.as_deref().unwrap_or_default();
            let is_right = |figures: &Figures| figures.result != Correctness::Wrong;
            language.starts_with("CUDA C++")
                && row.language.is_none()
                && (&peer.device, &peer.variant) == (&row.device, &row.variant)
                && peer.figures().is_some_and(is_right)
        })
    }

    /// The limit that binds it.
    pub fn bound(&self) -> Option<Bound> {
        self.with(Some(self.row))?.bound
    }

    /// Our row of this variant on its device.
    fn of_variant(&self, variant: &str) -> Option<&'c Row> {
        self.case.rows.iter().find(|other| {
            let is_ours = other.language.is_none() && other.device == self.row.device;
            is_ours && other.variant == variant
        })
    }

    /// Its figures, if they and the other's are results.
    fn with(&self, other: Option<&Row>) -> Option<&'c Figures> {
        let is_result = other?.figures()?.is_result();
        let own = self.row.figures()?;
        (is_result && own.is_result()).then_some(own)
    }
}
