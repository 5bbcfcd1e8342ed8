//! A variant of a lab: a solution that this program has, as a handle that records its plans.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use device::buffer::NamedBuffers;
use device::check::{self, CheckError};
use device::error::Error;
use device::module::Module;
use device::validate::validate;
use device::{Device, DeviceInfo, LaunchLimits, Needs};
use plan::{Command, Interface, Plan, Solution, Target};

use crate::case::{InterfaceCase, LabCase, Work};
use crate::demand::{Demand, target};
use crate::peer::{Counterpart, CudaKernels};

/// The character between a variant's name and a shape's label.
pub const SHAPE: char = '@';

/// The arithmetic of a variant, which says how its results are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// The reference's: results are equal to the last bit.
    Exact,
    /// Fused products and sums, in an order that the lab states: results are equal to those of
    /// [`LabCase::fused_reference`] to the last bit.
    Fused,
    /// Sums in another order: results are compared by [`LabCase::check_reordered`].
    Reordered,
}

/// A fact that a variant knows of any case of its lab, on a machine.
type OfCase<R> = Arc<dyn Fn(&dyn LabCase, Target) -> R + Send + Sync>;

/// A fact that the variant of this name knows of cases of type `C`. A case of another lab is a
/// bug, and panics: see [`downcast`].
fn of_case<C: LabCase, R>(
    variant: &str,
    known: impl Fn(&C, Target) -> R + Send + Sync + 'static,
) -> OfCase<R> {
    let variant = variant.to_owned();
    Arc::new(move |case, target| known(downcast(&variant, case), target))
}

/// A solution of a lab: its name, its kernels, and the plans that it records.
///
/// The handle of a built-in one is `&'static Variant`; it is found by its name once, when a command
/// is read. Two handles are equal if they are of one variant.
pub struct Variant {
    /// As users type it: `NAME`, or `NAME@LABEL` for a variant in a shape.
    pub name: String,
    /// One line.
    pub summary: &'static str,
    /// How its results are compared.
    pub arithmetic: Arithmetic,
    /// Whether it is measured only where its name is given, so that usual tables stay short. It is
    /// tested in any case. Such variants are the last of their lab.
    pub on_request: bool,
    /// Whether it records a part of a case, too. A bundle has plans of whole cases alone.
    pub has_parts: bool,
    /// Its kernels.
    pub module: Arc<Module>,
    /// The variant in each shape in which it may be launched, the default one first. `NAME` is
    /// launched in the default shape, too. None for a variant without a choice.
    pub shapes: Vec<Variant>,
    /// Whether it computes where no variant is named: see [`Variant::usual`].
    pub is_usual: bool,
    /// Whether it computes where no variant is named and several devices are asked for: see
    /// [`Variant::usual_on_several`].
    pub is_usual_on_several: bool,
    /// Programs in other languages that do the same.
    pub counterparts: Vec<Counterpart>,
    /// Bytes of `name` before a shape's label.
    base_len: usize,
    record: OfCase<Result<Plan, Error>>,
    /// Bytes that it must move, if they are not those of a plain solution, on any machine.
    bytes: Option<OfCase<u64>>,
    /// Its demand on a GPU, where its lab states it.
    demand: Option<OfCase<Demand>>,
    /// The cases and machines for which it is the fastest of its lab, if any are known before.
    wins: Option<OfCase<bool>>,
}

impl Variant {
    /// A variant whose plans this function records, for a case and a machine; it may use fewer
    /// devices. Its results equal the reference's to the last bit, and it must move the bytes of
    /// [`LabCase::work`]. A name `NAME@LABEL` is that of a variant in a shape.
    pub fn recorded(
        name: impl Into<String>,
        summary: &'static str,
        module: Arc<Module>,
        record: impl Fn(&dyn LabCase, Target) -> Result<Plan, Error> + Send + Sync + 'static,
    ) -> Variant {
        Variant::of(name.into(), summary, module, Arc::new(record))
    }

    fn of(
        name: String,
        summary: &'static str,
        module: Arc<Module>,
        record: OfCase<Result<Plan, Error>>,
    ) -> Variant {
        Variant {
            base_len: name.find(SHAPE).unwrap_or(name.len()),
            name,
            summary,
            arithmetic: Arithmetic::Exact,
            on_request: false,
            has_parts: true,
            module,
            shapes: Vec::new(),
            is_usual: false,
            is_usual_on_several: false,
            counterparts: Vec::new(),
            record,
            bytes: None,
            demand: None,
            wins: None,
        }
    }

    /// A variant that is a solution of the lab's interface, made for each case.
    pub fn new<C: InterfaceCase>(
        name: &str,
        summary: &'static str,
        module: Arc<Module>,
        solution: fn(&C) -> Box<dyn Solution<C::Interface>>,
    ) -> Variant {
        let own = name.to_owned();
        let plan = of_case(name, move |case: &C, target| {
            record(&own, case, solution(case).as_ref(), target)
        });
        Variant::of(name.to_owned(), summary, module, plan)
    }

    /// Says that results are rounded differently, since it sums in another order.
    pub fn reordered(mut self) -> Variant {
        self.arithmetic = Arithmetic::Reordered;
        self
    }

    /// Says that results equal [`LabCase::fused_reference`]'s to the last bit.
    pub fn fused(mut self) -> Variant {
        self.arithmetic = Arithmetic::Fused;
        self
    }

    /// Measures it only where its name is given: it is one of a series that few ask for.
    pub fn on_request(mut self) -> Variant {
        self.on_request = true;
        self
    }

    /// Says that it is the fastest of its lab for cases and machines for which `wins` holds; one
    /// that is not on request, the fastest of such. `harness run` takes it on GPUs that can run it
    /// and that no table knows. One on request is measured for these cases without being asked for.
    pub fn winning<C: LabCase>(
        mut self,
        wins: impl Fn(&C, Target) -> bool + Send + Sync + 'static,
    ) -> Variant {
        self.wins = Some(of_case(&self.name, wins));
        self
    }

    /// Whether it is the fastest of its lab for this case on a machine like this, as far as that is
    /// known before.
    ///
    /// # Panics
    ///
    /// As [`Variant::record`].
    pub fn wins(&self, case: &dyn LabCase, target: impl Into<Target>) -> bool {
        let wins = self.wins.as_ref();
        wins.is_some_and(|wins| wins(case, target.into()))
    }

    /// Whether its lab says for which cases it is the fastest.
    pub fn has_wins(&self) -> bool {
        self.wins.is_some()
    }

    /// Says that it records whole cases alone, and no parts of them.
    pub fn without_parts(mut self) -> Variant {
        self.has_parts = false;
        self
    }

    /// States the number of bytes that it must move, if that is not a plain solution's.
    pub fn moving<C: LabCase>(
        mut self,
        bytes: impl Fn(&C) -> u64 + Send + Sync + 'static,
    ) -> Variant {
        self.bytes = Some(of_case(&self.name, move |case: &C, _| bytes(case)));
        self
    }

    /// Adds a source in CUDA C++ whose kernels are named like its own. This kernel computes; its
    /// lab's name goes before.
    pub fn with_cuda(self, file: &'static str, kernel: &str) -> Variant {
        let lab = self.module.name();
        let kernels = CudaKernels {
            file,
            form: None,
            kernel: format!("{lab}_{kernel}"),
            relaunch: None,
        };
        self.with_counterpart(Counterpart::Cuda(kernels))
    }

    /// Adds a program in another language that does what it does.
    pub fn with_counterpart(mut self, counterpart: Counterpart) -> Variant {
        self.counterparts.push(counterpart);
        self
    }

    /// The one of its lab that `harness run` takes where none is named and none is known to win. A
    /// lab that marks none has its first.
    pub fn usual(mut self) -> Variant {
        self.is_usual = true;
        self
    }

    /// The one of its lab that is taken on several devices where none is named and none is known to
    /// win: it uses as many as it is given.
    pub fn usual_on_several(mut self) -> Variant {
        self.is_usual_on_several = true;
        self
    }

    /// Gives it a choice of shapes, which `harness tune` explores: `default`, in which the variant
    /// is launched, and the others of `space`. Labels are unique, without spaces and commas.
    /// `bytes` says how many bytes a solution of a shape must move, if that depends on the shape.
    /// Everything else is this variant's: so this comes last.
    pub fn tuned<C: InterfaceCase, S>(
        mut self,
        default: S,
        space: &[S],
        label: fn(&S) -> String,
        bytes: Option<fn(&C, &S) -> u64>,
    ) -> Variant
    where
        S: Solution<C::Interface> + Copy + PartialEq + Send + Sync + 'static,
    {
        if let Some(bytes) = bytes {
            self = self.moving(move |case| bytes(case, &default));
        }
        for shape in in_order(default, space) {
            let name = format!("{}{SHAPE}{}", self.name, label(&shape));
            let own = name.clone();
            let plan = of_case(&name, move |case: &C, target| {
                record(&own, case, &shape, target)
            });
            let shaped = Variant {
                arithmetic: self.arithmetic,
                on_request: self.on_request,
                bytes: self.bytes.clone(),
                ..Variant::of(name, self.summary, Arc::clone(&self.module), plan)
            };
            self.shapes.push(match bytes {
                Some(bytes) => shaped.moving(move |case| bytes(case, &shape)),
                None => shaped,
            });
        }
        self
    }

    /// States what each shape of [`Variant::tuned`] asks of a GPU, so that one can be chosen where
    /// none was timed.
    pub fn modelled<C: LabCase, S>(
        mut self,
        default: S,
        space: &[S],
        demand: fn(&C, &S, Target) -> Demand,
    ) -> Variant
    where
        S: Copy + PartialEq + Send + Sync + 'static,
    {
        for (variant, shape) in self.shapes.iter_mut().zip(in_order(default, space)) {
            let of_shape = move |case: &C, target| demand(case, &shape, target);
            variant.demand = Some(of_case(&variant.name, of_shape));
        }
        self
    }

    /// The demand of a shape on a GPU for this case, where its lab states it.
    ///
    /// # Panics
    ///
    /// As [`Variant::record`].
    pub fn demand(&self, case: &dyn LabCase, target: Target) -> Option<Demand> {
        Some(self.demand.as_ref()?(case, target))
    }

    /// Whether its results equal the reference's to the last bit. Those of a fused variant equal
    /// another reference's.
    pub fn is_exact(&self) -> bool {
        self.arithmetic == Arithmetic::Exact
    }

    /// The label of a variant in a shape: the part of its name after [`SHAPE`].
    pub fn label(&self) -> Option<&str> {
        self.name.get(self.base_len + SHAPE.len_utf8()..)
    }

    /// Its name without a shape's label.
    pub fn base(&self) -> &str {
        &self.name[..self.base_len]
    }

    /// Records its plan of a case, for one device. Its buffers have the names that
    /// [`LabCase::inputs`] uses, its outputs those of [`LabCase::reference`].
    ///
    /// # Errors
    ///
    /// [`Error::Plan`].
    ///
    /// # Panics
    ///
    /// For a case of another lab.
    pub fn record(&self, case: &dyn LabCase) -> Result<Plan, Error> {
        self.record_for(case, 1)
    }

    /// Records its plan of a case for a number of devices, or a [`Target`]; a variant may use fewer
    /// devices.
    ///
    /// # Errors
    ///
    /// As [`Variant::record`].
    ///
    /// # Panics
    ///
    /// As [`Variant::record`].
    pub fn record_for(&self, case: &dyn LabCase, target: impl Into<Target>) -> Result<Plan, Error> {
        (self.record)(case, target.into())
    }

    /// Records its plan of a case for this device, or these: with launches cut for their
    /// multiprocessors.
    ///
    /// # Errors
    ///
    /// As [`Variant::record`].
    ///
    /// # Panics
    ///
    /// As [`Variant::record`].
    pub fn record_on(&self, case: &dyn LabCase, device: &dyn Device) -> Result<Plan, Error> {
        self.record_for(case, target(device.info(), device.count()))
    }

    /// Whether devices like this one have what its launches need: shared memory, clusters.
    ///
    /// # Panics
    ///
    /// As [`Variant::record`].
    pub fn runs(&self, case: &dyn LabCase, info: &DeviceInfo, target: Target) -> bool {
        let plan = self.record_for(case, target);
        plan.is_ok_and(|plan| validate(&self.module, &plan, &info.limits).is_ok())
    }

    /// The compute capability that a device needs for this case, with what needs it, as in `8.0
    /// (cp.async)`; none where every device will do for which the kernels are compiled.
    ///
    /// # Panics
    ///
    /// As [`Variant::record`].
    pub fn needs(&self, case: &dyn LabCase) -> Option<String> {
        let plan = self.record(case).ok()?;
        let of_kernels = plan
            .kernels()
            .iter()
            .filter_map(|name| self.module.needs(name));
        let in_clusters = plan.commands().any(|command| match command {
            Command::Launch(launch) => launch.config.cluster != [1; 3],
            _ => false,
        });
        let clusters = in_clusters.then_some(Needs {
            capability: LaunchLimits::CLUSTERS_SINCE,
            forms: "clusters",
        });
        let newest = of_kernels
            .chain(clusters)
            .max_by_key(|needs| needs.capability)?;
        let (major, minor) = newest.capability;
        Some(match newest.forms {
            "" => format!("{major}.{minor}"),
            forms => format!("{major}.{minor} ({forms})"),
        })
    }

    /// The work of a case with the bytes that this variant must move.
    ///
    /// # Panics
    ///
    /// As [`Variant::record`].
    pub fn work(&self, case: &dyn LabCase) -> Work {
        let work = case.work();
        Work {
            bytes: self
                .bytes
                .as_ref()
                .map_or(work.bytes, |bytes| bytes(case, Target::from(1))),
            ..work
        }
    }

    /// Compares every element of every output `got` of the case, as its [`Arithmetic`] says, with
    /// `expected`, the reference's for `inputs`. The inner error is a difference.
    ///
    /// # Errors
    ///
    /// Those of [`LabCase::fused_reference`] and [`LabCase::check_reordered`].
    ///
    /// # Panics
    ///
    /// If the variant is fused, and the lab has no fused reference.
    pub fn check(
        &self,
        case: &dyn LabCase,
        inputs: &NamedBuffers,
        expected: &NamedBuffers,
        got: &NamedBuffers,
    ) -> Result<Result<(), CheckError>, Error> {
        match self.arithmetic {
            Arithmetic::Exact => Ok(check::exact(expected, got)),
            Arithmetic::Fused => {
                let fused = case.fused_reference(inputs)?;
                let fused = fused.expect("a lab with a fused variant has a fused reference");
                Ok(check::exact(&fused, got))
            }
            Arithmetic::Reordered => case.check_reordered(inputs, expected, got),
        }
    }

    /// Whether [`Variant::check`] needs the inputs of this case: where not, none need be kept.
    pub fn checks_from_inputs(&self, case: &dyn LabCase) -> bool {
        match self.arithmetic {
            Arithmetic::Exact => false,
            Arithmetic::Fused => true,
            Arithmetic::Reordered => case.rounding_sample().is_none(),
        }
    }
}

impl PartialEq for Variant {
    fn eq(&self, other: &Variant) -> bool {
        std::ptr::eq(self, other)
    }
}

impl fmt::Debug for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Variant({})", self.name)
    }
}

/// The shapes, the default one first.
fn in_order<S: Copy + PartialEq>(default: S, space: &[S]) -> impl Iterator<Item = S> {
    let others = space.iter().copied().filter(move |shape| *shape != default);
    std::iter::once(default).chain(others)
}

/// A solution's plan of a case.
fn record<C: InterfaceCase>(
    variant: &str,
    case: &C,
    solution: &dyn Solution<C::Interface>,
    target: Target,
) -> Result<Plan, Error> {
    let name = format!("{} {variant}, {case}", C::Interface::NAME);
    let problem = case.problem();
    Ok(C::Interface::record_for(target, name, &problem, solution)?)
}

/// The case as the type of a variant's lab.
///
/// # Panics
///
/// For a case of another lab: a bug.
pub fn downcast<'c, C: LabCase>(variant: &str, case: &'c dyn LabCase) -> &'c C {
    (case as &dyn Any).downcast_ref().unwrap_or_else(|| {
        let own = std::any::type_name::<C>();
        panic!(
            "variant `{variant}` takes cases of type {own}, and this is of another lab: `{case}`"
        )
    })
}
