//! Why a launch is not possible.

/// Why a launch is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// No such kernel.
    #[error("the module has no kernel `{name}`; it has {}", names(available))]
    NoSuchKernel {
        /// The name requested.
        name: String,
        /// The kernels of the module.
        available: Vec<String>,
    },
    /// Wrong size of the parameter block.
    #[error("kernel `{kernel}` takes {expected} bytes of parameters, {given} were given")]
    Parameters {
        /// The kernel.
        kernel: String,
        /// Bytes that its signature has.
        expected: u32,
        /// Bytes given.
        given: usize,
    },
    /// An empty grid or block.
    #[error("the {what} is ({}, {}, {}): no dimension may be 0", shape[0], shape[1], shape[2])]
    Empty {
        /// "grid", "block" or "cluster".
        what: &'static str,
        /// Its shape.
        shape: [u32; 3],
    },
    /// A dimension of grid or block beyond the device's limit.
    #[error("the {what} has {given} in {axis}; the device allows {limit}")]
    Dimension {
        /// "grid" or "block".
        what: &'static str,
        /// "x", "y" or "z".
        axis: &'static str,
        /// The size requested.
        given: u32,
        /// The largest size.
        limit: u32,
    },
    /// Too many threads in a block.
    #[error("a block of {given} threads; {who} allows {limit}")]
    Threads {
        /// Threads requested.
        given: u64,
        /// Threads allowed.
        limit: u64,
        /// "the device", or the kernel by name.
        who: String,
    },
    /// Too many blocks.
    #[error("a grid of ({}, {}, {}) blocks; at most {limit} can be run", shape[0], shape[1], shape[2])]
    Blocks {
        /// The grid requested.
        shape: [u32; 3],
        /// The most blocks.
        limit: u64,
    },
    /// Another block shape than the kernel was compiled for.
    #[error("kernel `{kernel}` must be launched with blocks of ({}, {}, {})", required[0], required[1], required[2])]
    RequiredBlock {
        /// The kernel.
        kernel: String,
        /// The shape of `.reqntid`.
        required: [u32; 3],
    },
    /// Another cluster shape than the kernel was compiled for.
    #[error("kernel `{kernel}` must be launched with clusters of ({}, {}, {}) blocks", required[0], required[1], required[2])]
    RequiredCluster {
        /// The kernel.
        kernel: String,
        /// The shape of `.reqnctapercluster`.
        required: [u32; 3],
    },
    /// Too many blocks in a cluster.
    #[error("a cluster of ({}, {}, {}) blocks; {who} allows {limit}", shape[0], shape[1], shape[2])]
    ClusterBlocks {
        /// The cluster requested.
        shape: [u32; 3],
        /// Blocks allowed.
        limit: u32,
        /// "the device", or the kernel by name.
        who: String,
    },
    /// A grid that is no whole number of clusters.
    #[error(
        "a grid of ({}, {}, {}) blocks is no whole number of clusters of ({}, {}, {})",
        grid[0], grid[1], grid[2], cluster[0], cluster[1], cluster[2]
    )]
    ClusterShape {
        /// The cluster requested.
        cluster: [u32; 3],
        /// The grid requested.
        grid: [u32; 3],
    },
    /// Too much shared memory.
    #[error("{given} bytes of {what} shared memory a block; the device allows {limit}{}", remedy(what, *limit))]
    SharedMemory {
        /// "static", or "static and dynamic".
        what: &'static str,
        /// Bytes requested.
        given: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// Too much local memory.
    #[error(
        "kernel `{kernel}` needs {given} bytes of local memory a thread, for arrays and variables that do not fit in registers; the device allows {limit}"
    )]
    LocalMemory {
        /// The kernel.
        kernel: String,
        /// Bytes that its frame takes.
        given: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// The module belongs to another machine, or was unloaded.
    #[error("the module was not loaded by this machine")]
    ForeignModule,
}

/// What to do about too much shared memory.
fn remedy(what: &str, limit: u64) -> String {
    match what {
        "static" => format!(
            ": `shared_array!`s may have {limit} bytes in all; take `shared::dynamic_shared_mem` and `with_shared_mem_bytes` for more"
        ),
        _ => String::new(),
    }
}

fn names(all: &[String]) -> String {
    match all {
        [] => "none".into(),
        _ => all
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", "),
    }
}
