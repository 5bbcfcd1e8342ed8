//! Figures that compare a row with another, or with a limit. They are said only if the rows are
//! results.

use lab::Cpu;

use crate::bound::{Bound, OwnLimit};
use crate::document::{
    CaseResults, Comparisons, Figures, Language, Ratio, Reference, Results, Row,
};

/// A row, and those that it may be compared with.
#[derive(Debug, Clone, Copy)]
pub struct RowView<'c> {
    /// References of its lab, perhaps among others.
    pub references: &'c [Reference],
    /// The case that it was timed for.
    pub case: &'c CaseResults,
    /// The row itself.
    pub row: &'c Row,
}

/// All rows of the cases. A reference's row is beside the case that it was timed on, or beside the
/// first of its lab.
pub fn rows<'c>(
    cases: &'c [CaseResults],
    references: &'c [Reference],
) -> impl Iterator<Item = RowView<'c>> + Clone {
    cases.iter().flat_map(move |case| {
        let is_beside = move |reference: &&Reference| {
            let mut of_lab = cases.iter().filter(|known| known.lab == reference.lab);
            let first = of_lab.clone().next();
            let own = of_lab.find(|known| known.case == reference.row.case);
            own.or(first)
                .is_some_and(|beside| std::ptr::eq(beside, case))
        };
        let beside = references.iter().filter(is_beside);
        let rows = beside.map(|reference| &reference.row).chain(&case.rows);
        rows.map(move |row| RowView {
            references,
            case,
            row,
        })
    })
}

impl Results {
    /// All rows. A reference's row is beside the case that it was timed on, or beside the first of
    /// its lab.
    pub fn rows(&self) -> impl Iterator<Item = RowView<'_>> {
        rows(&self.cases, &self.references)
    }
}

/// A reference's row: one that was timed on the case, or another of its lab.
pub fn cpu<'c>(references: &'c [Reference], case: &CaseResults, cpu: Cpu) -> Option<&'c Row> {
    let of_lab = references.iter().filter(|known| known.lab == case.lab);
    let mut rows = of_lab
        .map(|known| &known.row)
        .filter(|row| row.variant == cpu.name());
    let on_case = rows.clone().find(|row| row.case == case.case);
    on_case.or_else(|| rows.next())
}

/// Whether it is a reference's.
pub fn is_cpu(row: &Row) -> bool {
    row.device == "cpu"
}

impl<'c> RowView<'c> {
    /// Time of the lab's first variant over its own.
    pub fn vs_first(&self) -> Option<Ratio> {
        self.with(self.of_variant(&self.case.first_variant))?
            .vs_first
    }

    /// Of a peer, or of a variant under a cap of registers: time of the variant as it is over its
    /// own.
    pub fn vs_variant(&self) -> Option<Ratio> {
        let capped = self.row.capped.as_ref();
        let variant = capped.map_or(&self.row.variant, |capped| &capped.of);
        self.with(self.of_variant(variant))?.vs_variant
    }

    /// Rate over that of all cores.
    pub fn vs_cpu(&self) -> Option<Ratio> {
        self.with(cpu(self.references, self.case, Cpu::Parallel))?
            .vs_cpu
    }

    /// Rate over that of one core.
    pub fn vs_serial(&self) -> Option<Ratio> {
        self.with(cpu(self.references, self.case, Cpu::Serial))?
            .vs_serial
    }

    /// Time in CUDA C++ over its own: above 1, this one is faster. Of several builds, the fastest
    /// counts.
    pub fn vs_cuda(&self) -> Option<Ratio> {
        let own_over_its = |peer: &Row| peer.figures()?.compared.vs_variant;
        let by_ratio = |a: &&Row, b: &&Row| {
            let ratio = |peer| own_over_its(peer).map_or(0.0, |ratio| ratio.estimate);
            ratio(*a).total_cmp(&ratio(*b))
        };
        let fastest = self.cuda_peers().max_by(by_ratio)?;
        self.with(Some(fastest))?;
        Some(own_over_its(fastest)?.inverted())
    }

    /// The rows of this variant in CUDA C++, as far as it was timed and gave no wrong values.
    pub fn cuda_peers(&self) -> impl Iterator<Item = &'c Row> {
        let RowView { case, row, .. } = *self;
        case.rows.iter().filter(move |peer| {
            let is_right = |figures: &Figures| !figures.is_wrong();
            let in_cuda = peer.language.as_ref().is_some_and(Language::is_cuda_cpp);
            in_cuda
                && row.language.is_none()
                && (&peer.device, &peer.variant) == (&row.device, &row.variant)
                && peer.figures().is_some_and(is_right)
        })
    }

    /// The limit that binds it.
    pub fn bound(&self) -> Option<Bound> {
        self.result()?.on_device.bound
    }

    /// The limit by its own instructions.
    pub fn own_limit(&self) -> Option<OwnLimit> {
        self.result()?.on_device.own_limit
    }

    /// Our row of this variant on its device.
    fn of_variant(&self, variant: &str) -> Option<&'c Row> {
        self.case.rows.iter().find(|other| {
            let is_ours = other.language.is_none() && other.device == self.row.device;
            is_ours && other.variant == variant
        })
    }

    /// Its comparisons, if its figures and the other's are results.
    fn with(&self, other: Option<&Row>) -> Option<&'c Comparisons> {
        let other_is_result = other?.figures()?.is_result();
        Some(&self.result().filter(|_| other_is_result)?.compared)
    }

    /// Its figures, if they are results.
    fn result(&self) -> Option<&'c Figures> {
        self.row.figures().filter(|figures| figures.is_result())
    }
}
