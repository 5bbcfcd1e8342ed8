//! Parameters and their offsets.

use super::variable;
use crate::ast::{self, Storage};
use crate::error::{ErrorKind, Raw};
use crate::program::*;

/// The layout of a parameter list, and of its return parameters behind it.
#[derive(Default)]
pub(super) struct Signature {
    pub params: Vec<Param>,
    pub returns: Vec<Param>,
    /// Bytes of `params` and `returns` together.
    pub bytes: u32,
    pub registers: RegCounts,
    pub register_names: [Vec<String>; 4],
}

/// Lays out parameters in order, each at its own alignment.
pub(super) fn signature(
    params: &[ast::Variable<'_>],
    returns: &[ast::Variable<'_>],
) -> Result<Signature, Raw> {
    let mut signature = Signature::default();
    signature.params = params
        .iter()
        .map(|v| signature.place(v))
        .collect::<Result<_, _>>()?;
    signature.returns = returns
        .iter()
        .map(|v| signature.place(v))
        .collect::<Result<_, _>>()?;
    Ok(signature)
}

impl Signature {
    fn place(&mut self, v: &ast::Variable<'_>) -> Result<Param, Raw> {
        let name = v.name.text.to_string();
        let pointer = v.pointer.map(|(space, align)| PointerInfo {
            space: space.unwrap_or(Space::Generic),
            align: align.unwrap_or(4),
        });
        if v.storage == Storage::Reg {
            let class =
                v.ty.class()
                    .filter(|_| v.vector == 1 && v.dims.is_empty() && v.count.is_none());
            let Some(class) = class else {
                let message =
                    format!("register parameter `{name}` is not a scalar of up to 64 bits");
                return Err(Raw::new(v.name.pos, ErrorKind::Invalid(message)));
            };
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
            return Err(Raw::new(v.name.pos, ErrorKind::Invalid(message)));
        }
        let size = variable::size(v)?;
        let align = variable::alignment(v);
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
pub(super) fn place(top: &mut u32, size: u32, align: u32, pos: Pos) -> Result<u32, Raw> {
    let offset = u64::from(*top).next_multiple_of(align.into());
    *top = variable::fits(
        pos,
        "the size of the memory in bytes",
        offset + u64::from(size),
    )?;
    variable::fits(pos, "an offset in bytes", offset)
}

/// A function without its body.
pub(super) fn function(f: &ast::Function<'_>) -> Result<Function, Raw> {
    let signature = signature(&f.params, &f.returns)?;
    Ok(Function {
        name: f.name.text.to_string(),
        is_kernel: f.is_kernel,
        is_defined: f.body.is_some(),
        pos: f.name.pos,
        params: signature.params,
        returns: signature.returns,
        kernel_param_bytes: if f.is_kernel { signature.bytes } else { 0 },
        param_frame_bytes: if f.is_kernel { 0 } else { signature.bytes },
        max_threads: f.max_threads,
        required_threads: f.required_threads,
        min_blocks: f.min_blocks,
        max_registers: f.max_registers,
        no_return: f.no_return,
        shared_bytes: 0,
        dynamic_shared_offset: 0,
        uses_dynamic_shared: false,
        local_bytes: 0,
        local_align: 1,
        locals: Vec::new(),
        registers: signature.registers,
        register_names: signature.register_names,
        instructions: Vec::new(),
        labels: Vec::new(),
    })
}
