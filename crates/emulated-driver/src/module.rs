//! Modules, libraries, and what is in them.

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use ptx_emu::{Executable, LoadedModule};

use crate::api::{Handle, Outcome, put, put_if_wanted, text};
use crate::attributes::DEFAULT_SHARED_BYTES;
use crate::code::Code;
use crate::driver::{Driver, current, with, with_context};
use crate::image::{self, NoPtx};
use crate::memory::{Allocation, Kind};
use crate::report;

/// A module in a context.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) context: Handle,
    loaded: LoadedModule,
    functions: HashMap<String, Handle>,
}

/// A module that is loaded into each context that uses it.
#[derive(Debug)]
pub(crate) struct Library {
    executable: Arc<Executable>,
    /// By context.
    modules: HashMap<Handle, Handle>,
    kernels: HashMap<String, Handle>,
    /// Its managed variables, once they have memory: the context that this belongs to, and
    /// addresses.
    managed: Option<(Handle, Managed)>,
}

/// Addresses of managed variables, which are the same in every context.
type Managed = HashMap<String, u64>;

impl Library {
    /// Forgets the module of a context that ends.
    pub(crate) fn forget(&mut self, context: Handle) {
        self.modules.remove(&context);
        self.managed.take_if(|(owner, _)| *owner == context);
    }
}

/// Where a function comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Module { module: Handle, context: Handle },
    Library(Handle),
}

/// A function of a module, or a kernel of a library, which is the same in any context.
#[derive(Debug)]
pub(crate) struct Function {
    owner: Owner,
    pub(crate) name: String,
    pub(crate) executable: Arc<Executable>,
    /// Most dynamic shared memory of a launch, in bytes.
    pub(crate) dynamic_shared_bytes: u32,
    /// Other attributes that were set.
    pub(crate) set: HashMap<c_int, c_int>,
}

impl Function {
    /// Whether it goes with a context.
    pub(crate) fn is_of(&self, context: Handle) -> bool {
        matches!(self.owner, Owner::Module { context: own, .. } if own == context)
    }

    /// Its declaration.
    pub(crate) fn declared(&self) -> &ptx::Function {
        self.executable
            .program()
            .kernel(&self.name)
            .expect("a function is made for a kernel of its module")
    }
}

impl Driver {
    /// The function with this handle.
    pub(crate) fn function(&mut self, function: Handle) -> Outcome<&mut Function> {
        self.functions
            .get_mut(&function)
            .ok_or(Code::INVALID_HANDLE)
    }

    /// The module that a function runs in, in a context.
    pub(crate) fn module_of(&mut self, function: Handle, context: Handle) -> Outcome<LoadedModule> {
        let module = match self.function(function)?.owner {
            Owner::Module { module, .. } => module,
            Owner::Library(library) => self.library_module(library, context)?,
        };
        let module = self.modules.get(&module).ok_or(Code::INVALID_HANDLE)?;
        Ok(module.loaded.clone())
    }

    fn library(&mut self, library: Handle) -> Outcome<&mut Library> {
        self.libraries.get_mut(&library).ok_or(Code::INVALID_HANDLE)
    }

    /// The module of a library in a context, which is loaded if it is not.
    fn library_module(&mut self, library: Handle, context: Handle) -> Outcome<Handle> {
        let known = self.library(library)?;
        if let Some(module) = known.modules.get(&context) {
            return Ok(*module);
        }
        let executable = Arc::clone(&known.executable);
        let managed = self.library_managed(library)?;
        let module = self.load(executable, context, &managed)?;
        self.library(library)?.modules.insert(context, module);
        Ok(module)
    }

    /// The managed variables of a library. They belong to the first device's primary context.
    fn library_managed(&mut self, library: Handle) -> Outcome<Managed> {
        let known = self.library(library)?;
        if let Some((_, managed)) = &known.managed {
            return Ok(managed.clone());
        }
        let executable = Arc::clone(&known.executable);
        let owner = self.primary(0)?;
        let managed = self.place_managed(&executable, owner)?;
        self.library(library)?.managed = Some((owner, managed.clone()));
        Ok(managed)
    }

    /// Gives managed variables their memory and first values.
    fn place_managed(&mut self, executable: &Executable, context: Handle) -> Outcome<Managed> {
        let variables = executable.program().globals.iter();
        let mut managed = HashMap::new();
        for variable in variables.filter(|variable| variable.is_managed && variable.size > 0) {
            let bytes = variable.size as usize;
            let address = self.share(context, bytes, Kind::Managed, &variable.name)?;
            let written = self.machine.write(address, &variable.init);
            written.map_err(|_| Code::UNKNOWN)?;
            managed.insert(variable.name.clone(), address);
        }
        Ok(managed)
    }

    fn load(
        &mut self,
        executable: Arc<Executable>,
        context: Handle,
        managed: &Managed,
    ) -> Outcome<Handle> {
        let device = self.device_of(context)?;
        let loaded = self
            .machine
            .load_placed(executable, |variable| managed.get(&variable.name).copied());
        let loaded = loaded.map_err(|_| Code::OUT_OF_MEMORY)?;
        for variable in &loaded.program().globals {
            let has_memory = |at: &(u64, u64)| at.0 != 0 && !managed.contains_key(&variable.name);
            let Some((address, bytes)) = loaded.global(&variable.name).filter(has_memory) else {
                continue;
            };
            self.allocations.insert(
                address,
                Allocation {
                    bytes,
                    kind: Kind::Variable,
                    context,
                    device,
                    pool: None,
                },
            );
        }
        let handle = self.new_handle();
        let module = Module {
            context,
            loaded,
            functions: HashMap::new(),
        };
        self.modules.insert(handle, module);
        Ok(handle)
    }

    fn unload(&mut self, handle: Handle) -> Outcome {
        let module = self.modules.remove(&handle).ok_or(Code::INVALID_HANDLE)?;
        for function in module.functions.values() {
            self.functions.remove(function);
        }
        for variable in &module.loaded.program().globals {
            if let Some((address, _)) = module.loaded.global(&variable.name) {
                self.free(address);
            }
        }
        Ok(())
    }

    fn new_function(
        &mut self,
        owner: Owner,
        name: &str,
        executable: Arc<Executable>,
    ) -> Outcome<Handle> {
        let kernel = executable.program().kernel(name).ok_or(Code::NOT_FOUND)?;
        let dynamic_shared_bytes = DEFAULT_SHARED_BYTES.saturating_sub(kernel.shared_bytes);
        let handle = self.new_handle();
        let function = Function {
            owner,
            name: name.to_owned(),
            executable,
            dynamic_shared_bytes,
            set: HashMap::new(),
        };
        self.functions.insert(handle, function);
        Ok(handle)
    }

    fn module_function(&mut self, module: Handle, name: &str) -> Outcome<Handle> {
        let known = self.modules.get(&module).ok_or(Code::INVALID_HANDLE)?;
        if let Some(function) = known.functions.get(name) {
            return Ok(*function);
        }
        let context = known.context;
        let executable = Arc::clone(known.loaded.executable());
        let function = self.new_function(Owner::Module { module, context }, name, executable)?;
        if let Some(known) = self.modules.get_mut(&module) {
            known.functions.insert(name.to_owned(), function);
        }
        Ok(function)
    }

    fn library_kernel(&mut self, library: Handle, name: &str) -> Outcome<Handle> {
        let known = self.library(library)?;
        if let Some(kernel) = known.kernels.get(name) {
            return Ok(*kernel);
        }
        let executable = Arc::clone(&known.executable);
        let kernel = self.new_function(Owner::Library(library), name, executable)?;
        self.library(library)?
            .kernels
            .insert(name.to_owned(), kernel);
        Ok(kernel)
    }

    fn variable(&self, module: Handle, name: &str) -> Outcome<(u64, usize)> {
        let module = self.modules.get(&module).ok_or(Code::INVALID_HANDLE)?;
        let (address, bytes) = module.loaded.global(name).ok_or(Code::NOT_FOUND)?;
        Ok((address, bytes as usize))
    }
}

/// Reads the text, and tells why it cannot be used.
fn parse(text: Result<String, NoPtx>) -> Result<Arc<Executable>, (Code, String)> {
    let text = text.map_err(|reason| {
        let code = match reason {
            NoPtx::Unknown(_) | NoPtx::Corrupt(_) => Code::INVALID_IMAGE,
            NoPtx::MachineCode(_) | NoPtx::Relocatable => Code::NO_BINARY_FOR_GPU,
        };
        let told = format!("a module cannot be loaded: {reason}");
        report::unsupported(report::Need::Module, &told);
        (code, told)
    })?;
    Executable::parse(&text).map(Arc::new).map_err(|error| {
        let told = format!("a module's PTX cannot be used: {error}");
        report::unsupported(report::Need::Module, &told);
        (Code::INVALID_PTX, told)
    })
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
        let library = Library {
            executable,
            modules: HashMap::new(),
            kernels: HashMap::new(),
            managed: None,
        };
        driver.libraries.insert(handle, library);
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

/// The options of `CUjit_option` that name a buffer for errors, and its size.
const ERROR_LOG: c_uint = 5;
const ERROR_LOG_BYTES: c_uint = 6;
/// The same for messages.
const INFO_LOG_BYTES: c_uint = 4;

/// Writes why a module cannot be loaded where the options say.
///
/// # Safety
///
/// There are `count` options with their values, as `cuModuleLoadDataEx` documents them.
unsafe fn put_log(told: &str, count: c_uint, options: *const c_uint, values: *mut *mut c_void) {
    let (mut log, mut room) = (std::ptr::null_mut::<u8>(), 0);
    for index in 0..count as usize {
        // SAFETY: the caller promises it.
        let (option, value) = unsafe { (options.add(index).read(), values.add(index)) };
        match option {
            // SAFETY: the same.
            ERROR_LOG => log = unsafe { value.read() }.cast(),
            // SAFETY: the same.
            ERROR_LOG_BYTES => room = unsafe { value.read() } as usize,
            // SAFETY: the size that was written replaces the room.
            INFO_LOG_BYTES => unsafe { value.write(std::ptr::null_mut()) },
            _ => {}
        }
    }
    let kept = told.len().min(room.saturating_sub(1));
    if !log.is_null() && room > 0 {
        // SAFETY: the buffer has room for `kept` bytes and a NUL.
        unsafe {
            log.copy_from_nonoverlapping(told.as_ptr(), kept);
            log.add(kept).write(0);
        }
    }
    for index in 0..count as usize {
        // SAFETY: as above.
        unsafe {
            if options.add(index).read() == ERROR_LOG_BYTES {
                values.add(index).write(kept as *mut c_void);
            }
        }
    }
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
        let loaded = load(image::ptx(image));
        put_log(loaded.as_ref().err().map_or("", |(_, told)| told), count, options, values);
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
            let address = *managed.get(&name).ok_or(Code::NOT_FOUND)?;
            let (_, known) = driver.allocation(address).ok_or(Code::NOT_FOUND)?;
            Ok((address, known.bytes as usize))
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
    fn cuLinkCreate(_count: c_uint, _options: *const c_uint, _values: *mut *mut c_void, to: *mut Handle) { put(to, new_link()) }
    fn cuLinkCreate_v2(_count: c_uint, _options: *const c_uint, _values: *mut *mut c_void, to: *mut Handle) { put(to, new_link()) }
    fn cuLinkAddData(link: Handle, kind: c_int, data: *const c_void, bytes: usize, _name: *const c_char,
        _count: c_uint, _options: *const c_uint, _values: *mut *mut c_void) { add_to_link(link, kind, bytes_of(data, bytes)?) }
    fn cuLinkAddData_v2(link: Handle, kind: c_int, data: *const c_void, bytes: usize, _name: *const c_char,
        _count: c_uint, _options: *const c_uint, _values: *mut *mut c_void) { add_to_link(link, kind, bytes_of(data, bytes)?) }
    fn cuLinkAddFile(link: Handle, kind: c_int, path: *const c_char, _count: c_uint, _options: *const c_uint, _values: *mut *mut c_void) {
        add_to_link(link, kind, &std::fs::read(text(path)?).map_err(|_| Code::FILE_NOT_FOUND)?)
    }
    fn cuLinkAddFile_v2(link: Handle, kind: c_int, path: *const c_char, _count: c_uint, _options: *const c_uint, _values: *mut *mut c_void) {
        add_to_link(link, kind, &std::fs::read(text(path)?).map_err(|_| Code::FILE_NOT_FOUND)?)
    }
    fn cuLinkComplete(link: Handle, image: *mut *const c_void, bytes: *mut usize) {
        let link = (link as *const Link).as_ref().ok_or(Code::INVALID_HANDLE)?;
        put(image, link.text.as_ptr().cast())?;
        put_if_wanted(bytes, link.text.len());
        Ok(())
    }
    fn cuLinkDestroy(link: Handle) {
        if link == 0 {
            return Err(Code::INVALID_HANDLE);
        }
        drop(Box::from_raw(link as *mut Link));
        Ok(())
    }
}

/// Device code that is linked: one text, which ends in a NUL. The handle is its address, since the
/// program reads it.
struct Link {
    text: Vec<u8>,
}

fn new_link() -> Handle {
    Box::into_raw(Box::new(Link { text: vec![0] })) as Handle
}

/// # Safety
///
/// The address is null or of `bytes` bytes.
unsafe fn bytes_of<'a>(data: *const c_void, bytes: usize) -> Outcome<&'a [u8]> {
    if data.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the caller promises it.
    Ok(unsafe { std::slice::from_raw_parts(data.cast(), bytes) })
}

/// # Safety
///
/// The handle is null or of a [`Link`].
unsafe fn add_to_link(link: Handle, kind: c_int, data: &[u8]) -> Outcome {
    const KIND_PTX: c_int = 1;
    const KIND_FAT_BINARY: c_int = 2;
    // SAFETY: the caller promises it.
    let link = unsafe { (link as *mut Link).as_mut() }.ok_or(Code::INVALID_HANDLE)?;
    if !matches!(kind, KIND_PTX | KIND_FAT_BINARY) || link.text.len() > 1 {
        report::unsupported(
            report::Need::Module,
            "cuLinkAddData links one PTX text alone; several, and machine code, are not supported",
        );
        return Err(Code::NOT_SUPPORTED);
    }
    let text = image::of_file(data).map_err(|_| Code::INVALID_IMAGE)?;
    link.text = text.into_bytes();
    link.text.push(0);
    Ok(())
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
