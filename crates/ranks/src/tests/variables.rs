//! Variables as launchers set them.

use super::*;

/// Lines `NAME=value`, as `env` writes them.
fn world(lines: &str) -> Result<Option<World>, RanksError> {
    let find = |name: &str| {
        lines.lines().find_map(|line| {
            let (other, value) = line.trim().split_once('=')?;
            (other == name).then(|| value.to_owned())
        })
    };
    World::from_variables(&find)
}

/// `rank/ranks local_rank/local_ranks address (job)`.
fn told(lines: &str) -> String {
    match world(lines) {
        Ok(None) => "one process".to_owned(),
        Ok(Some(world)) => format!(
            "{}/{} {}/{} {} ({})",
            world.rank,
            world.ranks,
            world.local_rank,
            world.local_ranks,
            world.address,
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
    let one = TORCHRUN
        .replace("WORLD_SIZE=4", "WORLD_SIZE=1")
        .replace("RANK=3", "RANK=0");
    assert_eq!(
        told(&one.replace("LOCAL_RANK=1", "LOCAL_RANK=0")),
        "one process"
    );
}

#[test]
fn torchrun() {
    insta::assert_snapshot!(told(TORCHRUN), @"3/4 1/2 node7:29400 (torchrun none 0)");
    // It keeps the port for itself.
    let taken = format!("{TORCHRUN}\nTORCHELASTIC_USE_AGENT_STORE=True");
    insta::assert_snapshot!(told(&taken), @"3/4 1/2 node7:20995 (torchrun none 0)");
    let free = format!("{TORCHRUN}\nTORCHELASTIC_USE_AGENT_STORE=False");
    assert_eq!(told(&free), told(TORCHRUN));
}

/// docs/cluster/plan-mpirun.sbatch sets these in a script around other launchers.
#[test]
fn torchruns_variables_without_torchrun() {
    let set = "RANK=1\nWORLD_SIZE=4\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=2\nMASTER_ADDR=fd00::2\nMASTER_PORT=29400";
    insta::assert_snapshot!(told(set), @"1/4 1/2 [fd00::2]:29400 ()");
}

#[test]
fn slurm() {
    insta::assert_snapshot!(told(SLURM), @"4/7 0/2 gnode10:28557 (slurm 200505.3)");
    let one_node = SLURM
        .replace("2(x3),1", "7")
        .replace("SLURM_NODEID=2", "SLURM_NODEID=0");
    insta::assert_snapshot!(told(&one_node), @"4/7 0/7 127.0.0.1:28557 (slurm 200505.3)");
    let with_address = format!("{SLURM}\nMASTER_ADDR=node7\nMASTER_PORT=29400");
    insta::assert_snapshot!(told(&with_address), @"4/7 0/2 node7:29400 (slurm 200505.3)");
    let without_list = SLURM.replace("NODELIST", "NO");
    insta::assert_snapshot!(told(&without_list), @"nothing tells where 7 ranks meet; set MASTER_ADDR to rank 0's host and MASTER_PORT to a free port");
}

#[test]
fn a_batch_script_is_one_process() {
    let batch = "SLURM_JOB_ID=200505\nSLURM_LOCALID=0\nSLURM_NODEID=0\nSLURM_NTASKS=4\nSLURM_PROCID=0\n\
                 SLURM_TASKS_PER_NODE=1(x4)";
    assert_eq!(told(batch), "one process");
    // The step of an interactive shell is one task.
    let interactive = SLURM
        .replace("TASKS=7", "TASKS=1")
        .replace("PROCID=4", "PROCID=0");
    assert_eq!(told(&interactive), "one process");
}

#[test]
fn torchrun_within_slurm_counts() {
    assert_eq!(told(&format!("{SLURM}\n{TORCHRUN}")), told(TORCHRUN));
}

#[test]
fn half_set_variables_are_named() {
    insta::assert_snapshot!(told("RANK=0\nLOCAL_RANK=0"), @"WORLD_SIZE is not set, and other variables of the launcher are: start this program with torchrun, srun or `harness launch`, or set it too");
    insta::assert_snapshot!(told("WORLD_SIZE=2"), @"RANK is not set, and other variables of the launcher are: start this program with torchrun, srun or `harness launch`, or set it too");
    insta::assert_snapshot!(told(&SLURM.replace("SLURM_LOCALID", "X")), @"SLURM_LOCALID is not set, and other variables of the launcher are: start this program with torchrun, srun or `harness launch`, or set it too");
    insta::assert_snapshot!(told(&TORCHRUN.replace("MASTER_PORT", "X")), @"MASTER_PORT is not set, and other variables of the launcher are: start this program with torchrun, srun or `harness launch`, or set it too");
    insta::assert_snapshot!(told(&TORCHRUN.replace("MASTER", "X")), @"nothing tells where 4 ranks meet; set MASTER_ADDR to rank 0's host and MASTER_PORT to a free port");
}

#[test]
fn contradictions_are_named() {
    insta::assert_snapshot!(told(&TORCHRUN.replace("    RANK=3", "    RANK=4")), @"RANK is 4 of 4 (WORLD_SIZE), and LOCAL_RANK is 1 of 2 (LOCAL_WORLD_SIZE): each number must be less than its count; start this program with a launcher");
    insta::assert_snapshot!(told(&TORCHRUN.replace("RANK=3", "RANK=three")), @"RANK is `three`; set it to a whole number, or unset it");
    insta::assert_snapshot!(told(&SLURM.replace("2(x3),1", "2(x2)")), @"SLURM_STEP_TASKS_PER_NODE is `2(x2)`, which does not tell the tasks of node 2 (SLURM_NODEID); name them as srun does: `2(x3),1`");
    insta::assert_snapshot!(told(&TORCHRUN.replace("29400", "0")), @"MASTER_PORT is 0; set it to a number from 1 to 65535");
}
