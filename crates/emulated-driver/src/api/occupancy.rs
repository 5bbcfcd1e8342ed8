//! Attributes of functions, and how many blocks of one the device holds.

use std::ffi::{c_int, c_uint};

use crate::api::launch::Config;
use crate::call::{get, put};
use crate::code::{Code, Outcome};
use crate::driver::{Driver, with};
use crate::objects::Handle;
use crate::objects::launch::count;
use crate::objects::module::Function;

/// Attributes of `CUfunction_attribute` that can be set.
const DYNAMIC_SHARED_BYTES: c_int = 8;
const CARVEOUT: c_int = 9;
const FIRST_CLUSTER: c_int = 10;
const LAST_CLUSTER: c_int = 15;

/// Registers of a thread, if it is not known to take more: a number that bounds no launch.
const REGISTERS: c_int = 32;

fn attribute(driver: &Driver, function: &Function, which: c_int) -> Outcome<c_int> {
    let kernel = function.declared();
    let limits = driver.machine.limits();
    let required = |axis: usize| {
        kernel
            .required_cluster
            .map_or(0, |cluster| cluster[axis] as c_int)
    };
    Ok(match which {
        DYNAMIC_SHARED_BYTES => function.dynamic_shared_bytes as c_int,
        CARVEOUT..=LAST_CLUSTER if function.set.contains_key(&which) => function.set[&which],
        0 => {
            let by_registers = 32 * ptx::warps_by_registers(function.registers());
            let stated = kernel.required_threads.or(kernel.max_threads);
            let most = stated.map_or(limits.threads_per_block, count);
            most.min(by_registers) as c_int
        }
        1 => kernel.shared_bytes as c_int,
        // Constant memory is one bank for all of a module's kernels.
        2 => {
            let globals = function.executable.program().globals.iter();
            let constants = globals.filter(|global| global.space == ptx::Space::Const);
            constants.map(|global| global.size as c_int).sum()
        }
        3 => function.local_bytes() as c_int,
        4 => REGISTERS.max(function.registers() as c_int),
        5 => architecture(&function.executable.program().target),
        6 => 90,
        7 => 0,
        CARVEOUT => -1,
        FIRST_CLUSTER => kernel.required_cluster.is_some().into(),
        11..=13 => required(which as usize - 11),
        // Attributes of later versions too, which no launch here depends on.
        14..=63 => 0,
        _ => return Err(Code::INVALID_VALUE),
    })
}

/// The number of the virtual architecture that a module is for, as `sm_90` has it. CUB chooses its
/// kernels by it.
fn architecture(target: &[String]) -> c_int {
    let digits = target
        .first()
        .and_then(|name| name.strip_prefix("sm_"))
        .map(|name| name.trim_end_matches(|c: char| !c.is_ascii_digit()));
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

fn get_attribute(function: Handle, which: c_int) -> Outcome<c_int> {
    with(|driver| {
        driver.function(function)?;
        let function = driver
            .functions
            .get(&function)
            .ok_or(Code::INVALID_HANDLE)?;
        attribute(driver, function, which)
    })
}

fn set_attribute(function: Handle, which: c_int, value: c_int) -> Outcome {
    with(|driver| {
        let most = driver.machine.limits().shared_bytes;
        let function = driver.function(function)?;
        match which {
            DYNAMIC_SHARED_BYTES => {
                let bytes = u32::try_from(value).map_err(|_| Code::INVALID_VALUE)?;
                if bytes + function.declared().shared_bytes > most {
                    return Err(Code::INVALID_VALUE);
                }
                function.dynamic_shared_bytes = bytes;
            }
            CARVEOUT..=LAST_CLUSTER => drop(function.set.insert(which, value)),
            _ => return Err(Code::INVALID_VALUE),
        }
        Ok(())
    })
}

/// Blocks that a multiprocessor holds at once; 0 if it cannot hold one.
fn blocks(function: Handle, threads: c_int, dynamic_bytes: usize) -> Outcome<u32> {
    with(|driver| {
        let threads = u32::try_from(threads).map_err(|_| Code::INVALID_VALUE)?;
        if threads == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let known = driver.function(function)?;
        let (kernel, registers) = (known.declared(), known.registers());
        let most = kernel.max_threads.map_or(u32::MAX, count);
        let shared = u64::from(kernel.shared_bytes).saturating_add(dynamic_bytes as u64);
        let limits = driver.machine.limits();
        if threads > limits.threads_per_block.min(most) || shared > limits.shared_bytes.into() {
            return Ok(0);
        }
        if ptx::block_registers(threads, registers) > ptx::BLOCK_REGISTERS.into() {
            return Ok(0);
        }
        let held = limits.resident_blocks(threads, shared, registers);
        Ok((held / u64::from(limits.multiprocessors)) as u32)
    })
}

/// Dynamic shared memory for a number of threads.
type SharedBytes = Option<unsafe extern "C" fn(c_int) -> usize>;

/// The number of threads for which a multiprocessor holds most threads, and the blocks that fill
/// the device then.
fn best_block(
    function: Handle,
    bytes_of: SharedBytes,
    bytes: usize,
    limit: c_int,
) -> Outcome<(c_int, c_int)> {
    let most = get_attribute(function, 0)?;
    let most = if limit > 0 { most.min(limit) } else { most };
    let mut best = (0, 0);
    for threads in (1..=most)
        .rev()
        .filter(|threads| threads % 32 == 0 || *threads == most)
    {
        // SAFETY: the program gave the function for this call.
        let dynamic = bytes_of.map_or(bytes, |bytes_of| unsafe { bytes_of(threads) });
        let held = blocks(function, threads, dynamic)? as c_int;
        if held * threads > best.0 * best.1 {
            best = (held, threads);
        }
    }
    let multiprocessors = with(|driver| Ok(driver.machine.limits().multiprocessors))?;
    Ok((best.0 * multiprocessors as c_int, best.1))
}

driver_api! {
    fn cuFuncGetAttribute(to: *mut c_int, which: c_int, function: Handle) { put(to, get_attribute(function, which)?) }
    fn cuFuncSetAttribute(function: Handle, which: c_int, value: c_int) { set_attribute(function, which, value) }
    fn cuKernelGetAttribute(to: *mut c_int, which: c_int, kernel: Handle, _device: c_int) { put(to, get_attribute(kernel, which)?) }
    fn cuKernelSetAttribute(which: c_int, value: c_int, kernel: Handle, _device: c_int) { set_attribute(kernel, which, value) }
    fn cuFuncSetCacheConfig(function: Handle, _config: c_uint) { with(|driver| driver.function(function).map(|_| ())) }
    fn cuKernelSetCacheConfig(kernel: Handle, _config: c_uint, _device: c_int) { with(|driver| driver.function(kernel).map(|_| ())) }
    fn cuFuncSetSharedMemConfig(function: Handle, _config: c_uint) { with(|driver| driver.function(function).map(|_| ())) }
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(to: *mut c_int, function: Handle, threads: c_int, dynamic_bytes: usize) {
        put(to, blocks(function, threads, dynamic_bytes)? as c_int)
    }
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(to: *mut c_int, function: Handle, threads: c_int, dynamic_bytes: usize, _flags: c_uint) {
        put(to, blocks(function, threads, dynamic_bytes)? as c_int)
    }
    fn cuOccupancyMaxPotentialBlockSize(grid: *mut c_int, block: *mut c_int, function: Handle, bytes_of: SharedBytes, bytes: usize, limit: c_int) {
        let (blocks, threads) = best_block(function, bytes_of, bytes, limit)?;
        put(grid, blocks)?;
        put(block, threads)
    }
    fn cuOccupancyMaxPotentialBlockSizeWithFlags(grid: *mut c_int, block: *mut c_int, function: Handle, bytes_of: SharedBytes, bytes: usize,
        limit: c_int, _flags: c_uint) {
        let (blocks, threads) = best_block(function, bytes_of, bytes, limit)?;
        put(grid, blocks)?;
        put(block, threads)
    }
    fn cuOccupancyAvailableDynamicSMemPerBlock(to: *mut usize, function: Handle, blocks: c_int, _threads: c_int) {
        let limits = with(|driver| Ok(driver.machine.limits().clone()))?;
        let blocks = u32::try_from(blocks).ok().filter(|blocks| *blocks > 0).ok_or(Code::INVALID_VALUE)?;
        let own = with(|driver| Ok(driver.function(function)?.declared().shared_bytes))?;
        // Each block takes 1 KiB beside its own.
        let each = (limits.shared_bytes_per_multiprocessor / blocks).saturating_sub(1024);
        put(to, each.min(limits.shared_bytes).saturating_sub(own) as usize)
    }
    fn cuOccupancyMaxPotentialClusterSize(to: *mut c_int, function: Handle, _config: *const Config) {
        let allows_more = get_attribute(function, 14)? != 0;
        put(to, if allows_more { 16 } else { 8 })
    }
    fn cuOccupancyMaxActiveClusters(to: *mut c_int, function: Handle, config: *const Config) {
        let shape = get(config)?.shape()?.config;
        let threads = count(shape.block);
        let held = blocks(function, threads as c_int, shape.shared_mem_bytes as usize)?;
        let multiprocessors = with(|driver| Ok(driver.machine.limits().multiprocessors))?;
        let in_cluster = count(shape.cluster);
        put(to, (held * multiprocessors / in_cluster.max(1)) as c_int)
    }
}
