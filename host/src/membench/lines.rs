//! Latency of single lines of L2, from every multiprocessor: a map.

use kernels_gpu::membench::lines::ACCESSES_PER_TURN;
use serde::{Deserialize, Serialize};

use super::error::MembenchError;
use crate::kernels::kernels_of;
use device::buffer::Element;
use device::run::reset;
use device::{Device, DeviceInfo};
use plan::{LaunchConfig, Plan, args};

/// The instruction that accesses a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineAccess {
    /// `ld.global.cg`: a copy in the nearer half of L2 may answer.
    Load,
    /// `atom`: done where the line is at home.
    Atomic,
}

impl LineAccess {
    /// Both.
    pub const ALL: [LineAccess; 2] = [LineAccess::Load, LineAccess::Atomic];

    /// The instruction.
    pub const fn name(self) -> &'static str {
        match self {
            LineAccess::Load => "ld.global.cg",
            LineAccess::Atomic => "atom",
        }
    }

    const fn kernel(self) -> &'static str {
        match self {
            LineAccess::Load => "membench_lines_load",
            LineAccess::Atomic => "membench_lines_atomic",
        }
    }
}

/// The lines to access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineOptions {
    /// Blocks of one thread: one for each multiprocessor.
    pub blocks: u32,
    /// Lines.
    pub lines: u32,
    /// The distance of neighbouring lines, a multiple of 8 bytes.
    pub distance_bytes: u32,
    /// Timed accesses of each line from each block, a multiple of 8.
    pub accesses: u32,
    /// Runs; the median of each pair counts. One run before them does not count.
    pub samples: u32,
}

/// The latency of each line from each multiprocessor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LineMap {
    /// How lines were accessed.
    pub access: LineAccess,
    /// The distance of neighbouring lines.
    pub distance_bytes: u32,
    /// For each multiprocessor, in the order of their numbers, the cycles of an access of each
    /// line.
    pub cycles: Vec<Vec<f32>>,
}

impl LineOptions {
    /// A block for each multiprocessor; 128 lines, whose distance of 33 lines spreads them over the
    /// slices.
    pub fn for_device(info: &DeviceInfo) -> LineOptions {
        LineOptions {
            blocks: info.multiprocessors.unwrap_or(1),
            lines: 128,
            distance_bytes: 33 * 128,
            accesses: 64,
            samples: 5,
        }
    }
}

/// Measures the map.
///
/// # Errors
///
/// Errors of the device; [`MembenchError::Wrong`] where an access gave another line's address.
///
/// # Panics
///
/// For no samples, or accesses that are not a multiple of 8.
pub fn lines(
    device: &dyn Device,
    access: LineAccess,
    options: &LineOptions,
) -> Result<LineMap, MembenchError> {
    let LineOptions {
        blocks,
        lines,
        distance_bytes,
        accesses,
        samples,
    } = *options;
    assert!(samples > 0 && accesses.is_multiple_of(ACCESSES_PER_TURN));
    let words = distance_bytes / 8;
    let mut plan = Plan::new(access.kernel());
    let next = plan.buffer("next", Element::U32, lines as usize);
    let chain = plan.scratch("chain", Element::U64, lines as usize * words as usize);
    let cycles = plan.buffer("cycles", Element::U32, (blocks * lines) as usize);
    let [on, strays] =
        ["on", "strays"].map(|name| plan.buffer(name, Element::U32, blocks as usize));
    let config = LaunchConfig::covering(lines, 256)?;
    plan.launch("membench_link", config, args![next.slice(), chain, words])?;
    let args = args![chain, words, lines, accesses, cycles, on, strays];
    plan.launch(access.kernel(), LaunchConfig::new(blocks, 1), args)?;
    for (name, id) in [("cycles", cycles), ("on", on), ("strays", strays)] {
        plan.output(name, id);
    }
    let mut session = device.prepare(&kernels_of("membench"), &plan)?;
    let own: Vec<u32> = (0..lines).collect();
    reset(
        session.as_mut(),
        &plan,
        &vec![("next".to_owned(), own.into())],
    )?;
    let mut all: Vec<Vec<(u32, Vec<f32>)>> = Vec::new();
    for sample in 0..=samples {
        session.run()?;
        let strays = session.read(strays)?;
        let stray: u32 = strays.as_slice::<u32>()?.iter().sum();
        if stray > 0 {
            return Err(MembenchError::Wrong {
                kernel: access.kernel().to_owned(),
                expected: "each line's own address".to_owned(),
                got: format!("another in {stray} cases"),
            });
        }
        if sample > 0 {
            let (cycles, on) = (session.read(cycles)?, session.read(on)?);
            let rows = cycles.as_slice::<u32>()?.chunks(lines as usize);
            let of_access = |count: &u32| *count as f32 / accesses as f32;
            let rows = rows.map(|row| row.iter().map(of_access).collect());
            all.push(on.as_slice::<u32>()?.iter().copied().zip(rows).collect());
        }
    }
    Ok(LineMap {
        access,
        distance_bytes,
        cycles: medians(all.concat(), lines as usize),
    })
}

/// For each multiprocessor, in order, the median of each line over all rows that ran there.
fn medians(mut rows: Vec<(u32, Vec<f32>)>, lines: usize) -> Vec<Vec<f32>> {
    rows.sort_by_key(|(on, _)| *on);
    let of_one = rows.chunk_by(|(a, _), (b, _)| a == b).map(|rows| {
        let median = |line: usize| {
            let mut values: Vec<f32> = rows.iter().map(|(_, row)| row[line]).collect();
            values.sort_by(f32::total_cmp);
            values[values.len() / 2]
        };
        (0..lines).map(median).collect()
    });
    of_one.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::EmulatedDevice;

    #[test]
    fn every_access_gives_its_line() {
        let options = LineOptions {
            blocks: 3,
            lines: 5,
            accesses: 16,
            samples: 2,
            ..LineOptions::for_device(EmulatedDevice::default().info())
        };
        for access in LineAccess::ALL {
            let map = lines(&EmulatedDevice::default(), access, &options).unwrap();
            // Blocks may share a multiprocessor.
            assert!((1..=3).contains(&map.cycles.len()));
            assert!(map.cycles.iter().all(|cycles| cycles.len() == 5));
        }
    }

    #[test]
    fn rows_of_one_multiprocessor_are_one() {
        let rows = vec![
            (7, vec![3.0, 1.0]),
            (2, vec![5.0, 6.0]),
            (7, vec![1.0, 2.0]),
            (7, vec![2.0, 9.0]),
        ];
        assert_eq!(medians(rows, 2), [vec![5.0, 6.0], vec![2.0, 2.0]]);
    }
}
