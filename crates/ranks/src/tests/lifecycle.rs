//! Ranks that meet, work together, and end.

use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use super::*;

/// Short, so that what never comes is known soon.
const QUICK: Timeouts = Timeouts {
    arrive: Duration::from_secs(5),
    transfer: Duration::from_millis(300),
};

/// Longer than it takes a busy machine to tell all ranks what happened.
const SOON: Duration = Duration::from_secs(4);

fn free_place() -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    Address {
        host: "127.0.0.1".to_owned(),
        port: listener.local_addr().unwrap().port(),
    }
}

fn world(rank: usize, ranks: usize, address: &Address) -> World {
    World {
        rank,
        ranks,
        local_rank: rank,
        local_ranks: ranks,
        job: Some("a test".to_owned()),
        address: address.clone(),
    }
}

fn plain(_: usize) -> Hello {
    let hello = Hello::new("1.0", Vec::new(), Vec::new()).fact("lab", "poisson");
    Hello {
        host: "here".to_owned(),
        ..hello
    }
}

/// The results of all ranks' threads.
fn all<T: Send>(ranks: usize, act: impl Fn(usize) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let shared = &act;
        let threads: Vec<_> = (0..ranks)
            .map(|rank| scope.spawn(move || shared(rank)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

/// Sessions of all ranks.
fn met<T: Send>(ranks: usize, act: impl Fn(Session) -> T + Sync) -> Vec<T> {
    let place = free_place();
    all(ranks, |rank| {
        act(Session::meet(&world(rank, ranks, &place), &plain(rank), QUICK).unwrap())
    })
}

/// The one message that all of these ranks end with.
fn one_message(ends: Vec<Result<(), RanksError>>) -> String {
    let mut messages: Vec<String> = ends
        .into_iter()
        .map(|end| end.unwrap_err().to_string())
        .collect();
    messages.dedup();
    assert_eq!(messages.len(), 1, "{messages:?}");
    messages.remove(0)
}

#[test]
fn ranks_share_small_data() {
    let ends = met(4, |session| {
        let rank = session.rank();
        session.barrier().unwrap();
        let gathered = session.gather(format!("of {rank}").as_bytes()).unwrap();
        assert_eq!(gathered.is_some(), rank == 0);
        for (other, bytes) in gathered.iter().flatten().enumerate() {
            assert_eq!(bytes, format!("of {other}").as_bytes());
        }
        let mine = if rank == 0 { "the id" } else { "unused" };
        assert_eq!(session.broadcast(mine.as_bytes()).unwrap(), b"the id");
        session.on_loss(|loss| panic!("{loss}"));
        session.end()
    });
    assert_eq!(ends, [Ok(()), Ok(()), Ok(()), Ok(())]);
}

#[test]
fn one_rank_needs_no_connection() {
    let place = Address {
        host: "no-such-host.invalid".to_owned(),
        port: 1,
    };
    let session = Session::meet(&world(0, 1, &place), &plain(0), QUICK).unwrap();
    session.barrier().unwrap();
    assert_eq!(session.gather(b"a").unwrap(), Some(vec![b"a".to_vec()]));
    assert_eq!(session.broadcast(b"b").unwrap(), b"b");
    let link = session.link(0, 2);
    link.send(1, b"c").unwrap();
    let mut got = [0];
    session.link(1, 2).receive(0, &mut got).unwrap();
    assert_eq!(&got, b"c");
    session.end().unwrap();
}

/// A server that closes each connection with words of its own, as a rank 0 of another program
/// would.
#[test]
fn another_program_is_not_rank_0() {
    use std::io::Write;
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Address {
        host: "127.0.0.1".to_owned(),
        port: other.local_addr().unwrap().port(),
    };
    thread::spawn(move || {
        for stream in other.incoming() {
            let _ = stream
                .unwrap()
                .write_all(b"HTTP/1.1 400 Bad Request, said another program\r\n\r\n");
        }
    });
    let timeouts = Timeouts {
        arrive: Duration::from_millis(500),
        ..QUICK
    };
    let error = Session::meet(&world(1, 2, &place), &plain(1), timeouts).unwrap_err();
    let message = error.to_string().replace(&place.to_string(), "PLACE");
    assert!(
        message.starts_with("rank 1 found no rank 0 at PLACE within 0.5 s: PLACE: "),
        "{message}"
    );
}

#[test]
fn ranks_of_another_job_are_not_taken() {
    let place = free_place();
    let ends = all(3, |number| {
        // Number 2 believes to be rank 1 too, of another run.
        let mut world = world(number.min(1), 2, &place);
        let mut timeouts = QUICK;
        if number == 2 {
            world.job = Some("another run".to_owned());
            timeouts.arrive = Duration::from_millis(700);
        }
        let session = Session::meet(&world, &plain(number), timeouts)?;
        session.barrier()?;
        session.end()
    });
    assert_eq!(ends[..2], [Ok(()), Ok(())]);
    let error = ends[2].clone().unwrap_err().to_string();
    assert!(
        error.starts_with("rank 1 found no rank 0 at 127.0.0.1:"),
        "{error}"
    );
}

#[test]
fn a_missing_rank_ends_all_that_came() {
    let place = free_place();
    let began = Instant::now();
    let timeouts = Timeouts {
        arrive: Duration::from_millis(500),
        ..QUICK
    };
    let ends = all(2, |number| {
        let world = world([0, 2][number], 4, &place);
        Session::meet(&world, &plain(number), timeouts).map(drop)
    });
    assert!(began.elapsed() < timeouts.arrive + SOON);
    let message = one_message(ends).replace(&place.to_string(), "PLACE");
    insta::assert_snapshot!(message, @"ranks 1 and 3 of 4 did not come to PLACE within 0.5 s; see whether they started, and what they wrote");
}

#[test]
fn a_missing_rank_0_is_named() {
    let place = free_place();
    let timeouts = Timeouts {
        arrive: Duration::from_millis(300),
        ..QUICK
    };
    let error = Session::meet(&world(3, 4, &place), &plain(3), timeouts).unwrap_err();
    let message = error.to_string().replace(&place.to_string(), "PLACE");
    assert!(
        message.starts_with("rank 3 found no rank 0 at PLACE within 0.3 s: PLACE: "),
        "{message}"
    );
    assert!(
        message.ends_with("; see whether rank 0 started, and what it wrote"),
        "{message}"
    );
}

#[test]
fn all_ranks_are_told_what_differs() {
    let place = free_place();
    let ends = all(3, |rank| {
        let lab = if rank == 2 { "wave3d" } else { "poisson" };
        let hello = Hello::new("1.0", Vec::new(), Vec::new()).fact("lab", lab);
        Session::meet(&world(rank, 3, &place), &hello, QUICK).map(drop)
    });
    insta::assert_snapshot!(one_message(ends), @"the ranks do not run the same: lab: poisson in ranks 0 and 1, wave3d in rank 2; start all with the same program and arguments");
}

#[test]
fn all_ranks_are_told_of_a_shared_gpu() {
    let place = free_place();
    let ends = all(2, |rank| {
        let mut hello = plain(rank);
        hello.gpus = vec!["0000:1b:00.0".to_owned()];
        Session::meet(&world(rank, 2, &place), &hello, QUICK).map(drop)
    });
    insta::assert_snapshot!(one_message(ends), @"ranks 0 and 1 use the same GPU, 0000:1b:00.0 of here; start at most as many ranks there as it has GPUs, or show each rank its own with CUDA_VISIBLE_DEVICES");
}

#[test]
fn another_number_of_ranks_is_told_to_all_that_came() {
    let place = free_place();
    let ends = all(2, |rank| {
        let world = world(rank, rank + 2, &place);
        Session::meet(&world, &plain(rank), QUICK).map(drop)
    });
    insta::assert_snapshot!(one_message(ends), @"rank 0 of 2 met rank 1 of 3; start all with the same number of ranks, or set another MASTER_PORT for each run");
}

#[test]
fn two_of_the_same_rank_are_told_apart() {
    let place = free_place();
    let ends = all(3, |number| {
        let world = world(number.min(1), 3, &place);
        Session::meet(&world, &plain(number), QUICK).map(drop)
    });
    insta::assert_snapshot!(one_message(ends), @"rank 1 came twice, from here and from here; set another MASTER_PORT for each run");
}

/// A rank of 4 does something; the others are in a barrier, and have someone told.
fn ends_all(lost: usize, act: impl Fn(Session) + Sync) -> String {
    let began = Instant::now();
    let ends = met(4, |session| {
        if session.rank() == lost {
            act(session);
            return None;
        }
        let (tell, told) = mpsc::channel();
        session.on_loss(move |loss| tell.send(loss.to_owned()).unwrap());
        let error = session.barrier().unwrap_err();
        assert_eq!(told.recv_timeout(SOON).unwrap(), error.to_string());
        assert_eq!(session.check(), Err(error.clone()));
        assert_eq!(session.end(), Err(error.clone()));
        Some(Err(error))
    });
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    one_message(ends.into_iter().flatten().collect())
}

#[test]
fn a_rank_that_fails_ends_all() {
    insta::assert_snapshot!(ends_all(2, |session| session.fail("out of device memory")), @"rank 2 (here) failed: out of device memory");
    insta::assert_snapshot!(ends_all(0, |session| session.fail("no space left")), @"rank 0 (here) failed: no space left");
    insta::assert_snapshot!(ends_all(1, drop), @"rank 1 (here) failed: it ended early");
}

#[test]
fn a_rank_that_dies_ends_all() {
    insta::assert_snapshot!(ends_all(2, Session::dies), @"rank 2 (here) died without a word: see what it and its launcher wrote");
    insta::assert_snapshot!(ends_all(0, Session::dies), @"rank 0 died without a word: see what it and its launcher wrote");
}

#[test]
fn an_honest_end_is_no_loss() {
    let ends = met(3, |session| {
        // Some end early, and rank 0 is there until all have.
        thread::sleep(Duration::from_millis(300) * session.rank() as u32);
        session.on_loss(|loss| panic!("{loss}"));
        session.check().unwrap();
        session.end()
    });
    assert_eq!(ends, [Ok(()), Ok(()), Ok(())]);
}

#[test]
fn a_rank_that_has_ended_is_not_waited_for() {
    let ends = met(2, |session| {
        if session.rank() == 1 {
            return session.end();
        }
        session.barrier()
    });
    insta::assert_snapshot!(ends[0].clone().unwrap_err(), @"rank 0 is at a barrier, and rank 1 (here) has ended: they do not run the same");
}

/// Each device sends to each, twice, and receives from each.
fn everybody_to_everybody(links: &[&dyn Link], first: usize, devices: usize) {
    let text = |from: usize, to: usize, time: usize| format!("{from} to {to}, {time}");
    for time in 0..2 {
        for (place, link) in links.iter().enumerate() {
            for to in 0..devices {
                link.send(to, text(first + place, to, time).as_bytes())
                    .unwrap();
            }
        }
    }
    for time in 0..2 {
        for (place, link) in links.iter().enumerate() {
            for from in 0..devices {
                let expected = text(from, first + place, time);
                let mut got = vec![0; expected.len()];
                link.receive(from, &mut got).unwrap();
                assert_eq!(String::from_utf8(got).unwrap(), expected);
            }
        }
    }
}

#[test]
fn devices_of_threads_exchange_bytes() {
    let links = thread_links(3, 2, SOON);
    all(3, |rank| {
        let mine: Vec<&dyn Link> = links[2 * rank..][..2]
            .iter()
            .map(|link| link as _)
            .collect();
        everybody_to_everybody(&mine, 2 * rank, 6);
    });
}

#[test]
fn devices_of_ranks_exchange_bytes() {
    met(3, |session| {
        let rank = session.rank();
        let links = [session.link(2 * rank, 2), session.link(2 * rank + 1, 2)];
        everybody_to_everybody(&[&links[0], &links[1]], 2 * rank, 6);
        // As large as a field, both ways at once.
        if rank > 0 {
            let sent = vec![rank as u8; 20_000_000];
            links[0].send(6 - 2 * rank, &sent).unwrap();
            let mut got = vec![0; sent.len()];
            session.barrier().unwrap();
            links[0].receive(6 - 2 * rank, &mut got).unwrap();
            assert!(got.iter().all(|byte| *byte == 3 - rank as u8));
        } else {
            session.barrier().unwrap();
        }
        session.end().unwrap();
    });
}

#[test]
fn what_is_not_sent_or_of_another_size_names_devices_and_ranks() {
    let links = thread_links(2, 2, Duration::from_millis(50));
    let error = links[0].receive(3, &mut [0; 4]).unwrap_err();
    insta::assert_snapshot!(error, @"device 3 (rank 1) sent nothing to device 0 (rank 0) within 0.05 s");
    links[3].send(0, &[1, 2]).unwrap();
    let too_long = links[0].receive(3, &mut [0; 4]).unwrap_err();
    insta::assert_snapshot!(too_long, @"device 3 (rank 1) sent 2 bytes to device 0 (rank 0), which expects 4");
    let ends = met(2, |session| {
        let rank = session.rank();
        let end = match rank {
            0 => session.link(0, 1).receive(1, &mut [0]),
            _ => Ok(()),
        };
        session.barrier().unwrap();
        session.end().unwrap();
        end
    });
    insta::assert_snapshot!(ends[0].clone().unwrap_err(), @"device 1 (rank 1) sent nothing to device 0 (rank 0) within 0.3 s");
}
