//! Why a plan does not fit its kernels or the device.

use plan::suggestion;
use thiserror::Error;

use plan::Plan;

/// A plan that does not fit its kernels or the device.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ValidationError {
    /// A kernel that the plan does not launch.
    #[error("plan `{plan}` does not launch `{kernel}`; {suggestion}")]
    NotLaunched {
        /// The plan.
        plan: String,
        /// The name asked for.
        kernel: String,
        /// The nearest name, or all of them.
        suggestion: String,
    },
    /// A plan over more devices than there are.
    #[error("plan `{plan}` needs {needed} devices, and there {} {has}", if *has == 1 { "is" } else { "are" })]
    TooFewDevices {
        /// The plan.
        plan: String,
        /// How many it needs.
        needed: u32,
        /// How many there are.
        has: u32,
    },
    /// A kernel that reads the memory of a device which its own cannot reach.
    #[error(
        "{place}: it runs on device {device} and reads `{buffer}`, which is on device {of}; these two have no peer access. Use a solution that copies between devices"
    )]
    NoPeerAccess {
        /// Plan, command and kernel.
        place: String,
        /// The launch's device.
        device: u32,
        /// The buffer.
        buffer: String,
        /// Its device.
        of: u32,
    },
    /// A launch that does not fit its kernel or the device.
    #[error("{place}: {fault}")]
    Launch {
        /// Plan, command and kernel.
        place: String,
        /// What is wrong with it.
        #[source]
        fault: LaunchFault,
    },
}

impl ValidationError {
    /// A kernel that the plan does not launch.
    pub(crate) fn not_launched(plan: &Plan, kernel: &str) -> ValidationError {
        ValidationError::NotLaunched {
            plan: plan.name().to_owned(),
            kernel: kernel.to_owned(),
            suggestion: suggestion(kernel, plan.kernels().iter().map(String::as_str)),
        }
    }
}

/// What is wrong with a launch.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LaunchFault {
    /// Too few or too many arguments.
    #[error("{}", argument_count(*args, *filled, *params))]
    ArgCount {
        /// Arguments recorded.
        args: usize,
        /// Parameters that they fill.
        filled: usize,
        /// Parameters of the kernel.
        params: usize,
    },
    /// An argument of the wrong type.
    #[error(
        "argument {} of `args!`, counted from 1, is {arg}, but the kernel takes {expected} there",
        position + 1
    )]
    ArgType {
        /// Which argument, from 0.
        position: usize,
        /// What was recorded.
        arg: String,
        /// Which parameter of the PTX entry, from 0.
        param: usize,
        /// Its type.
        expected: String,
    },
    /// A block with more threads than the device allows.
    #[error("a block of {block:?} has {threads} threads; the device allows {limit}")]
    TooManyThreads {
        /// As recorded.
        block: [u32; 3],
        /// Their product.
        threads: u128,
        /// The device's limit.
        limit: u32,
    },
    /// A grid or block that is too long in one direction.
    #[error("{what} {extents:?} exceeds the device's limit {limit:?} in {}", ["x", "y", "z"][*axis])]
    ExtentTooLarge {
        /// `grid` or `block`.
        what: &'static str,
        /// As recorded.
        extents: [u32; 3],
        /// The device's limit.
        limit: [u32; 3],
        /// First direction in which it is exceeded.
        axis: usize,
    },
    /// A block with more threads than the kernel was compiled for.
    #[error(
        "a block of {block:?} has {threads} threads, but the kernel was compiled for at most {limit}; launch smaller blocks, or raise `max_threads` in its `#[kernel]`"
    )]
    LaunchBounds {
        /// As recorded.
        block: [u32; 3],
        /// Their product.
        threads: u128,
        /// `.maxntid`.
        limit: u128,
    },
    /// A block other than the one the kernel was compiled for.
    #[error(
        "the kernel was compiled for blocks of {required:?} (`.reqntid`) and nothing else, not {block:?}"
    )]
    RequiredBlock {
        /// As recorded.
        block: [u32; 3],
        /// `.reqntid`.
        required: [u32; 3],
    },
    /// A grid that is no whole number of clusters.
    #[error(
        "grid {grid:?} is no whole number of clusters of {cluster:?} blocks; launch a multiple of {} blocks in {}, and let the surplus ones do nothing",
        cluster[*axis], ["x", "y", "z"][*axis]
    )]
    ClusterShape {
        /// As recorded.
        cluster: [u32; 3],
        /// As recorded.
        grid: [u32; 3],
        /// First direction in which it is none.
        axis: usize,
    },
    /// A cluster with more blocks than devices run.
    #[error(
        "a cluster of {cluster:?} has {blocks} blocks; {}",
        if *is_portable {
            format!("every device with clusters runs {limit}; ask for more with `with_non_portable_cluster`")
        } else {
            format!("{limit} is the most")
        }
    )]
    ClusterTooLarge {
        /// As recorded.
        cluster: [u32; 3],
        /// Their product.
        blocks: u128,
        /// The most blocks.
        limit: u32,
        /// The launch does not allow more than is portable.
        is_portable: bool,
    },
    /// A cluster with more blocks than the kernel was compiled for.
    #[error(
        "a cluster of {cluster:?} has {blocks} blocks, but the kernel was compiled for at most {limit} (`.maxclusterrank`)"
    )]
    ClusterBounds {
        /// As recorded.
        cluster: [u32; 3],
        /// Their product.
        blocks: u128,
        /// `.maxclusterrank`.
        limit: u32,
    },
    /// A cluster other than the one the kernel was compiled for.
    #[error(
        "the kernel was compiled for clusters of {required:?} blocks (`.reqnctapercluster`) and nothing else, not {cluster:?}"
    )]
    RequiredCluster {
        /// As recorded.
        cluster: [u32; 3],
        /// `.reqnctapercluster`.
        required: [u32; 3],
    },
    /// More shared memory declared with a size than any device allows.
    #[error(
        "the kernel's `shared_array!`s have {static_bytes} bytes in all, and may have {limit_bytes}; take `shared::dynamic_shared_mem` and `with_shared_mem_bytes` for more"
    )]
    StaticSharedMemory {
        /// Declared with a size in the PTX.
        static_bytes: u32,
        /// The same on every device.
        limit_bytes: u32,
    },
    /// More shared memory than a block can have.
    #[error("a block needs {} bytes of shared memory ({static_bytes} declared in the kernel, {dynamic_bytes} asked for by the launch); the device allows {limit_bytes}; use smaller tiles", u64::from(*dynamic_bytes) + u64::from(*static_bytes))]
    SharedMemory {
        /// Declared with a size in the PTX.
        static_bytes: u32,
        /// `shared_mem_bytes` of the launch.
        dynamic_bytes: u32,
        /// The device's limit.
        limit_bytes: u32,
    },
}

/// Parameters of the PTX entry are more than those that a student wrote, so how a slice counts is said too.
fn argument_count(args: usize, filled: usize, params: usize) -> String {
    let has = match args {
        0 => "`args!` is empty".to_owned(),
        1 => "`args!` has 1 argument, which fills".to_owned(),
        _ => format!("`args!` has {args} arguments, which fill"),
    };
    let parameters = if params == 1 {
        "parameter"
    } else {
        "parameters"
    };
    match filled {
        0 => format!("{has}, but the kernel has {params} {parameters} (a slice fills two)"),
        _ if filled < params => {
            format!("{has} {filled} of the kernel's {params} {parameters} (a slice fills two)")
        }
        _ => {
            format!("{has} {filled}, but the kernel has {params} {parameters} (a slice fills two)")
        }
    }
}
