//! A lab, as data.

use std::fmt;
use std::sync::Arc;

use device::module::Module;
use plan::{InterfaceInfo, Plan};

use crate::case::LabCase;
use crate::params::{CaseError, CaseParams, Parameter, Values};
use crate::running::Running;
use crate::seed::Seed;
use crate::variant::{SHAPE, Variant};

/// Any case.
pub(crate) type AnyCase = Box<dyn LabCase>;

/// A problem family.
pub struct Lab {
    /// As users type it.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// The parameters that `from_values` understands.
    pub parameters: &'static [Parameter],
    /// The names of the outputs: of references, and of every plan.
    pub outputs: &'static [&'static str],
    /// Whether results are rounded: whether its cases have an oracle, so that there is a distance
    /// from the exact results.
    pub rounds: bool,
    /// How many bits a seed has that is a number: 1 to 64.
    pub seed_bits: u32,
    /// The kernels of the built-in variants.
    pub module: Arc<Module>,
    /// The built-in solutions; the first is the plain one that others are compared with. A copy of
    /// the course without solutions has none.
    pub variants: Vec<Variant>,
    /// The parameters that say how many elements there are along each axis.
    pub extents: &'static [&'static str],
    /// The least that each of them may be, where they are equal.
    pub least_extent: u32,
    /// The extents, equal along each axis, that show how the lab scales.
    pub series: Series,
    /// A case of this extent along each axis, with as little to do as can be; refuses extents that
    /// are not allowed.
    pub of_extent: fn(u32) -> Result<AnyCase, CaseError>,
    /// The case with these parameters; refuses values that the scheme does not allow.
    pub from_values: fn(&Values<'_>) -> Result<AnyCase, CaseError>,
    /// Refuses parameters that would keep the inputs from following the seed.
    pub check_seedable: fn(&CaseParams) -> Result<(), CaseError>,
    /// How `harness run` runs it, for a lab with timesteps that is run.
    pub running: Option<Running>,
    /// Makes [`Lab::small_cases`].
    pub small: fn() -> Vec<AnyCase>,
    /// Makes [`Lab::laptop_cases`].
    pub laptop: fn() -> Vec<AnyCase>,
    /// Makes [`Lab::large_cases`].
    pub large: fn() -> Vec<AnyCase>,
}

/// Sizes that `harness perf --gpus` times: elements along each axis.
#[derive(Debug, Clone, Copy)]
pub struct Series {
    /// For a first look.
    pub short: &'static [u32],
    /// With `--large`.
    pub long: &'static [u32],
    /// On the emulated device, where only results count.
    pub emulated: &'static [u32],
}

impl Series {
    /// For a lab that names no others.
    pub const USUAL: Series = Series {
        short: &[128, 256],
        long: &[256, 384, 512],
        emulated: &[33],
    };
}

/// Cases of one lab, as [`Lab::small`] and its like return them.
pub fn boxed<C: LabCase>(cases: impl IntoIterator<Item = C>) -> Vec<AnyCase> {
    let cases = cases.into_iter().map(|case| Box::new(case) as AnyCase);
    cases.collect()
}

/// Cases of one lab, each with inputs from a seed that is its number, from 1 on.
pub fn numbered<C>(
    cases: impl IntoIterator<Item = C>,
    seeded: impl Fn(C, Seed) -> C,
) -> impl Iterator<Item = C> {
    let cases = cases.into_iter().zip(1..);
    cases.map(move |(case, number)| seeded(case, Seed::Number(number)))
}

impl Lab {
    /// Cases that test correctness, quick on the emulated device too.
    pub fn small_cases(&self) -> Vec<AnyCase> {
        (self.small)()
    }

    /// Cases that are timed by default: seconds on a GPU and on the CPU of a laptop.
    pub fn laptop_cases(&self) -> Vec<AnyCase> {
        (self.laptop)()
    }

    /// Cases that only a GPU finishes in reasonable time.
    pub fn large_cases(&self) -> Vec<AnyCase> {
        (self.large)()
    }

    /// A case of one's own.
    ///
    /// # Errors
    ///
    /// [`CaseError`] for unknown parameters or values that the scheme does not allow.
    pub fn case(&self, params: &CaseParams) -> Result<AnyCase, CaseError> {
        (self.from_values)(&Values::new(params, self.parameters)?)
    }

    /// Gives the parameters inputs that follow from `seed`: every output depends on them.
    ///
    /// # Errors
    ///
    /// [`CaseError`] for parameters that would keep the inputs from following the seed.
    pub fn seeded(
        &self,
        params: &CaseParams,
        seed: impl Into<Seed>,
    ) -> Result<CaseParams, CaseError> {
        (self.check_seedable)(params)?;
        let mut params = params.clone();
        let seed = match seed.into() {
            Seed::Number(number) => Seed::Number(number >> (64 - self.seed_bits)),
            key => key,
        };
        params.set("seed", seed);
        Ok(params)
    }

    /// The parameter that is the number of timesteps, if the lab has one.
    pub fn steps_parameter(&self) -> Option<&'static str> {
        let mut parameters = self.parameters.iter();
        Some(parameters.find(|parameter| parameter.is_steps)?.name)
    }

    /// The parameter that random inputs are scaled by, if the lab has one.
    pub fn scale_parameter(&self) -> Option<&'static str> {
        let mut parameters = self.parameters.iter();
        Some(parameters.find(|parameter| parameter.is_scale)?.name)
    }

    /// The variant that computes where none is named: that marked [`Variant::usual`], or else the
    /// first. None in a copy of the course without solutions.
    pub fn usual(&self) -> Option<&Variant> {
        let marked = self.variants.iter().find(|variant| variant.is_usual);
        marked.or(self.variants.first())
    }

    /// The variant that computes on several devices where none is named, if the lab has one:
    /// [`Variant::usual_on_several`].
    pub fn usual_on_several(&self) -> Option<&Variant> {
        let mut variants = self.variants.iter();
        variants.find(|variant| variant.is_usual_on_several)
    }

    /// The variant of this name, or of `NAME@LABEL`: that variant in one of its shapes.
    ///
    /// # Errors
    ///
    /// [`CaseError::Unknown`], with the nearest name or label.
    pub fn find(&self, name: &str) -> Result<&Variant, CaseError> {
        let Some((base, label)) = name.split_once(SHAPE) else {
            return find_variant(&self.variants, name);
        };
        let shapes = &find_variant(&self.variants, base)?.shapes;
        let found = shapes.iter().find(|shape| shape.name == name);
        found.ok_or_else(|| {
            let labels = shapes.iter().filter_map(Variant::label);
            CaseError::unknown("shape", label, labels)
        })
    }

    /// A plan with the buffers that the lab's interface declares for the case, and nothing else.
    /// None for a lab without an interface in [`plan`].
    pub fn declared(&self, case: &dyn LabCase) -> Option<Plan> {
        let interface = InterfaceInfo::find(self.name)?;
        interface.declared(&case.problem_json()).ok()
    }

    /// The largest extent of a case, equal along each axis, whose buffers, with this variant, are
    /// no more than `bytes`. Without a variant, the lab's own buffers alone count. None if not even
    /// the smallest fits.
    pub fn largest_extent(&self, variant: Option<&Variant>, bytes: u64) -> Option<u32> {
        largest(self.least_extent, u32::MAX, |n| {
            let needed = || {
                let case = (self.of_extent)(n).ok()?;
                let plan = match variant {
                    Some(variant) => variant.record(case.as_ref()).ok()?,
                    None => self.declared(case.as_ref())?,
                };
                plan.memory_bytes().ok()
            };
            needed().is_some_and(|needed| needed <= bytes)
        })
    }

    /// The parameters of that case: `n = 1290`.
    pub fn largest_within(&self, variant: Option<&Variant>, bytes: u64) -> Option<String> {
        let n = self.largest_extent(variant, bytes)?;
        Some(format!("{} = {n}", self.extents.join(" = ")))
    }
}

impl fmt::Debug for Lab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lab({})", self.name)
    }
}

/// The lab of this name.
///
/// # Errors
///
/// [`CaseError::Unknown`], with the nearest name.
pub fn find_lab(labs: &[&'static Lab], name: &str) -> Result<&'static Lab, CaseError> {
    let found = labs.iter().copied().find(|lab| lab.name == name);
    found.ok_or_else(|| CaseError::unknown("lab", name, labs.iter().map(|lab| lab.name)))
}

/// The variant of this name.
///
/// # Errors
///
/// [`CaseError::Unknown`], with the nearest name.
pub fn find_variant<'v>(variants: &'v [Variant], name: &str) -> Result<&'v Variant, CaseError> {
    let found = variants.iter().find(|variant| variant.name == name);
    let known = || variants.iter().map(|variant| &*variant.name);
    found.ok_or_else(|| CaseError::unknown("variant", name, known()))
}

/// The largest number from `least` to `most` that fits, where all below one that fits do too.
fn largest(least: u32, most: u32, fits: impl Fn(u32) -> bool) -> Option<u32> {
    if !fits(least) {
        return None;
    }
    let (mut fitting, mut above) = (least, u64::from(most) + 1);
    while u64::from(fitting) + 1 < above {
        let middle = u64::midpoint(fitting.into(), above) as u32;
        if fits(middle) {
            fitting = middle;
        } else {
            above = middle.into();
        }
    }
    Some(fitting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_that_fits_is_found() {
        for limit in 2..=9 {
            assert_eq!(largest(2, 9, |n| n <= limit), Some(limit));
        }
        assert_eq!(largest(2, 9, |_| false), None);
        assert_eq!(largest(0, u32::MAX, |_| true), Some(u32::MAX));
    }
}
