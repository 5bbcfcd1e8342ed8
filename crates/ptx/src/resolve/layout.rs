//! Sizes, alignments and offsets of variables and parameters.

use crate::error::{ErrorKind, Problem};
use crate::program::*;
use crate::syntax::{self, Init, Storage};
use crate::types::{Pos, Reg, ScalarType, Space};

/// Variables larger than this are refused: no device has the memory.
const MAX_BYTES: u64 = 1 << 40;

/// Alignment in bytes: as written, at least that of an element.
pub(super) fn alignment(v: &syntax::Variable<'_>) -> u32 {
    v.align.unwrap_or(1).max(element_bytes(v))
}

/// Bytes of one element: a scalar, or a vector.
fn element_bytes(v: &syntax::Variable<'_>) -> u32 {
    v.ty.bytes() * v.vector
}

/// Bytes of a scalar of an array: its elements are counted in these, vectors and inner arrays too,
/// as the assembler counts; `None` if it is not one.
pub(super) fn array_element(v: &syntax::Variable<'_>) -> Option<u32> {
    (!v.dims.is_empty()).then(|| v.ty.bytes())
}

/// Size in bytes; an open dimension counts 0.
pub(super) fn size(v: &syntax::Variable<'_>) -> Result<u32, Problem> {
    let mut bytes = u64::from(element_bytes(v));
    for dim in &v.dims {
        bytes = bytes.saturating_mul(dim.unwrap_or(0));
        if bytes > MAX_BYTES {
            break;
        }
    }
    byte_count(v.name.pos, "the size of the variable in bytes", bytes)
}

/// A byte count or offset as `u32`.
pub(super) fn byte_count(pos: Pos, what: &'static str, value: u64) -> Result<u32, Problem> {
    // Half the range: sums of two never overflow, and offsets fit an `i32`.
    let limit = u64::from(u32::MAX / 2);
    if value > limit {
        return Err(Problem::new(
            pos,
            ErrorKind::TooLarge { what, value, limit },
        ));
    }
    Ok(value as u32)
}

/// Size in bytes of a variable of a module; 0 for an array whose length is open.
pub(crate) fn declared_size(v: &syntax::Variable<'_>, space: Space) -> Result<u32, Problem> {
    Ok(variable(v, space)?.size)
}

/// A `.global` or `.const` variable, without its initialiser.
pub(super) fn variable(v: &syntax::Variable<'_>, space: Space) -> Result<Variable, Problem> {
    let mut size = size(v)?;
    if let (Some(None), Some(Init::List(list, _))) = (v.dims.first(), &v.init) {
        let inner = v.dims[1..]
            .iter()
            .try_fold(1u64, |n, d| n.checked_mul(d.unwrap_or(0)))
            .unwrap_or(u64::MAX);
        let bytes = u64::from(element_bytes(v))
            .saturating_mul(inner)
            .saturating_mul(list.len() as u64);
        size = byte_count(v.name.pos, "the size of the variable in bytes", bytes)?;
    }
    Ok(Variable {
        name: v.name.text.to_string(),
        space,
        is_extern: v.is_extern,
        is_managed: v.is_managed,
        align: alignment(v),
        size,
        init: Vec::new(),
        relocations: Vec::new(),
        pos: v.name.pos,
    })
}

/// The layout of a parameter list, and of its return parameters behind it.
#[derive(Debug, Default)]
pub struct Signature {
    /// Parameters in order.
    pub params: Vec<Param>,
    /// Return parameters in order.
    pub returns: Vec<Param>,
    /// Bytes of `params` and `returns` together.
    bytes: u32,
    registers: RegCounts,
    register_names: [Vec<String>; 4],
}

/// Lays out parameters in order, each at its own alignment.
pub(crate) fn signature(
    params: &[syntax::Variable<'_>],
    returns: &[syntax::Variable<'_>],
) -> Result<Signature, Problem> {
    let mut signature = Signature::default();
    for v in params {
        for component in 0..components(v) {
            let param = signature.place(v, component)?;
            signature.params.push(param);
        }
    }
    for v in returns {
        for component in 0..components(v) {
            let param = signature.place(v, component)?;
            signature.returns.push(param);
        }
    }
    Ok(signature)
}

/// The parameters that a declared one is: of a vector register one for each component.
pub(super) fn components(v: &syntax::Variable<'_>) -> u32 {
    match v.storage {
        Storage::Reg => v.vector,
        _ => 1,
    }
}

/// The names of the components of a vector register.
pub(super) const COMPONENTS: [&str; 8] = ["x", "y", "z", "w", "4", "5", "6", "7"];

impl Signature {
    fn place(&mut self, v: &syntax::Variable<'_>, component: u32) -> Result<Param, Problem> {
        let mut name = v.name.text.to_string();
        let pointer = v.pointer.map(|(space, align)| PointerInfo {
            space: space.unwrap_or(Space::Generic),
            align: align.unwrap_or(4),
        });
        if v.storage == Storage::Reg {
            let is_register = v.dims.is_empty() && v.count.is_none();
            let Some(class) = v.ty.class().filter(|_| is_register) else {
                let message =
                    format!("register parameter `{name}` is not a register of up to 64 bits");
                return Err(Problem::invalid(v.name.pos, message));
            };
            if v.vector > 1 {
                name += ".";
                name += COMPONENTS[component as usize];
            }
            let names = &mut self.register_names[class.index()];
            let register = Some(Reg {
                class,
                slot: names.len() as u32,
            });
            names.push(name.clone());
            *self.registers.of_mut(class) += 1;
            return Ok(Param {
                name,
                ty: ParamType::Scalar(v.ty),
                offset: 0,
                align: 1,
                pointer,
                register,
            });
        }
        if v.count.is_some() {
            let message =
                format!("`<` behind parameter `{name}`: only registers are declared in numbers");
            return Err(Problem::invalid(v.name.pos, message));
        }
        let size = size(v)?;
        let align = alignment(v);
        let offset = place(&mut self.bytes, size, align, v.name.pos)?;
        let is_scalar = v.dims.is_empty() && v.vector == 1 && v.ty != ScalarType::B128;
        let ty = if is_scalar {
            ParamType::Scalar(v.ty)
        } else {
            ParamType::Bytes(size)
        };
        Ok(Param {
            name,
            ty,
            offset,
            align,
            pointer,
            register: None,
        })
    }
}

/// Takes `size` bytes at alignment `align` behind `top` and returns their offset.
pub(super) fn place(top: &mut u32, size: u32, align: u32, pos: Pos) -> Result<u32, Problem> {
    let offset = u64::from(*top).next_multiple_of(align.into());
    *top = byte_count(
        pos,
        "the size of the memory in bytes",
        offset + u64::from(size),
    )?;
    byte_count(pos, "an offset in bytes", offset)
}

/// PTX ISA, Kernel Function Parameters: they are in `.param`, and a kernel returns nothing.
fn refuse_what_no_launch_gives(f: &syntax::Function<'_>) -> Result<(), Problem> {
    let registers = f.params.iter().find(|v| v.storage == Storage::Reg);
    let name = |v: &syntax::Variable<'_>| v.name.text.to_string();
    match (registers, f.returns.first()) {
        (Some(v), _) => Err(Problem::invalid(
            v.name.pos,
            format!(
                "parameter `{}` of a kernel is a register: write `.param`",
                name(v)
            ),
        )),
        (None, Some(v)) => Err(Problem::invalid(
            v.name.pos,
            format!(
                "`{}` is to be returned by a kernel, which returns nothing",
                name(v)
            ),
        )),
        (None, None) => Ok(()),
    }
}

/// A function without its body.
pub(super) fn function(f: &syntax::Function<'_>) -> Result<Function, Problem> {
    if f.is_kernel {
        refuse_what_no_launch_gives(f)?;
    }
    let signature = signature(&f.params, &f.returns)?;
    Ok(Function {
        name: f.name.text.to_string(),
        is_kernel: f.is_kernel,
        is_defined: f.body.is_some(),
        refused: None,
        pos: f.name.pos,
        params: signature.params,
        returns: signature.returns,
        kernel_param_bytes: if f.is_kernel { signature.bytes } else { 0 },
        param_frame_bytes: if f.is_kernel { 0 } else { signature.bytes },
        max_threads: f.max_threads,
        required_threads: f.required_threads,
        min_blocks: f.min_blocks,
        max_registers: f.max_registers,
        required_cluster: f.required_cluster,
        max_cluster_blocks: f.max_cluster_blocks,
        no_return: f.no_return,
        shared_bytes: 0,
        dynamic_shared_offset: 0,
        uses_dynamic_shared: false,
        local_bytes: 0,
        local_align: 1,
        source_params: Vec::new(),
        locals: Vec::new(),
        registers: signature.registers,
        register_names: signature.register_names,
        labels: Vec::new(),
    })
}
