//! The mapping of elements to threads: of a built-in variant as it states it, of any as it stores.

use serde::Serialize;

use super::MatAdd;
use crate::kernels::kernels_of;
use device::buffer::{Element, HostBuffer};
use device::error::Error;
use device::run;
use device::{Device, EmulatedDevice, Stored};
use lab::{CaseError, LabCase, Variant};
use plan::args;
use plan::{Command, LaunchConfig, Plan};

/// The mappings, by the number that `matadd_check_index` takes. A variant's name begins with its
/// mapping's.
const MAPPINGS: [&str; 4] = [
    "grid2d_block2d",
    "grid1d_block1d",
    "grid2d_block1d",
    "grid_stride",
];

/// The thread that owns each element of a matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexMap {
    /// The kernel's launch configuration.
    pub config: LaunchConfig,
    /// Elements per row.
    pub n_x: u32,
    /// For each element, row by row, the linear index of its thread in the grid: all threads of
    /// block 0 come first.
    pub threads: Vec<u32>,
    /// For each element, the linear index of its block in the grid, x first.
    pub blocks: Vec<u32>,
}

/// The place of an element's thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Owner {
    /// Column and row of the element.
    pub element: [u32; 2],
    /// The launch's number in the plan.
    pub launch: usize,
    /// `blockIdx`, x and y.
    pub block_idx: [u32; 2],
    /// `threadIdx`, x and y.
    pub thread_idx: [u32; 2],
    /// Linear index of the block in the grid.
    pub block: u32,
    /// Linear index of the thread in the grid.
    pub thread: u32,
}

impl IndexMap {
    /// The thread that owns element `i`; elements are numbered row by row.
    ///
    /// # Panics
    ///
    /// If the matrix does not have this element.
    pub fn owner(&self, i: usize) -> Owner {
        let (block, thread) = (self.blocks[i], self.threads[i]);
        let [block_x, block_y, _] = self.config.block;
        let in_block = thread - block * block_x * block_y;
        let along = |linear: u32, extent: u32| [linear % extent, linear / extent];
        Owner {
            element: along(i as u32, self.n_x),
            launch: 0,
            block_idx: along(block, self.config.grid[0]),
            thread_idx: along(in_block, block_x),
            block,
            thread,
        }
    }
}

/// The plan of a kernel that writes the owner of each element in the variant's launch, with outputs
/// `threads` and `blocks`.
///
/// # Errors
///
/// [`Error::Input`] for a matrix that the lab does not allow.
pub fn index_plan(variant: &Variant, n_x: u32, n_y: u32) -> Result<Plan, Error> {
    let problem = MatAdd::new(n_x, n_y, 1)?;
    let added = variant.record(&problem)?;
    let mapping = MAPPINGS
        .iter()
        .position(|name| variant.name.starts_with(name));
    let (Some(mapping), Some(Command::Launch(launch))) = (mapping, added.commands().next()) else {
        return Err(CaseError::unknown("mapping", &variant.name, MAPPINGS).into());
    };
    let mut plan = Plan::new("matadd check_index");
    let [threads, blocks] =
        ["threads", "blocks"].map(|name| plan.buffer(name, Element::U32, problem.elements()));
    plan.launch(
        "matadd_check_index",
        launch.config,
        args![threads, blocks, n_x, n_y, mapping as u32],
    )?;
    plan.output("threads", threads);
    plan.output("blocks", blocks);
    Ok(plan)
}

/// Runs `matadd_check_index` in the variant's launch on a matrix of `n_y` rows of `n_x` elements.
/// The matrix should be small enough to print.
///
/// # Errors
///
/// As [`index_plan`], and the errors of running the plan.
pub fn check_index(
    device: &dyn Device,
    variant: &Variant,
    n_x: u32,
    n_y: u32,
) -> Result<IndexMap, Error> {
    let plan = index_plan(variant, n_x, n_y)?;
    let mut session = device.prepare(&kernels_of("matadd"), &plan)?;
    run::reset(session.as_mut(), &plan, &Vec::new())?;
    session.run()?;
    let mut read = |name: &str| -> Result<Vec<u32>, Error> {
        let buffer: HostBuffer = session.read(plan.find_output(name)?)?;
        Ok(buffer.as_slice::<u32>()?.to_vec())
    };
    let config = match plan.commands().next() {
        Some(Command::Launch(launch)) => launch.config,
        _ => unreachable!("the plan is one launch"),
    };
    Ok(IndexMap {
        config,
        n_x,
        threads: read("threads")?,
        blocks: read("blocks")?,
    })
}

/// The launches of a solution, and of each element of its result, row by row, the thread that
/// stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stores {
    /// The launches, in the plan's order.
    pub configs: Vec<LaunchConfig>,
    /// `None` for an element that no thread stores.
    pub owners: Vec<Option<Owner>>,
}

/// Runs a solution on the emulated device, on a matrix of `n_y` rows of `n_x` elements, and notes
/// which thread stores which element of C.
///
/// # Errors
///
/// [`Error::Input`] for a matrix that the lab does not allow; the errors of recording and running
/// the plan.
pub fn stores(variant: &Variant, n_x: u32, n_y: u32) -> Result<Stores, Error> {
    let problem = MatAdd::new(n_x, n_y, 1)?;
    let plan = variant.record(&problem)?;
    let configs: Vec<LaunchConfig> = plan
        .commands()
        .filter_map(|command| match command {
            Command::Launch(launch) => Some(launch.config),
            _ => None,
        })
        .collect();
    let inputs = problem.inputs()?;
    let stores = EmulatedDevice::default().stores(&variant.module, &plan, &inputs, "c")?;
    let owner = |(i, stored): (u32, Option<Stored>)| {
        let Stored { launch, thread } = stored?;
        let LaunchConfig { grid, block, .. } = configs[launch];
        let linear =
            |[x, y, z]: [u32; 3], [width, height, _]: [u32; 3]| x + width * (y + height * z);
        let in_grid = linear(thread.block, grid);
        Some(Owner {
            element: [i % n_x, i / n_x],
            launch,
            block_idx: [thread.block[0], thread.block[1]],
            thread_idx: [thread.thread[0], thread.thread[1]],
            block: in_grid,
            thread: in_grid * block.iter().product::<u32>() + linear(thread.thread, block),
        })
    };
    let owners = (0..).zip(stores).map(owner).collect();
    Ok(Stores { configs, owners })
}
