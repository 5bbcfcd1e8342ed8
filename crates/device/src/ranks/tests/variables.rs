//! What launchers set, as they do.

use super::*;

/// Lines `NAME=value`, as `env` writes them.
fn world(lines: &str, setting: Option<&str>) -> Result<Option<World>, RanksError> {
    let find = |name: &str| {
        lines.lines().find_map(|line| {
            let (other, value) = line.trim().split_once('=')?;
            (other == name).then(|| value.to_owned())
        })
    };
    World::from_variables(&find, setting)
}

/// `rank/ranks local_rank/local_ranks rendezvous (job)`.
fn told(lines: &str) -> String {
    match world(lines, None) {
        Ok(None) => "one process".to_owned(),
        Ok(Some(world)) => format!(
            "{}/{} {}/{} {} ({})",
            world.rank,
            world.ranks,
            world.local_rank,
            world.local_ranks,
            world.rendezvous,
            world.job.unwrap_or_default(),
        ),
        Err(error) => error.to_string(),
    }
}

const TORCHRUN: &str = "GROUP_RANK=1
    LOCAL_RANK=1
    LOCAL_WORLD_SIZE=2
    MASTER_ADDR=node7
    MASTER_PORT=29400
    RANK=3
    TORCHELASTIC_MAX_RESTARTS=0
    TORCHELASTIC_RESTART_COUNT=0
    TORCHELASTIC_RUN_ID=none
    WORLD_SIZE=4";

/// `mpirun -n 2` of Open MPI 4.1.4.
const OPEN_MPI: &str = "OMPI_APP_CTX_NUM_PROCS=2
    OMPI_COMM_WORLD_LOCAL_RANK=1
    OMPI_COMM_WORLD_LOCAL_SIZE=2
    OMPI_COMM_WORLD_NODE_RANK=1
    OMPI_COMM_WORLD_RANK=1
    OMPI_COMM_WORLD_SIZE=2
    OMPI_MCA_ess_base_jobid=1987444737
    OMPI_MCA_ess_base_vpid=1
    OMPI_UNIVERSE_SIZE=2
    PMIX_HOSTNAME=vm
    PMIX_NAMESPACE=1987444737
    PMIX_RANK=1";

/// `mpiexec.hydra -n 2` of MPICH 4.0.2.
const HYDRA: &str = "MPIR_CVAR_CH3_INTERFACE_HOSTNAME=vm
    MPI_LOCALNRANKS=2
    MPI_LOCALRANKID=1
    PMI_FD=8
    PMI_RANK=1
    PMI_SIZE=2";

/// A task of `srun -N 4` on four nodes.
const SLURM: &str = "SLURM_JOB_ID=200505
    SLURM_JOB_NODELIST=gnode[10,20,25,37]
    SLURM_LAUNCH_NODE_IPADDR=10.2.40.16
    SLURM_LOCALID=0
    SLURM_NODEID=2
    SLURM_NTASKS=7
    SLURM_PROCID=4
    SLURM_SRUN_COMM_PORT=41353
    SLURM_STEP_ID=3
    SLURM_STEP_NODELIST=gnode[10,20,25,37]
    SLURM_STEP_NUM_TASKS=7
    SLURM_STEP_TASKS_PER_NODE=2(x3),1";

#[test]
fn no_launcher_is_one_process() {
    assert_eq!(told("HOME=/root"), "one process");
    assert_eq!(
        told("MASTER_ADDR=node7\nMASTER_PORT=1\nRANK="),
        "one process"
    );
}

#[test]
fn torchrun() {
    insta::assert_snapshot!(told(TORCHRUN), @"3/4 1/2 tcp://node7:29400 (torchrun none 0)");
    // It keeps the port for itself.
    let taken = format!("{TORCHRUN}\nTORCHELASTIC_USE_AGENT_STORE=True");
    insta::assert_snapshot!(told(&taken), @"3/4 1/2 tcp://node7:20995 (torchrun none 0)");
    let free = format!("{TORCHRUN}\nTORCHELASTIC_USE_AGENT_STORE=False");
    assert_eq!(told(&free), told(TORCHRUN));
}

#[test]
fn open_mpi() {
    insta::assert_snapshot!(told(OPEN_MPI), @"1/2 1/2 tcp://127.0.0.1:32536 (mpirun 1987444737)");
    let several_nodes = OPEN_MPI.replace("WORLD_SIZE=2", "WORLD_SIZE=4");
    insta::assert_snapshot!(told(&several_nodes), @"the launcher does not say where 4 ranks meet; add --rendezvous tcp://HOST:PORT (rank 0's host, a free port) or --rendezvous file:///SHARED/PATH, or set HARNESS_RENDEZVOUS");
    let with_address = format!("{several_nodes}\nMASTER_ADDR=node7\nMASTER_PORT=29400");
    insta::assert_snapshot!(told(&with_address), @"1/4 1/2 tcp://node7:29400 (mpirun 1987444737)");
}

#[test]
fn hydra() {
    insta::assert_snapshot!(told(HYDRA), @"the launcher does not say where 2 ranks meet; add --rendezvous tcp://HOST:PORT (rank 0's host, a free port) or --rendezvous file:///SHARED/PATH, or set HARNESS_RENDEZVOUS");
    let set = format!("{HYDRA}\nHARNESS_RENDEZVOUS=file:///shared/meet");
    insta::assert_snapshot!(told(&set), @"1/2 1/2 file:///shared/meet ()");
    let one = "MPI_LOCALNRANKS=1\nMPI_LOCALRANKID=0\nPMI_RANK=0\nPMI_SIZE=1";
    assert!(told(one).starts_with("0/1 0/1 "), "{}", told(one));
}

#[test]
fn slurm() {
    insta::assert_snapshot!(told(SLURM), @"4/7 0/2 tcp://gnode10:28557 (slurm 200505.3)");
    let one_node = SLURM
        .replace("2(x3),1", "7")
        .replace("SLURM_NODEID=2", "SLURM_NODEID=0");
    insta::assert_snapshot!(told(&one_node), @"4/7 0/7 tcp://127.0.0.1:28557 (slurm 200505.3)");
    let without_list = SLURM.replace("NODELIST", "NO");
    insta::assert_snapshot!(told(&without_list), @"4/7 0/2 tcp://10.2.40.16:28557 (slurm 200505.3)");
    let pmi2 = format!("{SLURM}\nPMI_FD=8\nPMI_RANK=4\nPMI_SIZE=7");
    assert_eq!(told(&pmi2), told(SLURM));
}

#[test]
fn a_batch_script_is_one_process() {
    let batch = "SLURM_JOB_ID=200505\nSLURM_LOCALID=0\nSLURM_NODEID=0\nSLURM_NTASKS=4\nSLURM_PROCID=0\n\
                 SLURM_TASKS_PER_NODE=1(x4)";
    assert_eq!(told(batch), "one process");
    let interactive = SLURM.replace("STEP_ID=3", "STEP_ID=4294967290");
    assert_eq!(told(&interactive), "one process");
}

#[test]
fn the_innermost_launcher_counts() {
    let within_slurm = |launcher: &str| told(&format!("{SLURM}\n{launcher}"));
    assert_eq!(within_slurm(TORCHRUN), told(TORCHRUN));
    assert_eq!(within_slurm(OPEN_MPI), told(OPEN_MPI));
    assert_eq!(within_slurm(HYDRA), told(HYDRA));
}

#[test]
fn the_setting_comes_first() {
    let set = format!("{TORCHRUN}\nHARNESS_RENDEZVOUS=tcp://b:2");
    let flag = world(&set, Some("tcp://c:3")).unwrap().unwrap();
    assert_eq!(flag.rendezvous.to_string(), "tcp://c:3");
    let variable = world(&set, None).unwrap().unwrap();
    assert_eq!(variable.rendezvous.to_string(), "tcp://b:2");
    let error = world(&set, Some("c:3")).unwrap_err();
    insta::assert_snapshot!(error, @"--rendezvous: `c:3` is no rendezvous: write tcp://HOST:PORT or file:///SHARED/PATH");
}

#[test]
fn half_set_variables_are_named() {
    insta::assert_snapshot!(told("RANK=0\nLOCAL_RANK=0"), @"RANK and LOCAL_RANK are set and WORLD_SIZE and LOCAL_WORLD_SIZE not: torchrun and `harness launch` set all four; start this program with a launcher, or unset RANK and LOCAL_RANK");
    insta::assert_snapshot!(told("PMI_RANK=0\nPMI_SIZE=2"), @"PMI_RANK and PMI_SIZE are set and MPI_LOCALRANKID and MPI_LOCALNRANKS not: mpiexec of MPICH and Intel MPI set all four; start this program with a launcher, or unset PMI_RANK and PMI_SIZE");
    insta::assert_snapshot!(told(&SLURM.replace("SLURM_LOCALID", "X")), @"SLURM_STEP_ID is set and SLURM_LOCALID not: srun sets them all; start this program with srun, or unset SLURM_STEP_ID");
    insta::assert_snapshot!(told(&TORCHRUN.replace("MASTER_PORT", "X")), @"MASTER_ADDR is set and MASTER_PORT not: both say where ranks meet; set both or none");
}

#[test]
fn contradictions_are_named() {
    insta::assert_snapshot!(told(&TORCHRUN.replace("RANK=3", "RANK=4")), @"RANK is 4 and WORLD_SIZE is 4: RANK must be less than WORLD_SIZE; start this program with a launcher, or unset both");
    insta::assert_snapshot!(told(&TORCHRUN.replace("RANK=3", "RANK=three")), @"RANK is `three`, which is no whole number; correct or unset it");
    insta::assert_snapshot!(told(&TORCHRUN.replace("WORLD_SIZE=2", "WORLD_SIZE=8")), @"LOCAL_WORLD_SIZE is 8 and WORLD_SIZE is 4: LOCAL_WORLD_SIZE must be at most WORLD_SIZE; start this program with a launcher, or unset both");
    insta::assert_snapshot!(told(&SLURM.replace("2(x3),1", "2(x2)")), @"SLURM_STEP_TASKS_PER_NODE is `2(x2)`, which does not tell the tasks of node 2 (SLURM_NODEID); name them as srun does: `2(x3),1`");
    insta::assert_snapshot!(told(&TORCHRUN.replace("29400", "0")), @"MASTER_PORT is 0, which is no port: set it to a number from 1 to 65535");
}
