//! Fields over several devices in slabs: each device computes some neighbouring planes along the
//! slowest axis, and holds as many planes of its neighbours as a stencil reaches, its halo.
//!
//! A timestep ([`Slabs::step`]) computes the planes at each seam first. It sends those that others
//! have as halo, and computes the rest meanwhile. The rest reads and writes nothing that is being
//! sent or received, as long as launches say what they access ([`Field::read`], [`Field::write`]).
//!
//! ```
//! use plan::{Element, LaunchConfig, Plan, args, slabs::Slabs};
//!
//! let mut plan = Plan::new("two slabs of ten planes").with_available_devices(2);
//! let whole = plan.buffer("u", Element::F64, 10 * 100);
//! let slabs = Slabs::new(plan.available_devices(), 10, 1..9, 1, "between the walls")?;
//! let u = slabs.scatter(&mut plan, whole)?;
//! let whole = plan.scratch("u_next", Element::F64, 10 * 100);
//! let u_next = slabs.scatter(&mut plan, whole)?;
//! slabs.step(&mut plan, &[&u_next], |plan, device, planes| {
//!     let around = planes.start - 1..planes.end + 1;
//!     let args = args![u.read(device, around), u_next.write(device, planes)];
//!     plan.launch("step", LaunchConfig::new(1, 256), args)
//! })?;
//! plan.output("u", u_next.whole());
//! # Ok::<(), plan::PlanError>(())
//! ```

use std::ops::Range;

use crate::{Arg, BufferId, Part, Plan, PlanError, Rect, View};

/// How planes are split over devices, from device 0 on, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slabs {
    planes: u64,
    halo: u64,
    /// The planes beyond its halo that a device holds.
    margin: u64,
    /// The planes that a device computes first at a seam, at least its halo.
    seam: u64,
    /// The planes that each device computes.
    shares: Vec<Range<u64>>,
}

impl Slabs {
    /// Splits the planes of `computed`, which are some of a field's `planes`, as evenly as
    /// possible; a point's next value depends on points up to `halo` planes away. `place` says in a
    /// message where the computed planes are: `between the walls`.
    ///
    /// # Errors
    ///
    /// [`PlanError::Unsupported`] for more devices than planes.
    ///
    /// # Panics
    ///
    /// If `devices` is 0, or `computed` is empty or not among the planes.
    pub fn new(
        devices: u32,
        planes: u64,
        computed: Range<u64>,
        halo: u64,
        place: &str,
    ) -> Result<Slabs, PlanError> {
        assert!(devices > 0 && computed.start < computed.end && computed.end <= planes);
        let (of, len) = (u64::from(devices), computed.end - computed.start);
        if of > len {
            let (are, plural) = if len == 1 { ("is", "") } else { ("are", "s") };
            return Err(PlanError::unsupported(format!(
                "{of} devices need a plane each, and there {are} {len} plane{plural} {place}: use at most {len} device{plural}"
            )));
        }
        Ok(Slabs {
            planes,
            halo,
            margin: 0,
            seam: halo,
            shares: (0..of).map(|number| share(&computed, number, of)).collect(),
        })
    }

    /// Has each device hold `margin` more planes beyond its halo. They keep what they have at the
    /// start: kernels number elements from there, and do not read them.
    pub fn with_margin(self, margin: u64) -> Slabs {
        Slabs { margin, ..self }
    }

    /// Has each device compute a fifth of its slab first at each seam, and not the halo alone.
    /// Kernels that compute planes around theirs again do so less often. The rest hides the copies.
    pub fn with_long_seams(self) -> Slabs {
        let lengths = self.shares.iter().map(|share| share.end - share.start);
        let fifth = lengths.min().unwrap_or(0) / 5;
        let seam = fifth.max(self.halo);
        Slabs { seam, ..self }
    }

    /// The devices: one for each slab.
    pub fn devices(&self) -> Range<u32> {
        0..self.shares.len() as u32
    }

    /// The planes that a device computes.
    pub fn share(&self, device: u32) -> Range<u64> {
        self.shares[device as usize].clone()
    }

    /// The planes that count as the device's: what it computes, and of the planes that are not
    /// computed those before the first slab or after the last.
    pub fn owned(&self, device: u32) -> Range<u64> {
        let Range { start, end } = self.share(device);
        let is_last = device + 1 == self.devices().end;
        let start = if device == 0 { 0 } else { start };
        start..if is_last { self.planes } else { end }
    }

    /// Whose this plane is.
    ///
    /// # Panics
    ///
    /// If the field does not have it.
    pub fn owner(&self, plane: u64) -> u32 {
        let mut devices = self.devices();
        let owner = devices.find(|&device| self.owned(device).contains(&plane));
        owner.expect("a plane of the field")
    }

    /// The planes that a device has in memory: its own, its halo, and a margin.
    pub fn held(&self, device: u32) -> Range<u64> {
        let (share, owned) = (self.share(device), self.owned(device));
        let beside = self.halo + self.margin;
        let start = share.start.saturating_sub(beside);
        let end = (share.end + beside).min(self.planes);
        owned.start.min(start)..owned.end.max(end)
    }

    /// The planes that a device computes first: those at its seams, among them what others have as
    /// halo. In thin slabs, all; in a single one, none.
    pub fn seams(&self, device: u32) -> Vec<Range<u64>> {
        let (share, interior) = (self.share(device), self.interior(device));
        if interior.is_empty() {
            vec![share]
        } else {
            [share.start..interior.start, interior.end..share.end]
                .into_iter()
                .filter(|planes| !planes.is_empty())
                .collect()
        }
    }

    /// The other planes that a device computes. There may be none.
    pub fn interior(&self, device: u32) -> Range<u64> {
        let Range { start, end } = self.share(device);
        let is_last = device + 1 == self.devices().end;
        let first = if device == 0 {
            start
        } else {
            start + self.seam
        };
        let last = if is_last {
            end
        } else {
            end.saturating_sub(self.seam)
        };
        first..last.max(first)
    }

    /// Scatters a buffer whose planes are these slabs': its planes are equal parts of it, be they
    /// planes of points or rows of a table. A single slab is the buffer itself.
    ///
    /// # Errors
    ///
    /// Those of [`Plan::scatter`].
    pub fn scatter(&self, plan: &mut Plan, whole: BufferId) -> Result<Field, PlanError> {
        let len = plan.buffer_info(whole)?.len;
        let pitch = len / self.planes;
        let held = self.devices().map(|device| self.held(device));
        if self.shares.len() == 1 {
            return Ok(Field {
                whole,
                pitch,
                reach: None,
                parts: vec![whole],
                held: held.collect(),
            });
        }
        let rows = |rows| Rect {
            rows,
            columns: 0..pitch,
        };
        let parts: Vec<Part> = self
            .devices()
            .map(|device| Part {
                device,
                holds: rows(self.held(device)),
                owns: rows(self.owned(device)),
            })
            .collect();
        Ok(Field {
            whole,
            pitch,
            reach: None,
            parts: plan.scatter(whole, pitch, &parts)?,
            held: held.collect(),
        })
    }

    /// Records that each device gets a copy of a buffer that lives on device 0, as for a table that
    /// all of them read: their buffers, the first of them the buffer itself.
    ///
    /// # Errors
    ///
    /// Those of [`Plan::copy`].
    pub fn copies(&self, plan: &mut Plan, of: BufferId) -> Result<Vec<BufferId>, PlanError> {
        let buffer = plan.buffer_info(of)?.clone();
        let others: Vec<BufferId> = self
            .devices()
            .skip(1)
            .map(|device| {
                let name = format!("{}.{device}", buffer.name);
                plan.scratch_on(device, name, buffer.element, buffer.len as usize)
            })
            .collect();
        plan.independent(|plan| others.iter().try_for_each(|&copy| plan.copy(of, copy)))?;
        Ok([of].into_iter().chain(others).collect())
    }

    /// Records a timestep that writes `fields`: `launch` computes some planes on a device.
    ///
    /// The planes at the seams come first, then the copies to others' halos, then the rest of each
    /// slab.
    ///
    /// # Errors
    ///
    /// Those of `launch`, and of [`Plan::copy_range`].
    pub fn step(
        &self,
        plan: &mut Plan,
        fields: &[&Field],
        mut launch: impl FnMut(&mut Plan, u32, Range<u64>) -> Result<(), PlanError>,
    ) -> Result<(), PlanError> {
        for device in self.devices() {
            for planes in self.seams(device) {
                launch(plan, device, planes)?;
            }
        }
        self.exchange(plan, fields)?;
        for device in self.devices() {
            let interior = self.interior(device);
            if !interior.is_empty() {
                launch(plan, device, interior)?;
            }
        }
        Ok(())
    }

    /// Records the copies of computed planes to those who have them as halo. Of a field that
    /// reaches less far, fewer planes are sent.
    ///
    /// # Errors
    ///
    /// Those of [`Plan::copy_range`].
    pub fn exchange(&self, plan: &mut Plan, fields: &[&Field]) -> Result<(), PlanError> {
        plan.independent(|plan| {
            for field in fields {
                for to in self.devices() {
                    for from in self.devices().filter(|&from| from != to) {
                        let reach = field.reach.unwrap_or(self.halo);
                        let Range { start, end } = self.share(to);
                        let needed = start.saturating_sub(reach)..end + reach;
                        let planes = common(&self.share(from), &needed);
                        let [src, dst] = [from, to].map(|device| field.place(device, &planes));
                        plan.copy_range(src.0, src.1, dst.0, dst.1, src.2)?;
                    }
                }
            }
            Ok(())
        })
    }
}

/// A buffer that is split into slabs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    whole: BufferId,
    /// Elements of a plane.
    pitch: u64,
    /// The planes beside a slab that its device needs, if they are fewer than the halo.
    reach: Option<u64>,
    /// Each device's memory.
    parts: Vec<BufferId>,
    /// Each device's planes.
    held: Vec<Range<u64>>,
}

impl Field {
    /// The buffer that was scattered, as outputs name it.
    pub fn whole(&self) -> BufferId {
        self.whole
    }

    /// Says that a point's next value depends on points of this field at most `planes` planes away,
    /// fewer than the slabs' halo.
    pub fn reaching(&self, planes: u64) -> Field {
        Field {
            reach: Some(planes),
            ..self.clone()
        }
    }

    /// The device's part.
    pub fn part(&self, device: u32) -> BufferId {
        self.parts[device as usize]
    }

    /// These planes of the device's part as a slice: what a kernel reads, and no more.
    ///
    /// # Panics
    ///
    /// If the device does not hold them.
    pub fn read(&self, device: u32, planes: Range<u64>) -> Arg {
        let (part, offset, len) = self.place(device, &planes);
        part.slice_at(offset, len)
    }

    /// A pointer to the first of these planes of the device's part: those that a kernel writes, and
    /// no others.
    ///
    /// # Panics
    ///
    /// If the device does not hold them.
    pub fn write(&self, device: u32, planes: Range<u64>) -> Arg {
        let (part, offset, len) = self.place(device, &planes);
        part.range(offset, len)
    }

    /// The device's part from its start, where a kernel accesses these planes and no others: for
    /// kernels that number elements from there.
    ///
    /// # Panics
    ///
    /// If the device does not hold them.
    pub fn within(&self, device: u32, view: View, planes: Range<u64>) -> Arg {
        let (part, offset, len) = self.place(device, &planes);
        part.within(view, offset, len)
    }

    /// The device's part, where these planes begin in it, and how many elements they have.
    fn place(&self, device: u32, planes: &Range<u64>) -> (BufferId, u64, u64) {
        let held = &self.held[device as usize];
        if planes.is_empty() {
            return (self.part(device), 0, 0);
        }
        assert!(
            held.start <= planes.start && planes.end <= held.end,
            "device {device} holds planes {held:?}, not {planes:?}"
        );
        let offset = (planes.start - held.start) * self.pitch;
        (
            self.part(device),
            offset,
            (planes.end - planes.start) * self.pitch,
        )
    }
}

/// Ranges of at most `most` planes that make up all of these, as equal as possible: for kernels
/// whose numbers do not reach farther.
///
/// # Panics
///
/// If `most` is 0.
pub fn chunks(planes: Range<u64>, most: u64) -> impl Iterator<Item = Range<u64>> {
    let len = planes.end.saturating_sub(planes.start);
    let number = len.div_ceil(most);
    (0..number).map(move |chunk| share(&planes, chunk, number))
}

/// Part `number` of `all` in `of` parts, as even as possible: longer ones come first.
fn share(all: &Range<u64>, number: u64, of: u64) -> Range<u64> {
    let len = all.end - all.start;
    let start = |part: u64| all.start + part * (len / of) + part.min(len % of);
    start(number)..start(number + 1)
}

/// The overlap of two ranges; an empty range if they have none.
fn common(a: &Range<u64>, b: &Range<u64>) -> Range<u64> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}
