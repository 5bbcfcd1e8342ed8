//! The declarations of a module: variables, functions, parameters, source positions.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use crate::error::Error;
use crate::types::{Pos, Reg, RegClass, ScalarType, Space};

/// Index into [`Program::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// Index into [`Program::globals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GlobalId(pub u32);

/// Index into [`Program::locs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceLocId(pub u32);

/// Something that has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Symbol {
    /// A `.global` or `.const` variable of the module (see [`Variable::space`]).
    Global(GlobalId),
    /// Byte offset in the block's shared window.
    Shared(u32),
    /// Start of dynamic shared memory: the running kernel's
    /// [`dynamic_shared_offset`](Function::dynamic_shared_offset).
    DynamicShared,
    /// Byte offset in the running function's local frame.
    Local(u32),
    /// Byte offset in the launch's parameter buffer (only in kernels).
    KernelParam(u32),
    /// Byte offset in the running function's parameter frame (see [`Function::param_frame_bytes`]).
    FrameParam(u32),
    /// A function, for indirect calls.
    Function(FunctionId),
}

/// The declarations of a PTX module. The instructions are not part of it: they are given to the
/// reader of the bodies, by [`Program::read`]. [`Declared`] has all that does not depend on bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    pub(crate) declared: Arc<Declared>,
    /// The `.file` table: number as written, path as written.
    pub files: Vec<SourceFile>,
    /// Source positions that instructions refer to, each stored once.
    pub locs: Vec<SourceLoc>,
    /// Kernels and device functions, declared-only ones included.
    pub functions: Vec<Arc<Function>>,
    /// The places in `files` of numbers.
    pub(crate) file_places: HashMap<u32, usize>,
}

impl Deref for Program {
    type Target = Declared;

    fn deref(&self) -> &Declared {
        &self.declared
    }
}

/// The declarations of a PTX module. Its programs share them, whether they have read all bodies or
/// some.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declared {
    /// `.version`: major, minor.
    pub version: (u32, u32),
    /// `.target`: the architecture first (`sm_90`), then options (`debug`).
    pub target: Vec<String>,
    /// `.global` and `.const` variables, function-scope ones included.
    pub globals: Vec<Variable>,
    /// `.shared` variables of fixed size, function-scope ones included. Two variables overlap only
    /// if no kernel can reach both.
    pub shared: Vec<SharedVariable>,
    /// `.extern .shared` arrays without size. All of them start at the same address.
    pub dynamic_shared: Vec<DynamicShared>,
    /// The text the program was parsed from.
    pub(crate) source: Box<str>,
    /// The ids of functions by name: a generated module has very many.
    pub(crate) function_ids: HashMap<Box<str>, FunctionId>,
}

impl Program {
    /// The declarations, which no other program shares yet.
    pub(crate) fn declared_mut(&mut self) -> &mut Declared {
        Arc::make_mut(&mut self.declared)
    }

    /// A function that no other program shares yet.
    pub(crate) fn function_mut(&mut self, id: FunctionId) -> &mut Function {
        Arc::make_mut(&mut self.functions[id.0 as usize])
    }

    /// The number of its architecture: 90 of `sm_90` and `sm_90a`.
    pub fn architecture(&self) -> Option<u32> {
        let number = self.target.first()?.strip_prefix("sm_")?;
        number.trim_end_matches(['a', 'f']).parse().ok()
    }

    /// The kernel of that name (`.entry` with a body), and its id, whether it has been refused or
    /// not.
    pub fn defined_kernel(&self, name: &str) -> Option<(FunctionId, &Function)> {
        let found = self.function_named(name);
        found.filter(|(_, function)| function.is_kernel && function.is_defined)
    }

    /// The kernel of that name (`.entry` with a body that has not been refused).
    pub fn kernel(&self, name: &str) -> Option<&Function> {
        let (_, function) = self.function_named(name)?;
        function.is_runnable().then_some(function)
    }

    /// Every kernel that has not been refused, in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = &Function> {
        self.all().filter(|f| f.is_runnable())
    }

    /// Every function whose body is wrong, and why.
    pub fn refused(&self) -> impl Iterator<Item = (&Function, &Error)> {
        self.all().filter_map(|f| Some((f, f.refused.as_deref()?)))
    }

    fn all(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().map(|function| &**function)
    }

    /// The function with this id.
    ///
    /// # Panics
    /// If the id is not this program's.
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.0 as usize]
    }

    /// The id and the function of that name.
    pub fn function_named(&self, name: &str) -> Option<(FunctionId, &Function)> {
        let id = *self.function_ids.get(name)?;
        Some((id, self.function(id)))
    }

    /// The global or constant variable with this id.
    ///
    /// # Panics
    /// If the id is not this program's.
    pub fn global(&self, id: GlobalId) -> &Variable {
        &self.globals[id.0 as usize]
    }

    /// The source position with this id.
    ///
    /// # Panics
    /// If the id is not this program's.
    pub fn loc(&self, id: SourceLocId) -> &SourceLoc {
        &self.locs[id.0 as usize]
    }

    /// The path of a `.file` number, as written.
    pub fn file(&self, number: u32) -> Option<&str> {
        let place = *self.file_places.get(&number)?;
        Some(&self.files[place].path)
    }

    /// The PTX text.
    pub fn text(&self) -> &str {
        &self.source
    }

    /// The lines of the PTX text, without their ends.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.source.lines()
    }

    /// A line of the PTX text (from 1), without its end.
    pub fn line(&self, number: u32) -> Option<&str> {
        self.source.lines().nth((number as usize).checked_sub(1)?)
    }
}

/// An entry of the `.file` table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The number that `.loc` uses.
    pub number: u32,
    /// The path as written.
    pub path: String,
}

/// A source position given by `.loc`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLoc {
    /// The `.file` number.
    pub file: u32,
    /// Line, from 1; 0 where the compiler knows none.
    pub line: u32,
    /// Column, from 1; 0 where the compiler knows none.
    pub column: u32,
    /// Where this code was inlined to, if the text says so. Follow it to the outermost caller.
    pub inlined_at: Option<SourceLocId>,
}

/// A kernel (`.entry`) or device function (`.func`).
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The name in the text; a kernel's is what the host launches by.
    pub name: String,
    /// True for `.entry`.
    pub is_kernel: bool,
    /// False for a declaration without body.
    pub is_defined: bool,
    /// Why its body cannot be executed: it is wrong. The other functions of the module can.
    pub refused: Option<Box<Error>>,
    /// Where the name stands.
    pub pos: Pos,
    /// Parameters in order. For a kernel, offsets are into the launch's parameter buffer; for a
    /// device function, into its parameter frame.
    pub params: Vec<Param>,
    /// The parameters in the source, where the text states them (see [`Function::source_params`]).
    pub(crate) source_params: Vec<SourceParam>,
    /// Return parameters of a device function, in its parameter frame behind `params`.
    pub returns: Vec<Param>,
    /// Size of the launch's parameter buffer in bytes (kernels; 0 otherwise).
    pub kernel_param_bytes: u32,
    /// Size in bytes, per thread, of the parameter frame: a device function's own parameters and
    /// return parameters first, then the `.param` variables that the body declares around calls.
    pub param_frame_bytes: u32,
    /// `.maxntid`: the largest block the code was compiled for.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: the only block shape the kernel may be launched with.
    pub required_threads: Option<[u32; 3]>,
    /// `.minnctapersm`.
    pub min_blocks: Option<u32>,
    /// `.maxnreg`.
    pub max_registers: Option<u32>,
    /// `.reqnctapercluster`: the only cluster shape, in blocks, that the kernel may be launched
    /// with.
    pub required_cluster: Option<[u32; 3]>,
    /// `.maxclusterrank`: the most blocks of a cluster.
    pub max_cluster_blocks: Option<u32>,
    /// `.noreturn`.
    pub no_return: bool,
    /// Static shared memory of a kernel in bytes: every variable that it or a function it can call
    /// names.
    pub shared_bytes: u32,
    /// Where dynamic shared memory starts in the block's window: `shared_bytes`, aligned.
    pub dynamic_shared_offset: u32,
    /// True if the kernel, or a function it can call, names a dynamic shared array.
    pub uses_dynamic_shared: bool,
    /// Local frame in bytes (the sum of `.local` variables).
    pub local_bytes: u32,
    /// Alignment of the local frame in bytes, a power of two, at least 1.
    pub local_align: u32,
    /// The `.local` variables, for messages.
    pub locals: Vec<LocalVariable>,
    /// Register slots of each class.
    pub registers: RegCounts,
    /// Register names as written, by class and slot; see [`Function::register_name`].
    pub(crate) register_names: [Vec<String>; 4],
    /// Labels in order of position, for messages.
    pub labels: Vec<Label>,
}

impl Function {
    /// A kernel with a body that has not been refused.
    fn is_runnable(&self) -> bool {
        self.is_kernel && self.is_defined && self.refused.is_none()
    }

    /// The name a register was declared by (`%rd4`).
    pub fn register_name(&self, reg: Reg) -> &str {
        self.register_names[reg.class.index()]
            .get(reg.slot as usize)
            .map_or("%?", String::as_str)
    }

    /// The parameters that the author of a kernel wrote: a slice is one of them, and two of
    /// [`Function::params`]. Empty where the text does not state them, by a comment at its end:
    ///
    /// ```text
    /// // cuda_std.parameters axpy~a: f32~x: &[f32]~y: *mut f32
    /// ```
    pub fn source_params(&self) -> &[SourceParam] {
        &self.source_params
    }

    /// The parameter of that name.
    pub fn param(&self, name: &str) -> Option<&Param> {
        self.params.iter().find(|p| p.name == name)
    }
}

/// A label and the index of the instruction behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The name in the text.
    pub name: String,
    /// Number of instructions before it in the body; at the end of a body, of all of them.
    pub target: u32,
}

/// Number of register slots in each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegCounts {
    /// One-bit slots.
    pub pred: u32,
    /// 16-bit slots.
    pub b16: u32,
    /// 32-bit slots.
    pub b32: u32,
    /// 64-bit slots.
    pub b64: u32,
}

impl RegCounts {
    /// Slots of one class.
    pub fn of(&self, class: RegClass) -> u32 {
        match class {
            RegClass::Pred => self.pred,
            RegClass::B16 => self.b16,
            RegClass::B32 => self.b32,
            RegClass::B64 => self.b64,
        }
    }

    pub(crate) fn of_mut(&mut self, class: RegClass) -> &mut u32 {
        match class {
            RegClass::Pred => &mut self.pred,
            RegClass::B16 => &mut self.b16,
            RegClass::B32 => &mut self.b32,
            RegClass::B64 => &mut self.b64,
        }
    }
}

/// A parameter as the source declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceParam {
    /// Its name.
    pub name: String,
    /// Rust's text of its type.
    pub ty: String,
}

/// A parameter or return parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// The name in the text (`wave2d_param_0`).
    pub name: String,
    /// Scalar or aggregate.
    pub ty: ParamType,
    /// Byte offset in the parameter buffer (kernels) or frame (device functions).
    pub offset: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// `.ptr`: the parameter is a pointer that the compiler knows more of.
    pub pointer: Option<PointerInfo>,
    /// For device functions that pass by register (`.reg` parameters), the register in the callee.
    /// A vector register is a parameter for each component.
    pub register: Option<Reg>,
}

impl Param {
    /// Size in bytes.
    pub fn size(&self) -> u32 {
        match self.ty {
            ParamType::Scalar(ty) => ty.bytes(),
            ParamType::Bytes(size) => size,
        }
    }
}

/// The content of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamType {
    /// One value: an integer, a float, or a pointer (`.u64`/`.b64`).
    Scalar(ScalarType),
    /// An aggregate by value, of this many bytes (a struct, or a slice's pointer and length).
    Bytes(u32),
}

/// The promise of `.ptr` about a pointer parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointerInfo {
    /// The space pointed to; `Generic` if none is given.
    pub space: Space,
    /// Alignment of what is pointed to, in bytes; 4 if none is given.
    pub align: u32,
}

/// A `.global` or `.const` variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The name in the text.
    pub name: String,
    /// `Global` or `Const`.
    pub space: Space,
    /// Declared `.extern`: it has no definition in this module.
    pub is_extern: bool,
    /// Declared `.managed`: the host has it at the same address.
    pub is_managed: bool,
    /// Alignment in bytes, a power of two.
    pub align: u32,
    /// Size in bytes; 0 for an extern array without size.
    pub size: u32,
    /// The first bytes of the variable; the rest, to `size`, is zero. Bytes below a relocation are
    /// zero.
    pub init: Vec<u8>,
    /// Addresses to be written into it when the module is loaded.
    pub relocations: Vec<Relocation>,
    /// Where the name stands.
    pub pos: Pos,
}

/// An address in an initialiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Byte offset in the variable.
    pub offset: u32,
    /// Width of the field in bytes: 4 or 8.
    pub size: u32,
    /// Its target.
    pub symbol: Symbol,
    /// Added to the symbol's address.
    pub addend: i64,
    /// True for `generic(symbol)`: the generic address. Otherwise the address in the symbol's
    /// space.
    pub generic: bool,
}

/// A `.shared` variable of fixed size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedVariable {
    /// The name in the text.
    pub name: String,
    /// Byte offset in the block's shared window, a multiple of `align`.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
    /// Alignment in bytes, a power of two.
    pub align: u32,
    /// The kernels (ids) that can reach it.
    pub kernels: Vec<FunctionId>,
}

/// An `.extern .shared` array without size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamicShared {
    /// The name in the text.
    pub name: String,
    /// Alignment in bytes, a power of two.
    pub align: u32,
}

/// A `.local` variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalVariable {
    /// The name in the text.
    pub name: String,
    /// Byte offset in the function's local frame.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
}
