//! Ranks as processes: what one's death does to the others.
//!
//! Each is this same program, with its rank in the environment, as a launcher starts it.

use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use ranks::{Hello, Link, Session, Timeouts, World};

/// The variable that tells rank 1 what to do.
const ACT: &str = "RANKS_TEST_ACT";

/// A rank that dies ends all others within this time.
const SOON: Duration = Duration::from_secs(10);

/// Starts `ranks` processes with the test of this name alone.
fn start(test: &str, ranks: usize, act: &str) -> Vec<Child> {
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .unwrap()
        .port();
    let start = |rank: usize| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(ACT, act)
            .env("RANK", rank.to_string())
            .env("LOCAL_RANK", rank.to_string())
            .env("WORLD_SIZE", ranks.to_string())
            .env("LOCAL_WORLD_SIZE", ranks.to_string())
            .env("MASTER_ADDR", "127.0.0.1")
            .env("MASTER_PORT", port.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    (0..ranks).map(start).collect()
}

fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8(both).unwrap()
}

/// The lines with which the ranks other than 1 end, once rank 1 has done `act`.
fn ends(test: &str, act: &str) -> Vec<String> {
    let mut children = start(test, 3, act);
    let first = children.remove(1).wait_with_output().unwrap();
    let began = Instant::now();
    let others: Vec<Output> = children
        .into_iter()
        .map(|child| child.wait_with_output().unwrap())
        .collect();
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert!(text(&first).contains("met"), "{}", text(&first));
    let line = |output: &Output| {
        let text = text(output);
        let mut ends = text.lines().filter_map(|line| line.strip_prefix("end: "));
        let end = ends.next().unwrap_or_else(|| panic!("{text}"));
        assert_eq!(ends.next(), None, "{text}");
        assert_eq!(output.status.code(), Some(3), "{text}");
        // The host's name.
        match (end.find(" ("), end.find(") ")) {
            (Some(start), Some(end_of)) => format!("{}{}", &end[..start], &end[end_of + 1..]),
            _ => end.to_owned(),
        }
    };
    others.iter().map(line).collect()
}

/// A rank: meets the others, exchanges bytes with them, and waits for rank 1 in a barrier.
fn rank(act: &str) -> ! {
    let world = World::from_environment().unwrap().unwrap();
    let hello = Hello::new("1", Vec::new(), Vec::new()).fact("act", act);
    let session = Session::meet(&world, &hello, Timeouts::default()).unwrap();
    println!("met");
    let (tell, told) = mpsc::channel();
    session.on_loss(move |loss| tell.send(loss.to_owned()).unwrap());
    let exchange = || {
        let link = session.link(world.rank, 1);
        for other in 0..world.ranks {
            link.send(other, &[world.rank as u8; 1000])?;
        }
        for other in 0..world.ranks {
            let mut got = [0; 1000];
            link.receive(other, &mut got)?;
            assert_eq!(got, [other as u8; 1000]);
        }
        session.barrier()
    };
    // Rank 1 may be lost before the others have all of it.
    let exchanged = exchange();
    let end = match (world.rank, act) {
        (1, "abort") => std::process::abort(),
        (1, "exit") => std::process::exit(0),
        (1, "panic") => panic!("as asked"),
        (1, "fail") => {
            session.fail("lab poisson: out of device memory");
            std::process::exit(3);
        }
        _ => exchanged
            .and_then(|()| session.barrier())
            .and_then(|()| session.end()),
    };
    match end {
        Ok(()) => std::process::exit(0),
        Err(error) => {
            assert_eq!(told.recv().unwrap(), error.to_string());
            println!("end: {error}");
            std::process::exit(3);
        }
    }
}

#[test]
fn the_death_of_a_process_ends_the_others() {
    if let Ok(act) = std::env::var(ACT) {
        rank(&act);
    }
    let test = "the_death_of_a_process_ends_the_others";
    let died = "rank 1 died without a word: see what it and its launcher wrote";
    assert_eq!(ends(test, "abort"), [died, died]);
    assert_eq!(ends(test, "exit"), [died, died]);
    let panicked = "rank 1 failed: it panicked";
    assert_eq!(ends(test, "panic"), [panicked, panicked]);
    let failed = "rank 1 failed: lab poisson: out of device memory";
    assert_eq!(ends(test, "fail"), [failed, failed]);
}

#[test]
fn processes_end_as_they_should() {
    if let Ok(act) = std::env::var(ACT) {
        rank(&act);
    }
    for child in start("processes_end_as_they_should", 4, "nothing") {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    }
}
