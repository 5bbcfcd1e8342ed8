//! Who this process is among those that a launcher started.

use super::address::{Rendezvous, derived_port};
use super::error::RanksError;

/// This process among its ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct World {
    /// The number of this process, from 0.
    pub rank: usize,
    /// How many processes there are.
    pub ranks: usize,
    /// The number of this process among those of its node, from 0.
    pub local_rank: usize,
    /// How many processes its node has.
    pub local_ranks: usize,
    /// What the launcher calls this job, if it says so. Keeps ranks of another run away.
    pub job: Option<String>,
    /// Where the ranks meet. Not used if there is one only.
    pub rendezvous: Rendezvous,
}

/// A variable of the environment; empty ones count as not set.
type Variables<'v> = &'v dyn Fn(&str) -> Option<String>;

/// The names of a launcher's variables.
struct Names {
    launcher: &'static str,
    rank: &'static str,
    ranks: &'static str,
    local_rank: &'static str,
    local_ranks: &'static str,
}

/// Those of torchrun, which `harness launch` uses too.
const TORCHRUN: Names = Names {
    launcher: "torchrun and `harness launch`",
    rank: "RANK",
    ranks: "WORLD_SIZE",
    local_rank: "LOCAL_RANK",
    local_ranks: "LOCAL_WORLD_SIZE",
};

const OPEN_MPI: Names = Names {
    launcher: "Open MPI's mpirun",
    rank: "OMPI_COMM_WORLD_RANK",
    ranks: "OMPI_COMM_WORLD_SIZE",
    local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
    local_ranks: "OMPI_COMM_WORLD_LOCAL_SIZE",
};

/// Those of Hydra: MPICH, MVAPICH, Intel MPI.
const HYDRA: Names = Names {
    launcher: "mpiexec of MPICH and Intel MPI",
    rank: "PMI_RANK",
    ranks: "PMI_SIZE",
    local_rank: "MPI_LOCALRANKID",
    local_ranks: "MPI_LOCALNRANKS",
};

const SETTING: &str = "HARNESS_RENDEZVOUS";

/// Step numbers from here on are no steps of `srun`: Slurm uses them for batch scripts and interactive shells.
const FIRST_SPECIAL_STEP: u64 = 0xffff_fff0;

impl World {
    /// This process as its launcher's variables tell it; `None` if there is no launcher. `rendezvous` is the setting of the
    /// command line; without it, `HARNESS_RENDEZVOUS` or what the launcher says is taken.
    ///
    /// # Errors
    ///
    /// [`RanksError::Variables`] or [`RanksError::Rendezvous`], with the names of the variables and a remedy.
    pub fn from_environment(rendezvous: Option<&str>) -> Result<Option<World>, RanksError> {
        World::from_variables(&|name| std::env::var(name).ok(), rendezvous)
    }

    /// [`World::from_environment`] with any variables.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn from_variables(
        variables: Variables<'_>,
        rendezvous: Option<&str>,
    ) -> Result<Option<World>, RanksError> {
        let set = |name: &str| variables(name).filter(|value| !value.is_empty());
        let Some(found) = find(&set)? else {
            return Ok(None);
        };
        let rendezvous = found.rendezvous(&set, rendezvous)?;
        Ok(Some(World {
            rank: found.place.rank,
            ranks: found.place.ranks,
            local_rank: found.place.local_rank,
            local_ranks: found.place.local_ranks,
            job: found.job,
            rendezvous,
        }))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Launcher {
    Torchrun,
    OpenMpi,
    Hydra,
    Slurm,
}

struct Place {
    rank: usize,
    ranks: usize,
    local_rank: usize,
    local_ranks: usize,
}

struct Found {
    launcher: Launcher,
    place: Place,
    job: Option<String>,
}

/// The innermost launcher: mpirun within a Slurm job leaves Slurm's variables as they are.
fn find(set: Variables<'_>) -> Result<Option<Found>, RanksError> {
    let found = |launcher, place, job| {
        Ok(Some(Found {
            launcher,
            place,
            job,
        }))
    };
    if let Some(place) = TORCHRUN.read(set)? {
        let restart = set("TORCHELASTIC_RESTART_COUNT").unwrap_or_default();
        let job = set("TORCHELASTIC_RUN_ID").map(|id| format!("torchrun {id} {restart}"));
        return found(Launcher::Torchrun, place, job);
    }
    if let Some(place) = OPEN_MPI.read(set)? {
        let job = set("PMIX_NAMESPACE").or_else(|| set("OMPI_MCA_ess_base_jobid"));
        return found(
            Launcher::OpenMpi,
            place,
            job.map(|id| format!("mpirun {id}")),
        );
    }
    let slurm = slurm(set)?;
    // `srun --mpi=pmi2` sets the first two of Hydra's variables, to what Slurm's own say.
    let is_hydra = match &slurm {
        Some(found) => set(HYDRA.local_rank).is_some() || !HYDRA.agrees(set, &found.place),
        None => true,
    };
    if is_hydra && let Some(place) = HYDRA.read(set)? {
        return found(Launcher::Hydra, place, None);
    }
    Ok(slurm)
}

impl Names {
    /// The place of this process; `None` if none of the variables is set.
    fn read(&self, set: Variables<'_>) -> Result<Option<Place>, RanksError> {
        let names = [self.rank, self.ranks, self.local_rank, self.local_ranks];
        let missing: Vec<&str> = names
            .into_iter()
            .filter(|name| set(name).is_none())
            .collect();
        if missing.len() == names.len() {
            return Ok(None);
        }
        if !missing.is_empty() {
            let there: Vec<&str> = names
                .into_iter()
                .filter(|name| !missing.contains(name))
                .collect();
            return Err(RanksError::Variables(format!(
                "{} {} set and {} not: {} set all four; start this program with a launcher, or unset {}",
                list(&there),
                is_or_are(there.len()),
                list(&missing),
                self.launcher,
                list(&there),
            )));
        }
        let place = Place {
            rank: number(set, self.rank)?,
            ranks: number(set, self.ranks)?,
            local_rank: number(set, self.local_rank)?,
            local_ranks: number(set, self.local_ranks)?,
        };
        place.check(&names)?;
        Ok(Some(place))
    }

    /// Whether rank and number of ranks, if set, are those of `place`.
    fn agrees(&self, set: Variables<'_>, place: &Place) -> bool {
        [(self.rank, place.rank), (self.ranks, place.ranks)]
            .iter()
            .all(|(name, value)| set(name).is_none_or(|text| text.parse() == Ok(*value)))
    }
}

impl Place {
    /// `names` are those of the variables: rank, ranks, local rank, local ranks.
    fn check(&self, names: &[&str; 4]) -> Result<(), RanksError> {
        let [rank, ranks, local_rank, local_ranks] = *names;
        let wrong = if self.rank >= self.ranks {
            Some(((rank, self.rank), "less than", (ranks, self.ranks)))
        } else if self.local_rank >= self.local_ranks {
            let limit = (local_ranks, self.local_ranks);
            Some(((local_rank, self.local_rank), "less than", limit))
        } else if self.local_ranks > self.ranks {
            let limit = (ranks, self.ranks);
            Some(((local_ranks, self.local_ranks), "at most", limit))
        } else {
            None
        };
        match wrong {
            None => Ok(()),
            Some(((name, value), relation, (limit, bound))) => Err(RanksError::Variables(format!(
                "{name} is {value} and {limit} is {bound}: {name} must be {relation} {limit}; start this program with a \
                 launcher, or unset both",
            ))),
        }
    }
}

/// This process as a task of `srun`. A batch script itself has some of the variables too, and is one process.
fn slurm(set: Variables<'_>) -> Result<Option<Found>, RanksError> {
    let Some(step) = set("SLURM_STEP_ID").or_else(|| set("SLURM_STEPID")) else {
        return Ok(None);
    };
    if step
        .parse::<u64>()
        .is_ok_and(|step| step >= FIRST_SPECIAL_STEP)
    {
        return Ok(None);
    }
    let either = |first: &'static str, second: &'static str| {
        if set(first).is_some() { first } else { second }
    };
    let ranks = either("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS");
    let per_node = either("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE");
    let needed = ["SLURM_PROCID", ranks, "SLURM_LOCALID", per_node];
    let missing: Vec<&str> = needed
        .into_iter()
        .filter(|name| set(name).is_none())
        .collect();
    if !missing.is_empty() {
        return Err(RanksError::Variables(format!(
            "SLURM_STEP_ID is set and {} not: srun sets them all; start this program with srun, or unset SLURM_STEP_ID",
            list(&missing),
        )));
    }
    let node = match set("SLURM_NODEID") {
        Some(_) => number(set, "SLURM_NODEID")?,
        None => 0,
    };
    let text = set(per_node).unwrap_or_default();
    let local_ranks = tasks_of_node(&text, node).ok_or_else(|| {
        RanksError::Variables(format!(
            "{per_node} is `{text}`, which does not tell the tasks of node {node} (SLURM_NODEID); name them as srun does: \
             `2(x3),1`",
        ))
    })?;
    let place = Place {
        rank: number(set, "SLURM_PROCID")?,
        ranks: number(set, ranks)?,
        local_rank: number(set, "SLURM_LOCALID")?,
        local_ranks,
    };
    place.check(&["SLURM_PROCID", ranks, "SLURM_LOCALID", per_node])?;
    let job = set("SLURM_JOB_ID").or_else(|| set("SLURM_JOBID"));
    Ok(Some(Found {
        launcher: Launcher::Slurm,
        place,
        job: job.map(|job| format!("slurm {job}.{step}")),
    }))
}

impl Found {
    fn rendezvous(
        &self,
        set: Variables<'_>,
        setting: Option<&str>,
    ) -> Result<Rendezvous, RanksError> {
        let parse = |name: &str, text: &str| {
            let wrong = |reason| RanksError::Rendezvous(format!("{name}: {reason}"));
            text.parse().map_err(wrong)
        };
        if let Some(text) = setting {
            return parse("--rendezvous", text);
        }
        if let Some(text) = set(SETTING) {
            return parse(SETTING, &text);
        }
        if self.place.ranks == 1 {
            return Ok(local(0));
        }
        if let Some(rendezvous) = self.of_master(set)? {
            return Ok(rendezvous);
        }
        let on_one_node = self.place.local_ranks == self.place.ranks;
        match (self.launcher, &self.job) {
            (Launcher::Slurm, Some(job)) => {
                slurm_host(set, on_one_node).map(|host| Rendezvous::Tcp {
                    host,
                    port: derived_port(job),
                })
            }
            (Launcher::OpenMpi, Some(job)) if on_one_node => Ok(local(derived_port(job))),
            _ => Err(RanksError::Rendezvous(format!(
                "the launcher does not say where {} ranks meet; add --rendezvous tcp://HOST:PORT (rank 0's host, a free \
                 port) or --rendezvous file:///SHARED/PATH, or set {SETTING}",
                self.place.ranks,
            ))),
        }
    }

    /// torchrun's address, which people also set for other launchers.
    fn of_master(&self, set: Variables<'_>) -> Result<Option<Rendezvous>, RanksError> {
        let half = |there: &str, missing: &str| {
            Err(RanksError::Variables(format!(
                "{there} is set and {missing} not: both say where ranks meet; set both or none",
            )))
        };
        let host = match (set("MASTER_ADDR"), set("MASTER_PORT")) {
            (Some(host), Some(_)) => host,
            (Some(_), None) => return half("MASTER_ADDR", "MASTER_PORT"),
            (None, Some(_)) => return half("MASTER_PORT", "MASTER_ADDR"),
            (None, None) => return Ok(None),
        };
        let port = number(set, "MASTER_PORT")?;
        let port = match u16::try_from(port) {
            Ok(port) if port > 0 => port,
            _ => {
                return Err(RanksError::Variables(format!(
                    "MASTER_PORT is {port}, which is no port: set it to a number from 1 to 65535"
                )));
            }
        };
        // Here torchrun itself listens at that port.
        let is_taken = self.launcher == Launcher::Torchrun
            && set("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|value| value == "True");
        let port = match is_taken {
            true => derived_port(&format!("{} {port}", self.job.as_deref().unwrap_or(""))),
            false => port,
        };
        Ok(Some(Rendezvous::Tcp { host, port }))
    }
}

fn local(port: u16) -> Rendezvous {
    Rendezvous::Tcp {
        host: "127.0.0.1".to_owned(),
        port,
    }
}

/// The node of task 0: the step's first. `srun` itself may run elsewhere, on a login node.
fn slurm_host(set: Variables<'_>, on_one_node: bool) -> Result<String, RanksError> {
    if on_one_node {
        return Ok("127.0.0.1".to_owned());
    }
    ["SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"]
        .iter()
        .find_map(|name| set(name))
        .and_then(|list| first_host(&list))
        .or_else(|| set("SLURM_LAUNCH_NODE_IPADDR"))
        .ok_or_else(|| {
            RanksError::Variables(
                "neither SLURM_STEP_NODELIST nor SLURM_LAUNCH_NODE_IPADDR is set, so nothing tells where rank 0 is; add \
                 --rendezvous tcp://HOST:PORT"
                    .to_owned(),
            )
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

/// The tasks of a node in a list as Slurm writes it: `2(x3),1` is three nodes of two and one of one.
pub(super) fn tasks_of_node(list: &str, node: usize) -> Option<usize> {
    let mut first = 0;
    for part in list.split(',') {
        let (tasks, nodes) = match part.trim().split_once("(x") {
            Some((tasks, nodes)) => (tasks, nodes.strip_suffix(')')?.parse().ok()?),
            None => (part.trim(), 1),
        };
        let tasks: usize = tasks.parse().ok()?;
        first += nodes;
        if node < first {
            return Some(tasks);
        }
    }
    None
}

/// The value of a variable that is set.
fn number(set: Variables<'_>, name: &str) -> Result<usize, RanksError> {
    let text = set(name).unwrap_or_default();
    text.trim().parse().map_err(|_| {
        RanksError::Variables(format!(
            "{name} is `{text}`, which is no whole number; correct or unset it"
        ))
    })
}

fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [name] => (*name).to_owned(),
        [names @ .., last] => format!("{} and {last}", names.join(", ")),
    }
}

fn is_or_are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}
