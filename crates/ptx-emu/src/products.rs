//! The products of a warpgroup that a warp has started (`wgmma.mma_async`), until it has waited for
//! them.
//!
//! A product is computed where it is started. The part that PTX leaves open until the wait is kept
//! here: the registers that it still writes or reads, so that an access before the wait is a fault,
//! and in `memory::claims` the shared memory that it still reads.
//!
//! Compilers copy accumulators between products, without a wait, and the assembler makes these
//! copies vanish. So a copy (`mov`) does not count as an access: it passes on what is known of its
//! register. They also move the computation of a register past a `wgmma.fence`, which is not a
//! barrier to them, and the assembler keeps it in order. So any fence since the product before is
//! taken for one that orders the registers.

use std::collections::VecDeque;

/// The products of a warp. They are numbered from 1 on, in order.
#[derive(Debug, Default)]
pub(crate) struct Products {
    /// The latest product, and the latest that has been waited for.
    started: u64,
    done: u64,
    /// The latest product of each group that is committed, the oldest first.
    groups: VecDeque<u64>,
    /// The state of each 32-bit row that a product names, or a copy of such a one.
    rows: Vec<Row>,
    /// `wgmma.fence` has been executed since the product before, or the start.
    is_fenced: bool,
    /// Positions of the products that are not waited for, the oldest first.
    places: VecDeque<u32>,
}

/// A row of registers.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    /// The product that writes it.
    result_of: u64,
    /// The product that reads it.
    factor_of: u64,
    /// Written by another instruction since the latest `wgmma.fence`.
    is_fresh: bool,
}

/// The part of a product that a register has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// It gets a part of the result.
    Result,
    /// It holds a part of the factor.
    Factor,
}

impl Products {
    fn row(&self, row: u32) -> Row {
        self.rows.get(row as usize).copied().unwrap_or_default()
    }

    fn row_mut(&mut self, row: u32) -> &mut Row {
        let index = row as usize;
        if self.rows.len() <= index {
            self.rows.resize(index + 1, Row::default());
        }
        &mut self.rows[index]
    }

    /// Starts a product at a position, with these rows; gives its number.
    pub(crate) fn start(&mut self, pc: u32, results: &[u32], factors: &[u32]) -> u64 {
        self.started += 1;
        self.is_fenced = false;
        self.places.push_back(pc);
        let number = self.started;
        for &row in results {
            let row = self.row_mut(row);
            (row.result_of, row.is_fresh) = (number, false);
        }
        for &row in factors {
            self.row_mut(row).factor_of = number;
        }
        number
    }

    /// `wgmma.fence`.
    pub(crate) fn fence(&mut self) {
        self.is_fenced = true;
        self.rows.iter_mut().for_each(|row| row.is_fresh = false);
    }

    /// `wgmma.commit_group`.
    pub(crate) fn commit(&mut self) {
        self.groups.push_back(self.started);
    }

    /// `wgmma.wait_group` until at most `pending` groups are under way; gives the number of the
    /// latest product that is done.
    pub(crate) fn wait(&mut self, pending: u32) -> u64 {
        while self.groups.len() > pending as usize {
            let last = self.groups.pop_front().unwrap_or(self.done);
            self.places.drain(..(last - self.done) as usize);
            self.done = last;
        }
        self.done
    }

    /// A copy of one row to another; `None` for a number.
    pub(crate) fn copy(&mut self, from: Option<u32>, to: u32) {
        *self.row_mut(to) = from.map_or_else(Row::default, |from| Row {
            factor_of: 0,
            ..self.row(from)
        });
    }

    /// Another instruction writes a row.
    pub(crate) fn write(&mut self, row: u32) {
        let row = self.row_mut(row);
        (row.result_of, row.is_fresh) = (0, true);
    }

    /// The position of the product that is under way and has a part in a row: one that an access
    /// must wait for.
    pub(crate) fn under_way(&self, row: u32, writes: bool) -> Option<(Part, u32)> {
        let row = self.row(row);
        let (part, number) = match row {
            Row { result_of, .. } if result_of > self.done => (Part::Result, result_of),
            Row { factor_of, .. } if writes && factor_of > self.done => (Part::Factor, factor_of),
            _ => return None,
        };
        let place = self.places.get((number - self.done - 1) as usize)?;
        Some((part, *place))
    }

    /// The number of the latest product; 0 before the first.
    pub(crate) fn started(&self) -> u64 {
        self.started
    }

    /// True if no `wgmma.fence` comes before the first product.
    pub(crate) fn lacks_first_fence(&self) -> bool {
        self.started == 0 && !self.is_fenced
    }

    /// True if a row has been written and no `wgmma.fence` has been executed since the product
    /// before.
    pub(crate) fn is_fresh(&self, row: u32) -> bool {
        !self.is_fenced && self.row(row).is_fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_waited_for_in_order() {
        let mut products = Products::default();
        products.fence();
        products.start(10, &[1, 2], &[3]);
        products.commit();
        products.start(20, &[4], &[3]);
        products.copy(Some(1), 5);
        assert_eq!(products.under_way(5, false), Some((Part::Result, 10)));
        assert_eq!(products.under_way(3, false), None);
        assert_eq!(products.under_way(3, true), Some((Part::Factor, 20)));
        // The second product is in no group yet.
        assert_eq!(products.wait(0), 1);
        assert_eq!(products.under_way(5, true), None);
        assert_eq!(products.under_way(4, false), Some((Part::Result, 20)));
        products.commit();
        assert_eq!((products.wait(1), products.wait(0)), (1, 2));
        assert_eq!(products.under_way(4, true), None);
    }

    #[test]
    fn a_copy_of_a_fresh_row_is_fresh() {
        let mut products = Products::default();
        products.write(1);
        products.copy(Some(1), 2);
        products.copy(None, 1);
        assert!(products.is_fresh(2) && !products.is_fresh(1));
        products.fence();
        assert!(!products.is_fresh(2));
    }
}
