//! Saving and loading plans.
//!
//! The saved form names each command and writes out its arguments. The plan of a long run repeats
//! itself; the files that hold plans are compressed.

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Arg, Buffer, BufferId, Command, Copy, Fill, LaunchConfig, Plan, PlanError, Scattered};

/// A plan as it is saved: ids are positions.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedPlan<'p> {
    name: String,
    buffers: Vec<Buffer>,
    outputs: Vec<(String, BufferId)>,
    commands: Vec<SavedCommand<'p>>,
    /// Groups of independent commands: the first of each group, and the one after its last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    independent: Vec<[u64; 2]>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    scattered: Vec<Scattered>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum SavedCommand<'p> {
    Launch {
        kernel: Cow<'p, str>,
        config: LaunchConfig,
        args: Cow<'p, [Arg]>,
    },
    Copy(Copy),
    Fill(Fill),
}

impl Serialize for Plan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let commands = self.commands().map(|command| match command {
            Command::Launch(launch) => SavedCommand::Launch {
                kernel: launch.kernel.into(),
                config: launch.config,
                args: launch.args.into(),
            },
            Command::Copy(copy) => SavedCommand::Copy(copy),
            Command::Fill(fill) => SavedCommand::Fill(fill),
        });
        let saved = SavedPlan {
            name: self.name.clone(),
            buffers: self.buffers.clone(),
            outputs: self.outputs.clone(),
            commands: commands.collect(),
            independent: { self.groups.iter() }
                .map(|group| [group.start as u64, group.end as u64])
                .collect(),
            scattered: self.scattered.clone(),
        };
        saved.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Plan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Plan, D::Error> {
        let saved = SavedPlan::deserialize(deserializer)?;
        Plan::try_from(saved).map_err(D::Error::custom)
    }
}

impl TryFrom<SavedPlan<'_>> for Plan {
    type Error = PlanError;

    /// Records the saved plan again, so that it passes every check that recording makes.
    fn try_from(saved: SavedPlan<'_>) -> Result<Plan, PlanError> {
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
            let parts = scattered
                .parts
                .into_iter()
                .map(|(id, part)| (own(id), part))
                .collect();
            plan.add_scattered(Scattered {
                whole: own(scattered.whole),
                pitch: scattered.pitch,
                parts,
            })?;
        }
        for command in saved.commands {
            match command {
                SavedCommand::Launch {
                    kernel,
                    config,
                    args,
                } => {
                    let args = args.iter().map(|arg| arg.with_buffer(own));
                    plan.launch(&kernel, config, args)?;
                }
                SavedCommand::Copy(copy) => {
                    let (src, dst) = (own(copy.src), own(copy.dst));
                    plan.copy_range(src, copy.src_start, dst, copy.dst_start, copy.len)?;
                }
                SavedCommand::Fill(fill) => plan.fill(own(fill.dst), fill.byte)?,
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

macro_rules! bits {
    ($module:ident, $float:ty, $bits:ty) => {
        /// Floating-point numbers are saved as their bits: NaN and infinity have no JSON form, and
        /// decimals may round.
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
