//! Modules, libraries, and what is in them.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use ptx_emu::Executable;

use super::jit_log::JitLog;
use crate::call::{put, put_if_wanted, text};
use crate::code::{Code, Outcome};
use crate::driver::context::current;
use crate::driver::{with, with_context};
use crate::image;
use crate::no_ptx::NoPtx;
use crate::objects::Handle;
use crate::objects::module::{Library, Owner};
use crate::report;
use crate::settings::Settings;

/// Reads the text, and tells why it cannot be used.
fn parse(text: Result<String, NoPtx>) -> Result<Arc<Executable>, (Code, String)> {
    let text = text.map_err(|reason| {
        let code = reason.code();
        let told = format!("a module cannot be loaded: {reason}");
        let need = match &reason {
            NoPtx::MachineCode(_, origin) if origin.is_program() => report::Need::Ptx,
            _ => report::Need::Module,
        };
        report::unsupported(need, &told);
        (code, told)
    })?;
    let executable = Executable::parse_lazily(&text).map_err(|error| {
        let told = format!("a module's PTX cannot be used: {error}");
        report::unsupported(report::Need::Module, &told);
        (Code::INVALID_PTX, told)
    })?;
    check_target(&text)?;
    check_shared(executable.program())?;
    Ok(Arc::new(executable))
}

/// PTX is for its architecture and newer ones (PTX ISA, `.target`), and a driver compiles none for
/// an older device. A device of no stated generation takes any.
fn check_target(text: &str) -> Result<(), (Code, String)> {
    let target = ptx::directive(text, "target").unwrap_or_default();
    let Some((major, minor)) = Settings::get().capability else {
        return Ok(());
    };
    if ptx::capability(target).is_none_or(|needed| needed <= (major, minor)) {
        return Ok(());
    }
    let told =
        format!("its PTX is for {target}, and the device has compute capability {major}.{minor}");
    report::unsupported(
        report::Need::Module,
        &format!("a module cannot be loaded: {told}"),
    );
    Err((Code::INVALID_PTX, told))
}

/// A GPU's driver compiles a module when it is loaded, and refuses kernels with more static shared
/// memory than a block may have at all. Up to that it loads and launches them (an H200's, driver
/// 580), although `ptxas` itself refuses more than 48 KiB. The text is the driver's.
fn check_shared(program: &ptx::Program) -> Result<(), (Code, String)> {
    let mut bytes: BTreeMap<u32, u64> = BTreeMap::new();
    for variable in &program.shared {
        for kernel in &variable.kernels {
            *bytes.entry(kernel.0).or_default() += u64::from(variable.size);
        }
    }
    let most = Settings::get().limits().shared_bytes;
    let Some((kernel, bytes)) = bytes.iter().find(|(_, bytes)| **bytes > most.into()) else {
        return Ok(());
    };
    let name = &program.function(ptx::FunctionId(*kernel)).name;
    let told = format!(
        "Entry function '{name}' uses too much shared data ({bytes:#x} bytes, {most:#x} max)"
    );
    report::unsupported(
        report::Need::Module,
        &format!("a module cannot be loaded: {told}"),
    );
    Err((Code::INVALID_PTX, format!("ptxas error   : {told}")))
}

fn load(text: Result<String, NoPtx>) -> Result<Handle, (Code, String)> {
    let executable = parse(text)?;
    let loaded = with_context(|driver, context| {
        let managed = driver.place_managed(&executable, context)?;
        driver.load(executable, context, &managed)
    });
    loaded.map_err(|code| (code, String::new()))
}

fn load_library(text: Result<String, NoPtx>) -> Outcome<Handle> {
    let executable = parse(text).map_err(|(code, _)| code)?;
    with(|driver| {
        let handle = driver.new_handle();
        driver.libraries.insert(handle, Library::new(executable));
        Ok(handle)
    })
}

/// The content of a file that a program names.
fn read(path: &str) -> Outcome<Result<String, NoPtx>> {
    let content = std::fs::read(path).map_err(|_| Code::FILE_NOT_FOUND)?;
    Ok(image::of_file(&content))
}

/// A module from memory, as other files load it.
///
/// # Safety
///
/// As [`image::ptx`].
pub(crate) unsafe fn load_image(image: *const c_void) -> Outcome<Handle> {
    if image.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the caller promises it.
    load(unsafe { image::ptx(image) }).map_err(|(code, _)| code)
}

driver_api! {
    fn cuModuleLoad(to: *mut Handle, path: *const c_char) {
        put(to, load(read(&text(path)?)?).map_err(|(code, _)| code)?)
    }
    fn cuModuleLoadData(to: *mut Handle, image: *const c_void) { put(to, load_image(image)?) }
    fn cuModuleLoadFatBinary(to: *mut Handle, image: *const c_void) { put(to, load_image(image)?) }
    fn cuModuleLoadDataEx(to: *mut Handle, image: *const c_void, count: c_uint, options: *const c_uint, values: *mut *mut c_void) {
        if image.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let log = JitLog::of(count, options, values);
        let loaded = load(image::ptx(image));
        log.put(loaded.as_ref().err().map_or("", |(_, told)| told));
        put(to, loaded.map_err(|(code, _)| code)?)
    }
    fn cuModuleUnload(module: Handle) { with(|driver| driver.unload(module)) }
    fn cuModuleGetLoadingMode(to: *mut c_int) { put(to, 1) }
    fn cuModuleGetFunction(to: *mut Handle, module: Handle, name: *const c_char) {
        let name = text(name)?;
        put(to, with(|driver| driver.module_function(module, &name))?)
    }
    fn cuModuleGetFunctionCount(to: *mut c_uint, module: Handle) {
        put(to, with(|driver| Ok(driver.modules.get(&module).ok_or(Code::INVALID_HANDLE)?.loaded.program().kernels().count() as c_uint))?)
    }
    fn cuModuleGetGlobal(address: *mut u64, bytes: *mut usize, module: Handle, name: *const c_char) {
        put_variable(address, bytes, with(|driver| driver.variable(module, &text(name)?))?)
    }
    fn cuModuleGetGlobal_v2(address: *mut u64, bytes: *mut usize, module: Handle, name: *const c_char) {
        put_variable(address, bytes, with(|driver| driver.variable(module, &text(name)?))?)
    }
    fn cuLibraryLoadData(to: *mut Handle, image: *const c_void, _options: *const c_uint, _values: *mut *mut c_void,
        _count: c_uint, _library_options: *const c_uint, _library_values: *mut *mut c_void, _library_count: c_uint) {
        if image.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        put(to, load_library(image::ptx(image))?)
    }
    fn cuLibraryLoadFromFile(to: *mut Handle, path: *const c_char, _options: *const c_uint, _values: *mut *mut c_void,
        _count: c_uint, _library_options: *const c_uint, _library_values: *mut *mut c_void, _library_count: c_uint) {
        put(to, load_library(read(&text(path)?)?)?)
    }
    fn cuLibraryUnload(library: Handle) {
        with(|driver| {
            let library = driver.libraries.remove(&library).ok_or(Code::INVALID_HANDLE)?;
            for kernel in library.kernels.values() {
                driver.functions.remove(kernel);
            }
            for module in library.modules.values() {
                driver.unload(*module)?;
            }
            Ok(())
        })
    }
    fn cuLibraryGetModule(to: *mut Handle, library: Handle) {
        put(to, with_context(|driver, context| driver.library_module(library, context))?)
    }
    fn cuLibraryGetKernel(to: *mut Handle, library: Handle, name: *const c_char) {
        let name = text(name)?;
        put(to, with(|driver| driver.library_kernel(library, &name))?)
    }
    fn cuLibraryGetKernelCount(to: *mut c_uint, library: Handle) {
        put(to, with(|driver| Ok(driver.library(library)?.executable.program().kernels().count() as c_uint))?)
    }
    fn cuLibraryEnumerateKernels(to: *mut Handle, room: c_uint, library: Handle) {
        let names: Vec<String> = with(|driver| {
            let executable = &driver.library(library)?.executable;
            Ok(executable.program().kernels().map(|kernel| kernel.name.clone()).collect())
        })?;
        for (index, name) in names.iter().enumerate().take(room as usize) {
            put(to.add(index), with(|driver| driver.library_kernel(library, name))?)?;
        }
        Ok(())
    }
    fn cuLibraryGetGlobal(address: *mut u64, bytes: *mut usize, library: Handle, name: *const c_char) {
        let name = text(name)?;
        put_variable(address, bytes, with_context(|driver, context| {
            let module = driver.library_module(library, context)?;
            driver.variable(module, &name)
        })?)
    }
    fn cuLibraryGetManaged(address: *mut u64, bytes: *mut usize, library: Handle, name: *const c_char) {
        let name = text(name)?;
        put_variable(address, bytes, with(|driver| {
            let managed = driver.library_managed(library)?;
            let found = *managed.get(&name).ok_or(Code::NOT_FOUND)?;
            let (_, known) = driver.allocation(found).ok_or(Code::NOT_FOUND)?;
            Ok((found, known.bytes as usize))
        })?)
    }
    fn cuKernelGetFunction(to: *mut Handle, kernel: Handle) {
        with_context(|driver, context| driver.module_of(kernel, context).map(|_| ()))?;
        put(to, kernel)
    }
    fn cuKernelGetName(to: *mut *const c_char, kernel: Handle) { put_name(to, kernel) }
    fn cuFuncGetName(to: *mut *const c_char, function: Handle) { put_name(to, function) }
    fn cuKernelGetLibrary(to: *mut Handle, kernel: Handle) {
        put(to, with(|driver| match driver.function(kernel)?.owner {
            Owner::Library(library) => Ok(library),
            Owner::Module { .. } => Err(Code::INVALID_HANDLE),
        })?)
    }
    fn cuFuncGetModule(to: *mut Handle, function: Handle) {
        put(to, with(|driver| match driver.function(function)?.owner {
            Owner::Library(library) => driver.library_module(library, current()),
            Owner::Module { module, .. } => Ok(module),
        })?)
    }
    fn cuKernelGetParamInfo(kernel: Handle, index: usize, offset: *mut usize, bytes: *mut usize) {
        put_parameter(kernel, index, offset, bytes)
    }
    fn cuFuncGetParamInfo(function: Handle, index: usize, offset: *mut usize, bytes: *mut usize) {
        put_parameter(function, index, offset, bytes)
    }
    fn cuFuncIsLoaded(to: *mut c_int, function: Handle) { with(|driver| driver.function(function).map(|_| ()))?; put(to, 1) }
    fn cuFuncLoad(function: Handle) { with(|driver| driver.function(function).map(|_| ())) }
}

/// # Safety
///
/// As [`put_if_wanted`].
unsafe fn put_variable(address: *mut u64, bytes: *mut usize, variable: (u64, usize)) -> Outcome {
    // SAFETY: the caller promises it.
    unsafe {
        put_if_wanted(address, variable.0);
        put_if_wanted(bytes, variable.1);
    }
    Ok(())
}

/// Writes the address of a name that lives as long as the process.
///
/// # Safety
///
/// As [`put`].
unsafe fn put_name(to: *mut *const c_char, function: Handle) -> Outcome {
    static NAMES: std::sync::Mutex<std::collections::BTreeSet<&'static std::ffi::CStr>> =
        std::sync::Mutex::new(std::collections::BTreeSet::new());
    let name = with(|driver| Ok(driver.function(function)?.name.clone()))?;
    let name = std::ffi::CString::new(name).map_err(|_| Code::UNKNOWN)?;
    let mut names = NAMES
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let kept = match names.get(name.as_c_str()) {
        Some(kept) => *kept,
        None => {
            let kept: &'static std::ffi::CStr = Box::leak(name.into_boxed_c_str());
            names.insert(kept);
            kept
        }
    };
    // SAFETY: the caller promises it.
    unsafe { put(to, kept.as_ptr()) }
}

/// # Safety
///
/// As [`put`].
unsafe fn put_parameter(
    function: Handle,
    index: usize,
    offset: *mut usize,
    bytes: *mut usize,
) -> Outcome {
    let (start, size) = with(|driver| {
        let parameters = &driver.function(function)?.declared().params;
        let parameter = parameters.get(index).ok_or(Code::INVALID_VALUE)?;
        Ok((parameter.offset as usize, parameter.size() as usize))
    })?;
    // SAFETY: the caller promises it.
    unsafe {
        put(offset, start)?;
        put_if_wanted(bytes, size);
    }
    Ok(())
}
