//! All ranks come to rank 0, within a time.
//!
//! Each rank connects, and tries again until rank 0 listens. It says who it is; rank 0 welcomes it.
//! When all have come, or the time is over, rank 0 tells all that came the same verdict.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::Timeouts;
use super::error::RanksError;
use super::hello::{Hello, compare, name_ranks};
use super::wire::{Kind, Message};
use super::world::World;

/// How long rank 0 waits for the first words of a connection.
const FIRST_WORDS: Duration = Duration::from_secs(5);
/// The pause before a rank looks for rank 0 again.
const AGAIN: Duration = Duration::from_millis(50);
const MAX_BYTES: u64 = 1 << 20;

/// A rank's first words.
#[derive(Debug, Serialize, Deserialize)]
struct Greeting {
    rank: usize,
    ranks: usize,
    /// See [`World::job`].
    job: Option<String>,
    hello: Hello,
}

/// Waits for all other ranks at rank 0; their connections and hosts, from rank 1 on.
pub fn host(
    world: &World,
    hello: &Hello,
    timeouts: &Timeouts,
) -> Result<Vec<(TcpStream, String)>, RanksError> {
    let deadline = Instant::now() + timeouts.arrive;
    let listener = listen(world)?;
    let mut came: Vec<Option<(TcpStream, Greeting)>> = (1..world.ranks).map(|_| None).collect();
    let mut stray: Vec<TcpStream> = Vec::new();
    let wrong = collect(&listener, world, deadline, &mut came, &mut stray);
    let verdict = wrong.and_then(|()| {
        let missing: Vec<usize> = (1..world.ranks)
            .filter(|rank| came[rank - 1].is_none())
            .collect();
        if !missing.is_empty() {
            return Err(RanksError::NotMet(format!(
                "{} of {} did not come to {} within {}; see whether they started, and what they wrote",
                name_ranks(&missing),
                world.ranks,
                world.address,
                seconds(timeouts.arrive),
            )));
        }
        let greetings = came.iter().flatten();
        let others = greetings.map(|(_, greeting)| greeting.hello.clone());
        let hellos: Vec<Hello> = std::iter::once(hello.clone()).chain(others).collect();
        compare(&hellos)
    });
    let text = match &verdict {
        Ok(()) => Vec::new(),
        Err(error) => {
            let kind = match error {
                RanksError::Differ(_) => b'd',
                _ => b'm',
            };
            [&[kind], error.to_string().as_bytes()].concat()
        }
    };
    let streams = came.iter_mut().flatten().map(|(stream, _)| stream);
    for stream in streams.chain(&mut stray) {
        // The session finds out that a rank is gone again.
        let _ = Message::new(Kind::Verdict, 0, text.clone()).write(stream);
    }
    verdict?;
    let others = came.into_iter().flatten();
    Ok(others
        .map(|(stream, greeting)| (stream, greeting.hello.host))
        .collect())
}

/// Rank 0's open port: at the loopback address where that is the place to meet, else at all
/// addresses of this machine, those of IPv6 too where it has some.
fn listen(world: &World) -> Result<TcpListener, RanksError> {
    let port = world.address.port;
    let all = [
        SocketAddr::from(([0_u16; 8], port)),
        SocketAddr::from(([0_u8; 4], port)),
    ];
    if world.address.is_loopback() {
        TcpListener::bind((world.address.host.as_str(), port))
    } else {
        TcpListener::bind(&all[..])
    }
    .and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    })
    .map_err(|error| {
        let remedy = match error.kind() {
            io::ErrorKind::AddrInUse => "; set MASTER_PORT to a free port",
            _ => "",
        };
        let address = &world.address;
        RanksError::Address(format!(
            "rank 0 cannot listen at {address}: {error}{remedy}"
        ))
    })
}

/// Takes in ranks until all have come or the time is over. `stray` gets the connections of ranks
/// that do not belong here.
fn collect(
    listener: &TcpListener,
    world: &World,
    deadline: Instant,
    came: &mut [Option<(TcpStream, Greeting)>],
    stray: &mut Vec<TcpStream>,
) -> Result<(), RanksError> {
    let (known, knows) = mpsc::channel();
    while came.iter().any(Option::is_none) && Instant::now() < deadline {
        // A connection that is gone again does no harm.
        while let Ok((stream, _)) = listener.accept() {
            let (job, known) = (world.job.clone(), known.clone());
            thread::spawn(move || welcome(stream, job, &known));
        }
        let Ok((stream, greeting)) = knows.recv_timeout(Duration::from_millis(5)) else {
            continue;
        };
        let Greeting { rank, ranks, .. } = greeting;
        if ranks != world.ranks || rank == 0 || rank >= ranks {
            stray.push(stream);
            return Err(RanksError::Differ(format!(
                "rank 0 of {} met rank {rank} of {ranks}; start all with the same number of ranks, or set another \
                 MASTER_PORT for each run",
                world.ranks
            )));
        }
        let place = &mut came[rank - 1];
        if let Some((_, other)) = place {
            let hosts = [&other.hello.host, &greeting.hello.host];
            stray.push(stream);
            return Err(RanksError::Differ(format!(
                "rank {rank} came twice, from {} and from {}; set another MASTER_PORT for each run",
                hosts[0], hosts[1],
            )));
        }
        *place = Some((stream, greeting));
    }
    Ok(())
}

/// Reads the greeting of a connection. Ranks of another run go away again.
fn welcome(mut stream: TcpStream, job: Option<String>, known: &Sender<(TcpStream, Greeting)>) {
    let mut hear = || -> io::Result<Greeting> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(FIRST_WORDS))?;
        stream.set_write_timeout(Some(FIRST_WORDS))?;
        let greeting = Message::read(&mut stream, MAX_BYTES)?;
        let greeting: Greeting = serde_json::from_slice(&greeting.bytes)?;
        if greeting.job != job {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Message::new(Kind::Welcome, 0, []).write(&mut stream)?;
        Ok(greeting)
    };
    if let Ok(greeting) = hear() {
        // It fails where rank 0 waits for ranks no longer.
        let _ = known.send((stream, greeting));
    }
}

/// Comes to rank 0, and returns when all have come.
pub fn join(world: &World, hello: &Hello, timeouts: &Timeouts) -> Result<TcpStream, RanksError> {
    let deadline = Instant::now() + timeouts.arrive;
    let mut stream = loop {
        let reason = match find(world, hello, deadline) {
            Ok(stream) => break stream,
            Err(reason) => reason,
        };
        if Instant::now() + AGAIN >= deadline {
            return Err(RanksError::NotMet(format!(
                "rank {} found no rank 0 at {} within {}: {reason}; see whether rank 0 started, and what it wrote",
                world.rank,
                world.address,
                seconds(timeouts.arrive),
            )));
        }
        thread::sleep(AGAIN);
    };
    // Rank 0 may have started to wait later than this rank.
    let mut hear = || {
        stream.set_read_timeout(Some(timeouts.arrive + FIRST_WORDS))?;
        Message::read(&mut stream, MAX_BYTES)
    };
    match hear() {
        Ok(verdict) if verdict.bytes.is_empty() => Ok(stream),
        Ok(verdict) => {
            let text = String::from_utf8_lossy(&verdict.bytes[1..]).into_owned();
            Err(match verdict.bytes[0] {
                b'd' => RanksError::Differ(text),
                _ => RanksError::NotMet(text),
            })
        }
        Err(_) => Err(RanksError::NotMet(format!(
            "rank 0 ended before all {} ranks had come to {}; see what it wrote",
            world.ranks, world.address
        ))),
    }
}

/// Looks for rank 0 once, at each address that its host has.
fn find(world: &World, hello: &Hello, deadline: Instant) -> io::Result<TcpStream> {
    let place = (world.address.host.as_str(), world.address.port);
    let mut reason = io::Error::other("its host has no address");
    for address in place.to_socket_addrs()? {
        let greeting = Greeting {
            rank: world.rank,
            ranks: world.ranks,
            job: world.job.clone(),
            hello: hello.clone(),
        };
        match greet(&greeting, address, deadline) {
            Ok(stream) => return Ok(stream),
            Err(error) => reason = io::Error::other(format!("{address}: {error}")),
        }
    }
    Err(reason)
}

/// Once rank 0 has a rank's greeting it takes no other of the same number: a rank that has greeted
/// waits until the deadline.
fn greet(greeting: &Greeting, address: SocketAddr, deadline: Instant) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, FIRST_WORDS)?;
    // Where no program listens at a port of this machine, a socket may be connected to itself.
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    let left = deadline.saturating_duration_since(Instant::now());
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(left.max(AGAIN)))?;
    stream.set_write_timeout(Some(FIRST_WORDS))?;
    let greeting = serde_json::to_vec(greeting)?;
    Message::new(Kind::Greeting, 0, greeting).write(&mut stream)?;
    match Message::read(&mut stream, MAX_BYTES) {
        Ok(answer) if answer.kind == Kind::Welcome => Ok(stream),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(error),
        _ => Err(io::Error::other(
            "the program that answers there is not rank 0 of this run",
        )),
    }
}

pub fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}
