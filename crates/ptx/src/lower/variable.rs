//! Sizes and initialisers.

use super::module::{Entity, Names};
use crate::ast::{self, Init, Literal};
use crate::error::{ErrorKind, Raw};
use crate::program::*;

/// Variables larger than this are refused: no device has the memory.
const MAX_BYTES: u64 = 1 << 40;

/// Alignment in bytes: as written, at least that of an element.
pub(super) fn alignment(v: &ast::Variable<'_>) -> u32 {
    v.align.unwrap_or(1).max(element_bytes(v))
}

/// Bytes of one element: a scalar, or a vector.
fn element_bytes(v: &ast::Variable<'_>) -> u32 {
    v.ty.bytes() * v.vector
}

/// Size in bytes; an open dimension counts 0.
pub(super) fn size(v: &ast::Variable<'_>) -> Result<u32, Raw> {
    let mut bytes = u64::from(element_bytes(v));
    for dim in &v.dims {
        bytes = bytes.saturating_mul(dim.unwrap_or(0));
        if bytes > MAX_BYTES {
            break;
        }
    }
    fits(v.name.pos, "the size of the variable in bytes", bytes)
}

/// A byte count or offset as `u32`.
pub(super) fn fits(pos: Pos, what: &'static str, value: u64) -> Result<u32, Raw> {
    // Half the range: sums of two never overflow, and offsets fit an `i32`.
    let limit = u64::from(u32::MAX / 2);
    if value > limit {
        return Err(Raw::new(pos, ErrorKind::TooLarge { what, value, limit }));
    }
    Ok(value as u32)
}

/// A `.global` or `.const` variable, without its initialiser.
pub(super) fn describe(v: &ast::Variable<'_>, space: Space) -> Result<Variable, Raw> {
    let mut size = size(v)?;
    if let (Some(None), Some(Init::List(list, _))) = (v.dims.first(), &v.init) {
        let inner = v.dims[1..]
            .iter()
            .try_fold(1u64, |n, d| n.checked_mul(d.unwrap_or(0)))
            .unwrap_or(u64::MAX);
        let bytes = u64::from(element_bytes(v))
            .saturating_mul(inner)
            .saturating_mul(list.len() as u64);
        size = fits(v.name.pos, "the size of the variable in bytes", bytes)?;
    }
    Ok(Variable {
        name: v.name.text.to_string(),
        space,
        is_extern: v.is_extern,
        align: alignment(v),
        size,
        init: Vec::new(),
        relocations: Vec::new(),
        pos: v.name.pos,
    })
}

/// Fills in the bytes and relocations of a variable.
pub(super) fn initialise(
    program: &mut Program,
    names: &Names<'_>,
    id: GlobalId,
    v: &ast::Variable<'_>,
) -> Result<(), Raw> {
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
    let (init, relocations) = (image.init, image.relocations);
    let variable = &mut program.globals[id.0 as usize];
    (variable.init, variable.relocations) = (init, relocations);
    Ok(())
}

/// An initialiser under construction.
struct Image<'n, 'a> {
    names: &'n Names<'a>,
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
    fn incomplete(&self) -> Raw {
        let message = format!(
            "address given byte by byte ends after {} of 8 bytes",
            self.next
        );
        Raw::new(self.pos, ErrorKind::Invalid(message))
    }
}

impl Image<'_, '_> {
    fn fill(&mut self, init: &Init<'_>, dims: &[u64], offset: u64) -> Result<(), Raw> {
        match (init, dims) {
            (Init::List(list, pos), [len, inner @ ..]) => {
                if list.len() as u64 > *len {
                    let message = format!("{} initialisers for {len} elements", list.len());
                    return Err(Raw::new(*pos, ErrorKind::Invalid(message)));
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
            (Init::List(_, pos), []) => Err(Raw::new(
                *pos,
                ErrorKind::Invalid("a list initialises a single element".to_string()),
            )),
            (Init::Number(literal, pos), []) => {
                let bits = literal_bits(*literal, self.ty, *pos)?;
                self.write(offset, self.ty.bytes(), bits, *pos)
            }
            (Init::Number(_, pos), _) => Err(Raw::new(
                *pos,
                ErrorKind::Invalid("a number initialises an array: expected `{`".to_string()),
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
                    _ => return Err(unknown("symbol", *name)),
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

    fn relocate(&mut self, relocation: Relocation, offset: u64, pos: Pos) -> Result<(), Raw> {
        if relocation.size != 4 && relocation.size != 8 {
            let message = format!(
                "an address does not fit an element of {} bytes",
                relocation.size
            );
            return Err(Raw::new(pos, ErrorKind::Invalid(message)));
        }
        self.write(offset, relocation.size, 0, pos)?;
        self.relocations.push(relocation);
        Ok(())
    }

    /// One byte of an address; the eighth completes the relocation.
    fn partial(&mut self, relocation: Relocation, mask: u64, pos: Pos) -> Result<(), Raw> {
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
            let message =
                "only whole addresses can be given byte by byte, lowest byte first".to_string();
            return Err(Raw::new(pos, ErrorKind::Invalid(message)));
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

    fn write(&mut self, offset: u64, bytes: u32, bits: u64, pos: Pos) -> Result<(), Raw> {
        let end = offset.saturating_add(bytes.into());
        if end > self.size.into() {
            let message = format!(
                "initialiser reaches byte {end} of a variable of {} bytes",
                self.size
            );
            return Err(Raw::new(pos, ErrorKind::Invalid(message)));
        }
        // Sparse nested lists of a huge array must not allocate it.
        if end > self.init.len() as u64 + (1 << 20) {
            let message = "initialiser leaves a gap of more than 1 MiB".to_string();
            return Err(Raw::new(pos, ErrorKind::Invalid(message)));
        }
        if self.init.len() < end as usize {
            self.init.resize(end as usize, 0);
        }
        let value = u128::from(bits).to_le_bytes();
        self.init[offset as usize..end as usize].copy_from_slice(&value[..bytes as usize]);
        Ok(())
    }
}

/// The error that a name is not declared.
pub(super) fn unknown(what: &'static str, name: ast::Name<'_>) -> Raw {
    Raw::new(
        name.pos,
        ErrorKind::Unknown {
            what,
            name: name.text.to_string(),
        },
    )
}

/// The bits of a literal in a type. Floating literals convert between single and double; integers are cut.
///
/// # Errors
/// An integer other than 0 where the type is a float: its bits, or its value?
pub(super) fn literal_bits(literal: Literal, ty: ScalarType, pos: Pos) -> Result<u64, Raw> {
    let mask = u64::MAX >> 64u32.saturating_sub(ty.bits());
    Ok(match literal {
        Literal::Int(value) if value != 0 && ty.is_float() => {
            let expected = "a floating-point number, such as `0f3F800000` or `1.0`".to_string();
            return Err(Raw::new(
                pos,
                ErrorKind::Expected {
                    expected,
                    found: "an integer".to_string(),
                },
            ));
        }
        Literal::Int(value) if ty == ScalarType::Pred => u64::from(value != 0),
        Literal::Int(value) => value & mask,
        Literal::Single(bits) if ty.bits() > 32 => f64::from(f32::from_bits(bits)).to_bits(),
        Literal::Single(bits) => u64::from(bits) & mask,
        Literal::Double(bits) if ty.bits() > 32 => bits,
        Literal::Double(bits) => u64::from((f64::from_bits(bits) as f32).to_bits()) & mask,
    })
}
