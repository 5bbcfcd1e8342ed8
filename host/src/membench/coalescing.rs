//! Loads that coalesce against loads that do not: times on a device, sectors counted exactly.

use serde::{Deserialize, Serialize};

use super::error::MembenchError;
use super::problem::{LAB, MemBench, sum};
use device::buffer::{HostBuffer, NamedBuffers};
use device::run::reset;
use device::{Device, DeviceInfo, EmulatedDevice, Options, Sanitize};
use lab::{CaseError, Cpu, LabCase, Variant};
use terminal::progress::Progress;

/// The amounts to load, and the number of repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoalescingOptions {
    /// Elements (u32) of the timed runs.
    pub elements: u32,
    /// Elements of the runs that count sectors: whole tiles of each variant.
    pub counted_elements: u32,
    /// Threads of a block.
    pub block: u32,
    /// Elements that each thread loads in the sweep of strides.
    pub stride_x: u32,
    /// Timed runs; their median counts. One run before them does not count.
    pub samples: u32,
}

/// One way to load, timed and counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoalescingFigure {
    /// A variant of the lab.
    pub variant: String,
    /// Elements that each thread loads.
    pub x: u32,
    /// Median time of a run, by device events; `None` on a device without a meaningful clock.
    pub seconds: Option<f64>,
    /// Bytes of the elements / `seconds`.
    pub bytes_per_s: Option<f64>,
    /// Sectors that the loads of the counted elements touch.
    pub sectors: u64,
    /// The least number of sectors that the same bytes could take.
    pub ideal_sectors: u64,
}

/// The two sweeps.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Coalescing {
    /// Elements of the timed runs.
    pub elements: u32,
    /// `coalesced_load` and `non_coalesced_load` for each number of elements per thread.
    pub by_x: Vec<[CoalescingFigure; 2]>,
    /// By stride in elements: 1 is `coalesced_load`.
    pub by_stride: Vec<(u32, CoalescingFigure)>,
}

/// Elements of a thread.
const XS: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// In elements.
const STRIDES: [u32; 6] = [1, 2, 4, 8, 16, 32];

impl CoalescingOptions {
    /// 1 GiB, or an eighth of the device's memory.
    pub fn for_device(info: &DeviceInfo) -> CoalescingOptions {
        let bytes = info.memory_bytes.unwrap_or(u64::MAX) / 8;
        CoalescingOptions {
            elements: (bytes.min(1 << 30) / 4) as u32,
            counted_elements: 1 << 16,
            block: 256,
            stride_x: 8,
            samples: 7,
        }
    }
}

/// Times and counts both sweeps. The sum of every timed run is compared with the CPU's.
///
/// # Errors
///
/// [`MembenchError`] for options that make no sense, errors of the device, or a wrong sum.
pub fn coalescing(
    device: &dyn Device,
    options: &CoalescingOptions,
    progress: &dyn Progress,
) -> Result<Coalescing, MembenchError> {
    let problem = |elements, x| MemBench::new(elements, x, options.block, 1);
    let inputs = problem(options.elements, 1).map_err(refused)?.inputs()?;
    let counter = EmulatedDevice::new(Options {
        sanitize: Sanitize::NONE,
        ..Options::default()
    });
    let measures = (2 * XS.len() + STRIDES.len()) as u64;
    let mut done = 0;
    let mut measure = |name: &str, x| -> Result<CoalescingFigure, MembenchError> {
        let timed = problem(options.elements, x).map_err(refused)?;
        let counted = problem(options.counted_elements, x).map_err(refused)?;
        let variant = LAB.find(name).map_err(refused)?;
        progress.update(done, measures);
        done += 1;
        let seconds = time(device, &timed, variant, &inputs, options.samples)?;
        let (sectors, ideal_sectors) = sectors(&counter, &counted, variant)?;
        let bytes = 4.0 * f64::from(options.elements);
        Ok(CoalescingFigure {
            variant: name.to_owned(),
            x,
            seconds,
            bytes_per_s: seconds.map(|seconds| bytes / seconds.max(1e-12)),
            sectors,
            ideal_sectors,
        })
    };
    let mut by_x = Vec::new();
    for x in XS {
        let [coalesced, non_coalesced] = ["coalesced_load", "non_coalesced_load"];
        by_x.push([measure(coalesced, x)?, measure(non_coalesced, x)?]);
    }
    let mut by_stride = Vec::new();
    for stride in STRIDES {
        let name = match stride {
            1 => "coalesced_load".to_owned(),
            _ => format!("stride_{stride}"),
        };
        by_stride.push((stride, measure(&name, options.stride_x)?));
    }
    progress.update(measures, measures);
    Ok(Coalescing {
        elements: options.elements,
        by_x,
        by_stride,
    })
}

fn refused(error: CaseError) -> MembenchError {
    MembenchError::Host(error.into())
}

/// Median time of a run, if the device has a clock.
fn time(
    device: &dyn Device,
    problem: &MemBench,
    variant: &Variant,
    inputs: &NamedBuffers,
    samples: u32,
) -> Result<Option<f64>, MembenchError> {
    let plan = variant.record(problem)?;
    let mut session = device.prepare(&variant.module, &plan)?;
    reset(session.as_mut(), &plan, inputs)?;
    let id = plan.find_buffer("sum")?;
    let mut times = Vec::new();
    for sample in 0..=samples {
        session.write(id, &HostBuffer::from(vec![0_u32]))?;
        let timing = session.run()?;
        if sample > 0 {
            times.push(timing.device.map(|time| time.as_secs_f64()));
        }
    }
    let got = session.read(id)?.as_slice::<u32>()?[0];
    let expected = sum(inputs[0].1.as_slice()?, Cpu::Parallel);
    if got != expected {
        return Err(MembenchError::Wrong {
            kernel: plan.kernels()[0].clone(),
            expected: format!("the sum {expected}"),
            got: got.to_string(),
        });
    }
    let times: Option<Vec<f64>> = times.into_iter().collect();
    Ok(times.and_then(|mut times| {
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied()
    }))
}

/// The sectors that the loads touch, and the least possible number.
fn sectors(
    counter: &EmulatedDevice,
    problem: &MemBench,
    variant: &Variant,
) -> Result<(u64, u64), MembenchError> {
    let plan = variant.record(problem)?;
    let mut session = counter.prepare(&variant.module, &plan)?;
    reset(session.as_mut(), &plan, &problem.inputs()?)?;
    session.run()?;
    let loads = session.reports()[0].total.counts.global_loads;
    Ok((loads.sectors, loads.ideal_sectors))
}
