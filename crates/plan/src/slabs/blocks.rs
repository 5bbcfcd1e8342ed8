//! Fields over several devices in blocks: each device computes some rows of some planes. Seams are shorter than those of slabs, but a row of
//! each plane lies apart from the next, so that a kernel packs the rows of a seam before they are sent.

use std::ops::Range;

use super::{Slabs, common};
use crate::{Arg, BufferId, Part, Plan, PlanError, Rect};

/// How planes and the rows of each are split over devices: device `p * B + r` of A by B has part p of the planes and part r of the
/// rows. Diagonal neighbours exchange nothing: it is for stencils without corners.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocks {
    planes: Slabs,
    rows: Slabs,
}

/// Planes, and rows of each.
type Place = [Range<u64>; 2];

impl Blocks {
    /// Splits planes and rows over devices, A by B of them, as square as possible, A at least B. Of both, `all` are in a field, `computed` are
    /// computed, and a point's next value depends on points up to `halo` away. `place` says in a message where the computed ones are.
    ///
    /// # Errors
    ///
    /// [`PlanError::Unsupported`] for more devices than planes or rows.
    ///
    /// # Panics
    ///
    /// As [`Slabs::new`].
    pub fn new(
        devices: u32,
        all: [u64; 2],
        computed: [&Range<u64>; 2],
        halo: u64,
        place: &str,
    ) -> Result<Blocks, PlanError> {
        let rows = (1..=devices.isqrt())
            .rev()
            .find(|rows| devices.is_multiple_of(*rows));
        let rows = rows.expect("at least one device");
        let parts = [devices / rows, rows];
        let lens = computed.map(|computed| computed.end - computed.start);
        if { parts.iter().zip(lens) }.any(|(&parts, len)| u64::from(parts) > len) {
            return Err(PlanError::unsupported(format!(
                "{devices} devices make {} x {} blocks, of {} planes and {} rows {place}: use fewer",
                parts[0], parts[1], lens[0], lens[1]
            )));
        }
        let split =
            |axis: usize| Slabs::new(parts[axis], all[axis], computed[axis].clone(), halo, place);
        Ok(Blocks {
            planes: split(0)?,
            rows: split(1)?,
        })
    }

    /// The devices: one for each block.
    pub fn devices(&self) -> Range<u32> {
        0..self.planes.devices().end * self.rows.devices().end
    }

    /// Which part of the planes and of the rows a device has.
    fn parts(&self, device: u32) -> [u32; 2] {
        let rows = self.rows.devices().end;
        [device / rows, device % rows]
    }

    fn of(&self, device: u32, range: fn(&Slabs, u32) -> Range<u64>) -> Place {
        let [planes, rows] = self.parts(device);
        [range(&self.planes, planes), range(&self.rows, rows)]
    }

    /// Scatters a buffer whose planes and rows are these blocks': its rows are equal parts of it. A single block is the buffer itself.
    ///
    /// # Errors
    ///
    /// Those of [`Plan::scatter`].
    pub fn scatter(&self, plan: &mut Plan, whole: BufferId) -> Result<BlockField, PlanError> {
        let len = plan.buffer_info(whole)?.len;
        let (planes, rows) = (self.planes.planes, self.rows.planes);
        let row = len / planes / rows;
        let rect = |[planes, rows]: Place| Rect {
            rows: planes,
            columns: rows.start * row..rows.end * row,
        };
        let parts = self.devices().map(|device| Part {
            device,
            holds: rect(self.of(device, Slabs::held)),
            owns: rect(self.of(device, Slabs::owned)),
        });
        let parts: Vec<Part> = parts.collect();
        let parts = match parts.len() {
            1 => vec![whole],
            _ => plan.scatter(whole, rows * row, &parts)?,
        };
        let held = self.devices().map(|device| self.of(device, Slabs::held));
        Ok(BlockField {
            whole,
            row,
            parts,
            held: held.collect(),
        })
    }

    /// Declares what the halos along rows of fields like this are sent through.
    ///
    /// # Errors
    ///
    /// [`PlanError::ForeignBuffer`].
    pub fn row_halos(
        &self,
        plan: &mut Plan,
        field: &BlockField,
    ) -> Result<Vec<RowHalo>, PlanError> {
        let element = plan.buffer_info(field.whole)?.element;
        let mut halos = Vec::new();
        for to in self.devices() {
            for from in self.devices() {
                let [parts, others] = [to, from].map(|device| self.parts(device));
                let rows = common(&self.rows.share(others[1]), &self.rows.held(parts[1]));
                if from == to || others[0] != parts[0] || rows.is_empty() {
                    continue;
                }
                let planes = self.planes.share(parts[0]);
                let plane = (rows.end - rows.start) * field.row;
                let len = ((planes.end - planes.start) * plane) as usize;
                let mut declare = |device, what| {
                    plan.scratch_on(device, format!("{what}.{from}.{to}"), element, len)
                };
                halos.push(RowHalo {
                    from,
                    to,
                    sent: declare(from, "sent"),
                    received: declare(to, "received"),
                    plane,
                    place: [planes, rows],
                });
            }
        }
        Ok(halos)
    }

    /// Records a timestep that writes `field`: what is at the seams first, then the copies to others' halos, then the rest of each block, and
    /// at last the received rows are put in place. `record` records each part of that but the copies.
    ///
    /// # Errors
    ///
    /// Those of `record`, and of [`Plan::copy_range`].
    pub fn step(
        &self,
        plan: &mut Plan,
        field: &BlockField,
        halos: &[RowHalo],
        mut record: impl FnMut(&mut Plan, Work<'_>) -> Result<(), PlanError>,
    ) -> Result<(), PlanError> {
        for device in self.devices() {
            let [part, row_part] = self.parts(device);
            let (inner, share) = (self.planes.interior(part), self.rows.share(row_part));
            let along_planes = self.planes.seams(part).into_iter();
            let along_rows = self.rows.seams(row_part).into_iter();
            let seams = { along_planes.map(|planes| (planes, share.clone())) }
                .chain(along_rows.map(|rows| (inner.clone(), rows)));
            for (planes, rows) in seams.filter(|(planes, _)| !planes.is_empty()) {
                let work = Work::Compute {
                    device,
                    planes,
                    rows,
                };
                record(plan, work)?;
            }
        }
        for halo in halos {
            record(plan, Work::Pack(halo))?;
        }
        plan.independent(|plan| {
            self.exchange_planes(plan, field)?;
            { halos.iter() }.try_for_each(|halo| plan.copy(halo.sent, halo.received))
        })?;
        for device in self.devices() {
            let [planes, rows] = self.of(device, Slabs::interior);
            if !planes.is_empty() && !rows.is_empty() {
                let work = Work::Compute {
                    device,
                    planes,
                    rows,
                };
                record(plan, work)?;
            }
        }
        { halos.iter() }.try_for_each(|halo| record(plan, Work::Unpack(halo)))
    }

    /// Records the copies of planes to those who have them as halo: of each plane the computed rows, which lie together.
    fn exchange_planes(&self, plan: &mut Plan, field: &BlockField) -> Result<(), PlanError> {
        for to in self.devices() {
            for from in self.devices().filter(|&from| from != to) {
                let [parts, others] = [to, from].map(|device| self.parts(device));
                if others[1] != parts[1] {
                    continue;
                }
                let rows = self.rows.share(parts[1]);
                for plane in common(&self.planes.share(others[0]), &self.planes.held(parts[0])) {
                    let place = [plane..plane + 1, rows.clone()];
                    let [src, dst] = [from, to].map(|device| field.place(device, &place));
                    plan.copy_range(src.0, src.1, dst.0, dst.1, src.2)?;
                }
            }
        }
        Ok(())
    }
}

/// A part of a timestep.
#[derive(Debug)]
pub enum Work<'a> {
    /// A device computes these rows of these planes.
    Compute {
        /// Which.
        device: u32,
        /// Planes.
        planes: Range<u64>,
        /// Rows of each.
        rows: Range<u64>,
    },
    /// Rows at a seam go from the field to the buffer that is sent.
    Pack(&'a RowHalo),
    /// The rows that were received go to the field's halo.
    Unpack(&'a RowHalo),
}

/// Rows that one device sends to another in each timestep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowHalo {
    /// Who computes them.
    pub from: u32,
    /// Who has them as halo.
    pub to: u32,
    /// The rows one after the other, plane by plane, on the one device.
    pub sent: BufferId,
    /// The same on the other.
    pub received: BufferId,
    /// Elements of a plane's rows.
    pub plane: u64,
    /// Planes, and rows of each.
    pub place: [Range<u64>; 2],
}

impl RowHalo {
    /// How many planes they are of.
    pub fn planes(&self) -> u64 {
        self.place[0].end - self.place[0].start
    }
}

/// A buffer that is split into blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockField {
    whole: BufferId,
    /// Elements of a row.
    row: u64,
    /// Each device's memory.
    parts: Vec<BufferId>,
    /// Each device's planes and rows.
    held: Vec<Place>,
}

impl BlockField {
    /// The buffer that was scattered, as outputs name it.
    pub fn whole(&self) -> BufferId {
        self.whole
    }

    /// The device's part.
    pub fn part(&self, device: u32) -> BufferId {
        self.parts[device as usize]
    }

    /// Elements from a plane to the next in the device's part.
    pub fn stride(&self, device: u32) -> u64 {
        let [_, rows] = &self.held[device as usize];
        (rows.end - rows.start) * self.row
    }

    /// The device's part from the first of these rows in the first plane to the last row in the last plane as a slice: what a kernel reads,
    /// and what lies between.
    ///
    /// # Panics
    ///
    /// If the device does not hold them.
    pub fn read(&self, device: u32, place: [Range<u64>; 2]) -> Arg {
        let (part, offset, len) = self.place(device, &place);
        part.slice_at(offset, len)
    }

    /// A pointer to the first of these rows in the first plane of the device's part, through which a kernel accesses them, and nothing beyond the
    /// last row in the last plane.
    ///
    /// # Panics
    ///
    /// If the device does not hold them.
    pub fn write(&self, device: u32, place: [Range<u64>; 2]) -> Arg {
        let (part, offset, len) = self.place(device, &place);
        part.range(offset, len)
    }

    /// The device's part, where these rows begin in it, and how many elements there are to the end of the last.
    fn place(&self, device: u32, place: &Place) -> (BufferId, u64, u64) {
        let held = &self.held[device as usize];
        for (some, held) in place.iter().zip(held) {
            assert!(
                held.start <= some.start && some.start < some.end && some.end <= held.end,
                "device {device} holds planes and rows {held:?}, not {place:?}"
            );
        }
        let ([planes, rows], [all_planes, all_rows]) = (place, held);
        let offset = |plane: u64, row: u64| {
            (plane - all_planes.start) * self.stride(device) + (row - all_rows.start) * self.row
        };
        let start = offset(planes.start, rows.start);
        let end = offset(planes.end - 1, rows.end);
        (self.part(device), start, end - start)
    }
}
