//! The settings of a machine and of a launch.

/// Shape of a launch, as `cuLaunchKernelEx` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub shared_mem_bytes: u32,
    /// Blocks of a cluster in x, y, z; 1, 1, 1 without clusters, or for the shape that the kernel
    /// asks for.
    pub cluster: [u32; 3],
}

impl LaunchConfig {
    /// A grid of blocks in up to three directions, without dynamic shared memory and clusters:
    /// `LaunchConfig::new([4], [256])` is `<<<4, 256>>>` of CUDA C++, `([2, 2], [16, 16])` has two
    /// directions.
    pub fn new<const G: usize, const B: usize>(grid: [u32; G], block: [u32; B]) -> LaunchConfig {
        const { assert!(G <= 3 && B <= 3, "x, y, z are all directions") };
        let mut config = LaunchConfig {
            grid: [1; 3],
            block: [1; 3],
            shared_mem_bytes: 0,
            cluster: [1; 3],
        };
        config.grid[..G].copy_from_slice(&grid);
        config.block[..B].copy_from_slice(&block);
        config
    }

    /// Blocks of a valid grid.
    pub(crate) fn blocks(&self) -> u64 {
        self.grid.into_iter().map(u64::from).product()
    }
}

/// The room of a multiprocessor, by compute capability.
///
/// Source: CUDA C++ Programming Guide, "Compute Capabilities", table "Technical Specifications per
/// Compute Capability".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiprocessor {
    /// Threads.
    pub threads: u32,
    /// Blocks.
    pub blocks: u32,
    /// Shared memory, in bytes.
    pub shared_bytes: u32,
    /// The most of it for a block that opts in, in bytes.
    pub shared_bytes_per_block: u32,
    /// The part of it that the system takes for each block, in bytes.
    pub reserved_shared_bytes: u32,
}

impl Multiprocessor {
    /// That of devices of this compute capability, major and minor, or of the newest known before
    /// it; for devices before 7.5 that of 7.5.
    ///
    /// ```
    /// use ptx_emu::Multiprocessor;
    ///
    /// assert_eq!(Multiprocessor::of((8, 6)).shared_bytes_per_block, 99 << 10);
    /// assert_eq!(Multiprocessor::of((12, 1)), Multiprocessor::of((12, 0)));
    /// ```
    pub const fn of((major, minor): (u32, u32)) -> Multiprocessor {
        let (threads, blocks, shared_kib, reserved_kib) = match 10 * major + minor {
            ..80 => (1024, 16, 64, 0),
            80..86 => (2048, 32, 164, 1),
            86 => (1536, 16, 100, 1),
            87..89 => (1536, 16, 164, 1),
            89 => (1536, 24, 100, 1),
            90..120 => (2048, 32, 228, 1),
            120.. => (1536, 24, 100, 1),
        };
        Multiprocessor {
            threads,
            blocks,
            shared_bytes: shared_kib << 10,
            shared_bytes_per_block: (shared_kib - reserved_kib) << 10,
            reserved_shared_bytes: reserved_kib << 10,
        }
    }
}

/// A compute capability as users write it, `7.5`: major and minor. The oldest that has kernels of
/// today's compilers is 7.5.
///
/// # Errors
///
/// A message that says how it is written.
pub fn parse_capability(text: &str) -> Result<(u32, u32), String> {
    let wrong =
        || format!("`{text}` is not a compute capability from 7.5 on; write 7.5, 8.6, 12.0");
    let (major, minor) = text.split_once('.').ok_or_else(wrong)?;
    let number = |digits: &str| digits.parse::<u32>().map_err(|_| wrong());
    let capability = (number(major)?, number(minor)?);
    let is_known = capability >= (7, 5) && capability.0 < 100 && capability.1 < 10;
    is_known.then_some(capability).ok_or_else(wrong)
}

/// The limits of the emulated device. The default is that of compute capability 9.0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceLimits {
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Blocks of a grid in x, y, z.
    pub grid: [u32; 3],
    /// Static shared memory of a block, in bytes.
    pub static_shared_bytes: u32,
    /// Static and dynamic shared memory of a block together, in bytes. More than 48 KiB is what a
    /// kernel gets on hardware after opting in.
    pub shared_bytes: u32,
    /// Blocks of a cluster.
    pub cluster_blocks: u32,
    /// Device memory, in bytes.
    pub global_bytes: u64,
    /// Local memory of a thread, in bytes: locals and parameters of all its frames.
    pub local_bytes_per_thread: u32,
    /// The part of it that a recursion may take, beyond its first call: compilers do not know how
    /// deep it goes, and a GPU gives each thread this much (`cudaLimitStackSize`; CUDA guide, Call
    /// Stack).
    pub stack_bytes: u64,
    /// Nested calls of a thread.
    pub call_depth: u32,
    /// Multiprocessors. With the next ones, it says how many blocks run at once: see
    /// [`DeviceLimits::resident_blocks`].
    pub multiprocessors: u32,
    /// Threads that a multiprocessor holds.
    pub threads_per_multiprocessor: u32,
    /// Blocks that it holds.
    pub blocks_per_multiprocessor: u32,
    /// Shared memory that it has, in bytes.
    pub shared_bytes_per_multiprocessor: u32,
    /// Shared memory that each block takes in addition to its own, in bytes.
    pub reserved_shared_bytes: u32,
}

impl DeviceLimits {
    /// The limits of a device of this compute capability, major and minor: see
    /// [`Multiprocessor::of`].
    pub fn of(capability: (u32, u32)) -> DeviceLimits {
        let own = Multiprocessor::of(capability);
        DeviceLimits {
            shared_bytes: own.shared_bytes_per_block,
            // Clusters came with 9.0.
            cluster_blocks: if capability < (9, 0) { 1 } else { 16 },
            threads_per_multiprocessor: own.threads,
            blocks_per_multiprocessor: own.blocks,
            shared_bytes_per_multiprocessor: own.shared_bytes,
            reserved_shared_bytes: own.reserved_shared_bytes,
            ..DeviceLimits::default()
        }
    }

    /// The number of blocks, of `threads` threads and `shared_bytes` of shared memory each, that
    /// the device holds at once, if a thread takes this many registers. Of a kernel only those are
    /// known that it takes at least (`Executable::needed_registers`), so a GPU may hold fewer.
    pub fn resident_blocks(&self, threads: u32, shared_bytes: u64, registers: u32) -> u64 {
        let by_threads = self.threads_per_multiprocessor / threads.next_multiple_of(32).max(32);
        let warps = threads.div_ceil(32).next_multiple_of(4).max(4);
        let by_registers = ptx::warps_by_registers(registers) / warps;
        let shared = (shared_bytes + u64::from(self.reserved_shared_bytes)).max(1);
        let by_shared = u64::from(self.shared_bytes_per_multiprocessor) / shared;
        let most = self.blocks_per_multiprocessor.min(by_registers);
        let blocks = by_shared.min(by_threads.min(most).into());
        blocks.max(1) * u64::from(self.multiprocessors)
    }
}

impl Default for DeviceLimits {
    fn default() -> Self {
        let own = Multiprocessor::of((9, 0));
        Self {
            threads_per_block: 1024,
            block: [1024, 1024, 64],
            grid: [i32::MAX as u32, 65535, 65535],
            static_shared_bytes: 48 << 10,
            shared_bytes: own.shared_bytes_per_block,
            // Non-portable sizes: a program that wants portable ones checks for 8 itself.
            cluster_blocks: 16,
            global_bytes: 16 << 30,
            local_bytes_per_thread: 512 << 10,
            stack_bytes: 1 << 10,
            call_depth: 1024,
            multiprocessors: 132,
            threads_per_multiprocessor: own.threads,
            blocks_per_multiprocessor: own.blocks,
            shared_bytes_per_multiprocessor: own.shared_bytes,
            reserved_shared_bytes: own.reserved_shared_bytes,
        }
    }
}

/// Which checks are made beyond those that hardware makes (bounds and alignment are always
/// checked).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sanitize {
    /// Values that nothing has set, and of memory that nothing has written, where they matter.
    pub uninitialized: bool,
    /// Data races, also between launches that a plan has as independent.
    pub races: bool,
    /// Barriers in divergent code, or that some threads of the block go past; shuffles from lanes
    /// that take no part; `mbarrier` objects that are made twice.
    pub barriers: bool,
}

impl Sanitize {
    /// Every check.
    pub const ALL: Self = Self {
        uninitialized: true,
        races: true,
        barriers: true,
    };
    /// None: what a GPU does not notice goes on as on a GPU, as far as it is modelled.
    pub const NONE: Self = Self {
        uninitialized: false,
        races: false,
        barriers: false,
    };
}

/// In which order blocks, warps and lanes run. A schedule does not depend on the machine: wherever
/// the order may change what a kernel computes (its threads communicate by atomics or
/// strong accesses), all blocks run on one host thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Blocks in order of their index, warps in turn, the lanes of a warp together.
    #[default]
    InOrder,
    /// In an order that follows from the seed. Where the order may change what a kernel computes,
    /// the lanes of a warp run apart, some ahead of the others, as independent thread scheduling
    /// allows; so counts of such kernels are not those of converged warps.
    ///
    /// The last three bits of the seed choose the kind of order:
    ///
    /// - 0: blocks and warps in a random order, each as far as it can go; 1: in the opposite order,
    ///   with the other lanes ahead;
    /// - 2, 3: the same, but each up to the next access that may communicate with others, so that
    ///   all others come between two of them;
    /// - 4: by chance, in short turns that end anywhere;
    /// - 5, 6, 7: as 0, but one block and one warp of each block run only when all others wait for
    ///   a change in memory, or have polled for long. So who waits by counting, sleeping or the
    ///   clock gives up too early. Three seeds that differ here alone choose another block and
    ///   warp each.
    Random {
        /// The seed.
        seed: u64,
    },
}

impl Options {
    /// The seed of all that follows from none of a launch's.
    pub(crate) fn seed(&self) -> u64 {
        match self.schedule {
            Schedule::InOrder => self.seed,
            Schedule::Random { seed } => self.seed ^ seed,
        }
    }
}

/// How launches are executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Checks.
    pub sanitize: Sanitize,
    /// Volatile accesses race with each other as plain ones do: by the rules of C++, not by those
    /// of PTX. For older code, which has `volatile` where it needs fences and atomics.
    pub volatile_is_plain: bool,
    /// Order of execution.
    pub schedule: Schedule,
    /// With the schedule's seed, what decides where buffers lie and what clocks show: programs must
    /// not depend on either.
    pub seed: u64,
    /// Warp instructions that one block may execute before the launch fails.
    pub fuel: u64,
    /// How many blocks of a launch run, if not all: pairs of neighbours, the first and the last of
    /// the grid among them, the others by [`Options::seed`]. For a sample of a launch that is too
    /// large to run in full; what the other blocks would write is not written. So all of global
    /// memory counts as written before such a launch.
    ///
    /// Blocks that communicate may wait for any other: of a kernel with such blocks all run, if
    /// there are at most [`Options::SAMPLED_TOGETHER`], and each has at most
    /// [`Options::SAMPLED_FUEL`] warp instructions. A launch of it that has run out of fuel is a
    /// sample all the same.
    pub most_blocks: Option<u64>,
    /// Counts [`GlobalTraffic::l2_sectors`](crate::GlobalTraffic::l2_sectors), which takes time and
    /// memory: a bit for each sector that a block loads.
    pub count_l2: bool,
    /// Whether `.approx` and `.full` forms are off by as much as the PTX ISA allows, by amounts
    /// that follow from the seed. Otherwise they are rounded once.
    pub inexact: bool,
    /// Which launches that end with a fault leave memory as it was before, so that they can be
    /// launched again without the check, or skipped: see
    /// [`Machine::is_undone`](crate::Machine::is_undone).
    pub undo: Undo,
    /// Host threads; 0 for as many as rayon's pool has. Results and counts do not depend on it:
    /// blocks that may communicate through memory run on one.
    pub threads: usize,
}

/// Which launches that end with a fault leave memory as it was before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Undo {
    /// None: memory holds what was stored before the fault.
    #[default]
    Never,
    /// Those whose fault a GPU does not notice.
    Unnoticed,
    /// All.
    Always,
}

impl Options {
    /// Blocks that run together in a sample, if they communicate.
    pub const SAMPLED_TOGETHER: u64 = 8192;
    /// Warp instructions of each of them.
    pub const SAMPLED_FUEL: u64 = 1 << 16;
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sanitize: Sanitize::ALL,
            volatile_is_plain: false,
            schedule: Schedule::InOrder,
            seed: 0,
            fuel: 200_000_000,
            most_blocks: None,
            count_l2: false,
            inexact: false,
            undo: Undo::Never,
            threads: 0,
        }
    }
}
