//! Copies and fills.

use std::ffi::{c_int, c_uchar, c_uint, c_ushort};

use crate::api::{Handle, Outcome, get};
use crate::array;
use crate::code::Code;
use crate::driver::{Driver, is_device_address, with};
use crate::queue::{self, Work};

/// One side of a copy, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) address: u64,
    /// From a row to the next.
    pub(crate) pitch: u64,
    /// From a layer to the next.
    pub(crate) layer: u64,
}

/// A copy of `depth` layers of `height` rows of `width` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copy {
    pub(crate) from: Side,
    pub(crate) to: Side,
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) depth: u64,
}

impl Copy {
    /// A copy of bytes that lie together.
    pub(crate) fn of(to: u64, from: u64, bytes: usize) -> Copy {
        let side = |address| Side {
            address,
            pitch: 0,
            layer: 0,
        };
        Copy {
            from: side(from),
            to: side(to),
            width: bytes as u64,
            height: 1,
            depth: 1,
        }
    }

    /// The addresses of each row's two sides.
    fn rows(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let Copy {
            from,
            to,
            height,
            depth,
            ..
        } = *self;
        (0..depth).flat_map(move |layer| {
            (0..height).map(move |row| {
                let of = |side: Side| side.address + layer * side.layer + row * side.pitch;
                (of(from), of(to))
            })
        })
    }

    /// Does it.
    ///
    /// # Safety
    ///
    /// Addresses of the host are of memory of the program that it may use for the copy.
    pub(crate) unsafe fn execute(&self, driver: &mut Driver) -> Outcome {
        for (from, to) in self.rows() {
            // SAFETY: the caller promises it.
            unsafe { copy_row(driver, to, from, self.width as usize) }?;
        }
        Ok(())
    }

    /// Checks the device addresses.
    fn check(&self, driver: &Driver) -> Outcome {
        if self.width == 0 {
            return Ok(());
        }
        for (from, to) in self.rows() {
            for address in [from, to] {
                if address == 0 || is_device_address(address) && !driver.has(address, self.width) {
                    return Err(Code::INVALID_VALUE);
                }
            }
        }
        Ok(())
    }
}

impl Driver {
    /// Whether all these bytes lie in one allocation.
    pub(crate) fn has(&self, address: u64, bytes: u64) -> bool {
        self.allocation(address)
            .is_some_and(|(start, known)| bytes <= known.bytes - (address - start))
    }
}

/// # Safety
///
/// As [`Copy::execute`].
unsafe fn copy_row(driver: &mut Driver, to: u64, from: u64, bytes: usize) -> Outcome {
    if bytes == 0 {
        return Ok(());
    }
    let machine = &mut driver.machine;
    let copied = match (is_device_address(to), is_device_address(from)) {
        (true, true) => machine.copy(from, to, bytes),
        // SAFETY: the program's memory may be read.
        (true, false) => machine.write(to, unsafe {
            std::slice::from_raw_parts(from as *const u8, bytes)
        }),
        // SAFETY: the program's memory may be written.
        (false, true) => machine.read(from, unsafe {
            std::slice::from_raw_parts_mut(to as *mut u8, bytes)
        }),
        (false, false) => {
            // SAFETY: both are the program's memory.
            unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) };
            Ok(())
        }
    };
    copied.map_err(|_| Code::ILLEGAL_ADDRESS)
}

/// A fill of `height` rows of `width` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fill {
    pub(crate) to: u64,
    /// Bytes from a row to the next.
    pub(crate) pitch: u64,
    pub(crate) value: u32,
    /// Bytes of an element: 1, 2 or 4.
    pub(crate) element: u64,
    pub(crate) width: u64,
    pub(crate) height: u64,
}

impl Fill {
    /// Does it.
    ///
    /// # Safety
    ///
    /// As [`Copy::execute`].
    pub(crate) unsafe fn execute(&self, driver: &mut Driver) -> Outcome {
        let row = self.value.to_le_bytes()[..self.element as usize].repeat(self.width as usize);
        for number in 0..self.height {
            let to = self.to + number * self.pitch;
            // SAFETY: the row is ours, and the caller promises the rest.
            unsafe { copy_row(driver, to, row.as_ptr() as u64, row.len()) }?;
        }
        Ok(())
    }

    fn check(&self, driver: &Driver) -> Outcome {
        let row = self.width * self.element;
        let is_inside = |number: u64| driver.has(self.to + number * self.pitch, row);
        let is_aligned = matches!(self.element, 1 | 2 | 4) && self.to.is_multiple_of(self.element);
        match is_aligned && (row == 0 || (0..self.height).all(is_inside)) {
            true => Ok(()),
            false => Err(Code::INVALID_VALUE),
        }
    }
}

/// Whether a call returns when its work is done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Returns {
    AtOnce,
    WhenDone,
}

fn submit(stream: Handle, work: Work, returns: Returns) -> Outcome {
    with(|driver| {
        driver.live_context()?;
        match &work {
            Work::Copy(copy) => copy.check(driver),
            Work::Fill(fill) => fill.check(driver),
            _ => Ok(()),
        }
    })?;
    queue::submit(stream, work)?;
    match returns {
        Returns::AtOnce => Ok(()),
        Returns::WhenDone => queue::finish(stream),
    }
}

fn now(to: u64, from: u64, bytes: usize) -> Outcome {
    submit(0, Work::Copy(Copy::of(to, from, bytes)), Returns::WhenDone)
}

fn later(to: u64, from: u64, bytes: usize, stream: Handle) -> Outcome {
    submit(
        stream,
        Work::Copy(Copy::of(to, from, bytes)),
        Returns::AtOnce,
    )
}

fn fill(to: u64, value: u32, element: u64, count: usize, stream: Option<Handle>) -> Outcome {
    fill_rows(to, 0, value, element, (count, 1), stream)
}

fn fill_rows(
    to: u64,
    pitch: usize,
    value: u32,
    element: u64,
    extent: (usize, usize),
    stream: Option<Handle>,
) -> Outcome {
    let work = Work::Fill(Fill {
        to,
        pitch: pitch as u64,
        value,
        element,
        width: extent.0 as u64,
        height: extent.1 as u64,
    });
    match stream {
        Some(stream) => submit(stream, work, Returns::AtOnce),
        None => submit(0, work, Returns::WhenDone),
    }
}

/// One side of `CUDA_MEMCPY2D`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Side2D {
    x: usize,
    y: usize,
    memory: c_uint,
    host: u64,
    device: u64,
    array: Handle,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Copy2D {
    from: Side2D,
    to: Side2D,
    width: usize,
    height: usize,
}

/// One side of `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Side3D {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    memory: c_uint,
    host: u64,
    device: u64,
    array: Handle,
    context: Handle,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Copy3D {
    from: Side3D,
    to: Side3D,
    width: usize,
    height: usize,
    depth: usize,
}

/// The kinds of `CUmemorytype` that are not an address for all.
const HOST: c_uint = 1;
const ARRAY: c_uint = 3;

impl Copy2D {
    pub(crate) fn work(&self) -> Outcome<Copy> {
        let side = |side: &Side2D| {
            if side.memory == ARRAY {
                return array::side(side.array, side.x, side.y, 0);
            }
            let pitch = match side.pitch {
                0 => self.width,
                pitch => pitch,
            };
            let base = if side.memory == HOST {
                side.host
            } else {
                side.device
            };
            Ok(Side {
                address: base + (side.x + side.y * pitch) as u64,
                pitch: pitch as u64,
                layer: 0,
            })
        };
        Ok(Copy {
            from: side(&self.from)?,
            to: side(&self.to)?,
            width: self.width as u64,
            height: self.height as u64,
            depth: 1,
        })
    }
}

impl Copy3D {
    pub(crate) fn work(&self) -> Outcome<Copy> {
        let or = |given: usize, extent: usize| if given == 0 { extent } else { given };
        let side = |side: &Side3D| {
            if side.memory == ARRAY {
                return array::side(side.array, side.x, side.y, side.z);
            }
            let pitch = or(side.pitch, self.width);
            let layer = pitch * or(side.height, self.height);
            let start = side.x + side.y * pitch + side.z * layer;
            let base = if side.memory == HOST {
                side.host
            } else {
                side.device
            };
            Ok(Side {
                address: base + start as u64,
                pitch: pitch as u64,
                layer: layer as u64,
            })
        };
        Ok(Copy {
            from: side(&self.from)?,
            to: side(&self.to)?,
            width: self.width as u64,
            height: self.height as u64,
            depth: self.depth as u64,
        })
    }
}

driver_api! {
    fn cuMemcpy(to: u64, from: u64, bytes: usize) { now(to, from, bytes) }
    fn cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: Handle) { later(to, from, bytes, stream) }
    fn cuMemcpyPeer(to: u64, _to_context: Handle, from: u64, _from_context: Handle, bytes: usize) { now(to, from, bytes) }
    fn cuMemcpyPeerAsync(to: u64, _to_context: Handle, from: u64, _from_context: Handle, bytes: usize, stream: Handle) {
        later(to, from, bytes, stream)
    }
    fn cuMemcpyHtoD(to: u64, from: u64, bytes: usize) { now(to, from, bytes) }
    fn cuMemcpyHtoD_v2(to: u64, from: u64, bytes: usize) { now(to, from, bytes) }
    fn cuMemcpyDtoH(to: u64, from: u64, bytes: usize) { now(to, from, bytes) }
    fn cuMemcpyDtoH_v2(to: u64, from: u64, bytes: usize) { now(to, from, bytes) }
    fn cuMemcpyDtoD(to: u64, from: u64, bytes: usize) { now(to, from, bytes) }
    fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) { now(to, from, bytes) }
    fn cuMemcpyHtoDAsync(to: u64, from: u64, bytes: usize, stream: Handle) { later(to, from, bytes, stream) }
    fn cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) { later(to, from, bytes, stream) }
    fn cuMemcpyDtoHAsync(to: u64, from: u64, bytes: usize, stream: Handle) { later(to, from, bytes, stream) }
    fn cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) { later(to, from, bytes, stream) }
    fn cuMemcpyDtoDAsync(to: u64, from: u64, bytes: usize, stream: Handle) { later(to, from, bytes, stream) }
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) { later(to, from, bytes, stream) }
    fn cuMemcpy2D(copy: *const Copy2D) { submit(0, Work::Copy(get(copy)?.work()?), Returns::WhenDone) }
    fn cuMemcpy2D_v2(copy: *const Copy2D) { submit(0, Work::Copy(get(copy)?.work()?), Returns::WhenDone) }
    fn cuMemcpy2DUnaligned(copy: *const Copy2D) { submit(0, Work::Copy(get(copy)?.work()?), Returns::WhenDone) }
    fn cuMemcpy2DUnaligned_v2(copy: *const Copy2D) { submit(0, Work::Copy(get(copy)?.work()?), Returns::WhenDone) }
    fn cuMemcpy2DAsync(copy: *const Copy2D, stream: Handle) { submit(stream, Work::Copy(get(copy)?.work()?), Returns::AtOnce) }
    fn cuMemcpy2DAsync_v2(copy: *const Copy2D, stream: Handle) { submit(stream, Work::Copy(get(copy)?.work()?), Returns::AtOnce) }
    fn cuMemcpy3D(copy: *const Copy3D) { submit(0, Work::Copy(get(copy)?.work()?), Returns::WhenDone) }
    fn cuMemcpy3D_v2(copy: *const Copy3D) { submit(0, Work::Copy(get(copy)?.work()?), Returns::WhenDone) }
    fn cuMemcpy3DPeer(copy: *const Copy3D) { submit(0, Work::Copy(get(copy)?.work()?), Returns::WhenDone) }
    fn cuMemcpy3DAsync(copy: *const Copy3D, stream: Handle) { submit(stream, Work::Copy(get(copy)?.work()?), Returns::AtOnce) }
    fn cuMemcpy3DAsync_v2(copy: *const Copy3D, stream: Handle) { submit(stream, Work::Copy(get(copy)?.work()?), Returns::AtOnce) }
    fn cuMemcpy3DPeerAsync(copy: *const Copy3D, stream: Handle) { submit(stream, Work::Copy(get(copy)?.work()?), Returns::AtOnce) }
    fn cuMemsetD8(to: u64, value: c_uchar, count: usize) { fill(to, value.into(), 1, count, None) }
    fn cuMemsetD8_v2(to: u64, value: c_uchar, count: usize) { fill(to, value.into(), 1, count, None) }
    fn cuMemsetD16(to: u64, value: c_ushort, count: usize) { fill(to, value.into(), 2, count, None) }
    fn cuMemsetD16_v2(to: u64, value: c_ushort, count: usize) { fill(to, value.into(), 2, count, None) }
    fn cuMemsetD32(to: u64, value: c_uint, count: usize) { fill(to, value, 4, count, None) }
    fn cuMemsetD32_v2(to: u64, value: c_uint, count: usize) { fill(to, value, 4, count, None) }
    fn cuMemsetD8Async(to: u64, value: c_uchar, count: usize, stream: Handle) { fill(to, value.into(), 1, count, Some(stream)) }
    fn cuMemsetD16Async(to: u64, value: c_ushort, count: usize, stream: Handle) { fill(to, value.into(), 2, count, Some(stream)) }
    fn cuMemsetD32Async(to: u64, value: c_uint, count: usize, stream: Handle) { fill(to, value, 4, count, Some(stream)) }
    fn cuMemsetD2D8(to: u64, pitch: usize, value: c_uchar, width: usize, height: usize) { fill_rows(to, pitch, value.into(), 1, (width, height), None) }
    fn cuMemsetD2D8_v2(to: u64, pitch: usize, value: c_uchar, width: usize, height: usize) { fill_rows(to, pitch, value.into(), 1, (width, height), None) }
    fn cuMemsetD2D16(to: u64, pitch: usize, value: c_ushort, width: usize, height: usize) { fill_rows(to, pitch, value.into(), 2, (width, height), None) }
    fn cuMemsetD2D16_v2(to: u64, pitch: usize, value: c_ushort, width: usize, height: usize) { fill_rows(to, pitch, value.into(), 2, (width, height), None) }
    fn cuMemsetD2D32(to: u64, pitch: usize, value: c_uint, width: usize, height: usize) { fill_rows(to, pitch, value, 4, (width, height), None) }
    fn cuMemsetD2D32_v2(to: u64, pitch: usize, value: c_uint, width: usize, height: usize) { fill_rows(to, pitch, value, 4, (width, height), None) }
    fn cuMemsetD2D8Async(to: u64, pitch: usize, value: c_uchar, width: usize, height: usize, stream: Handle) { fill_rows(to, pitch, value.into(), 1, (width, height), Some(stream)) }
    fn cuMemsetD2D16Async(to: u64, pitch: usize, value: c_ushort, width: usize, height: usize, stream: Handle) { fill_rows(to, pitch, value.into(), 2, (width, height), Some(stream)) }
    fn cuMemsetD2D32Async(to: u64, pitch: usize, value: c_uint, width: usize, height: usize, stream: Handle) { fill_rows(to, pitch, value, 4, (width, height), Some(stream)) }
    fn cuMemcpyBatchAsync_v2(to: *const u64, from: *const u64, bytes: *const usize, count: usize, _attributes: *const c_int,
        _indices: *const usize, _attribute_count: usize, stream: Handle) {
        for index in 0..count {
            later(get(to.add(index))?, get(from.add(index))?, get(bytes.add(index))?, stream)?;
        }
        Ok(())
    }
}
