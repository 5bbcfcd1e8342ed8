//! Launches: their checks and arguments, and the way to the emulator.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::time::Instant;

use ptx_emu::{Fault, LaunchReport, Machine, Options, ProgramFault, Sanitize, short_name};

use super::Driver;
use crate::call::get;
use crate::code::{Code, Outcome};
use crate::objects::Handle;
use crate::objects::launch::{Launch, Shape, count};
use crate::record;
use crate::report;
use crate::settings::Settings;
use crate::stderr::tell;

/// The most blocks of a cluster, unless the kernel allows more.
const PORTABLE_CLUSTER: u32 = 8;
/// `CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`.
const NON_PORTABLE: c_int = 14;

impl Launch {
    /// Does it.
    ///
    /// A fault that a GPU does not notice, a race for one, is told, and the launch is repeated
    /// without checks: the program goes on as it would on a GPU, and the faults of its later
    /// launches are found as well. One that is known is repeated without the check that finds it.
    /// Where the repetition cannot go past a fault either, because what a GPU does there is not
    /// modelled, the launch ends there, without an error for the program. After the others, those
    /// that a GPU notices, the settings say how the program goes on.
    ///
    /// False if it has ended before it was done, without an error for the program.
    pub(crate) fn execute(&self, driver: &mut Driver) -> Outcome<bool> {
        let _counted = record::launch();
        threads()?;
        let begun = Instant::now();
        driver.begin_replay(self);
        let mut launched = self.start(&mut driver.machine);
        driver.end_replay(self, &launched);
        let options = driver.machine.options().clone();
        let goes_on = Settings::get().goes_on;
        let mut sanitize = options.sanitize;
        while let Err(Fault::Program(fault)) = &launched
            && fault.kind.is_unnoticed_by_a_gpu()
            && driver.machine.is_undone()
        {
            sanitize = match driver.tell(self, fault) {
                Told::Known => sanitize.without(&fault.kind),
                Told::Fault => Sanitize::NONE,
            };
            // On one host thread, so that the race goes out in the same way each time.
            let fewer = Options {
                sanitize,
                threads: 1,
                ..options.clone()
            };
            // The repetition prints it again.
            driver.machine.take_printed();
            driver.machine.take_conditions();
            driver.machine.set_options(fewer);
            launched = self.start(&mut driver.machine);
        }
        if sanitize != options.sanitize {
            driver.machine.set_options(options);
        }
        report::printed(&driver.machine.take_printed());
        match launched {
            Ok(ended) => {
                report::launched(&self.config, &ended, begun.elapsed());
                driver.tell_notes(&ended);
                Ok(true)
            }
            Err(Fault::Program(fault)) if fault.kind.is_unnoticed_by_a_gpu() => {
                driver.tell_unfinished(self, &fault);
                Ok(false)
            }
            Err(Fault::Program(fault)) if goes_on => {
                driver.tell(self, &fault);
                Ok(false)
            }
            Err(Fault::Program(fault)) => {
                driver.tell_in_full(self, &fault);
                Err(report::code_of(&fault.kind))
            }
            Err(fault) => Err(report::not_launched(&fault)),
        }
    }

    pub(super) fn check(&self, machine: &Machine) -> Result<(), Fault> {
        machine.check(&self.module, &self.kernel, &self.config, &self.parameters)
    }

    pub(super) fn start(&self, machine: &mut Machine) -> Result<LaunchReport, Fault> {
        // A launch that is repeated accesses what it does the last time.
        machine.take_accessed_pages(|_| ());
        machine.launch(&self.module, &self.kernel, &self.config, &self.parameters)
    }
}

/// How a fault was told.
enum Told {
    /// As one that is known.
    Known,
    Fault,
}

/// Starts the emulator's threads, once. It would panic where it cannot.
fn threads() -> Outcome {
    static STARTED: OnceLock<Outcome> = OnceLock::new();
    *STARTED.get_or_init(|| {
        let started = rayon::ThreadPoolBuilder::new().build_global();
        started.map_err(|error| {
            report::lacking(&format!(
                "this machine cannot start the threads that kernels run on: {error}. Raise its \
                 limits of processes and memory (`ulimit -u`, `ulimit -v`), or set \
                 RAYON_NUM_THREADS to a smaller number"
            ));
            Code::OPERATING_SYSTEM
        })
    })
}

impl Driver {
    /// Tells a fault after which the program goes on, once per kind and place.
    fn tell(&mut self, launch: &Launch, fault: &ProgramFault) -> Told {
        let key = (
            fault.kernel.clone(),
            fault.kind.name(),
            fault.place.ptx_line,
        );
        let is_new = self.told.insert(key);
        if let Some(reason) = Settings::get().known.reason(fault) {
            if is_new {
                report::known(fault, reason);
            }
            return Told::Known;
        }
        if is_new {
            self.tell_in_full(launch, fault);
        } else if Settings::get().each {
            report::again(fault);
        }
        Told::Fault
    }

    /// Tells a fault with what is known beside its message.
    fn tell_in_full(&mut self, launch: &Launch, fault: &ProgramFault) {
        report::program_fault(launch, fault, &launch.arguments_of(self, fault));
        self.tell_how_to_have_lines(launch, fault);
    }

    /// Tells a fault that a GPU does not notice, and that has ended the launch here.
    fn tell_unfinished(&mut self, launch: &Launch, fault: &ProgramFault) {
        self.tell(launch, fault);
        if self.told.insert((fault.kernel.clone(), "unfinished", 0)) {
            report::note(&format!(
                "the launch of `{}` ended at this fault: a GPU goes on there, in a way that is not emulated, so later results of the program may differ",
                short_name(&fault.kernel)
            ));
        }
    }

    /// Tells the notes of a launch, each once per kernel.
    fn tell_notes(&mut self, ended: &LaunchReport) {
        for (name, text) in ended.notes() {
            if self.told.insert((ended.kernel.clone(), name, 0)) {
                report::note(&text);
            }
        }
    }

    /// Checks a launch, and takes its arguments.
    ///
    /// # Safety
    ///
    /// The arguments are as `cuLaunchKernel` documents them.
    pub(crate) unsafe fn prepare(
        &mut self,
        function: Handle,
        shape: Shape,
        context: Handle,
        parameters: *const *const c_void,
        extra: *const *const c_void,
    ) -> Outcome<Launch> {
        let module = self.module_of(function, context)?;
        let known = self.function(function)?;
        let config = shape.config;
        if config.shared_mem_bytes > known.dynamic_shared_bytes {
            tell(format_args!(
                "kernel `{}` may have {} bytes of dynamic shared memory, and the launch asks for {}: more needs cuFuncSetAttribute with CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES",
                short_name(&known.name),
                known.dynamic_shared_bytes,
                config.shared_mem_bytes
            ));
            return Err(Code::INVALID_VALUE);
        }
        let in_cluster = count(config.cluster);
        let allows_more = known.set.get(&NON_PORTABLE).is_some_and(|set| *set != 0);
        if in_cluster > PORTABLE_CLUSTER && !allows_more {
            return Err(Code::INVALID_CLUSTER_SIZE);
        }
        let declared = known.declared();
        // SAFETY: the caller promises it.
        let block = unsafe { parameter_block(declared, parameters, extra) }?;
        if shape.is_cooperative {
            let shared = u64::from(declared.shared_bytes) + u64::from(config.shared_mem_bytes);
            let registers = known.registers();
            let limits = self.machine.limits();
            // A block that is too large is told by the launch itself.
            let threads = count(config.block).min(limits.threads_per_block);
            if u64::from(count(config.grid)) > limits.resident_blocks(threads, shared, registers) {
                return Err(Code::COOPERATIVE_LAUNCH_TOO_LARGE);
            }
        }
        let kernel = self.function(function)?.name.clone();
        Ok(Launch {
            module,
            kernel,
            config,
            parameters: block,
        })
    }
}

/// The block of parameters: from a pointer to each, or from the block that `extra` names.
///
/// # Safety
///
/// As [`Driver::prepare`].
unsafe fn parameter_block(
    kernel: &ptx::Function,
    parameters: *const *const c_void,
    extra: *const *const c_void,
) -> Outcome<Vec<u8>> {
    let mut block = vec![0; kernel.kernel_param_bytes as usize];
    if !parameters.is_null() {
        for (index, parameter) in kernel.params.iter().enumerate() {
            // SAFETY: there is a pointer to each parameter.
            let from = unsafe { get(parameters.add(index)) }?;
            if from.is_null() {
                return Err(Code::INVALID_VALUE);
            }
            let (start, size) = (parameter.offset as usize, parameter.size() as usize);
            // SAFETY: it points to as many bytes as the parameter has.
            let bytes = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), size) };
            block[start..start + size].copy_from_slice(bytes);
        }
    } else if !extra.is_null() {
        const END: usize = 0;
        const POINTER: usize = 1;
        const SIZE: usize = 2;
        let (mut from, mut size) = (std::ptr::null::<u8>(), 0);
        let mut at = extra;
        loop {
            // SAFETY: the list goes on until its end.
            let (name, value) = unsafe { (get(at)? as usize, at.add(1)) };
            match name {
                END => break,
                // SAFETY: a value stands behind each name.
                POINTER => from = unsafe { get(value) }?.cast(),
                // SAFETY: the value points to the size.
                SIZE => size = unsafe { get(get(value)?.cast::<usize>()) }?,
                _ => return Err(Code::INVALID_VALUE),
            }
            // SAFETY: the list goes on behind a name and its value, until its end.
            at = unsafe { at.add(2) };
        }
        if from.is_null() || size < block.len() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: there are `size` bytes, at least as many as the block has.
        unsafe {
            block
                .as_mut_ptr()
                .copy_from_nonoverlapping(from, block.len())
        };
    } else if !kernel.params.is_empty() {
        return Err(Code::INVALID_VALUE);
    }
    Ok(block)
}
