//! The state behind all functions.
//!
//! [`Driver`] owns all objects. The files of this folder add what it does with each kind.

pub(crate) mod between;
pub(crate) mod branch;
pub(crate) mod context;
pub(crate) mod copy;
mod explain;
mod graph;
mod graph_memory;
pub(crate) mod late;
mod launch;
mod leaks;
mod loops;
mod memory;
mod module;
pub(crate) mod queue;
mod reference;
mod replayed;
mod texture;
pub(crate) mod unsafe_calls;
mod user_object;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use between::Between;
use ptx_emu::{CONST_WINDOW, DeviceLimits, GLOBAL_BASE, Machine};
use replay::Replayer;

use crate::caller;
use crate::code::{Code, Outcome};
use crate::objects::Handle;
use crate::objects::branch::Value;
use crate::objects::context::{Context, Device};
use crate::objects::graph::{Capture, ExecutableGraph, Graph};
use crate::objects::graph_memory::GraphMemory;
use crate::objects::late::Late;
use crate::objects::memory::{Allocation, Array, Pool};
use crate::objects::module::{Function, Library, Module};
use crate::objects::reference::{SurfaceReference, TextureReference};
use crate::objects::stream::{Event, Stream};
use crate::objects::texture::Made;
use crate::objects::user_object::UserObject;
use crate::objects::work::Queues;
use crate::report;
use crate::settings::Settings;
use crate::site::Site;

/// Memory of each device, in bytes.
pub(crate) const DEVICE_BYTES: u64 = 16 << 30;

/// Everything that the driver knows.
pub(crate) struct Driver {
    /// All devices' memory; addresses are unified.
    pub(crate) machine: Machine,
    pub(crate) devices: Vec<Device>,
    pub(crate) contexts: HashMap<Handle, Context>,
    pub(crate) modules: HashMap<Handle, Module>,
    pub(crate) libraries: HashMap<Handle, Library>,
    /// Functions, and kernels of libraries.
    pub(crate) functions: HashMap<Handle, Function>,
    pub(crate) streams: BTreeMap<Handle, Stream>,
    pub(crate) events: HashMap<Handle, Event>,
    pub(crate) graphs: HashMap<Handle, Graph>,
    pub(crate) executable_graphs: HashMap<Handle, ExecutableGraph>,
    pub(crate) captures: HashMap<u64, Capture>,
    /// The values of conditional handles.
    pub(crate) conditions: BTreeMap<u64, Value>,
    /// The conditional handle that was made last; they count up.
    pub(crate) last_condition: u64,
    /// Memory of graphs, by address.
    pub(crate) graph_memory: BTreeMap<u64, GraphMemory>,
    pub(crate) user_objects: HashMap<Handle, UserObject>,
    pub(crate) pools: HashMap<Handle, Pool>,
    pub(crate) arrays: HashMap<Handle, Array>,
    /// The levels of mipmapped arrays.
    pub(crate) mipmaps: HashMap<Handle, Vec<Handle>>,
    /// Textures and surfaces, by their numbers in kernels.
    pub(crate) images: HashMap<u64, Made>,
    pub(crate) texture_references: HashMap<Handle, TextureReference>,
    pub(crate) surface_references: HashMap<Handle, SurfaceReference>,
    has_noted_anisotropy: bool,
    pub(crate) allocations: BTreeMap<u64, Allocation>,
    /// How many allocations there were, for their names.
    pub(crate) allocated: u64,
    /// Where memory was allocated, if it is to be told where it was not freed.
    made_at: BTreeMap<u64, Site>,
    /// The addresses of memory that was freed.
    freed: HashSet<u64>,
    pub(crate) queues: Queues,
    /// The order in which streams go on, where they are late.
    late: Option<Late>,
    pub(crate) between: Between,
    /// Chooses the launch that a page replays, if one is asked for.
    replayer: Option<Replayer>,
    /// The faults that were told and that the program outlived: kernel, kind, and line of the PTX.
    /// A kernel with a note that was told has the note's name and line 0.
    pub(crate) told: HashSet<(String, &'static str, u32)>,
    next_handle: Handle,
}

static DRIVER: Mutex<Option<Driver>> = Mutex::new(None);

/// The driver, alone. A panic under the lock leaves it valid enough to go on: each function
/// changes one thing.
fn lock() -> MutexGuard<'static, Option<Driver>> {
    DRIVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the driver. Later calls do nothing.
pub(crate) fn start() -> Outcome {
    caller::starts();
    if Settings::get().streams {
        // The first trace of a process loads a library, which is not to happen under the lock.
        drop(Site::here());
    }
    let mut driver = lock();
    if driver.is_none() {
        report::started();
        *driver = Some(Driver::new(Settings::get()));
    }
    if driver
        .as_ref()
        .is_some_and(|driver| driver.devices.is_empty())
    {
        Err(Code::NO_DEVICE)
    } else {
        Ok(())
    }
}

/// Does something with the driver, which must have been started.
pub(crate) fn with<T>(body: impl FnOnce(&mut Driver) -> Outcome<T>) -> Outcome<T> {
    let outcome = body(lock().as_mut().ok_or(Code::NOT_INITIALIZED)?);
    user_object::call_ended();
    outcome
}

/// Does something with the driver and the current context, which must not have failed.
pub(crate) fn with_context<T>(body: impl FnOnce(&mut Driver, Handle) -> Outcome<T>) -> Outcome<T> {
    with(|driver| {
        let context = driver.live_context()?;
        body(driver, context)
    })
}

/// Addresses that buffers may have, from [`GLOBAL_BASE`] on: more than all devices have memory, and
/// below those where Linux places a program. Constant variables lie below them.
const DEVICE_ADDRESSES: u64 = 1 << 44;

/// True for addresses of buffers. Other addresses are of the host alone.
pub(crate) fn is_device_address(address: u64) -> bool {
    (CONST_WINDOW..GLOBAL_BASE + DEVICE_ADDRESSES).contains(&address)
}

impl Driver {
    fn new(settings: &Settings) -> Driver {
        let limits = DeviceLimits {
            global_bytes: DEVICE_BYTES * settings.devices.len().max(1) as u64,
            // See `api/module.rs`.
            static_shared_bytes: settings.limits().shared_bytes,
            ..settings.limits()
        };
        Driver {
            machine: Machine::new(limits, settings.options.clone()),
            devices: { settings.devices.iter() }
                .map(|&number| Device {
                    number,
                    ..Device::default()
                })
                .collect(),
            contexts: HashMap::new(),
            modules: HashMap::new(),
            libraries: HashMap::new(),
            functions: HashMap::new(),
            streams: BTreeMap::new(),
            events: HashMap::new(),
            graphs: HashMap::new(),
            executable_graphs: HashMap::new(),
            captures: HashMap::new(),
            conditions: BTreeMap::new(),
            last_condition: 0,
            graph_memory: BTreeMap::new(),
            user_objects: HashMap::new(),
            pools: HashMap::new(),
            arrays: HashMap::new(),
            mipmaps: HashMap::new(),
            images: HashMap::new(),
            has_noted_anisotropy: false,
            texture_references: HashMap::new(),
            surface_references: HashMap::new(),
            allocations: BTreeMap::new(),
            allocated: 0,
            made_at: BTreeMap::new(),
            freed: HashSet::new(),
            queues: Queues::default(),
            late: settings.late.map(Late::new),
            between: Between::new(settings.streams),
            replayer: {
                let asked = Settings::get().replay.as_ref();
                asked.map(|(_, wish)| Replayer::new(wish.clone()))
            },
            told: HashSet::new(),
            next_handle: 0x1000,
        }
    }

    /// A handle that no other object has.
    pub(crate) fn new_handle(&mut self) -> Handle {
        self.next_handle += 0x10;
        self.next_handle
    }

    /// The device of this number.
    pub(crate) fn device(&mut self, number: i32) -> Outcome<&mut Device> {
        usize::try_from(number)
            .ok()
            .and_then(|number| self.devices.get_mut(number))
            .ok_or(Code::INVALID_DEVICE)
    }
}
