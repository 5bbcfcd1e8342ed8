//! Ranks as threads of one process; `tests/ranks.rs` of this crate has them as processes.

mod lifecycle;
mod variables;

use super::address::derived_port;
use super::hello::{Hello, compare, name_ranks};
use super::world::{first_host, tasks_of_node};
use super::*;

#[test]
fn addresses_are_written_with_their_port() {
    let written = |host: &str| {
        let host = host.to_owned();
        Address { host, port: 29400 }.to_string()
    };
    assert_eq!(written("node7"), "node7:29400");
    assert_eq!(written("fd00::2"), "[fd00::2]:29400");
}

#[test]
fn derived_ports_differ_and_are_not_handed_out_by_the_system() {
    let ports: Vec<u16> = (0..1000)
        .map(|job| derived_port(&format!("slurm {job}.0")))
        .collect();
    assert!(ports.iter().all(|port| (20_000..32_768).contains(port)));
    let different: std::collections::BTreeSet<_> = ports.iter().collect();
    assert!(different.len() > 900, "{}", different.len());
    // Ranks of different builds meet.
    assert_eq!(derived_port("slurm 4711.0"), 22_981);
}

#[test]
fn lists_of_slurm() {
    for (list, first) in [
        ("gnode10", "gnode10"),
        ("gnode[10,20,25,37]", "gnode10"),
        ("gpu[07-12,20],big1", "gpu07"),
        ("rack[1-2]node[03-04]", "rack1node03"),
        ("n[1-4]-ib,m2", "n1-ib"),
        ("a,b[1-2]", "a"),
    ] {
        assert_eq!(first_host(list).as_deref(), Some(first), "{list}");
    }
    for list in ["", "a[1", ","] {
        assert_eq!(first_host(list), None, "{list}");
    }
    let tasks: Vec<_> = (0..6)
        .map(|node| tasks_of_node("2(x3),1,4", node))
        .collect();
    assert_eq!(tasks, [Some(2), Some(2), Some(2), Some(1), Some(4), None]);
    assert_eq!(tasks_of_node("two", 0), None);
    assert_eq!(tasks_of_node("2(x", 0), None);
}

#[test]
fn names_of_ranks() {
    let named = |ranks: &[usize]| name_ranks(ranks);
    assert_eq!(named(&[3]), "rank 3");
    assert_eq!(named(&[0, 1]), "ranks 0 and 1");
    assert_eq!(named(&[0, 1, 2, 3, 7, 9, 10]), "ranks 0 to 3, 7, 9 and 10");
}

fn hello(facts: &[(&str, &str)], gpus: &[&str], machine: &str) -> Hello {
    let facts = facts.iter().fold(
        Hello::new(
            "1.0",
            Vec::new(),
            gpus.iter().map(ToString::to_string).collect(),
        ),
        |hello, (name, value)| hello.fact(name, value),
    );
    Hello {
        host: format!("host-{machine}"),
        machine: machine.to_owned(),
        ..facts
    }
}

#[test]
fn what_differs_is_named_with_its_ranks() {
    let same = hello(&[("lab", "poisson"), ("n", "64")], &[], "a");
    assert_eq!(compare(&[same.clone(), same.clone()]), Ok(()));
    let other = hello(&[("lab", "wave3d"), ("steps", "7")], &[], "a");
    let mut newer = same.clone();
    newer.version = "1.1".to_owned();
    let error = compare(&[same.clone(), other, same, newer]).unwrap_err();
    insta::assert_snapshot!(error, @"the ranks do not run the same: version of the program: 1.0 in ranks 0 to 2, 1.1 in rank 3; lab: poisson in ranks 0, 2 and 3, wave3d in rank 1; n: 64 in ranks 0, 2 and 3, not given in rank 1; steps: not given in ranks 0, 2 and 3, 7 in rank 1; start all with the same program and arguments");
}

#[test]
fn a_gpu_belongs_to_one_rank() {
    let first = hello(&[], &["0000:1b:00.0", "0000:1c:00.0"], "a");
    let second = hello(&[], &["0000:1d:00.0", "0000:1c:00.0"], "a");
    let elsewhere = hello(&[], &["0000:1b:00.0", "0000:1c:00.0"], "b");
    assert_eq!(compare(&[first.clone(), elsewhere.clone()]), Ok(()));
    let error = compare(&[elsewhere, first, second]).unwrap_err();
    insta::assert_snapshot!(error, @"ranks 1 and 2 use the same GPU, 0000:1c:00.0 of host-a; start at most as many ranks there as it has GPUs, or show each rank its own with CUDA_VISIBLE_DEVICES");
}
