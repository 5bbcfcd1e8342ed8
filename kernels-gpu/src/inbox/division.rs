//! The division of a field among the blocks of a cluster, for launches that take all timesteps and
//! keep the field in the blocks' registers and shared memory.

/// The largest shared memory of a block on compute capability 9.0.
const MAX_SHARED_MEM_BYTES: usize = 227 << 10;

/// The most blocks of a cluster that any device of compute capability 9.0 allows.
const PORTABLE: u32 = 8;

/// A kernel: name, planes and rows of a thread, the largest number of threads of a block.
pub type Instance = (&'static str, u32, u32, u32);

/// The division of a field into boxes, one per block, and of a box among its threads. Planes are
/// along the field's slowest axis, rows along the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    /// Planes of a thread.
    pub planes: u32,
    /// Rows of a thread.
    pub rows: u32,
    /// The largest numbers of boxes along the planes and along the rows. More than eight in all
    /// need a device that allows it.
    pub boxes: [u32; 2],
}

/// The launch of a field's boxes in one cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boxes {
    /// The kernel.
    pub kernel: &'static str,
    /// Blocks: a box each, those along the rows first.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of shared memory of a block.
    pub shared_mem_bytes: u32,
    /// Planes and rows of a box: multiples of the thread's.
    pub extents: [u32; 2],
}

impl Division {
    /// The boxes of a field of these extents, the slowest axis first, if it fits. Of a box with
    /// some extents, `shared_mem_bytes` says what it needs.
    pub fn of(
        &self,
        instances: &[Instance],
        [planes, rows, points]: [u32; 3],
        shared_mem_bytes: impl Fn([u32; 3]) -> usize,
    ) -> Option<Boxes> {
        let of_thread = |instance: &&Instance| [instance.1, instance.2] == [self.planes, self.rows];
        let &(kernel, _, _, most_threads) = instances.iter().find(of_thread)?;
        let of_box = [
            planes.div_ceil(self.boxes[0]).next_multiple_of(self.planes),
            rows.div_ceil(self.boxes[1]).next_multiple_of(self.rows),
        ];
        let groups = u64::from(of_box[0] / self.planes) * u64::from(of_box[1] / self.rows);
        if groups * u64::from(points) > u64::from(most_threads) {
            return None;
        }
        let bytes = shared_mem_bytes([of_box[0], of_box[1], points]);
        (bytes <= MAX_SHARED_MEM_BYTES).then_some(Boxes {
            kernel,
            blocks: planes.div_ceil(of_box[0]) * rows.div_ceil(of_box[1]),
            threads: (groups as u32 * points).next_multiple_of(32),
            shared_mem_bytes: bytes as u32,
            extents: of_box,
        })
    }

    /// [`Division::of`] by this division, or by the first of the others of at most eight boxes that
    /// the field fits.
    pub fn or_portable(
        self,
        others: impl IntoIterator<Item = Division>,
        instances: &[Instance],
        field: [u32; 3],
        shared_mem_bytes: impl Fn([u32; 3]) -> usize,
    ) -> Option<Boxes> {
        let is_portable = |other: &Division| other.boxes[0] * other.boxes[1] <= PORTABLE;
        let portable = others.into_iter().filter(is_portable);
        let mut divisions = core::iter::once(self).chain(portable);
        divisions.find_map(|division| division.of(instances, field, &shared_mem_bytes))
    }
}
