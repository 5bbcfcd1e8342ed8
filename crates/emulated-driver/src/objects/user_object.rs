//! Objects of the program that graphs keep: each has a function that is called when the last
//! reference to it has gone.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Handle, HostFunction};

/// The function of an object and what it is called with. Dropped, it waits to be called: whoever
/// drops it may hold the driver.
#[derive(Debug)]
pub(crate) struct Destructor {
    pub(crate) function: HostFunction,
    pub(crate) data: usize,
}

/// A function to be called, and the data.
pub(crate) type Ended = (HostFunction, usize);

static HAS_ENDED: AtomicBool = AtomicBool::new(false);
static ENDED: Mutex<Vec<Ended>> = Mutex::new(Vec::new());

impl Drop for Destructor {
    fn drop(&mut self) {
        let mut ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
        ended.push((self.function, self.data));
        HAS_ENDED.store(true, Relaxed);
    }
}

/// The functions of objects that have ended since the last call.
pub(crate) fn take_ended() -> Vec<Ended> {
    if !HAS_ENDED.swap(false, Relaxed) {
        return Vec::new();
    }
    std::mem::take(&mut ENDED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// An object, by the references of the program itself. Graphs have theirs with them.
#[derive(Debug)]
pub(crate) struct UserObject {
    pub(crate) count: u32,
    /// There while the count is not 0.
    own: Option<Arc<Destructor>>,
    known: Weak<Destructor>,
}

/// References of a graph to an object.
#[derive(Clone, Debug)]
pub(crate) struct References {
    pub(crate) object: Handle,
    pub(crate) count: u32,
    #[allow(dead_code)] // Kept for what its end does.
    pub(crate) destructor: Arc<Destructor>,
}

impl UserObject {
    pub(crate) fn new(destructor: Destructor, count: u32) -> UserObject {
        let own = Arc::new(destructor);
        UserObject {
            count,
            known: Arc::downgrade(&own),
            own: Some(own),
        }
    }

    /// The destructor, if anything has a reference still.
    pub(crate) fn destructor(&self) -> Option<Arc<Destructor>> {
        self.known.upgrade()
    }

    /// Changes the number of the program's references; false if it cannot be so.
    pub(crate) fn set_count(&mut self, count: Option<u32>) -> bool {
        let (Some(count), Some(destructor)) = (count, self.destructor()) else {
            return false;
        };
        self.count = count;
        self.own = (count > 0).then_some(destructor);
        true
    }
}
