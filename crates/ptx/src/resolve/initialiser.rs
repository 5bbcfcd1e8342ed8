//! Initialisers: the bytes and the addresses that a variable starts with.

use super::names::{Entity, Names};
use crate::error::Problem;
use crate::program::*;
use crate::syntax::{self, Init};
use crate::types::{Pos, ScalarType};

/// Fills in the bytes and relocations of a variable.
pub(super) fn initialise(
    program: &mut Program,
    names: &Names,
    id: GlobalId,
    v: &syntax::Variable<'_>,
) -> Result<(), Problem> {
    let Some(init) = &v.init else { return Ok(()) };
    let mut image = Image {
        names,
        ty: v.ty,
        size: program.global(id).size,
        init: Vec::new(),
        relocations: Vec::new(),
        partial: None,
    };
    // A vector is a further, innermost dimension.
    let mut dims: Vec<u64> = v.dims.iter().map(|d| d.unwrap_or(u64::MAX)).collect();
    if v.vector > 1 {
        dims.push(v.vector.into());
    }
    image.fill(init, &dims, 0)?;
    if let Some(partial) = image.partial {
        return Err(partial.incomplete());
    }
    let (values, relocations) = (image.init, image.relocations);
    let variable = &mut program.declared_mut().globals[id.0 as usize];
    (variable.init, variable.relocations) = (values, relocations);
    Ok(())
}

/// An initialiser under construction.
struct Image<'n> {
    names: &'n Names,
    ty: ScalarType,
    size: u32,
    init: Vec<u8>,
    relocations: Vec<Relocation>,
    partial: Option<Partial>,
}

/// An address written byte by byte: `0xFF(f), 0xFF00(f), ..`.
struct Partial {
    relocation: Relocation,
    next: u32,
    pos: Pos,
}

impl Partial {
    fn incomplete(&self) -> Problem {
        let message = format!(
            "address given byte by byte ends after {} of 8 bytes",
            self.next
        );
        Problem::invalid(self.pos, message)
    }
}

impl Image<'_> {
    fn fill(&mut self, init: &Init<'_>, dims: &[u64], offset: u64) -> Result<(), Problem> {
        match (init, dims) {
            (Init::List(list, pos), [len, inner @ ..]) => {
                if list.len() as u64 > *len {
                    let message = format!("{} initialisers for {len} elements", list.len());
                    return Err(Problem::invalid(*pos, message));
                }
                let scalar = u64::from(self.ty.bytes());
                let stride = inner.iter().fold(scalar, |n, d| n.saturating_mul(*d));
                for (i, element) in list.iter().enumerate() {
                    let skip = (i as u64).saturating_mul(stride);
                    self.fill(element, inner, offset.saturating_add(skip))?;
                }
                Ok(())
            }
            (Init::List(list, _), []) if list.len() == 1 => self.fill(&list[0], dims, offset),
            (Init::List(_, pos), []) => Err(Problem::invalid(
                *pos,
                "a list initialises a single element",
            )),
            (Init::Number(literal, pos), []) => {
                let bits = literal.bits(self.ty, *pos)?;
                self.write(offset, self.ty.bytes(), bits, *pos)
            }
            (Init::Number(_, pos), _) => Err(Problem::invalid(
                *pos,
                "a number initialises an array: expected `{`",
            )),
            (
                Init::Symbol {
                    name,
                    addend,
                    generic,
                    mask,
                },
                _,
            ) => {
                let symbol = match self.names.get(name.text) {
                    Some(Entity::Global(id)) => Symbol::Global(id),
                    Some(Entity::Function(id)) => Symbol::Function(id),
                    _ => return Err(Problem::unknown("symbol", name.text, name.pos)),
                };
                let relocation = Relocation {
                    offset: offset as u32,
                    size: self.ty.bytes(),
                    symbol,
                    addend: *addend,
                    generic: *generic,
                };
                match mask {
                    Some(mask) => self.partial(relocation, *mask, name.pos),
                    None => self.relocate(relocation, offset, name.pos),
                }
            }
        }
    }

    fn relocate(&mut self, relocation: Relocation, offset: u64, pos: Pos) -> Result<(), Problem> {
        if relocation.size != 4 && relocation.size != 8 {
            let message = format!(
                "an address does not fit an element of {} bytes",
                relocation.size
            );
            return Err(Problem::invalid(pos, message));
        }
        self.write(offset, relocation.size, 0, pos)?;
        self.relocations.push(relocation);
        Ok(())
    }

    /// One byte of an address; the eighth completes the relocation.
    fn partial(&mut self, relocation: Relocation, mask: u64, pos: Pos) -> Result<(), Problem> {
        let partial = match self.partial.take() {
            Some(partial) => partial,
            None => Partial {
                relocation: Relocation {
                    size: 8,
                    ..relocation
                },
                next: 0,
                pos,
            },
        };
        let whole = partial.relocation;
        let continues = relocation.size == 1
            && whole.symbol == relocation.symbol
            && whole.addend == relocation.addend
            && whole.generic == relocation.generic
            && mask == 0xFFu64 << (8 * partial.next)
            && relocation.offset == whole.offset + partial.next;
        if !continues {
            let message = "only whole addresses can be given byte by byte, lowest byte first";
            return Err(Problem::invalid(pos, message));
        }
        if partial.next == 7 {
            return self.relocate(whole, whole.offset.into(), pos);
        }
        self.partial = Some(Partial {
            next: partial.next + 1,
            ..partial
        });
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: u32, bits: u64, pos: Pos) -> Result<(), Problem> {
        let end = offset.saturating_add(bytes.into());
        if end > self.size.into() {
            let message = format!(
                "initialiser reaches byte {end} of a variable of {} bytes",
                self.size
            );
            return Err(Problem::invalid(pos, message));
        }
        // Sparse nested lists of a huge array must not allocate it.
        if end > self.init.len() as u64 + (1 << 20) {
            let message = "initialiser leaves a gap of more than 1 MiB";
            return Err(Problem::invalid(pos, message));
        }
        if self.init.len() < end as usize {
            self.init.resize(end as usize, 0);
        }
        let value = u128::from(bits).to_le_bytes();
        self.init[offset as usize..end as usize].copy_from_slice(&value[..bytes as usize]);
        Ok(())
    }
}
