//! The saved form of a plan, and its way back.

use serde::{Deserialize, Serialize};

use super::command::Stored;
use super::{Arg, Buffer, BufferId, Copy, Fill, LaunchConfig, Plan, PlanError};

/// A plan as it is saved: ids are positions.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedPlan {
    name: String,
    buffers: Vec<Buffer>,
    outputs: Vec<(String, BufferId)>,
    kernels: Vec<String>,
    commands: Vec<SavedCommand>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum SavedCommand {
    Launch {
        /// Position in `kernels`.
        kernel: u32,
        config: LaunchConfig,
        args: Vec<Arg>,
    },
    Copy(Copy),
    Fill(Fill),
}

impl From<Plan> for SavedPlan {
    fn from(plan: Plan) -> SavedPlan {
        let commands = plan
            .commands
            .iter()
            .map(|stored| match stored {
                Stored::Launch {
                    kernel,
                    config,
                    args,
                } => SavedCommand::Launch {
                    kernel: *kernel,
                    config: *config,
                    args: plan.args[args.start as usize..args.end as usize].to_vec(),
                },
                Stored::Copy(copy) => SavedCommand::Copy(*copy),
                Stored::Fill(fill) => SavedCommand::Fill(*fill),
            })
            .collect();
        SavedPlan {
            name: plan.name().to_owned(),
            buffers: plan.buffers().to_vec(),
            outputs: plan.outputs().to_vec(),
            kernels: plan.kernels().to_vec(),
            commands,
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
            .map(|buffer| plan.declare(buffer.name, buffer.element, buffer.len, buffer.role))
            .collect();
        // An id out of range stays as it is and is refused as any foreign id would be.
        let own = |id: BufferId| ids.get(id.index()).copied().unwrap_or(id);
        for (name, id) in saved.outputs {
            plan.output(name, own(id));
        }
        for command in saved.commands {
            match command {
                SavedCommand::Launch {
                    kernel,
                    config,
                    args,
                } => {
                    let Some(kernel) = saved.kernels.get(kernel as usize) else {
                        return Err(PlanError::Malformed {
                            plan: plan.name().to_owned(),
                            reason: format!(
                                "it launches kernel {kernel} of {}",
                                saved.kernels.len()
                            ),
                        });
                    };
                    let args = args.into_iter().map(|arg| match arg {
                        Arg::Buffer(id) => Arg::Buffer(own(id)),
                        Arg::Slice(id) => Arg::Slice(own(id)),
                        Arg::BufferAt { id, offset } => Arg::BufferAt {
                            id: own(id),
                            offset,
                        },
                        other => other,
                    });
                    plan.launch(kernel, config, args)?;
                }
                SavedCommand::Copy(copy) => plan.copy_range(
                    own(copy.src),
                    copy.src_start,
                    own(copy.dst),
                    copy.dst_start,
                    copy.len,
                )?,
                SavedCommand::Fill(fill) => plan.fill(own(fill.dst), fill.byte)?,
            }
        }
        plan.check()?;
        Ok(plan)
    }
}

macro_rules! bits {
    ($module:ident, $float:ty, $bits:ty) => {
        /// Floating-point arguments are saved as their bits: NaN and infinity have no JSON form, and decimals may round.
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
