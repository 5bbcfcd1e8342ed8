//! A lab as it is declared, and what follows from that.

use std::fmt::Display;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use plan::{Lab as _, Solves};
use terminal::progress::{NoProgress, Progress};

use super::largest::largest;
use super::{
    Case, CaseError, CaseParams, Cpu, Lab, Parameter, SHAPE, Shaped, Values, Variant, Work,
    find_shaped,
};
use crate::kernels::KERNELS;
use device::buffer::{NamedBuffers, copies, replace};
use device::check;
use device::check::{CheckError, Expected};
use device::error::Error;
use device::module::Module;
use plan::Plan;

/// A lab's declaration: everything in which labs differ. [`Lab`] and [`Case`] follow from it.
///
/// The type that implements it is a case: one size, parameters, seed. As text it is the case's
/// label: short, and unique among the lab's cases.
pub trait Declaration: Clone + Display + Send + Sync + 'static {
    /// The lab as a solution sees it: its name, problem, buffers and outputs.
    type Plan: plan::Lab;

    /// The lab in one line.
    const SUMMARY: &'static str;

    /// The parameters that [`Declaration::from_values`] understands.
    const PARAMETERS: &'static [Parameter];

    /// The parameters that are one number in a case of equal extents, and the least that it may be.
    const EXTENTS: (&'static str, u32);

    /// The name of a unit of work: `cell updates`.
    const UNIT: &'static str;

    /// Whether results are rounded, and [`Declaration::oracle`] says what they are without that.
    const ROUNDS: bool = true;

    /// How many bits a seed has: 1 to 64.
    const SEED_BITS: u32 = 64;

    /// The lab's `static`.
    fn lab() -> &'static DeclaredLab<Self>;

    /// The case with these parameters.
    ///
    /// # Errors
    ///
    /// [`CaseError`] for values that the scheme does not allow.
    fn from_values(values: &Values<'_>) -> Result<Self, CaseError>;

    /// A case of this extent along each axis, with as little to do as can be.
    ///
    /// # Errors
    ///
    /// [`CaseError`] for extents that are not allowed.
    fn of_extent(n: u32) -> Result<Self, CaseError>;

    /// Refuses parameters that would keep the inputs from following the seed.
    ///
    /// # Errors
    ///
    /// [`CaseError`], with the reason.
    fn check_seedable(_params: &CaseParams) -> Result<(), CaseError> {
        Ok(())
    }

    /// See [`Lab::small_cases`].
    fn small() -> Vec<Self>;

    /// See [`Lab::laptop_cases`].
    fn laptop() -> Vec<Self>;

    /// See [`Lab::large_cases`].
    fn large() -> Vec<Self>;

    /// The problem that a solution's host code gets.
    fn problem(&self) -> <Self::Plan as plan::Lab>::Problem;

    /// See [`Case::inputs`].
    ///
    /// # Errors
    ///
    /// As there.
    fn inputs(&self) -> Result<NamedBuffers, Error>;

    /// See [`Case::reference_from`].
    ///
    /// # Errors
    ///
    /// As there.
    fn reference(
        &self,
        inputs: &NamedBuffers,
        cpu: Cpu,
        progress: &dyn Progress,
    ) -> Result<NamedBuffers, Error>;

    /// See [`Case::advance`]. A lab with timesteps computes in place.
    ///
    /// # Errors
    ///
    /// As there.
    fn advance(
        &self,
        buffers: &mut NamedBuffers,
        cpu: Cpu,
        progress: &dyn Progress,
    ) -> Result<Duration, Error> {
        let began = Instant::now();
        let outputs = Declaration::reference(self, buffers, cpu, progress)?;
        let time = began.elapsed();
        replace(buffers, outputs);
        Ok(time)
    }

    /// See [`Case::part`].
    fn part(&self, _first: u32, _steps: u32) -> Option<Self> {
        None
    }

    /// See [`Case::oracle_from`]; called where results are rounded.
    ///
    /// # Errors
    ///
    /// As there.
    fn oracle(
        &self,
        _inputs: &NamedBuffers,
        _progress: &dyn Progress,
    ) -> Result<Option<NamedBuffers>, Error> {
        Ok(None)
    }

    /// The results of [`Declaration::reference`] with fused products and sums, in an order that the
    /// lab states; for variants that are [`fused`](BuiltIn::fused).
    ///
    /// # Errors
    ///
    /// As there.
    fn fused_reference(&self, _inputs: &NamedBuffers) -> Result<Option<NamedBuffers>, Error> {
        Ok(None)
    }

    /// A smaller case that rounds like this one, where this one's own oracle would take too long or
    /// too much memory; of a case with timesteps, the parts of both must be alike.
    fn rounding_sample(&self) -> Option<Self> {
        None
    }

    /// See [`Case::timesteps`].
    fn timesteps(&self) -> Option<u64> {
        None
    }

    /// See [`Case::axes`].
    fn axes(&self, _buffer: &str) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// See [`Case::reduced`].
    fn reduced(&self) -> Option<Self> {
        None
    }

    /// Units of useful work.
    fn updates(&self) -> u64;

    /// Floating-point operations of a unit of work.
    fn flops_per_update(&self) -> u64;

    /// Fewest bytes that a plain solution must move between device memory and the multiprocessors.
    fn bytes(&self) -> u64;
}

/// [`Declaration::reference`] of a lab whose [`Declaration::advance`] computes in place: in copies
/// of the inputs.
///
/// # Errors
///
/// As there.
pub fn advance_copies<D: Declaration>(
    case: &D,
    inputs: &NamedBuffers,
    cpu: Cpu,
    progress: &dyn Progress,
) -> Result<NamedBuffers, Error> {
    let mut buffers = copies(inputs, |_| true)?;
    Declaration::advance(case, &mut buffers, cpu, progress)?;
    buffers.retain(|(name, _)| D::Plan::OUTPUTS.contains(&name.as_str()));
    Ok(buffers)
}

/// A built-in solution of the lab whose cases are `D`: `variants.rs` of the lab's folder in
/// `kernels-gpu/solutions` lists them.
pub struct BuiltIn<D: Declaration> {
    variant: Variant,
    solution: fn(&D) -> Box<dyn Solves<D::Plan>>,
    bytes: fn(&D) -> u64,
    is_fused: bool,
    shapes: fn() -> Vec<Shaped<D>>,
}

impl<D: Declaration> BuiltIn<D> {
    /// A solution whose results equal the reference's to the last bit, and that must move the bytes
    /// that [`Declaration::bytes`] says.
    pub const fn new(
        name: &'static str,
        summary: &'static str,
        solution: fn(&D) -> Box<dyn Solves<D::Plan>>,
    ) -> BuiltIn<D> {
        BuiltIn {
            variant: Variant {
                name,
                summary,
                exact: true,
                on_request: false,
            },
            solution,
            bytes: D::bytes,
            is_fused: false,
            shapes: Vec::new,
        }
    }

    /// The same whose results are rounded differently, since it sums in another order: they are
    /// compared with [`Declaration::oracle`]'s, which such a lab has.
    pub const fn reordered(self) -> BuiltIn<D> {
        let variant = Variant {
            exact: false,
            ..self.variant
        };
        BuiltIn { variant, ..self }
    }

    /// The same whose results equal [`Declaration::fused_reference`]'s to the last bit, which such
    /// a lab has.
    pub const fn fused(self) -> BuiltIn<D> {
        BuiltIn {
            is_fused: true,
            ..self.reordered()
        }
    }

    /// The same, measured only where its name is given: one of a series that few ask for.
    pub const fn on_request(self) -> BuiltIn<D> {
        let variant = Variant {
            on_request: true,
            ..self.variant
        };
        BuiltIn { variant, ..self }
    }

    /// The same with another number of bytes that it must move.
    pub const fn moving(self, bytes: fn(&D) -> u64) -> BuiltIn<D> {
        BuiltIn { bytes, ..self }
    }

    /// The same with a choice of shapes, which `harness tune` explores: those that
    /// [`shapes`](super::shapes) makes.
    pub const fn tuned(self, shapes: fn() -> Vec<Shaped<D>>) -> BuiltIn<D> {
        BuiltIn { shapes, ..self }
    }
}

/// A variant in a shape, or as it is.
struct Found<D: Declaration + 'static> {
    built_in: &'static BuiltIn<D>,
    shaped: Option<&'static Shaped<D>>,
}

impl<D: Declaration> Found<D> {
    fn bytes(&self, case: &D) -> u64 {
        match self.shaped.and_then(|shaped| shaped.bytes.as_ref()) {
            Some(bytes) => bytes(case),
            None => (self.built_in.bytes)(case),
        }
    }
}

/// The lab whose cases are `D`.
pub struct DeclaredLab<D: Declaration> {
    built_in: &'static [BuiltIn<D>],
    variants: OnceLock<Vec<Variant>>,
    /// Of all variants; each with its name.
    shapes: OnceLock<Vec<(Variant, Shaped<D>)>>,
}

impl<D: Declaration> DeclaredLab<D> {
    /// The lab with these built-in solutions, the plain one first: usually what
    /// [`crate::solutions`] has.
    pub const fn new(built_in: &'static [BuiltIn<D>]) -> DeclaredLab<D> {
        DeclaredLab {
            built_in,
            variants: OnceLock::new(),
            shapes: OnceLock::new(),
        }
    }

    fn all_shapes(&self) -> &[(Variant, Shaped<D>)] {
        let of = |built_in: &BuiltIn<D>| {
            let variant = built_in.variant;
            let shapes = (built_in.shapes)().into_iter();
            let named = shapes.map(move |shaped| {
                let name = format!("{}{SHAPE}{}", variant.name, shaped.label);
                // Once in a program's life.
                let name = name.leak();
                (Variant { name, ..variant }, shaped)
            });
            named.collect::<Vec<_>>()
        };
        self.shapes
            .get_or_init(|| self.built_in.iter().flat_map(of).collect())
    }

    fn find(&'static self, variant: &str) -> Result<Found<D>, CaseError> {
        let name = find_shaped(self, variant)?;
        let mut built_in = self.built_in.iter();
        let found = built_in.find(|built_in| built_in.variant.name == name.base());
        let mut shapes = self.all_shapes().iter();
        let shaped = shapes.find(|(shaped, _)| shaped.name == name.name);
        Ok(Found {
            built_in: found.expect("every variant is one of these"),
            shaped: shaped.map(|(_, shaped)| shaped),
        })
    }
}

/// The largest extent of a case, equal along each axis, whose buffers, with this variant, are no
/// more than `bytes`. `None` if not even the smallest fits, or for an unknown variant. Where a lab
/// has no variants, its own buffers alone count.
pub fn largest_extent<D: Declaration>(variant: &str, bytes: u64) -> Option<u32> {
    let fits = |n| -> Option<bool> {
        let case = D::of_extent(n).ok()?;
        let plan = match D::lab().built_in {
            [] => D::Plan::declared(&case.problem()),
            _ => case.record(variant).ok()?,
        };
        Some(plan.memory_bytes().ok()? <= bytes)
    };
    largest(D::EXTENTS.1, u32::MAX, |n| fits(n) == Some(true))
}

fn boxed<D: Declaration>(cases: Vec<D>) -> Vec<Box<dyn Case>> {
    let boxed = cases
        .into_iter()
        .map(|case| Box::new(case) as Box<dyn Case>);
    boxed.collect()
}

impl<D: Declaration> Lab for DeclaredLab<D> {
    fn name(&self) -> &'static str {
        D::Plan::NAME
    }

    fn summary(&self) -> &'static str {
        D::SUMMARY
    }

    fn module(&self) -> &Module {
        &KERNELS
    }

    fn variants(&self) -> &[Variant] {
        let of_all = || {
            let variants = self.built_in.iter().map(|built_in| built_in.variant);
            variants.collect()
        };
        self.variants.get_or_init(of_all)
    }

    fn shapes(&self, variant: &str) -> Vec<Variant> {
        let names = self.all_shapes().iter().map(|(shaped, _)| *shaped);
        names.filter(|shaped| shaped.base() == variant).collect()
    }

    fn rounds(&self) -> bool {
        D::ROUNDS
    }

    fn parameters(&self) -> &'static [Parameter] {
        D::PARAMETERS
    }

    fn small_cases(&self) -> Vec<Box<dyn Case>> {
        boxed(D::small())
    }

    fn laptop_cases(&self) -> Vec<Box<dyn Case>> {
        boxed(D::laptop())
    }

    fn large_cases(&self) -> Vec<Box<dyn Case>> {
        boxed(D::large())
    }

    fn case(&self, params: &CaseParams) -> Result<Box<dyn Case>, CaseError> {
        let values = Values::new(params, D::PARAMETERS)?;
        Ok(Box::new(D::from_values(&values)?))
    }

    fn seeded(&self, params: &CaseParams, seed: u64) -> Result<CaseParams, CaseError> {
        D::check_seedable(params)?;
        let mut params = params.clone();
        params.set("seed", seed >> (64 - D::SEED_BITS));
        Ok(params)
    }
}

impl<D: Declaration> Case for D {
    fn label(&self) -> String {
        self.to_string()
    }

    fn problem_json(&self) -> serde_json::Value {
        serde_json::to_value(self.problem()).expect("plain numbers")
    }

    fn record_for(&self, devices: u32, variant: &str) -> Result<Plan, Error> {
        let found = D::lab().find(variant)?;
        let name = format!("{} {variant}, {self}", D::Plan::NAME);
        let problem = self.problem();
        let plan = match found.shaped {
            Some(shaped) => D::Plan::record_for(devices, name, &problem, shaped.solution.as_ref())?,
            None => {
                let solution = (found.built_in.solution)(self);
                D::Plan::record_for(devices, name, &problem, solution.as_ref())?
            }
        };
        Ok(plan)
    }

    fn declared(&self) -> Result<Plan, Error> {
        Ok(D::Plan::declared(&self.problem()))
    }

    fn inputs(&self) -> Result<NamedBuffers, Error> {
        Declaration::inputs(self)
    }

    fn reference_from(
        &self,
        inputs: &NamedBuffers,
        cpu: Cpu,
        progress: &dyn Progress,
    ) -> Result<NamedBuffers, Error> {
        Declaration::reference(self, inputs, cpu, progress)
    }

    fn advance(
        &self,
        buffers: &mut NamedBuffers,
        cpu: Cpu,
        progress: &dyn Progress,
    ) -> Result<Duration, Error> {
        Declaration::advance(self, buffers, cpu, progress)
    }

    fn output_names(&self) -> &'static [&'static str] {
        D::Plan::OUTPUTS
    }

    fn part(&self, first: u32, steps: u32) -> Option<Box<dyn Case>> {
        let part = Declaration::part(self, first, steps)?;
        Some(Box::new(part))
    }

    fn oracle_from(
        &self,
        inputs: &NamedBuffers,
        progress: &dyn Progress,
    ) -> Result<Option<NamedBuffers>, Error> {
        self.oracle(inputs, progress)
    }

    fn check(
        &self,
        variant: &str,
        inputs: &NamedBuffers,
        expected: &NamedBuffers,
        got: &NamedBuffers,
    ) -> Result<Result<(), CheckError>, Error> {
        let built_in = D::lab().find(variant)?.built_in;
        if built_in.variant.exact {
            return Ok(check::exact(expected, got));
        }
        if built_in.is_fused {
            let fused = self.fused_reference(inputs)?;
            let fused = fused.expect("a lab with a fused variant has a fused reference");
            return Ok(check::exact(&fused, got));
        }
        let oracle_of = |case: &D, inputs: &NamedBuffers| {
            let oracle = case.oracle(inputs, &NoProgress)?;
            let missing = "a lab with a variant that rounds differently has an oracle";
            Ok::<_, Error>(oracle.expect(missing))
        };
        let Some(sample) = self.rounding_sample() else {
            let oracle = oracle_of(self, inputs)?;
            let (expected, _) = Expected::rounding(check::ROUNDING, expected, &oracle);
            return Ok(expected.check(got));
        };
        let inputs = Declaration::inputs(&sample)?;
        let reference = Declaration::reference(&sample, &inputs, Cpu::Parallel, &NoProgress)?;
        let oracle = oracle_of(&sample, &inputs)?;
        let (_, noise) = Expected::rounding(check::ROUNDING, &reference, &oracle);
        let bounds = check::bounds_by_sample(&noise, &reference, expected);
        Ok(check::near(expected, got, &bounds))
    }

    fn checks_from_inputs(&self, variant: &str) -> bool {
        let is_alone = self.rounding_sample().is_none();
        D::lab().find(variant).is_ok_and(|Found { built_in, .. }| {
            built_in.is_fused || !built_in.variant.exact && is_alone
        })
    }

    fn timesteps(&self) -> Option<u64> {
        Declaration::timesteps(self)
    }

    fn locate(&self, buffer: &str, index: usize) -> Option<String> {
        let mut rest = index as u64;
        let mut place = Vec::new();
        for (axis, extent) in Declaration::axes(self, buffer) {
            place.push(format!("{axis} = {}", rest % extent));
            rest /= extent;
        }
        place.sort_unstable();
        (!place.is_empty()).then(|| place.join(", "))
    }

    fn reduced(&self) -> Option<Box<dyn Case>> {
        let reduced = Declaration::reduced(self)?;
        Some(Box::new(reduced))
    }

    fn axes(&self, buffer: &str) -> Vec<(&'static str, u64)> {
        Declaration::axes(self, buffer)
    }

    fn largest_within(&self, variant: &str, bytes: u64) -> Option<String> {
        let n = largest_extent::<D>(variant, bytes)?;
        Some(format!("{} = {n}", D::EXTENTS.0))
    }

    fn work(&self, variant: &str) -> Work {
        let updates = self.updates();
        let found = D::lab().find(variant);
        Work {
            updates,
            unit: D::UNIT,
            bytes: found.map_or_else(|_| self.bytes(), |found| found.bytes(self)),
            flops: self.flops_per_update() * updates,
        }
    }
}
