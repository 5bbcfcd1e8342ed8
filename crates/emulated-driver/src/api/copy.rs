//! Copies and fills.

use std::ffi::{c_int, c_uchar, c_uint, c_ushort};

use crate::call::get;
use crate::code::{Code, Outcome};
use crate::driver::between::HostWaits;
use crate::driver::{queue, with};
use crate::objects::Handle;
use crate::objects::copy::{Copy, Fill, Side};
use crate::objects::work::Work;
use crate::settings::Settings;

/// Whether a call returns when its work is done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Returns {
    AtOnce,
    WhenDone,
}

fn submit(stream: Handle, work: Work, returns: Returns) -> Outcome {
    with(|driver| {
        driver.live_context()?;
        let has = |address, bytes| driver.will_have(address, bytes);
        match &work {
            Work::Copy(copy) => copy.check(has),
            Work::Fill(fill) => {
                fill.check(has)?;
                let key = driver.stream(stream)?;
                driver.check_device_of_fill(key, fill)
            }
            _ => Ok(()),
        }
    })?;
    if returns == Returns::AtOnce {
        return queue::submit(stream, work);
    }
    let host_waits = with(|driver| Ok(driver.waits_for(&work)))?;
    if host_waits == HostWaits::UntilStaged {
        queue::finish(stream)?;
    }
    queue::submit(stream, work)?;
    match host_waits {
        HostWaits::UntilDone => queue::finish(stream),
        _ if Settings::get().late.is_some() => Ok(()),
        _ => queue::end(stream).map(|_| ()),
    }
}

/// Copies bytes that lie together, and waits.
pub(crate) fn now(to: Side, from: Side, bytes: usize) -> Outcome {
    submit(0, Work::Copy(Copy::of(to, from, bytes)), Returns::WhenDone)
}

/// Copies between contexts, behind and before everything that they do.
fn between_contexts(copy: Copy) -> Outcome {
    let wait = || {
        queue::run_with_loops(|_| false)?;
        with(|driver| {
            driver.host_waits_for_all();
            Ok(())
        })
    };
    wait()?;
    submit(0, Work::Copy(copy), Returns::WhenDone)?;
    wait()
}

fn later(to: Side, from: Side, bytes: usize, stream: Handle) -> Outcome {
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

/// The kinds of `CUmemorytype`. The fourth is any memory: the address tells.
const HOST: c_uint = 1;
const DEVICE: c_uint = 2;
const ARRAY: c_uint = 3;

/// One side of a copy, from a place in an array on.
fn array_side(array: Handle, x: usize, y: usize, z: usize) -> Outcome<Side> {
    with(|driver| driver.array(array))?.side(x, y, z)
}

/// The beginning of one side of a copy that is not an array, without its pitches.
fn start(memory: c_uint, host: u64, device: u64) -> Side {
    match memory {
        HOST => Side::any(host),
        DEVICE => Side::device(device),
        _ => Side::any(device),
    }
}

impl Copy2D {
    pub(crate) fn work(&self) -> Outcome<Copy> {
        let side = |side: &Side2D| {
            if side.memory == ARRAY {
                return array_side(side.array, side.x, side.y, 0);
            }
            let pitch = match side.pitch {
                0 => self.width,
                pitch => pitch,
            };
            let whole = Side {
                pitch: pitch as u64,
                ..start(side.memory, side.host, side.device)
            };
            whole.at(side.x, side.y, 0)
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
                return array_side(side.array, side.x, side.y, side.z);
            }
            let pitch = or(side.pitch, self.width);
            let layer = pitch.checked_mul(or(side.height, self.height));
            let whole = Side {
                pitch: pitch as u64,
                layer: layer.ok_or(Code::INVALID_VALUE)? as u64,
                ..start(side.memory, side.host, side.device)
            };
            whole.at(side.x, side.y, side.z)
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
    fn cuMemcpy(to: u64, from: u64, bytes: usize) { now(Side::any(to), Side::any(from), bytes) }
    fn cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: Handle) { later(Side::any(to), Side::any(from), bytes, stream) }
    fn cuMemcpyPeer(to: u64, _to_context: Handle, from: u64, _from_context: Handle, bytes: usize) {
        between_contexts(Copy::of(Side::device(to), Side::device(from), bytes))
    }
    fn cuMemcpyPeerAsync(to: u64, _to_context: Handle, from: u64, _from_context: Handle, bytes: usize, stream: Handle) {
        later(Side::device(to), Side::device(from), bytes, stream)
    }
    fn cuMemcpyHtoD(to: u64, from: u64, bytes: usize) { now(Side::device(to), Side::any(from), bytes) }
    fn cuMemcpyHtoD_v2(to: u64, from: u64, bytes: usize) { now(Side::device(to), Side::any(from), bytes) }
    fn cuMemcpyDtoH(to: u64, from: u64, bytes: usize) { now(Side::any(to), Side::device(from), bytes) }
    fn cuMemcpyDtoH_v2(to: u64, from: u64, bytes: usize) { now(Side::any(to), Side::device(from), bytes) }
    fn cuMemcpyDtoD(to: u64, from: u64, bytes: usize) { now(Side::device(to), Side::device(from), bytes) }
    fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) { now(Side::device(to), Side::device(from), bytes) }
    fn cuMemcpyHtoDAsync(to: u64, from: u64, bytes: usize, stream: Handle) { later(Side::device(to), Side::any(from), bytes, stream) }
    fn cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) { later(Side::device(to), Side::any(from), bytes, stream) }
    fn cuMemcpyDtoHAsync(to: u64, from: u64, bytes: usize, stream: Handle) { later(Side::any(to), Side::device(from), bytes, stream) }
    fn cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) { later(Side::any(to), Side::device(from), bytes, stream) }
    fn cuMemcpyDtoDAsync(to: u64, from: u64, bytes: usize, stream: Handle) { later(Side::device(to), Side::device(from), bytes, stream) }
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) { later(Side::device(to), Side::device(from), bytes, stream) }
    fn cuMemcpy2D(copy: *const Copy2D) { submit(0, Work::Copy(get(copy)?.work()?), Returns::WhenDone) }
    fn cuMemcpy2D_v2(copy: *const Copy2D) { submit(0, Work::Copy(get(copy)?.work()?), Returns::WhenDone) }
    fn cuMemcpy2DUnaligned(copy: *const Copy2D) { submit(0, Work::Copy(get(copy)?.work()?), Returns::WhenDone) }
    fn cuMemcpy2DUnaligned_v2(copy: *const Copy2D) { submit(0, Work::Copy(get(copy)?.work()?), Returns::WhenDone) }
    fn cuMemcpy2DAsync(copy: *const Copy2D, stream: Handle) { submit(stream, Work::Copy(get(copy)?.work()?), Returns::AtOnce) }
    fn cuMemcpy2DAsync_v2(copy: *const Copy2D, stream: Handle) { submit(stream, Work::Copy(get(copy)?.work()?), Returns::AtOnce) }
    fn cuMemcpy3D(copy: *const Copy3D) { submit(0, Work::Copy(get(copy)?.work()?), Returns::WhenDone) }
    fn cuMemcpy3D_v2(copy: *const Copy3D) { submit(0, Work::Copy(get(copy)?.work()?), Returns::WhenDone) }
    fn cuMemcpy3DPeer(copy: *const Copy3D) { between_contexts(get(copy)?.work()?) }
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
            later(Side::any(get(to.add(index))?), Side::any(get(from.add(index))?), get(bytes.add(index))?, stream)?;
        }
        Ok(())
    }
}
