//! Saving and loading plans.
//!
//! Launch shapes and arguments are saved once each, and a command is a list of numbers: the plan of a long run is mostly
//! the same arguments over and over.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::command::Stored;
use crate::{Arg, Buffer, BufferId, LaunchConfig, Plan, PlanError, Scattered};

/// A plan as it is saved: ids are positions.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedPlan {
    name: String,
    buffers: Vec<Buffer>,
    outputs: Vec<(String, BufferId)>,
    kernels: Vec<String>,
    configs: Vec<LaunchConfig>,
    args: Vec<Arg>,
    /// Each starts with its kind:
    ///
    /// - [`LAUNCH`], kernel, configuration, arguments: positions in the lists above;
    /// - [`COPY`], source buffer, its first element, destination buffer, its first element, number of elements;
    /// - [`FILL`], destination buffer, byte.
    commands: Vec<Vec<u64>>,
    /// Commands that are independent of each other: the first of each group, and the one after its last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    independent: Vec<[u64; 2]>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    scattered: Vec<Scattered>,
}

const LAUNCH: u64 = 0;
const COPY: u64 = 1;
const FILL: u64 = 2;

/// The most bytes of structures passed by value in a loaded plan's launches, so that a short file cannot become a plan that
/// fills the memory.
const MOST_STRUCTURE_BYTES: usize = 1 << 28;

impl From<Plan> for SavedPlan {
    fn from(plan: Plan) -> SavedPlan {
        let (mut configs, mut args) = (Interned::default(), Interned::default());
        let commands = plan.commands.iter().map(|stored| match stored {
            Stored::Launch {
                kernel,
                config,
                args: range,
            } => {
                let mut command = vec![LAUNCH, (*kernel).into(), configs.position(*config, config)];
                let own = &plan.args[range.start as usize..range.end as usize];
                command.extend(own.iter().map(|arg| args.position(Key::of(arg), arg)));
                command
            }
            Stored::Copy(copy) => vec![
                COPY,
                copy.src.index.into(),
                copy.src_start,
                copy.dst.index.into(),
                copy.dst_start,
                copy.len,
            ],
            Stored::Fill(fill) => vec![FILL, fill.dst.index.into(), fill.byte.into()],
        });
        let commands = commands.collect();
        SavedPlan {
            commands,
            configs: configs.values,
            args: args.values,
            independent: { plan.groups.iter() }
                .map(|group| [group.start as u64, group.end as u64])
                .collect(),
            scattered: plan.scattered,
            name: plan.name,
            buffers: plan.buffers,
            outputs: plan.outputs,
            kernels: plan.kernels,
        }
    }
}

/// Values that are kept once each, in the order of their first use.
struct Interned<K, V> {
    positions: HashMap<K, u64>,
    values: Vec<V>,
}

impl<K, V> Default for Interned<K, V> {
    fn default() -> Self {
        Interned {
            positions: HashMap::new(),
            values: Vec::new(),
        }
    }
}

impl<K: Eq + std::hash::Hash, V: Clone> Interned<K, V> {
    fn position(&mut self, key: K, value: &V) -> u64 {
        *self.positions.entry(key).or_insert_with(|| {
            self.values.push(value.clone());
            self.values.len() as u64 - 1
        })
    }
}

/// Equal for equal arguments. Floating-point numbers are equal if they have the same bits.
#[derive(PartialEq, Eq, Hash)]
enum Key<'a> {
    Buffer(&'static str, BufferId, u64, u64),
    Number(&'static str, u64),
    Bytes(&'a [u8]),
}

impl Key<'_> {
    fn of(arg: &Arg) -> Key<'_> {
        let kind = arg.kind();
        match *arg {
            Arg::Buffer(id) => Key::Buffer("whole", id, 0, 0),
            Arg::Slice(id) => Key::Buffer("slice", id, 0, 0),
            Arg::SliceAt { id, offset, len } => Key::Buffer("slice_at", id, offset, len),
            Arg::BufferAt { id, offset } => Key::Buffer("at", id, offset, 0),
            Arg::BufferRange { id, offset, len } => Key::Buffer("range", id, offset, len),
            Arg::U8(value) => Key::Number(kind, value.into()),
            Arg::U32(value) => Key::Number(kind, value.into()),
            Arg::I32(value) => Key::Number(kind, value as u32 as u64),
            Arg::U64(value) => Key::Number(kind, value),
            Arg::I64(value) => Key::Number(kind, value as u64),
            Arg::F32(value) => Key::Number(kind, value.to_bits().into()),
            Arg::F64(value) => Key::Number(kind, value.to_bits()),
            Arg::Bytes(ref bytes) => Key::Bytes(bytes),
        }
    }
}

impl TryFrom<SavedPlan> for Plan {
    type Error = PlanError;

    /// Records the saved plan anew, so that it passes every check that recording makes.
    fn try_from(saved: SavedPlan) -> Result<Plan, PlanError> {
        let mut plan = Plan::new(saved.name);
        let ids: Vec<BufferId> = saved
            .buffers
            .into_iter()
            .map(|buffer| plan.declare(buffer))
            .collect();
        // An id out of range stays as it is and is refused like any foreign id.
        let own = |id: BufferId| ids.get(id.index()).copied().unwrap_or(id);
        for (name, id) in saved.outputs {
            plan.output(name, own(id));
        }
        // Before any message quotes one.
        plan.check_names()?;
        for scattered in saved.scattered {
            let parts = scattered.parts.into_iter();
            let parts = parts.map(|(id, part)| (own(id), part)).collect();
            plan.add_scattered(Scattered {
                whole: own(scattered.whole),
                pitch: scattered.pitch,
                parts,
            })?;
        }
        let args: Vec<Arg> = saved.args.iter().map(|arg| arg.with_buffer(own)).collect();
        let mut structure_bytes = 0_usize;
        for (number, command) in saved.commands.iter().enumerate() {
            let malformed = |plan: &Plan, reason: String| PlanError::Malformed {
                plan: plan.name().to_owned(),
                reason: format!("command {number}: {reason}"),
            };
            let buffer = |plan: &Plan, position: u64| match ids.get(position as usize) {
                Some(&id) => Ok(id),
                None => Err(malformed(
                    plan,
                    format!("buffer {position} of {}", ids.len()),
                )),
            };
            match command[..] {
                [LAUNCH, kernel, config, ref positions @ ..] => {
                    let kernel = at(&saved.kernels, kernel, "kernel");
                    let config = at(&saved.configs, config, "launch configuration");
                    let own: Result<Vec<&Arg>, String> = positions
                        .iter()
                        .map(|&position| at(&args, position, "argument"))
                        .collect();
                    let (kernel, config, own) = kernel
                        .and_then(|kernel| Ok((kernel, config?, own?)))
                        .map_err(|reason| malformed(&plan, reason))?;
                    for arg in &own {
                        if let Arg::Bytes(bytes) = arg {
                            structure_bytes = structure_bytes.saturating_add(bytes.len());
                        }
                    }
                    if structure_bytes > MOST_STRUCTURE_BYTES {
                        let reason = format!(
                            "structures passed by value have more than {MOST_STRUCTURE_BYTES} bytes in all"
                        );
                        return Err(malformed(&plan, reason));
                    }
                    plan.launch(kernel, *config, own.into_iter().cloned())?;
                }
                [COPY, src, src_start, dst, dst_start, len] => {
                    let (src, dst) = (buffer(&plan, src)?, buffer(&plan, dst)?);
                    plan.copy_range(src, src_start, dst, dst_start, len)?;
                }
                [FILL, dst, byte] => {
                    let dst = buffer(&plan, dst)?;
                    let byte = u8::try_from(byte)
                        .map_err(|_| malformed(&plan, format!("{byte} is not a byte")))?;
                    plan.fill(dst, byte)?;
                }
                _ => return Err(malformed(&plan, "neither launch, copy nor fill".to_owned())),
            }
        }
        let mut end = 0;
        for [first, after] in saved.independent {
            let all = plan.commands.len() as u64;
            if first < end || after > all || first.saturating_add(2) > after {
                let reason = format!(
                    "commands {first}..{after} of {all} cannot be a group of independent commands: it needs two, and is apart from others"
                );
                let plan = plan.name;
                return Err(PlanError::Malformed { plan, reason });
            }
            plan.group(first as usize..after as usize)?;
            end = after;
        }
        plan.check()?;
        Ok(plan)
    }
}

/// Element `position` of a list, or what is wrong with it.
fn at<'a, T>(list: &'a [T], position: u64, what: &str) -> Result<&'a T, String> {
    usize::try_from(position)
        .ok()
        .and_then(|position| list.get(position))
        .ok_or_else(|| format!("{what} {position} of {}", list.len()))
}

macro_rules! bits {
    ($module:ident, $float:ty, $bits:ty) => {
        /// Floating-point numbers are saved as their bits: NaN and infinity have no JSON form, and decimals may round.
        pub mod $module {
            use serde::{Deserialize, Deserializer, Serialize, Serializer};

            /// Saves the bits.
            pub fn serialize<S: Serializer>(
                value: &$float,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                value.to_bits().serialize(serializer)
            }

            /// Restores the value from its bits.
            pub fn deserialize<'de, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<$float, D::Error> {
                Ok(<$float>::from_bits(<$bits>::deserialize(deserializer)?))
            }
        }
    };
}

bits!(f32_bits, f32, u32);
bits!(f64_bits, f64, u64);

macro_rules! bits_list {
    ($module:ident, $one:literal, $float:ty, $bits:ty) => {
        #[doc = concat!("As [`", $one, "`], for a list.")]
        pub mod $module {
            use serde::{Deserialize, Deserializer, Serializer};

            /// Saves the bits of each.
            pub fn serialize<S: Serializer>(
                values: &[$float],
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(values.iter().map(|value| value.to_bits()))
            }

            /// Restores each value from its bits.
            pub fn deserialize<'de, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Vec<$float>, D::Error> {
                let bits = Vec::<$bits>::deserialize(deserializer)?;
                Ok(bits.into_iter().map(<$float>::from_bits).collect())
            }
        }
    };
}

bits_list!(f32_bits_list, "f32_bits", f32, u32);
bits_list!(f64_bits_list, "f64_bits", f64, u64);
