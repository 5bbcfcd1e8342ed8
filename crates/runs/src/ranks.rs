//! Several processes that compute one problem together: their numbers, and their devices.

use std::io::Write;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ::ranks::{Hello, Session, Timeouts, World};
use cuda::{CudaDevice, CudaGroup};
use device::{Device, Error, Module};
use device::{EmulatedDevice, Options, RankedDevice, Sanitize, Share};

use exit::CommandError;
use lab::Variant;
use output_files::digest::sha256;
use output_files::interrupt;
use select::devices::{Gpus, Wanted};

/// This process among those that a launcher started. `None` if it is alone.
///
/// # Errors
///
/// [`CommandError::Input`] for a launcher's variables that are not complete or contradict each
/// other.
pub fn world() -> Result<Option<World>, CommandError> {
    Ok(World::from_environment().map_err(Error::from)?)
}

/// The devices of all processes as one, and the connection between these. Each process has as many
/// devices, one unless `gpus` says otherwise. `facts` must be the same in all of them, as must be
/// the program and its `kernels`.
///
/// # Errors
///
/// GPUs that this node does not have; processes that do not come, differ in a fact, or share a GPU;
/// no NCCL.
pub fn meet(
    world: &World,
    wanted: Wanted,
    gpus: Option<&Gpus>,
    kernels: &Module,
    facts: Vec<(String, String)>,
) -> Result<(Box<dyn Device>, Arc<Session>), CommandError> {
    let is_emulated = wanted == Wanted::EMULATED;
    let own = if is_emulated {
        Vec::new()
    } else {
        own_gpus(world, gpus)?
    };
    let each = match (is_emulated, gpus) {
        (false, _) => own.len() as u32,
        (true, Some(Gpus::Count(count))) => *count,
        (true, None) => 1,
        (true, Some(other)) => {
            return Err(CommandError::Input(format!(
                "--gpus {other}: of the emulated device each process has as many as you like: write how many, as in --gpus 2"
            )));
        }
    };
    let buses = own.iter().filter_map(|gpu| gpu.info().pci_bus_id.clone());
    let hello = Hello::new(&version(kernels), facts, buses.collect())
        .fact("device", if is_emulated { "emulated" } else { "cuda" })
        .fact("devices of each process", each);
    let session = Session::meet(world, &hello, Timeouts::default()).map_err(Error::from)?;
    let first = world.rank as u32 * each;
    let share = Share {
        own: first..first + each,
        all: world.ranks as u32 * each,
    };
    session.on_loss(|why| end_after_grace(why.to_owned()));
    let session = Arc::new(session);
    match devices(own, is_emulated, &share, &session) {
        Ok(own) => {
            let device = RankedDevice::new(own, share, Arc::clone(&session));
            Ok((Box::new(device), session))
        }
        Err(error) => {
            let failure = CommandError::from(error);
            end(session, Err(&failure))?;
            Err(failure)
        }
    }
}

/// The shape of the variant that the first process has chosen: all processes run one plan, and
/// their tables of shapes may differ, as may their GPUs. `own` is this one's choice.
///
/// # Errors
///
/// Another process that failed or died.
pub fn firsts_shape(
    session: &Session,
    variant: &'static Variant,
    own: &'static Variant,
) -> Result<&'static Variant, CommandError> {
    let name = session
        .broadcast(own.name.as_bytes())
        .map_err(Error::from)?;
    let mut shapes = variant.shapes.iter();
    Ok(shapes
        .find(|shape| shape.name.as_bytes() == name)
        .unwrap_or(variant))
}

/// How long a process that is told of a loss may go on with what it is doing.
const GRACE: Duration = Duration::from_secs(3);

/// Ends this program for the loss of a rank, unless it has ended by itself before.
fn end_after_grace(why: String) {
    thread::spawn(move || {
        thread::sleep(GRACE);
        // Standard error may be gone.
        let _ = writeln!(std::io::stderr(), "error: {why}");
        interrupt::end_program(exit::codes::ENVIRONMENT.into());
    });
}

/// This process's devices, as a share of all.
fn devices(
    own: Vec<CudaDevice>,
    is_emulated: bool,
    share: &Share,
    session: &Session,
) -> Result<Box<dyn Device>, Error> {
    if is_emulated {
        let options = Options {
            sanitize: Sanitize::NONE,
            ..Options::default()
        };
        let each = share.own.len();
        let links = share.own.clone().map(|device| {
            let link = session.link(device as usize, each);
            Arc::new(link) as Arc<dyn ::ranks::Link>
        });
        let device = EmulatedDevice::new(options).with_share(share.clone(), links.collect());
        return Ok(Box::new(device));
    }
    let group = CudaGroup::new(own)?.among(share.clone(), session)?;
    Ok(Box::new(group))
}

/// Ends the connection: all processes end well, or all end because of this one's failure.
///
/// # Errors
///
/// [`CommandError::Environment`] if another process failed or died.
pub fn end(session: Arc<Session>, result: Result<(), &CommandError>) -> Result<(), CommandError> {
    let Some(session) = Arc::into_inner(session) else {
        return Err(CommandError::Bug("a device outlives its run".to_owned()));
    };
    match result {
        Ok(()) => Ok(session.end().map_err(Error::from)?),
        Err(failure) => {
            session.fail(&failure.to_string());
            Ok(())
        }
    }
}

/// The program's version, its size, and its kernels: processes with others would compute something
/// else.
fn version(kernels: &Module) -> String {
    let program = std::env::current_exe().and_then(std::fs::metadata);
    let size = program.map_or(0, |data| data.len());
    let kernels = &sha256(kernels.ptx())[..12];
    format!(
        "{} ({size} bytes, kernels {kernels})",
        env!("CARGO_PKG_VERSION")
    )
}

/// The GPUs of this process: those of its node, dealt out in order. Where a scheduler shows each
/// process its own GPUs only, all that it sees.
fn own_gpus(world: &World, gpus: Option<&Gpus>) -> Result<Vec<CudaDevice>, CommandError> {
    let all = CudaDevice::all().map_err(|error| {
        CommandError::Environment(format!(
            "{error}; several processes compute on GPUs, or with --device emulated"
        ))
    })?;
    let numbers = numbers(world, gpus, all.len() as u32).map_err(CommandError::Environment)?;
    let mut all: Vec<Option<CudaDevice>> = all.into_iter().map(Some).collect();
    let own = numbers
        .iter()
        .filter_map(|&number| all.get_mut(number as usize)?.take());
    Ok(own.collect())
}

/// The numbers of this process's GPUs, among the `seen` ones that it sees.
fn numbers(world: &World, gpus: Option<&Gpus>, seen: u32) -> Result<Vec<u32>, String> {
    let (rank, of) = (world.local_rank as u32, world.local_ranks as u32);
    let each = match gpus {
        None => 1,
        Some(Gpus::Count(count)) => *count,
        Some(Gpus::All) => (seen / of).max(1),
        Some(Gpus::List(numbers)) => match numbers.iter().find(|&&number| number >= seen) {
            Some(number) => return Err(format!("--gpus: GPU {number} of {seen}")),
            None => return Ok(numbers.clone()),
        },
    };
    let dealt = rank * each..(rank + 1) * each;
    if dealt.end <= seen {
        Ok(dealt.collect())
    } else if each == seen {
        Ok((0..each).collect())
    } else {
        Err(format!(
            "process {} of {of} on this node is to have {each} GPUs from number {} on, and there are {seen}; start fewer processes, or write a smaller --gpus",
            rank + 1,
            dealt.start
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::ranks::Address;

    #[test]
    fn gpus_of_a_node_are_dealt_out() {
        let of = |local_rank, local_ranks, gpus: Option<&str>, seen| {
            let world = World {
                rank: local_rank,
                ranks: 8,
                local_rank,
                local_ranks,
                job: None,
                address: Address {
                    host: "node7".to_owned(),
                    port: 29400,
                },
            };
            let gpus = gpus.map(|gpus| gpus.parse().unwrap());
            numbers(&world, gpus.as_ref(), seen)
        };
        assert_eq!(of(3, 4, None, 4), Ok(vec![3]));
        assert_eq!(of(1, 2, Some("2"), 4), Ok(vec![2, 3]));
        assert_eq!(of(1, 2, Some("all"), 4), Ok(vec![2, 3]));
        assert_eq!(of(0, 1, Some("all"), 4), Ok(vec![0, 1, 2, 3]));
        assert_eq!(of(1, 2, Some("0,2"), 4), Ok(vec![0, 2]));
        // Each process sees its own.
        assert_eq!(of(3, 4, None, 1), Ok(vec![0]));
        assert_eq!(of(1, 2, Some("2"), 2), Ok(vec![0, 1]));
        insta::assert_snapshot!(of(2, 3, None, 2).unwrap_err(), @"process 3 of 3 on this node is to have 1 GPUs from number 2 on, and there are 2; start fewer processes, or write a smaller --gpus");
        insta::assert_snapshot!(of(0, 1, Some("4,1"), 2).unwrap_err(), @"--gpus: GPU 4 of 2");
    }
}
