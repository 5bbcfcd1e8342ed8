//! Contexts: which is current, and how they begin and end.

use std::cell::RefCell;
use std::mem::ManuallyDrop;

use super::Driver;
use crate::code::{Code, Outcome};
use crate::objects::Handle;
use crate::objects::context::{AtEnd, Context};

thread_local! {
    /// The stack of current contexts of this thread. It is not dropped: a program may free memory
    /// when it exits, by what C++ calls after the thread's own values are gone.
    static CURRENT: ManuallyDrop<RefCell<Vec<Handle>>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// Changes the stack of current contexts of this thread, or reads it.
pub(crate) fn stack<T>(change: impl FnOnce(&mut Vec<Handle>) -> T) -> T {
    CURRENT.with(|stack| change(&mut stack.borrow_mut()))
}

/// The current context of this thread; 0 if there is none.
pub(crate) fn current() -> Handle {
    stack(|stack| stack.last().copied()).unwrap_or(0)
}

impl Driver {
    pub(crate) fn context(&mut self, context: Handle) -> Outcome<&mut Context> {
        self.contexts.get_mut(&context).ok_or(Code::INVALID_CONTEXT)
    }

    /// The current context, whatever has become of it.
    pub(crate) fn current_context(&mut self) -> Outcome<Handle> {
        let context = current();
        self.context(context).map(|_| context)
    }

    /// The current context, unless a kernel has made it unusable.
    pub(crate) fn live_context(&mut self) -> Outcome<Handle> {
        let context = current();
        match self.context(context)?.fault {
            Some(code) => Err(code),
            None => Ok(context),
        }
    }

    /// The device of a context.
    pub(crate) fn device_of(&mut self, context: Handle) -> Outcome<i32> {
        Ok(self.context(context)?.device)
    }

    /// The primary context of a device, which is made if there is none.
    pub(crate) fn primary(&mut self, device: i32) -> Outcome<Handle> {
        if let Some(context) = self.device(device)?.primary {
            return Ok(context);
        }
        let flags = self.device(device)?.primary_flags;
        let context = self.new_context(device, flags, true);
        self.device(device)?.primary = Some(context);
        Ok(context)
    }

    /// A new context, which is not current.
    pub(crate) fn new_context(&mut self, device: i32, flags: u32, is_primary: bool) -> Handle {
        let handle = self.new_handle();
        let context = Context {
            device,
            flags,
            is_primary,
            ..Context::default()
        };
        // Kernels of one device may reach another's memory.
        if self.contexts.values().any(|other| other.device != device) {
            self.compare_commands();
        }
        self.contexts.insert(handle, context);
        handle
    }

    /// Takes away all that a context has.
    pub(crate) fn clear_context(&mut self, context: Handle) -> AtEnd {
        self.tell_leaks(Some(context));
        let of_context: Vec<u64> = self
            .allocations
            .iter()
            .filter(|(_, allocation)| allocation.context == context)
            .map(|(address, _)| *address)
            .collect();
        for address in of_context {
            self.free(address);
        }
        self.graph_memory
            .retain(|_, known| known.context != context);
        self.streams.retain(|_, stream| stream.context != context);
        self.queues.forget(context);
        // Nothing of it is under way any more.
        self.host_waits_for_context(context);
        self.events.retain(|_, event| event.context != context);
        self.modules.retain(|_, module| module.context != context);
        self.functions
            .retain(|_, function| !function.is_of(context));
        for library in self.libraries.values_mut() {
            library.forget(context);
        }
        let stored = self.contexts.get_mut(&context).map(|context| {
            context.fault = None;
            context.peers.clear();
            std::mem::take(&mut context.storage)
        });
        stored.unwrap_or_default().into_iter().collect()
    }
}
