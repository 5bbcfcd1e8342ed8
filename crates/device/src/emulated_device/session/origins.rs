//! Notes on which launch computes which value of the results: see [`useful`](crate::useful).

use std::collections::{HashMap, HashSet};

use ptx_emu::Accessed;

use super::EmulatedSession;
use crate::useful::{Launched, Touched, Value, values};
use plan::{BufferId, Command};

/// Notes on the launches of a run.
#[derive(Debug)]
pub struct Origins {
    /// The values of the results that tell who computed them.
    pub telling: HashSet<Value>,
    /// The launches, with what they have touched and computed, by their first position in the plan.
    pub launched: HashMap<usize, Launched>,
}

impl EmulatedSession<'_> {
    /// The contents of the buffers that commands may access, by their addresses.
    pub(super) fn held(&self, commands: &[(usize, Command<'_>)]) -> HashMap<u64, Vec<u8>> {
        let all = commands.iter();
        let bounds = all.flat_map(|(_, command)| command.bounds(self.plan.buffers()));
        let ids: HashSet<BufferId> = bounds.map(|bound| bound.0).collect();
        let buffers = ids.into_iter().map(|id| {
            let mut bytes = vec![0; self.plan.buffers()[id.index()].bytes() as usize];
            let address = self.addresses[id.index()];
            self.machine
                .read(address, &mut bytes)
                .expect("a buffer of the plan");
            (address, bytes)
        });
        buffers.collect()
    }

    /// Notes what launches have touched, and which values of the results they have stored that they
    /// have not read. `held` is what was there before.
    pub(super) fn note_origins(
        &mut self,
        commands: &[(usize, Command<'_>)],
        accessed: &[(u64, Accessed)],
        held: &HashMap<u64, Vec<u8>>,
    ) {
        let Some(telling) = self.origins.as_ref().map(|origins| &origins.telling) else {
            return;
        };
        let sizes: HashMap<u64, usize> = self
            .addresses
            .iter()
            .zip(self.plan.buffers())
            .map(|(&address, buffer)| (address, buffer.element.size()))
            .collect();
        let mut read = HashSet::new();
        for (address, Accessed { read: ranges, .. }) in accessed {
            let (Some(bytes), Some(&size)) = (held.get(address), sizes.get(address)) else {
                continue;
            };
            for range in ranges {
                let range = range.start as usize / size * size..range.end as usize;
                let of_results =
                    values(&bytes[range], size).filter(|value| telling.contains(value));
                read.extend(of_results);
            }
        }
        let touched = accessed.iter().map(
            |(
                address,
                Accessed {
                    read: loaded,
                    written,
                },
            )| {
                let mut computed = Vec::new();
                for range in written {
                    let Some(&size) = sizes.get(address) else {
                        continue;
                    };
                    let start = range.start / size as u64 * size as u64;
                    let mut bytes = vec![0; (range.end - start) as usize];
                    self.machine
                        .read(address + start, &mut bytes)
                        .expect("a buffer of the plan");
                    let stored = (start..).step_by(size).zip(values(&bytes, size));
                    let is_new = |value: &Value| telling.contains(value) && !read.contains(value);
                    computed.extend(stored.filter(|(_, value)| is_new(value)));
                }
                Touched {
                    memory: *address,
                    read: loaded.clone(),
                    written: written.clone(),
                    computed,
                }
            },
        );
        let touched = touched.collect();
        let mut positions: Vec<usize> = commands.iter().map(|&(position, _)| position).collect();
        positions.sort_unstable();
        let launched = Launched {
            touched,
            is_exact: true,
            positions,
        };
        if let Some(origins) = &mut self.origins {
            origins.launched.insert(launched.positions[0], launched);
        }
    }
}
