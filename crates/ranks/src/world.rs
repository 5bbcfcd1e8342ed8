//! The place of this process among those that a launcher started.
//!
//! torchrun's variables tell it: `RANK`, `WORLD_SIZE`, `LOCAL_RANK`, `LOCAL_WORLD_SIZE`,
//! `MASTER_ADDR` and `MASTER_PORT`. Without them, those of a task of Slurm's srun do. For other
//! launchers a script sets torchrun's variables: the page on clusters shows it for mpirun.

use super::address::{Address, derived_port};
use super::error::RanksError;

/// This process among its ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct World {
    /// The number of this process, from 0.
    pub rank: usize,
    /// The number of processes.
    pub ranks: usize,
    /// The number of this process among those of its node, from 0.
    pub local_rank: usize,
    /// The number of processes of its node.
    pub local_ranks: usize,
    /// The launcher's name of this job, if it has one. It keeps ranks of another run away.
    pub job: Option<String>,
    /// Where the ranks meet.
    pub address: Address,
}

/// A variable of the environment; empty ones count as not set.
type Variables<'v> = &'v dyn Fn(&str) -> Option<String>;

/// Names of variables: rank, ranks, rank within the node, ranks of the node.
const TORCHRUN: [&str; 4] = ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"];

/// Those of srun. A batch script, which is one process, has no variables of a step.
const SLURM: [&str; 4] = [
    "SLURM_PROCID",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_LOCALID",
    "SLURM_STEP_TASKS_PER_NODE",
];

impl World {
    /// This process as its launcher's variables tell it; `None` if it is the only one.
    ///
    /// # Errors
    ///
    /// [`RanksError::Variables`], with the names of the variables and a remedy.
    pub fn from_environment() -> Result<Option<World>, RanksError> {
        World::from_variables(&|name| std::env::var(name).ok())
    }

    /// [`World::from_environment`] with any variables.
    ///
    /// # Errors
    ///
    /// As [`World::from_environment`].
    pub fn from_variables(variables: Variables<'_>) -> Result<Option<World>, RanksError> {
        let set = |name: &str| variables(name).filter(|value| !value.is_empty());
        let is_torchrun = set(TORCHRUN[0]).or_else(|| set(TORCHRUN[1])).is_some();
        let names = match (is_torchrun, set(SLURM[1])) {
            (true, _) => TORCHRUN,
            (false, Some(_)) => SLURM,
            (false, None) => return Ok(None),
        };
        let rank = number(&set, names[0])?;
        let ranks = number(&set, names[1])?;
        let local_rank = number(&set, names[2])?;
        let local_ranks = if is_torchrun {
            number(&set, names[3])?
        } else {
            slurm_tasks_of_node(&set)?
        };
        if rank >= ranks || local_rank >= local_ranks {
            return Err(RanksError::Variables(format!(
                "{} is {rank} of {ranks} ({}), and {} is {local_rank} of {local_ranks} ({}): each number must be less \
                 than its count; start this program with a launcher",
                names[0], names[1], names[2], names[3],
            )));
        }
        if ranks == 1 {
            return Ok(None);
        }
        let (job, place) = if is_torchrun {
            torchrun_job(&set)
        } else {
            slurm_job(&set, local_ranks == ranks)
        };
        let address = match (master(&set, job.as_deref())?, place) {
            (Some(address), _) | (None, Some(address)) => address,
            (None, None) => {
                return Err(RanksError::Variables(format!(
                    "nothing tells where {ranks} ranks meet; set MASTER_ADDR to rank 0's host and MASTER_PORT to a free \
                     port"
                )));
            }
        };
        Ok(Some(World {
            rank,
            ranks,
            local_rank,
            local_ranks,
            job,
            address,
        }))
    }
}

/// The job's name, and where its ranks meet by themselves: nowhere, under torchrun's variables.
fn torchrun_job(set: Variables<'_>) -> (Option<String>, Option<Address>) {
    let restart = set("TORCHELASTIC_RESTART_COUNT").unwrap_or_default();
    let job = set("TORCHELASTIC_RUN_ID").map(|id| format!("torchrun {id} {restart}"));
    (job, None)
}

/// The step's name, and where its tasks meet by themselves: on the node of task 0, which is the
/// step's first. `srun` itself may run elsewhere, on a login node.
fn slurm_job(set: Variables<'_>, on_one_node: bool) -> (Option<String>, Option<Address>) {
    let [job, step] = ["SLURM_JOB_ID", "SLURM_STEP_ID"].map(|name| set(name).unwrap_or_default());
    let job = format!("slurm {job}.{step}");
    let host = if on_one_node {
        Some("127.0.0.1".to_owned())
    } else {
        set("SLURM_STEP_NODELIST").and_then(|list| first_host(&list))
    };
    let port = derived_port(&job);
    (Some(job), host.map(|host| Address { host, port }))
}

/// The place to meet that `MASTER_ADDR` and `MASTER_PORT` name, under any launcher.
fn master(set: Variables<'_>, job: Option<&str>) -> Result<Option<Address>, RanksError> {
    let Some(host) = set("MASTER_ADDR") else {
        return Ok(None);
    };
    let port = number(set, "MASTER_PORT")?;
    let port = match u16::try_from(port) {
        Ok(port) if port > 0 => port,
        _ => {
            return Err(RanksError::Variables(format!(
                "MASTER_PORT is {port}; set it to a number from 1 to 65535"
            )));
        }
    };
    // Here torchrun itself listens at that port.
    let is_taken = set("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|value| value == "True");
    let port = if is_taken {
        derived_port(&format!("{} {port}", job.unwrap_or_default()))
    } else {
        port
    };
    Ok(Some(Address { host, port }))
}

/// The number of tasks on this node.
fn slurm_tasks_of_node(set: Variables<'_>) -> Result<usize, RanksError> {
    let node = match set("SLURM_NODEID") {
        Some(_) => number(set, "SLURM_NODEID")?,
        None => 0,
    };
    let list = set(SLURM[3]).unwrap_or_default();
    tasks_of_node(&list, node).ok_or_else(|| {
        RanksError::Variables(format!(
            "{} is `{list}`, which does not tell the tasks of node {node} (SLURM_NODEID); name them as srun does: \
             `2(x3),1`",
            SLURM[3]
        ))
    })
}

/// The first host of a list as Slurm writes it: `gpu[07-12,20],big1`.
pub(super) fn first_host(list: &str) -> Option<String> {
    let mut host = String::new();
    let mut rest = list.trim();
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        match character {
            ',' => break,
            '[' => {
                let (numbers, after) = rest.split_once(']')?;
                host += numbers.split([',', '-']).next()?;
                rest = after;
            }
            _ => host.push(character),
        }
    }
    (!host.is_empty()).then_some(host)
}

/// The tasks of a node in a list as Slurm writes it: `2(x3),1` is three nodes of two and one of
/// one.
pub(super) fn tasks_of_node(list: &str, node: usize) -> Option<usize> {
    let mut first = 0;
    for part in list.split(',') {
        let (tasks, nodes) = match part.trim().split_once("(x") {
            Some((tasks, nodes)) => (tasks, nodes.strip_suffix(')')?.parse().ok()?),
            None => (part.trim(), 1),
        };
        let tasks: usize = tasks.parse().ok()?;
        first = usize::checked_add(first, nodes)?;
        if node < first {
            return Some(tasks);
        }
    }
    None
}

/// The value of a variable that must be set.
fn number(set: Variables<'_>, name: &str) -> Result<usize, RanksError> {
    let Some(text) = set(name) else {
        return Err(RanksError::Variables(format!(
            "{name} is not set, and other variables of the launcher are: start this program with torchrun, srun or \
             `harness launch`, or set it too"
        )));
    };
    text.trim().parse().map_err(|_| {
        RanksError::Variables(format!(
            "{name} is `{text}`; set it to a whole number, or unset it"
        ))
    })
}
