//! A slice that gives each thread of a launch parts of its own, to write without `unsafe`.
//!
//! ```
//! # use cuda_std::prelude::*;
//! #[kernel]
//! pub unsafe fn axpy(a: f32, x: &[f32], y: *mut f32) {
//!     // SAFETY: the host passes as many elements as `x` has, and no other kernel uses them.
//!     let mut y = unsafe { DisjointSlice::<f32>::new(y, x.len()) };
//!     for (i, y) in y.elements() {
//!         *y += a * x[i];
//!     }
//! }
//! ```
//!
//! Tiles of N elements take turns: with n threads in the launch, thread i has the tiles i, i + n,
//! i + 2n and so on. A launch of any shape reaches every tile once, and no two threads share one.
//!
//! [`DisjointMatrix`] is for launches in two dimensions: thread (x, y) has the element (x, y).
//!
//! Both cost each thread about three instructions more than a raw pointer: an element that is not
//! there is a null pointer, which the code compares once more.

use core::marker::PhantomData;

use crate::{UVec2, thread};

/// A slice in tiles of `N` elements. In a launch of n threads, this thread has every n-th tile.
///
/// Elements behind the last whole tile belong to no thread.
#[derive(Debug)]
pub struct DisjointSlice<'a, T, const N: usize = 1> {
    pointer: *mut T,
    len: usize,
    elements: PhantomData<&'a mut [T]>,
}

/// This thread's number in the launch, of any shape, and the number of threads.
#[inline(always)]
fn place() -> (usize, usize) {
    let threads = (thread::block_dim_x() * thread::block_dim_y() * thread::block_dim_z()) as usize;
    let blocks = thread::grid_dim_x() as usize
        * thread::grid_dim_y() as usize
        * thread::grid_dim_z() as usize;
    let block = (thread::block_idx_z() as usize * thread::grid_dim_y() as usize
        + thread::block_idx_y() as usize)
        * thread::grid_dim_x() as usize
        + thread::block_idx_x() as usize;
    (
        block * threads + thread::linear_thread_idx() as usize,
        blocks * threads,
    )
}

impl<'a, T, const N: usize> DisjointSlice<'a, T, N> {
    /// The `len` elements at `pointer`.
    ///
    /// # Safety
    /// - `pointer` is aligned and valid for `len` initialised elements.
    /// - Every thread of the launch makes the slice of the same elements and the same N, once.
    /// - While the slices live, nothing else accesses the elements.
    #[inline(always)]
    pub const unsafe fn new(pointer: *mut T, len: usize) -> Self {
        const { assert!(N > 0, "a tile has elements") };
        Self {
            pointer,
            len,
            elements: PhantomData,
        }
    }

    /// The number of elements, of all threads.
    #[inline(always)]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether the slice is empty.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// This thread's first tile, and the index in the slice of its first element. `None` if the
    /// slice has fewer tiles than this thread's number.
    #[inline(always)]
    pub fn tile(&mut self) -> Option<(usize, &mut [T; N])> {
        self.tiles().next()
    }

    /// All of this thread's tiles, each with the index in the slice of its first element.
    #[inline(always)]
    pub fn tiles(&mut self) -> impl Iterator<Item = (usize, &mut [T; N])> {
        let (first, threads) = place();
        let (pointer, count) = (self.pointer, self.len / N);
        let mut next = first;
        core::iter::from_fn(move || {
            if next >= count {
                return None;
            }
            let start = next * N;
            next += threads;
            // SAFETY: the tile is within the slice. It is this thread's alone, by its number, and
            // the iterator gives it once while it borrows the slice.
            Some((start, unsafe { &mut *pointer.add(start).cast() }))
        })
    }
}

impl<T> DisjointSlice<'_, T> {
    /// This thread's first element, and its index. `None` if the slice has no more elements than
    /// this thread's number.
    #[inline(always)]
    pub fn element(&mut self) -> Option<(usize, &mut T)> {
        self.elements().next()
    }

    /// All of this thread's elements, each with its index.
    #[inline(always)]
    pub fn elements(&mut self) -> impl Iterator<Item = (usize, &mut T)> {
        self.tiles().map(|(i, [element])| (i, element))
    }
}

/// A matrix of rows in memory order, in which thread (x, y) of the launch has element (x, y).
///
/// ```
/// # use cuda_std::{UVec2, prelude::*};
/// # #[kernel]
/// # pub unsafe fn sum(a: &[f32], b: &[f32], c: *mut f32, n_x: u32, n_y: u32) {
/// // SAFETY: the host passes n_x * n_y elements that nothing else uses, and launches 2D blocks.
/// let mut c = unsafe { DisjointMatrix::new(c, n_x, n_y) };
/// if let Some((UVec2 { x, y }, c)) = c.element() {
///     let i = (y * n_x + x) as usize;
///     *c = a[i] + b[i];
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct DisjointMatrix<'a, T> {
    pointer: *mut T,
    n_x: u32,
    n_y: u32,
    elements: PhantomData<&'a mut [T]>,
}

impl<'a, T> DisjointMatrix<'a, T> {
    /// The matrix of `n_y` rows of `n_x` elements at `pointer`.
    ///
    /// # Safety
    /// - `pointer` is aligned and valid for n_x * n_y initialised elements. Their number fits in
    ///   32 bits.
    /// - Grid and blocks of the launch have an extent of 1 along z.
    /// - Every thread of the launch makes the matrix of the same elements and extents, once.
    /// - While the matrices live, nothing else accesses the elements.
    #[inline(always)]
    pub const unsafe fn new(pointer: *mut T, n_x: u32, n_y: u32) -> Self {
        Self {
            pointer,
            n_x,
            n_y,
            elements: PhantomData,
        }
    }

    /// This thread's place in the launch, and the element there. `None` if the place
    /// is beyond the matrix: a grid is made of whole blocks.
    #[inline(always)]
    pub fn element(&mut self) -> Option<(UVec2, &mut T)> {
        let place = thread::index_2d();
        if place.x >= self.n_x || place.y >= self.n_y {
            return None;
        }
        let i = (place.y * self.n_x + place.x) as usize;
        // SAFETY: the element is in the matrix. It is this thread's alone, by its place, and
        // borrows the matrix.
        Some((place, unsafe { &mut *self.pointer.add(i) }))
    }
}
