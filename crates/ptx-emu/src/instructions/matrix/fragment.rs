//! Which lane holds which element of a matrix, in which register and where in it.
//!
//! `mma`: as the PTX ISA draws it ("Matrix Fragments for mma"). A register holds elements that are
//! neighbours along k (of `c` and `d`, along n), and the registers of a warp together a tile of 8
//! rows of 4 such groups; a matrix is tiles, of `a` first down, then along k.
//!
//! `wmma`: the ISA leaves it open. Here elements go round the lanes in the order of their rows.

use super::element::Element;
use crate::registers::{LANES, Registers, Slot};

/// The matrices of a product, with their extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    A,
    B,
    /// `c` and `d`.
    Accumulator,
}

/// The extents of a product: `a` is m x k, `b` is k x n, `c` and `d` are m x n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
}

impl Shape {
    /// The shape of a modifier such as `m16n8k16`.
    pub(super) fn named(name: &str) -> Option<Shape> {
        let (m, rest) = name.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some(Shape {
            m: m.parse().ok()?,
            n: n.parse().ok()?,
            k: k.parse().ok()?,
        })
    }

    /// Rows and columns of a matrix.
    pub(super) fn extents(self, role: Role) -> (usize, usize) {
        match role {
            Role::A => (self.m, self.k),
            Role::B => (self.k, self.n),
            Role::Accumulator => (self.m, self.n),
        }
    }
}

/// A matrix in the registers of a warp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment {
    pub(super) role: Role,
    pub(super) element: Element,
    pub(super) shape: Shape,
    /// The layout of `wmma`.
    pub(super) is_wmma: bool,
}

impl Fragment {
    /// Rows and columns.
    pub(super) fn extents(&self) -> (usize, usize) {
        self.shape.extents(self.role)
    }

    /// Elements of each lane, those that are held twice counted once.
    pub(super) fn per_lane(&self) -> usize {
        let (rows, columns) = self.extents();
        rows * columns / LANES
    }

    /// Registers of each lane.
    pub(super) fn registers(&self) -> usize {
        // Of `wmma`, f16 has as many for every shape.
        let is_factor = self.role != Role::Accumulator;
        if self.is_wmma && is_factor && self.element == Element::F16 {
            return 8;
        }
        self.per_lane().div_ceil(self.element.in_register()).max(1)
    }

    /// Row and column of an element of a lane.
    pub(super) fn place(&self, lane: usize, index: usize) -> (usize, usize) {
        let (rows, columns) = self.extents();
        if self.is_wmma {
            let number = index % self.per_lane() * LANES + lane;
            return (number / columns, number % columns);
        }
        let (group, member) = (lane / 4, lane % 4);
        // Accumulators hold pairs of neighbours, in one register or two.
        let width = match self.role {
            Role::Accumulator => 2,
            _ => self.element.in_register(),
        };
        let (tile, inner) = (index / width, index % width);
        let along = member * width + inner;
        let down = rows / 8;
        match self.role {
            Role::A | Role::Accumulator => {
                (group + tile % down * 8, along + tile / down * 4 * width)
            }
            Role::B => (along + tile * 4 * width, group),
        }
    }

    /// The bits of every element, row by row.
    pub(super) fn gather(&self, registers: &Registers, slots: &[Slot], lanes: u32) -> Vec<u64> {
        let (rows, columns) = self.extents();
        let mut bits = vec![0; rows * columns];
        let (width, in_register) = (self.element.bits(), self.element.in_register());
        for lane in crate::registers::lanes(lanes) {
            for index in 0..self.per_lane() {
                let (row, column) = self.place(lane, index);
                let register = registers.lane(slots[index / in_register], lane);
                let value = register >> (width * (index % in_register) as u32);
                bits[row * columns + column] = value & (u64::MAX >> (64 - width));
            }
        }
        bits
    }

    /// Writes every element, given row by row.
    pub(super) fn scatter(
        &self,
        registers: &mut Registers,
        slots: &[Slot],
        lanes: u32,
        bits: &[u64],
    ) {
        let (_, columns) = self.extents();
        let (width, in_register) = (self.element.bits(), self.element.in_register());
        for lane in crate::registers::lanes(lanes) {
            for (number, &slot) in slots.iter().enumerate() {
                let elements = (0..in_register).map(|inner| {
                    let (row, column) = self.place(lane, number * in_register + inner);
                    bits[row * columns + column] << (width * inner as u32)
                });
                let value = elements.fold(0, |all, element| all | element);
                registers.set_lane(slot, lane, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_element_has_one_place() {
        use Element::*;
        for (name, element, is_wmma) in [
            ("m16n8k16", F16, false),
            ("m16n8k8", Bf16, false),
            ("m16n8k4", Tf32, false),
            ("m16n8k8", Tf32, false),
            ("m16n8k32", S8, false),
            ("m8n8k16", U8, false),
            ("m16n8k64", S4, false),
            ("m16n8k256", B1, false),
            ("m8n8k4", F64, false),
            ("m16n8k16", F64, false),
            ("m16n16k16", F16, true),
            ("m32n8k16", F16, true),
            ("m8n32k16", S8, true),
            ("m16n16k8", Tf32, true),
            ("m8n8k4", F64, true),
        ] {
            let shape = Shape::named(name).unwrap();
            for role in [Role::A, Role::B, Role::Accumulator] {
                let fragment = Fragment {
                    role,
                    element: if role == Role::Accumulator {
                        F32
                    } else {
                        element
                    },
                    shape,
                    is_wmma,
                };
                let (rows, columns) = fragment.extents();
                let all: HashSet<_> = (0..LANES)
                    .flat_map(|lane| {
                        (0..fragment.per_lane()).map(move |index| fragment.place(lane, index))
                    })
                    .collect();
                assert_eq!(all.len(), rows * columns, "{name} {role:?}");
                assert!(
                    all.iter()
                        .all(|&(row, column)| row < rows && column < columns)
                );
            }
        }
    }

    #[test]
    fn places_are_those_of_the_isa() {
        let shape = Shape::named("m16n8k16").unwrap();
        let fragment = |role, element| Fragment {
            role,
            element,
            shape,
            is_wmma: false,
        };
        let a = fragment(Role::A, Element::F16);
        // a2 of lane 5 is in row 1 + 8; a4 is 8 columns further than a0.
        assert_eq!(
            [0, 1, 2, 4].map(|i| a.place(5, i)),
            [(1, 2), (1, 3), (9, 2), (1, 10)]
        );
        let b = fragment(Role::B, Element::F16);
        assert_eq!([0, 1, 2].map(|i| b.place(5, i)), [(2, 1), (3, 1), (10, 1)]);
        let c = fragment(Role::Accumulator, Element::F32);
        assert_eq!([0, 1, 2].map(|i| c.place(5, i)), [(1, 2), (1, 3), (9, 2)]);
    }
}
