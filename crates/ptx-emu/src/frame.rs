//! The frame of a function: the row and the file that hold a register or a constant.

use std::collections::HashMap;
use std::sync::Arc;

use ptx::{GlobalId, Reg, RegClass, Space};

use crate::check::race::Strength;
use crate::registers::{ALWAYS, Bases, NEVER, Slot};
use crate::special::Special;

/// A value that is the same row throughout a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Constant {
    Bits(u64),
    Special(Special),
    /// Address of a variable of the module, plus an offset.
    Global(GlobalId, i64),
    /// Start of the running kernel's dynamic shared memory, plus an offset.
    DynamicShared(i64),
    /// Start of the frame's local memory, plus an offset.
    Local(i64),
    /// Start of the frame's parameters, plus an offset.
    FrameParam(i64),
}

/// A function of the module, as far as its calls go.
#[derive(Clone, Debug, Default)]
pub(crate) struct FunctionCode {
    pub(crate) name: Arc<str>,
    pub(crate) is_defined: bool,
    /// Position of the first instruction.
    pub(crate) entry: u32,
    /// Position after the last.
    pub(crate) end: u32,
    /// Rows of each file that a frame takes.
    pub(crate) rows: Bases,
    /// Those of them that are zero at the start of a block, except for constants.
    pub(crate) rows_cleared: Bases,
    /// Rows to fill when a frame is entered, by file and row.
    pub(crate) constants: Vec<(Slot, Constant)>,
    /// The registers, in order of their slots.
    pub(crate) registers: Vec<(Slot, Reg)>,
    pub(crate) local_bytes: u32,
    pub(crate) local_align: u32,
    pub(crate) param_frame_bytes: u32,
    /// Narrowest access to global or shared memory, in bytes.
    pub(crate) narrowest: u32,
    /// Functions that it may call.
    pub(crate) callees: Vec<u32>,
    /// It calls `malloc` or `free`.
    pub(crate) allocates: bool,
    /// Rows of unset bits, to fill when a frame is entered: with ones for `true`, else with zeros.
    pub(crate) shadows: Vec<(Slot, bool)>,
    /// Those of registers that may be unset by what is loaded from shared memory: zeros, unless the
    /// warp is late (`Registers::late`).
    pub(crate) late_shadows: Vec<Slot>,
    /// How its threads may communicate.
    pub(crate) exchange: Exchange,
}

/// How threads may communicate with no barrier between: then their results may depend
/// on the order in which they run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// By memory that the threads of a block share.
    pub(crate) threads: bool,
    /// By memory that the blocks share.
    pub(crate) blocks: bool,
    /// The kinds of updates whose old value no thread reads, a bit each. Those of one kind give the
    /// same in any order.
    pub(crate) silent: u32,
    /// Fences, releases and acquires: beside any update, they order other accesses.
    pub(crate) orders: bool,
    /// Copies in bulk, by the asynchronous proxy.
    pub(crate) bulk: bool,
    /// Asynchronous stores, which only a wait orders before other accesses.
    pub(crate) stores_async: bool,
    /// Reads where it runs, which may change.
    pub(crate) asks_where: bool,
    /// The widths of strong accesses, whose numbers of bytes are the bits.
    widths: u32,
    /// Strong accesses for a part of the threads of a launch.
    has_scopes: bool,
}

impl Exchange {
    /// Notes strong accesses to this space.
    pub(crate) fn note(&mut self, space: Space) {
        let is_own = matches!(space, Space::Local | Space::Param | Space::Const);
        self.threads |= !is_own;
        self.blocks |= matches!(space, Space::Global | Space::Generic);
    }

    /// The exchange of two functions that one launch runs.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            threads: self.threads | other.threads,
            blocks: self.blocks | other.blocks,
            silent: self.silent | other.silent,
            orders: self.orders | other.orders,
            bulk: self.bulk | other.bulk,
            stores_async: self.stores_async | other.stores_async,
            asks_where: self.asks_where | other.asks_where,
            widths: self.widths | other.widths,
            has_scopes: self.has_scopes | other.has_scopes,
        }
    }

    /// Notes how an instruction makes strong accesses.
    pub(crate) fn note_strength(&mut self, strength: Strength) {
        self.widths |= strength.bytes;
        self.has_scopes |= !strength.scope.has_blocks();
    }

    /// True if two strong accesses may not suit each other.
    pub(crate) fn mixes_strengths(self) -> bool {
        self.has_scopes || self.widths.count_ones() > 1
    }

    /// Counts updates as accesses that others see if they need not give the same in any order,
    /// being of several kinds, or if they may order other accesses.
    pub(crate) fn settled(self) -> Self {
        let is_seen = self.silent.count_ones() > 1 || self.silent != 0 && self.orders;
        Self {
            threads: self.threads | is_seen,
            blocks: self.blocks | is_seen,
            ..self
        }
    }
}

/// An update of memory whose old value a register gets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Returning {
    pub(crate) dst: Slot,
    pub(crate) space: Space,
    /// The kind of update, if those of one kind give the same in any order.
    pub(crate) kind: u32,
}

/// A frame under construction: rows are given out when they are first named.
#[derive(Debug)]
pub(crate) struct FrameBuilder {
    /// The row of each register, by class and slot.
    registers: [Vec<u32>; 4],
    next: Bases,
    constants: HashMap<(RegClass, Constant), u32>,
    /// How often the registers of each row are named, in the files of 32 and of 64 bits.
    named: [Vec<u32>; 2],
}

impl FrameBuilder {
    /// The frame of a function whose parameters lie in these registers: the first rows, so that
    /// callers know them.
    pub(crate) fn new(function: &ptx::Function) -> Self {
        let mut frame = Self {
            registers: Default::default(),
            next: Bases {
                pred: NEVER + 1,
                ..Bases::default()
            },
            constants: HashMap::new(),
            named: Default::default(),
        };
        let params = function.params.iter().chain(&function.returns);
        for register in params.filter_map(|param| param.register) {
            frame.register(register);
        }
        frame
    }

    /// A row that nothing has yet.
    pub(crate) fn next_row(&mut self, class: RegClass) -> u32 {
        let next = match class {
            RegClass::Pred => &mut self.next.pred,
            RegClass::B16 | RegClass::B32 => &mut self.next.r32,
            RegClass::B64 => &mut self.next.r64,
        };
        *next += 1;
        *next - 1
    }

    /// The row of a register.
    pub(crate) fn register(&mut self, Reg { class, slot }: Reg) -> Slot {
        while self.registers[class.index()].len() <= slot as usize {
            let row = self.next_row(class);
            self.registers[class.index()].push(row);
        }
        let row = self.registers[class.index()][slot as usize];
        if class != RegClass::Pred {
            let named = &mut self.named[usize::from(class == RegClass::B64)];
            if named.len() <= row as usize {
                named.resize(row as usize + 1, 0);
            }
            named[row as usize] += 1;
        }
        Slot { class, row }
    }

    /// True if a register is named nowhere but once.
    pub(crate) fn is_named_once(&self, slot: Slot) -> bool {
        let named = &self.named[usize::from(slot.class == RegClass::B64)];
        slot.class != RegClass::Pred && named.get(slot.row as usize) == Some(&1)
    }

    /// The row of a constant that is not a predicate.
    pub(crate) fn constant(&mut self, class: RegClass, value: Constant) -> Slot {
        // One file holds 16 and 32 bits.
        let file = class.max(RegClass::B32);
        let row = match self.constants.get(&(file, value)) {
            Some(row) => *row,
            None => {
                let row = self.next_row(file);
                self.constants.insert((file, value), row);
                row
            }
        };
        Slot { class, row }
    }

    /// The row of a number.
    pub(crate) fn bits(&mut self, class: RegClass, bits: u64) -> Slot {
        match class {
            RegClass::Pred => Slot {
                class,
                row: if bits & 1 == 1 { ALWAYS } else { NEVER },
            },
            _ => self.constant(class, Constant::Bits(bits & class.mask())),
        }
    }

    /// The numbers among the constants until now.
    pub(crate) fn numbers(&self) -> HashMap<Slot, i64> {
        let numbers = self.constants.iter().filter_map(|((class, value), &row)| {
            let Constant::Bits(bits) = *value else {
                return None;
            };
            let number = match class {
                RegClass::B64 => bits as i64,
                _ => i64::from(bits as i32),
            };
            Some((Slot { class: *class, row }, number))
        });
        numbers.collect()
    }

    /// The rows of all constants until now, predicates among them.
    pub(crate) fn constant_rows(&self) -> impl Iterator<Item = Slot> {
        let constants = self.constants.iter();
        let rows = constants
            .map(|((class, _), &row)| (*class, row))
            .chain([ALWAYS, NEVER].map(|row| (RegClass::Pred, row)));
        rows.map(|(class, row)| Slot { class, row })
    }

    /// The rows of constants that differ from lane to lane.
    pub(crate) fn lane_rows(&self) -> impl Iterator<Item = Slot> {
        let constants = self.constants.iter();
        constants.filter_map(|(&(class, value), &row)| {
            let Constant::Special(special) = value else {
                return None;
            };
            special.is_of_lane().then_some(Slot { class, row })
        })
    }

    /// Rows of each file until now.
    pub(crate) fn rows(&self) -> Bases {
        self.next
    }

    /// The registers, in order of their slots.
    pub(crate) fn registers(&self) -> Vec<(Slot, Reg)> {
        let mut all = Vec::new();
        for (class, rows) in RegClass::ALL.into_iter().zip(&self.registers) {
            let named = (0..).zip(rows);
            all.extend(named.map(|(slot, &row)| (Slot { class, row }, Reg { class, slot })));
        }
        all.sort_by_key(|(slot, _)| (slot.class, slot.row));
        all
    }

    /// Rows of each file, and the constants in order of file and row.
    pub(crate) fn finish(self) -> (Bases, Vec<(Slot, Constant)>) {
        let mut constants: Vec<_> = self
            .constants
            .into_iter()
            .map(|((class, value), row)| (Slot { class, row }, value))
            .collect();
        constants.sort_by_key(|(slot, _)| (slot.class, slot.row));
        (self.next, constants)
    }
}
