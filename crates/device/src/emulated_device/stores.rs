//! Which thread stores which element of a result, and which device computes how many.

use std::collections::HashMap;

use ptx_emu::ThreadId;

use super::EmulatedDevice;
use super::session::{EmulatedSession, Origins};
use crate::buffer::NamedBuffers;
use crate::error::Error;
use crate::module::Module;
use crate::pieces::{Pieces, own_pieces};
use crate::preparation::Order;
use crate::run::reset;
use crate::useful::{self, Computed};
use crate::validate::{validate, validate_devices};
use crate::{Device, Session};
use plan::{Command, Plan};

/// The store that an element has its value from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// The launch's number in the plan, from 0.
    pub launch: usize,
    /// The thread.
    pub thread: ThreadId,
}

impl EmulatedDevice {
    /// Runs a plan once, and tells of each element of a result which thread stored it last. `None`:
    /// no thread did. The device looks for races: these notes are its means.
    ///
    /// # Errors
    ///
    /// As [`Device::prepare`], [`reset`] and [`Session::run`](crate::Session::run).
    pub fn stores(
        &self,
        module: &Module,
        plan: &Plan,
        inputs: &NamedBuffers,
        result: &str,
    ) -> Result<Vec<Option<Stored>>, Error> {
        let module = validate(module, plan, &self.info().limits)?;
        validate_devices(plan, self.share.all, |_, _| true)?;
        let mut session = EmulatedSession::new(self, module, plan, None)?;
        reset(&mut session, plan, inputs)?;
        session.clear_reports();
        let id = plan.find_output(result)?;
        let buffer = plan.buffer_info(id)?;
        let pieces = own_pieces(plan, &self.share, id, Pieces::Owned);
        let mut stores = vec![None; buffer.len as usize];
        let mut launches = 0..;
        for (position, command) in plan.commands().enumerate() {
            session.execute_stated(position, command)?;
            if !matches!(command, Command::Launch(_)) {
                continue;
            }
            let launch = launches.next().unwrap_or(0);
            let size = buffer.element.size();
            for piece in &pieces {
                let address = session.addresses[piece.part.index()];
                let threads = session.machine.stored_by(address, size as u64);
                let of_piece = threads.iter().skip(piece.offset as usize / size);
                let elements = piece.whole.start / size..piece.whole.end / size;
                for (store, thread) in stores[elements].iter_mut().zip(of_piece) {
                    if let Some(thread) = *thread {
                        *store = Some(Stored { launch, thread });
                    }
                }
            }
        }
        Ok(stores)
    }

    /// See [`Device::computed`].
    pub(super) fn count_computed(
        &self,
        module: &Module,
        plan: &Plan,
        inputs: &NamedBuffers,
        outputs: &NamedBuffers,
        order: Option<Order>,
    ) -> Result<Computed, Error> {
        let module = validate(module, plan, &self.info().limits)?;
        let mut session = EmulatedSession::new(self, module, plan, order)?;
        session.origins = Some(Origins {
            telling: useful::telling(inputs, outputs),
            launched: HashMap::new(),
        });
        reset(&mut session, plan, inputs)?;
        session.run()?;
        let launched = session.origins.take().map(|origins| origins.launched);
        Ok(useful::computed(
            plan,
            &launched.unwrap_or_default(),
            |id| session.addresses[id.index()],
        ))
    }
}
