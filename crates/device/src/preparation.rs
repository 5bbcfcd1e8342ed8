//! How a plan is prepared: whose memory it uses, and in which order its threads run.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use plan::{Buffer, Element};

/// How a session is prepared, for [`Device::prepare_as`](crate::Device::prepare_as). By default it
/// has buffers of its own, and its threads run in the device's own order.
#[derive(Clone, Default)]
pub struct Preparation {
    /// Whose buffers it uses.
    pub buffers: Buffers,
    /// The order in which threads run, on a device that can choose: in which it runs them by
    /// itself, if `None`.
    pub order: Option<Order>,
}

impl Preparation {
    /// For an untrusted module and plan: see [`Buffers::Isolated`].
    pub fn isolated() -> Preparation {
        Preparation {
            buffers: Buffers::Isolated,
            order: None,
        }
    }

    /// With the buffers of this pool.
    pub fn in_pool(pool: &BufferPool) -> Preparation {
        Preparation {
            buffers: Buffers::Pool(pool.clone()),
            order: None,
        }
    }

    /// With threads in this order.
    pub fn in_order(mut self, order: Order) -> Preparation {
        self.order = Some(order);
        self
    }
}

/// Whose buffers a session uses.
#[derive(Clone, Default)]
pub enum Buffers {
    /// Its own.
    #[default]
    Own,
    /// Those of a pool, which several sessions of this device use in turn: buffers of one name,
    /// type and length are the same memory. A device without pools gives the session its own.
    Pool(BufferPool),
    /// Its own, and nothing that another session could have left.
    ///
    /// The module is loaded afresh, so that its globals have their initial values. What earlier
    /// kernels set on the device is reset. On a device that does not check every access, guard
    /// bands lie around every buffer: see [`Session::strays`](crate::Session::strays).
    Isolated,
}

/// One of the orders in which a device that can choose runs threads: see
/// [`Device::orders`](crate::Device::orders). Where buffers lie and what clocks show follows from
/// it, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// 0 is the device's default order; the others follow from the seed.
    pub number: u32,
    /// Any number.
    pub seed: u64,
}

/// A pool of device buffers, which several sessions of one device use in turn: see
/// [`Buffers::Pool`]. Its memory is freed when all of its clones and the sessions are dropped.
#[derive(Clone, Default)]
pub struct BufferPool {
    buffers: Memories,
    /// The memory of what [`TimedSession::keep`](crate::TimedSession::keep) has kept.
    kept: Memories,
}

/// The device's own type of memory, by the buffer's name, type and length.
type Memories = Rc<RefCell<HashMap<(String, Element, u64), Rc<dyn Any>>>>;

impl BufferPool {
    /// The buffer's memory, made by `make` if there is none.
    pub fn buffer<T: 'static, E>(
        &self,
        buffer: &Buffer,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Rc<T>, E> {
        find_or_make(&self.buffers, buffer, make)
    }

    /// The memory of the buffer's kept contents, made by `make` if there is none.
    pub fn kept<T: 'static, E>(
        &self,
        buffer: &Buffer,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Rc<T>, E> {
        find_or_make(&self.kept, buffer, make)
    }

    /// The memory of the buffer's kept contents, if any were kept.
    pub fn find_kept<T: 'static>(&self, buffer: &Buffer) -> Option<Rc<T>> {
        find_or_make(&self.kept, buffer, || Err(())).ok()
    }
}

fn find_or_make<T: 'static, E>(
    memories: &Memories,
    buffer: &Buffer,
    make: impl FnOnce() -> Result<T, E>,
) -> Result<Rc<T>, E> {
    let key = (buffer.name.clone(), buffer.element, buffer.len);
    if let Some(found) = memories.borrow().get(&key) {
        let found = Rc::clone(found).downcast();
        return Ok(found.expect("the sessions of one device have one type of memory"));
    }
    let made = Rc::new(make()?);
    memories.borrow_mut().insert(key, Rc::<T>::clone(&made));
    Ok(made)
}
