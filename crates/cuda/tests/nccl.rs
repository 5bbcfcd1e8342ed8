//! Two GPUs exchange bytes through NCCL, and go on when one of them never does.
//!
//! The GPUs belong to threads of this process: NCCL treats them as it treats those of two
//! processes.
#![cfg(target_os = "linux")]

use std::ffi::c_void;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use cuda::CudaDevice;
use cuda::nccl::{Comm, Nccl, NcclError, UniqueId};
use cust::context::{Context, CurrentContext};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};
use test_support::{Need, skip};

const LONGEST: Duration = Duration::from_secs(60);

/// A GPU with what an exchange needs. Dropped in this order.
struct Gpu {
    sent: DeviceBuffer<u32>,
    received: DeviceBuffer<u32>,
    stream: Stream,
    _context: Context,
}

const LEN: usize = 1 << 20;

impl Gpu {
    /// Makes its context current on this thread.
    fn new(ordinal: usize) -> Gpu {
        let device = cust::device::Device::get_device(ordinal as u32).unwrap();
        let context = Context::new(device).unwrap();
        CurrentContext::set_current(&context).unwrap();
        Gpu {
            sent: DeviceBuffer::from_slice(&numbers(ordinal, 0)).unwrap(),
            received: DeviceBuffer::from_slice(&vec![0; LEN]).unwrap(),
            stream: Stream::new(StreamFlags::NON_BLOCKING, None).unwrap(),
            _context: context,
        }
    }

    fn stream(&self) -> *mut c_void {
        self.stream.as_inner().cast()
    }

    fn exchange(&self, nccl: &Nccl, comm: &Comm, peer: usize) -> Result<(), NcclError> {
        nccl.group(LONGEST, |group| {
            // SAFETY: both buffers have this many bytes, and live until the stream is done; nothing
            // else uses them.
            unsafe {
                let bytes = LEN * 4;
                let address = self.sent.as_device_ptr().as_raw();
                group.send(comm, address, bytes, peer, self.stream())?;
                let target = self.received.as_device_ptr().as_raw();
                group.receive(comm, target, bytes, peer, self.stream())
            }
        })
    }
}

/// Different for each rank and time.
fn numbers(rank: usize, time: usize) -> Vec<u32> {
    let first = (rank * 1000 + time) as u32;
    (0..LEN as u32)
        .map(|place| place.wrapping_mul(2_654_435_761) ^ first)
        .collect()
}

/// NCCL, if there are two GPUs for it.
fn nccl() -> Option<Nccl> {
    let devices = CudaDevice::all().map_or(0, |devices| devices.len());
    if devices < 2 {
        println!("skipped: fewer than two CUDA devices");
        return None;
    }
    match Nccl::open(None) {
        Ok(nccl) => Some(nccl),
        Err(error) => {
            skip(Need::Gpu, error);
            None
        }
    }
}

/// Runs a rank in a thread for each of two GPUs.
fn two(nccl: Nccl, act: impl Fn(usize, &mut Gpu, &Comm) + Sync) {
    let id: UniqueId = nccl.unique_id().unwrap();
    thread::scope(|scope| {
        let shared = &act;
        for rank in 0..2 {
            scope.spawn(move || {
                let mut gpu = Gpu::new(rank);
                let comm = Comm::init(&nccl, 2, rank, &id, LONGEST).unwrap();
                shared(rank, &mut gpu, &comm);
                drop(comm);
            });
        }
    });
}

#[test]
fn two_gpus_exchange_bytes() {
    let Some(nccl) = nccl() else { return };
    println!("NCCL {}", nccl.version());
    two(nccl, |rank, gpu, comm| {
        for time in 0..5 {
            let other = 1 - rank;
            gpu.sent.copy_from(&numbers(rank, time)).unwrap();
            gpu.exchange(&nccl, comm, other).unwrap();
            gpu.stream.synchronize().unwrap();
            comm.check().unwrap();
            let mut got = vec![0; LEN];
            gpu.received.copy_to(&mut got).unwrap();
            assert!(got == numbers(other, time), "rank {rank}, exchange {time}");
        }
    });
}

#[test]
fn a_rank_that_never_sends_hangs_nobody() {
    let Some(nccl) = nccl() else { return };
    let both_done = Barrier::new(2);
    two(nccl, |rank, gpu, comm| {
        gpu.exchange(&nccl, comm, 1 - rank).unwrap();
        gpu.stream.synchronize().unwrap();
        both_done.wait();
        let began = Instant::now();
        if rank == 0 {
            thread::scope(|scope| {
                scope.spawn(|| {
                    thread::sleep(Duration::from_secs(1));
                    comm.abort("rank 1 does not send");
                });
                // Enqueued, or aborted before that: either way it must not hang.
                let enqueued = gpu.exchange(&nccl, comm, 1);
                println!("the exchange without rank 1: {enqueued:?}");
                gpu.stream.synchronize().unwrap();
            });
            let error = comm.check().unwrap_err();
            assert!(matches!(error, NcclError::Aborted { .. }), "{error}");
        } else {
            // As this rank learns it from its session.
            thread::sleep(Duration::from_secs(1));
            comm.abort("it does not send");
        }
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{:?}",
            began.elapsed()
        );
        both_done.wait();
    });
}

#[test]
fn a_rank_that_never_comes_hangs_nobody() {
    let Some(nccl) = nccl() else { return };
    let id = nccl.unique_id().unwrap();
    let _gpu = Gpu::new(0);
    let began = Instant::now();
    let late = Comm::init(&nccl, 2, 0, &id, Duration::from_secs(3)).unwrap_err();
    assert!(matches!(late, NcclError::Late { .. }), "{late}");
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
}
