//! The emulated device: memory, modules, launches.

mod textures;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use ptx::{FunctionId, Program, Space, Symbol, Variable};

use crate::args::Params;
use crate::attempt::{Attempt, Doubts};
use crate::check::footprint::{Accessed, PageAccess};
use crate::check::race::{LINE, PAGE};
use crate::conditions::ConditionHandles;
use crate::config::{DeviceLimits, LaunchConfig, Options, Undo};
use crate::counts::{Counts, LaunchReport};
use crate::executable::Executable;
use crate::fault::{Fault, LaunchError, ThreadId};
use crate::image::Images;
use crate::launch;
use crate::memory::global::{GlobalMemory, OutOfMemory};
use crate::memory::heap::{HEAP_BYTES, HEAP_NAME, Heap};
use crate::memory::{SHARED_UNIT, function_address, window};
use crate::placement::Placement;
use crate::printed::{LaunchText, Printed};
use crate::recording::{Recorder, Recording, RecordingPlan};
use crate::runner::{Code, Launch, LaunchContext};
use crate::special::Special;

/// An emulated device.
///
/// Owns device memory and runs kernels of the modules loaded into it. See the [crate] documentation
/// for what is checked and counted.
#[derive(Debug)]
pub struct Machine {
    id: u64,
    memory: GlobalMemory,
    limits: DeviceLimits,
    options: Options,
    next_block: u32,
    /// Blocks of all launches, from which orders follow.
    started_blocks: u32,
    /// Launches until now.
    launches: u64,
    latest: Option<Latest>,
    /// The latest launch ended with a fault, and memory is as it was before.
    is_undone: bool,
    /// By kernel.
    doubts: HashMap<String, Doubts>,
    /// The extent of recordings, and that of the latest launch.
    plan: Option<RecordingPlan>,
    recording: Option<Recording>,
    printed: Printed,
    condition_handles: ConditionHandles,
    /// Values of conditional nodes that launches have set.
    conditions: BTreeMap<u64, u32>,
    /// Textures and surfaces.
    images: Images,
    /// The memory for `malloc` in kernels, once one has called it.
    heap: Option<Heap>,
    /// Address of the memory in which the blocks of a cooperative launch meet, once there is one.
    workspace: Option<u64>,
}

/// Bytes of it: their number, and a barrier (`grid_workspace` of CUDA's `cooperative_groups`).
const WORKSPACE_BYTES: u32 = 64;

/// The latest launch, as far as its stores are told by it.
#[derive(Clone, Copy, Debug)]
struct Latest {
    config: LaunchConfig,
    first_block: u32,
    /// Bytes of a cell of the memory of accesses.
    granule: u32,
}

/// An [`Executable`] loaded into a [`Machine`]: its variables have addresses. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LoadedModule {
    machine: u64,
    executable: Arc<Executable>,
    /// Addresses of the variables.
    globals: Arc<[u64]>,
}

impl LoadedModule {
    /// The declarations of the module.
    pub fn program(&self) -> &Program {
        self.executable.program()
    }

    /// The module as it was before it was loaded.
    pub fn executable(&self) -> &Arc<Executable> {
        &self.executable
    }

    /// Address and size in bytes of a `.global` or `.const` variable.
    pub fn global(&self, name: &str) -> Option<(u64, u64)> {
        let mut globals = self.program().globals.iter().zip(&*self.globals);
        let (global, &address) = globals.find(|(global, _)| global.name == name)?;
        Some((address, global.size.into()))
    }
}

/// A copy between host and device that lies in no buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a copy of {bytes} bytes at address {address:#x} does not lie in one buffer")]
pub struct InvalidCopy {
    /// The device address.
    pub address: u64,
    /// The number of bytes.
    pub bytes: usize,
}

impl Default for Machine {
    fn default() -> Self {
        Self::new(DeviceLimits::default(), Options::default())
    }
}

impl Machine {
    /// A device with empty memory. Where its buffers will lie follows from these options' seeds.
    pub fn new(limits: DeviceLimits, options: Options) -> Self {
        static NEXT_ID: AtomicU64 = AtomicU64::new(0);
        Self {
            id: NEXT_ID.fetch_add(1, Relaxed),
            memory: GlobalMemory::new(limits.global_bytes, options.seed()),
            limits,
            options,
            next_block: 1,
            started_blocks: 1,
            launches: 0,
            latest: None,
            is_undone: false,
            doubts: HashMap::new(),
            plan: None,
            recording: None,
            printed: Printed::default(),
            condition_handles: ConditionHandles::default(),
            conditions: BTreeMap::new(),
            images: Images::default(),
            heap: None,
            workspace: None,
        }
    }

    /// The limits of the device.
    pub fn limits(&self) -> &DeviceLimits {
        &self.limits
    }

    /// Gives threads this much stack from now on: see [`DeviceLimits::stack_bytes`].
    pub fn set_stack_bytes(&mut self, bytes: u64) {
        self.limits.stack_bytes = bytes;
    }

    /// How launches are executed.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Changes how launches are executed from now on.
    pub fn set_options(&mut self, options: Options) {
        self.options = options;
    }

    /// Allocates `bytes` bytes of device memory and gives their address, a multiple of 512, from
    /// 1 MiB on of 2 MiB. The name appears in messages. The memory holds zeros, but reading it
    /// before it is written is a fault when checked.
    ///
    /// # Errors
    /// If the device does not have that much memory left.
    pub fn allocate(&mut self, bytes: u64, name: &str) -> Result<u64, OutOfMemory> {
        self.memory.allocate(bytes, name)
    }

    /// Reserves addresses for `bytes` bytes of device memory, chosen as by [`Machine::allocate`].
    /// They have memory from [`Machine::allocate_reserved`] on; a kernel that accesses them before
    /// is told so.
    pub fn reserve(&mut self, bytes: u64, name: &str) -> u64 {
        self.memory.reserve(bytes, name)
    }

    /// Allocates memory at an address that [`Machine::reserve`] gave, also after it was freed. The
    /// memory holds zeros that nothing has written. False if the address was not reserved, or has
    /// memory.
    ///
    /// ```
    /// let mut machine = ptx_emu::Machine::default();
    /// let address = machine.reserve(64, "of a graph");
    /// for _ in 0..2 {
    ///     assert!(machine.write(address, &[1]).is_err());
    ///     assert!(machine.allocate_reserved(address)?);
    ///     assert!(!machine.allocate_reserved(address)?);
    ///     assert!(machine.write(address, &[1]).is_ok());
    ///     assert!(machine.free(address));
    /// }
    /// # Ok::<(), ptx_emu::OutOfMemory>(())
    /// ```
    ///
    /// # Errors
    /// If the device does not have that much memory left.
    pub fn allocate_reserved(&mut self, address: u64) -> Result<bool, OutOfMemory> {
        self.memory.allocate_reserved(address)
    }

    /// Makes memory that the host has at the same address usable by kernels, and gives the address,
    /// a multiple of 64 KiB. `map` gives the words at the address that it is called with, at least
    /// `bytes` bytes of them. All of them count as written, since the host may write at any time,
    /// and none of them as memory of the device. `None` if `map` cannot give them.
    ///
    /// After [`Machine::free`] nothing here accesses the words any more.
    pub fn share(
        &mut self,
        bytes: u64,
        name: &str,
        map: impl FnOnce(u64) -> Option<&'static [AtomicU32]>,
    ) -> Option<u64> {
        self.memory.share(bytes, name, map)
    }

    /// Makes memory that the host has already, from `address` on, usable by kernels at that
    /// address, as [`Machine::share`] does with new memory. `map` gives the words from a multiple
    /// of 512 on that is not behind `address`. False if `map` cannot, or if kernels have other
    /// memory there.
    pub fn share_at(
        &mut self,
        address: u64,
        bytes: u64,
        name: &str,
        map: impl FnOnce(u64) -> Option<&'static [AtomicU32]>,
    ) -> bool {
        self.memory.share_at(address, bytes, name, map)
    }

    /// Frees the buffer that starts at `address`; false if there is none. Its addresses are not
    /// used again, and accesses to them are reported as such.
    pub fn free(&mut self, address: u64) -> bool {
        self.memory.free(address)
    }

    /// Sets every byte of the buffer that starts at `address`, and counts them as never written: a
    /// kernel that reads one before it writes it is reported when checked, and otherwise gets a
    /// value that should look wrong. False if no buffer starts there.
    pub fn poison(&mut self, address: u64, byte: u8) -> bool {
        self.memory.poison(address, byte)
    }

    /// From now on, notes what launches read and write of every buffer, variables of modules among
    /// them, and of those that are made later.
    pub fn watch_accesses(&mut self) {
        self.memory.watch_accesses();
    }

    /// The accesses of launches since [`Machine::watch_accesses`]: the address of each buffer, and
    /// the bytes of it. Nothing is noted any more.
    pub fn take_accesses(&mut self) -> Vec<(u64, Accessed)> {
        self.memory.take_accesses()
    }

    /// The accesses of launches since this was called last, or since [`Machine::watch_accesses`],
    /// page by page, in the order of addresses. Accesses are noted further. Of a launch that was
    /// repeated here, it is what the last attempt accessed.
    pub fn take_accessed_pages(&mut self, each: impl FnMut(&PageAccess)) {
        self.memory.take_pages(each);
    }

    /// The thread of the latest launch that stored each element, of this size, of the buffer that
    /// starts at `address`. `None`: no thread did, or races are not looked for.
    pub fn stored_by(&self, address: u64, element_bytes: u64) -> Vec<Option<ThreadId>> {
        let Some((buffer, latest)) = self.memory.find(address, 0).zip(self.latest) else {
            return Vec::new();
        };
        let along = |number: u32, [x, y, _]: [u32; 3]| [number % x, number / x % y, number / x / y];
        let element = |at: u64| {
            let granule = at / u64::from(latest.granule);
            let mut page = buffer.races.lock(granule / PAGE);
            let line = page.line(granule % PAGE / LINE).enter(latest.first_block);
            let store = *line.stores(granule % LINE).first()?;
            Some(ThreadId {
                block: along(store.block - latest.first_block, latest.config.grid),
                thread: along(store.thread(), latest.config.block),
            })
        };
        let starts = (0..buffer.bytes).step_by(element_bytes.max(1) as usize);
        starts.map(element).collect()
    }

    /// The name of the buffer that this address is in, or at the end of.
    pub fn buffer_at(&self, address: u64) -> Option<&str> {
        let buffer = self.memory.find(address, 0)?;
        Some(&buffer.name)
    }

    /// The text that launches have printed since the last call, up to 64 KiB of it.
    pub fn take_printed(&mut self) -> Printed {
        std::mem::take(&mut self.printed)
    }

    /// Says which conditional handles of graphs the next launches may set.
    pub fn set_condition_handles(&mut self, handles: ConditionHandles) {
        self.condition_handles = handles;
    }

    /// The values that launches since the last call have given to conditional handles, the last of
    /// each (`cudaGraphSetConditional`).
    pub fn take_conditions(&mut self) -> BTreeMap<u64, u32> {
        std::mem::take(&mut self.conditions)
    }

    /// Bytes of device memory in use.
    pub fn used_bytes(&self) -> u64 {
        self.memory.used()
    }

    /// Copies to the device.
    ///
    /// # Errors
    /// If the range does not lie in one buffer; nothing is copied then.
    pub fn write(&mut self, address: u64, data: &[u8]) -> Result<(), InvalidCopy> {
        if self.memory.write(address, data) {
            Ok(())
        } else {
            Err(InvalidCopy {
                address,
                bytes: data.len(),
            })
        }
    }

    /// Copies to the host.
    ///
    /// # Errors
    /// If the range does not lie in one buffer; `data` is unchanged then.
    pub fn read(&self, address: u64, data: &mut [u8]) -> Result<(), InvalidCopy> {
        if self.memory.read(address, data) {
            Ok(())
        } else {
            Err(InvalidCopy {
                address,
                bytes: data.len(),
            })
        }
    }

    /// Copies within the device. Bytes that nothing has written stay so.
    ///
    /// # Errors
    /// If either range does not lie in one buffer; nothing is copied then.
    pub fn copy(&mut self, src: u64, dst: u64, bytes: usize) -> Result<(), InvalidCopy> {
        for address in [src, dst] {
            if self.memory.find(address, bytes as u64).is_none() {
                return Err(InvalidCopy { address, bytes });
            }
        }
        self.memory.copy(src, dst, bytes as u64);
        Ok(())
    }

    /// Loads a module: places its variables in device memory.
    ///
    /// # Errors
    /// If the variables do not fit in device memory.
    pub fn load(
        &mut self,
        executable: impl Into<Arc<Executable>>,
    ) -> Result<LoadedModule, OutOfMemory> {
        self.load_placed(executable, |_| None)
    }

    /// Loads a module, where `placed` gives the addresses of variables that have their memory
    /// already. It stays as it is. The other variables are placed in device memory.
    ///
    /// # Errors
    /// If the other variables do not fit in device memory.
    pub fn load_placed(
        &mut self,
        executable: impl Into<Arc<Executable>>,
        placed: impl Fn(&Variable) -> Option<u64>,
    ) -> Result<LoadedModule, OutOfMemory> {
        let executable = executable.into();
        let program = executable.program();
        let mut globals = Vec::with_capacity(program.globals.len());
        for variable in &program.globals {
            // An external variable has no memory: its address is null.
            globals.push(match (variable.is_extern, placed(variable)) {
                (true, _) => 0,
                (false, Some(address)) => address,
                (false, None) => {
                    let (bytes, name) = (variable.size.into(), &variable.name);
                    match variable.space {
                        Space::Const => self.memory.allocate_constant(bytes, name)?,
                        _ => self.memory.allocate(bytes, name)?,
                    }
                }
            });
        }
        for (variable, &address) in program.globals.iter().zip(&globals) {
            let mut image = variable.init.clone();
            image.resize(variable.size as usize, 0);
            for relocation in &variable.relocations {
                let (base, space) = match relocation.symbol {
                    Symbol::Global(id) => (globals[id.0 as usize], Space::Global),
                    Symbol::Function(id) => (function_address(id), Space::Global),
                    Symbol::Shared(offset) => (offset.into(), Space::Shared),
                    _ => continue,
                };
                let base = if relocation.generic {
                    base + window(space)
                } else {
                    base
                };
                let value = base.wrapping_add_signed(relocation.addend).to_le_bytes();
                let start = relocation.offset as usize;
                let size = relocation.size as usize;
                if let (Some(field), Some(value)) =
                    (image.get_mut(start..start + size), value.get(..size))
                {
                    field.copy_from_slice(value);
                }
            }
            if !variable.is_extern && placed(variable).is_none() {
                self.memory.write(address, &image);
                if variable.space == Space::Const {
                    self.memory.make_read_only(address);
                }
            }
        }
        Ok(LoadedModule {
            machine: self.id,
            executable,
            globals: globals.into(),
        })
    }

    /// Makes the memory that the system owes a kernel.
    fn prepare(&mut self, code: &Code, kernel: u32) -> Result<(), OutOfMemory> {
        if self.heap.is_none() && code.allocates(kernel) {
            let base = self.memory.allocate(HEAP_BYTES, HEAP_NAME)?;
            self.heap = Some(Heap::new(base));
        }
        if code.reads(kernel, |special| {
            matches!(special, Special::Workspace { .. })
        }) {
            let address = match self.workspace {
                Some(address) => address,
                None => {
                    let name = "the workspace of cooperative groups";
                    self.memory.allocate(WORKSPACE_BYTES.into(), name)?
                }
            };
            let mut content = [0; WORKSPACE_BYTES as usize];
            content[..4].copy_from_slice(&WORKSPACE_BYTES.to_le_bytes());
            self.memory.write(address, &content);
            self.workspace = Some(address);
        }
        Ok(())
    }

    /// The number of the first of `blocks` blocks among all that the machine ever ran.
    fn number(memory: &mut GlobalMemory, next_block: &mut u32, blocks: u64) -> u32 {
        if next_block.checked_add(blocks as u32).is_none() {
            memory.forget_accesses();
            *next_block = 1;
        }
        let first = *next_block;
        *next_block += blocks as u32;
        first
    }

    /// Keeps what launches from now on do, as far as the plan says; nothing without one.
    pub fn record(&mut self, plan: Option<RecordingPlan>) {
        self.plan = plan;
    }

    /// The recording of the latest launch, also of one that ended with a fault.
    pub fn take_recording(&mut self) -> Option<Recording> {
        self.recording.take()
    }

    /// True if the latest launch ended with a fault and left memory as it was before: with
    /// [`Options::undo`] and the check of races.
    pub fn is_undone(&self) -> bool {
        self.is_undone
    }

    /// Launches a kernel and waits for its end. `params` are the arguments, as
    /// [`args!`](crate::args!) gives them, or the bytes of the parameter block: see [`Params`].
    ///
    /// # Errors
    /// [`Fault::Launch`] if the launch is not possible (nothing runs then), [`Fault::Program`] if
    /// the kernel does something wrong, [`Fault::Unsupported`] if it does something that is not
    /// modelled. After the latter two, memory holds what was stored until then, unless
    /// [`Machine::is_undone`].
    pub fn launch(
        &mut self,
        module: &LoadedModule,
        kernel: &str,
        config: &LaunchConfig,
        params: impl Params,
    ) -> Result<LaunchReport, Fault> {
        self.is_undone = false;
        let id = self.find(module, kernel)?;
        let params = params
            .block(&module.program().functions[id.0 as usize])
            .map_err(|error| LaunchError::Arguments {
                kernel: kernel.to_owned(),
                error,
            })?;
        self.run(&[module], id, config, &[&params])
    }

    /// Checks all of a launch that is known before it runs.
    ///
    /// # Errors
    /// [`Fault::Launch`] if [`Machine::launch`] would give it, except for arguments that do not fit
    /// and for want of the system's memory.
    pub fn check(
        &self,
        module: &LoadedModule,
        kernel: &str,
        config: &LaunchConfig,
        params: &[u8],
    ) -> Result<(), Fault> {
        let id = self.find(module, kernel)?;
        self.check_shape(module, id, config, &[params])
    }

    fn check_shape(
        &self,
        module: &LoadedModule,
        id: FunctionId,
        config: &LaunchConfig,
        params: &[&[u8]],
    ) -> Result<(), Fault> {
        let program = module.executable.of_kernel(id).program();
        let function = &program.functions[id.0 as usize];
        let registers = || module.executable.needed_registers(&function.name);
        Ok(launch::validate(
            function,
            config,
            params,
            &self.limits,
            registers,
        )?)
    }

    /// Launches a kernel on several devices at once, which may wait for each other: a grid for each
    /// of `launches`, with the device's module and parameter block. The modules are one executable,
    /// loaded for each device. Their memory is this machine's.
    ///
    /// A device's accesses and fences at the scope `.gpu` are for its own blocks; but what a fence
    /// of that scope publishes counts as published to all. Faults do not name the device.
    ///
    /// # Errors
    /// As [`Machine::launch`].
    pub fn launch_together(
        &mut self,
        launches: &[(LoadedModule, Vec<u8>)],
        kernel: &str,
        config: &LaunchConfig,
    ) -> Result<LaunchReport, Fault> {
        let modules: Vec<&LoadedModule> = launches.iter().map(|(module, _)| module).collect();
        let params: Vec<&[u8]> = launches.iter().map(|(_, params)| &**params).collect();
        self.is_undone = false;
        let is_own = |module: &&LoadedModule| {
            module.machine == self.id && Arc::ptr_eq(&module.executable, &modules[0].executable)
        };
        if modules.iter().all(is_own) && !modules.is_empty() {
            let id = self.find(modules[0], kernel)?;
            self.run(&modules, id, config, &params)
        } else {
            Err(LaunchError::ForeignModule.into())
        }
    }

    /// The kernel of this name.
    fn find(&self, module: &LoadedModule, kernel: &str) -> Result<FunctionId, Fault> {
        if module.machine != self.id {
            return Err(LaunchError::ForeignModule.into());
        }
        let program = module.program();
        let Some((id, _)) = program.defined_kernel(kernel) else {
            let available = program.kernels().map(|known| known.name.clone()).collect();
            return Err(LaunchError::NoSuchKernel {
                name: kernel.to_owned(),
                available,
            }
            .into());
        };
        let unit = module.executable.of_kernel(id);
        if let Some(error) = &unit.program().functions[id.0 as usize].refused {
            return Err(LaunchError::Refused {
                kernel: kernel.to_owned(),
                error: error.clone(),
            }
            .into());
        }
        Ok(id)
    }

    /// Runs a kernel of each device's module with its parameter block.
    fn run(
        &mut self,
        modules: &[&LoadedModule],
        id: FunctionId,
        config: &LaunchConfig,
        params: &[&[u8]],
    ) -> Result<LaunchReport, Fault> {
        let read = modules[0].executable.of_kernel(id);
        let (program, code) = (read.program(), read.code());
        let globals: Vec<&[u64]> = modules.iter().map(|module| &*module.globals).collect();
        let function = &program.functions[id.0 as usize];
        let registers = || modules[0].executable.needed_registers(&function.name);
        self.check_shape(modules[0], id, config, params)?;
        self.prepare(code, id.0)
            .map_err(LaunchError::SystemMemory)?;
        let blocks = config.blocks() * params.len() as u64;
        let options = &self.options;
        let sanitize = options.sanitize;
        let schedule = launch::schedule(options.schedule, self.started_blocks);
        self.started_blocks = self.started_blocks.wrapping_add(blocks as u32);
        // Blocks that do not run leave memory unwritten.
        if !sanitize.uninitialized || options.most_blocks.is_some() {
            self.memory.assume_written();
        }
        let exchange = code.exchange(id.0);
        let fuel = match options.most_blocks {
            Some(_) if exchange.blocks => options.fuel.min(Options::SAMPLED_FUEL),
            _ => options.fuel.max(1),
        };
        let host_threads = launch::host_threads(options.threads);
        let undo = if sanitize.races {
            options.undo
        } else {
            Undo::Never
        };
        let undoes = undo != Undo::Never;
        // Which memory `malloc` gives depends on who calls it first.
        let may_part = sanitize.races && !code.allocates(id.0);
        let is_recorded = self.plan.is_some();
        let mut is_parallel =
            !is_recorded && may_part && !exchange.blocks && blocks > 1 && host_threads > 1;
        let heap = self.heap.as_ref().filter(|_| undoes).map(Heap::saved);
        let shared_bytes = function.block_shared_bytes(config.shared_mem_bytes);
        let reserves = code.reads(id.0, Special::is_reserved_shared);
        let threads = config.block.iter().product();
        // Others do not see how many run at once.
        let registers = if exchange.blocks || exchange.asks_where {
            function.bounded_registers(registers())
        } else {
            0
        };
        let resident = self
            .limits
            .resident_blocks(threads, shared_bytes, registers);
        let placement = Placement::new(
            (schedule, options.seed(), self.launches),
            &self.limits,
            resident,
        );
        self.launches += 1;
        let launch = Launch {
            code,
            program,
            globals: &globals,
            kernel: id.0,
            params,
            config: *config,
            cluster: function.cluster(config.cluster),
            limits: &self.limits,
            sanitize,
            volatile_is_plain: options.volatile_is_plain,
            schedule,
            seed: options.seed(),
            exchange,
            fuel,
            count_l2: options.count_l2,
            inexact: options.inexact,
            shared_bytes,
            resident,
            reserved_shared: reserves.then(|| {
                let unit = SHARED_UNIT as u32;
                (shared_bytes as u32).next_multiple_of(unit) + placement.shared_units() * unit
            }),
            placement,
            workspace: self.workspace.unwrap_or(0),
            images: &self.images,
            heap: self.heap.as_ref(),
            condition_handles: &self.condition_handles,
            dynamic_shared_offset: function.dynamic_shared_offset,
            granule: code.narrowest(id.0),
        };
        let ended = loop {
            let first_block = Self::number(&mut self.memory, &mut self.next_block, blocks);
            let known = self.doubts.get(&function.name);
            let context = LaunchContext::new(
                launch,
                &self.memory,
                first_block,
                LaunchText::after(&self.printed),
                Attempt::new(is_parallel, undoes, may_part, known),
                self.plan.clone().map(Recorder::new),
            );
            self.latest = Some(Latest {
                config: *config,
                first_block,
                granule: launch.granule,
            });
            let order = launch::order(&context, blocks, options.most_blocks);
            let ran = order.len() * u64::from(context.cluster_blocks());
            let ended = launch::run(&context, &order, options.threads);
            let LaunchContext {
                attempt,
                recorder,
                printed,
                conditions,
                early_exit,
                widened_load,
                ..
            } = context;
            self.recording = recorder.map(|recorder| launch.recording(recorder));
            let has_failed = attempt.has_failed();
            let is_broken = attempt.is_broken();
            if let Some(doubts) = attempt.doubts() {
                self.doubts.insert(function.name.clone(), doubts);
            }
            // The rest is as on a GPU, which stops there: memory holds what was stored before.
            let may_be_undone = ended.as_ref().is_err_and(|(_, fault)| match &**fault {
                Fault::Program(fault) => {
                    undo == Undo::Always || undoes && fault.kind.is_unnoticed_by_a_gpu()
                }
                _ => false,
            });
            self.is_undone = !has_failed && may_be_undone;
            if let (true, Some(heap), Some(saved)) = (self.is_undone, &self.heap, &heap) {
                heap.put_back(saved.clone());
            }
            let is_undone = has_failed || self.is_undone;
            self.memory.settle(attempt.into_saved(), is_undone);
            if !has_failed {
                let last = ended.as_ref().err().and_then(|(place, _)| *place);
                self.printed.add(printed.until(last));
                self.conditions.extend(conditions.into_values());
                let notes = (early_exit.into_inner(), widened_load.into_inner());
                break ended.map(|tallies| (tallies, ran, notes));
            }
            // The next attempt makes its own.
            self.memory.take_pages(|_| ());
            is_parallel &= is_broken;
        };
        let (tallies, ran, (early_exit, widened_load)) = ended.map_err(|(_, stop)| *stop)?;
        let instructions = tallies.report(&code.infos, &code.tally_owners);
        Ok(LaunchReport {
            kernel: function.name.clone(),
            blocks: ran,
            threads: ran * u64::from(config.block.iter().product::<u32>()),
            counts: instructions
                .iter()
                .map(|instruction| &instruction.counts)
                .sum::<Counts>(),
            instructions,
            early_exit,
            widened_load,
        })
    }
}
