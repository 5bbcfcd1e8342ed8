//! All ranks come to rank 0, within a time.
//!
//! Each rank connects, and tries again until rank 0 listens. It says who it is; rank 0 welcomes it. When all have come, or the
//! time is over, rank 0 tells all that came the same verdict. A file of an earlier run does no harm: nobody listens where it
//! points to, or answers with another nonce, and the rank reads the file again until rank 0 has replaced it.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::Timing;
use super::address::Rendezvous;
use super::error::RanksError;
use super::hello::{Hello, compare, name_ranks};
use super::wire::{Kind, Message};
use super::world::World;

/// How long either side waits for the other's first words, once connected.
const FIRST_WORDS: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_millis(50);
const MOST_BYTES: u64 = 1 << 20;

/// A rank's first words.
#[derive(Debug, Serialize, Deserialize)]
struct Greeting {
    rank: usize,
    ranks: usize,
    /// See [`World::job`].
    job: Option<String>,
    /// What the file said.
    nonce: Option<String>,
    /// The same each time that a rank tries, different in each rank.
    visitor: String,
    hello: Hello,
}

/// What rank 0 writes to the file.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    nonce: String,
    /// See [`Hello::machine`].
    machine: String,
    /// Where it may be reached, from the same machine first.
    places: Vec<String>,
}

/// Waits for all other ranks at rank 0; their connections and hosts, by rank. Rank 0's own connection is `None`.
pub fn host(
    world: &World,
    hello: &Hello,
    timing: &Timing,
) -> Result<Vec<(Option<TcpStream>, String)>, RanksError> {
    let deadline = Instant::now() + timing.arrive;
    let place = Listening::new(world, hello)?;
    let mut came: Vec<Option<(TcpStream, Greeting)>> = (1..world.ranks).map(|_| None).collect();
    let mut stray: Vec<TcpStream> = Vec::new();
    let wrong = place.collect(world, deadline, &mut came, &mut stray);
    let verdict = wrong.and_then(|()| {
        let missing: Vec<usize> = (1..world.ranks)
            .filter(|rank| came[rank - 1].is_none())
            .collect();
        if !missing.is_empty() {
            return Err(RanksError::NotMet(format!(
                "{} of {} did not come to {} within {}; see whether they started, and what they wrote",
                name_ranks(&missing),
                world.ranks,
                world.rendezvous,
                seconds(timing.arrive),
            )));
        }
        let greetings = came.iter().flatten();
        let others = greetings.map(|(_, greeting)| greeting.hello.clone());
        let hellos: Vec<Hello> = std::iter::once(hello.clone()).chain(others).collect();
        compare(&hellos)
    });
    // The file is no longer needed.
    drop(place);
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
        // One that is gone again is found out by the session.
        let _ = Message::new(Kind::Verdict, 0, text.clone()).write(stream);
    }
    verdict?;
    let others = came
        .into_iter()
        .flatten()
        .map(|(stream, greeting)| (Some(stream), greeting.hello.host));
    Ok(std::iter::once((None, hello.host.clone()))
        .chain(others)
        .collect())
}

/// Rank 0's open port. Dropped, it takes its file away.
struct Listening {
    listener: TcpListener,
    nonce: Option<String>,
    file: Option<PathBuf>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            let _ = fs::remove_file(file);
        }
    }
}

impl Listening {
    fn new(world: &World, hello: &Hello) -> Result<Listening, RanksError> {
        let cannot_listen = |error: io::Error| {
            let remedy = match error.kind() {
                io::ErrorKind::AddrInUse => "; name a free port with --rendezvous tcp://HOST:PORT",
                _ => "",
            };
            RanksError::Rendezvous(format!(
                "rank 0 cannot listen at {}: {error}{remedy}",
                world.rendezvous
            ))
        };
        let listening = match &world.rendezvous {
            Rendezvous::Tcp { host, port } => {
                let listener = match Rendezvous::is_loopback(host) {
                    true => TcpListener::bind((host.as_str(), *port)),
                    false => bind_all(*port),
                };
                Listening {
                    listener: listener.map_err(cannot_listen)?,
                    nonce: None,
                    file: None,
                }
            }
            Rendezvous::File(path) => {
                let listener = bind_all(0).map_err(cannot_listen)?;
                let port = listener.local_addr().map_err(cannot_listen)?.port();
                let nonce = nonce();
                let written = Written {
                    nonce: nonce.clone(),
                    machine: hello.machine.clone(),
                    places: places(&hello.host, port),
                };
                write_file(path, &written, &nonce).map_err(|error| {
                    RanksError::Rendezvous(format!(
                        "cannot write {}: {error}; name a file in a folder that all ranks share",
                        path.display()
                    ))
                })?;
                Listening {
                    listener,
                    nonce: Some(nonce),
                    file: Some(path.clone()),
                }
            }
        };
        listening
            .listener
            .set_nonblocking(true)
            .map_err(cannot_listen)?;
        Ok(listening)
    }

    /// Takes in ranks until all have come or the time is over. `stray` are connections that belong to no place.
    fn collect(
        &self,
        world: &World,
        deadline: Instant,
        came: &mut [Option<(TcpStream, Greeting)>],
        stray: &mut Vec<TcpStream>,
    ) -> Result<(), RanksError> {
        let (known, knows) = mpsc::channel();
        while came.iter().any(Option::is_none) && Instant::now() < deadline {
            // Errors of a connection that is gone again are no concern.
            while let Ok((stream, _)) = self.listener.accept() {
                let (job, nonce) = (world.job.clone(), self.nonce.clone());
                let known = known.clone();
                thread::spawn(move || welcome(stream, job, nonce, &known));
            }
            let Ok((stream, greeting)) = knows.recv_timeout(Duration::from_millis(5)) else {
                continue;
            };
            let Greeting { rank, ranks, .. } = greeting;
            if ranks != world.ranks || rank == 0 || rank >= ranks {
                stray.push(stream);
                return Err(RanksError::Differ(format!(
                    "rank 0 of {} met rank {rank} of {ranks}; start all with the same number of ranks, or name each run \
                     its own --rendezvous",
                    world.ranks
                )));
            }
            let place = &mut came[rank - 1];
            // One that was not welcomed in time has come again.
            if let Some((_, other)) = place
                && other.visitor != greeting.visitor
            {
                let hosts = [&other.hello.host, &greeting.hello.host];
                stray.push(stream);
                return Err(RanksError::Differ(format!(
                    "rank {rank} came twice, from {} and from {}; name each run its own --rendezvous",
                    hosts[0], hosts[1],
                )));
            }
            *place = Some((stream, greeting));
        }
        Ok(())
    }
}

/// A port at all of this machine's addresses, of IPv6 too where it is there.
fn bind_all(port: u16) -> io::Result<TcpListener> {
    let all = [
        SocketAddr::from(([0_u16; 8], port)),
        SocketAddr::from(([0_u8; 4], port)),
    ];
    TcpListener::bind(&all[..])
}

/// Hears who has connected. Those of another run go away again.
fn welcome(
    mut stream: TcpStream,
    job: Option<String>,
    nonce: Option<String>,
    known: &Sender<(TcpStream, Greeting)>,
) {
    let mut hear = || -> io::Result<Greeting> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(FIRST_WORDS))?;
        stream.set_write_timeout(Some(FIRST_WORDS))?;
        let greeting = Message::read(&mut stream, MOST_BYTES)?;
        let greeting: Greeting = serde_json::from_slice(&greeting.bytes)?;
        if greeting.job != job || greeting.nonce != nonce {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Message::new(Kind::Welcome, 0, []).write(&mut stream)?;
        Ok(greeting)
    };
    if let Ok(greeting) = hear() {
        // Rank 0 has gone on if nobody listens.
        let _ = known.send((stream, greeting));
    }
}

/// Comes to rank 0, and returns when all have come.
pub fn join(world: &World, hello: &Hello, timing: &Timing) -> Result<TcpStream, RanksError> {
    let deadline = Instant::now() + timing.arrive;
    let visitor = nonce();
    let mut stream = loop {
        let reason = match find(world, hello, &visitor) {
            Ok(stream) => break stream,
            Err(reason) => reason,
        };
        if Instant::now() + AGAIN >= deadline {
            return Err(RanksError::NotMet(format!(
                "rank {} found no rank 0 at {} within {}: {reason}; see whether rank 0 started, and what it wrote",
                world.rank,
                world.rendezvous,
                seconds(timing.arrive),
            )));
        }
        thread::sleep(AGAIN);
    };
    // Rank 0 may have started to wait later than this rank.
    let mut hear = || {
        stream.set_read_timeout(Some(timing.arrive + FIRST_WORDS))?;
        Message::read(&mut stream, MOST_BYTES)
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
            world.ranks, world.rendezvous
        ))),
    }
}

/// Looks for rank 0 once.
fn find(world: &World, hello: &Hello, visitor: &str) -> Result<TcpStream, String> {
    let (nonce, places) = match &world.rendezvous {
        Rendezvous::Tcp { host, port } => (None, vec![(host.clone(), *port)]),
        Rendezvous::File(path) => {
            let written = fs::read(path).map_err(|error| format!("no file: {error}"))?;
            let written: Written = serde_json::from_slice(&written)
                .map_err(|_| "the file is not one that rank 0 wrote".to_owned())?;
            let is_here = written.machine == hello.machine;
            let places = written.places.iter().filter_map(|place| {
                let (host, port) = place.rsplit_once(':')?;
                // An address of a machine itself means another machine everywhere else.
                let is_reachable = is_here || !Rendezvous::is_loopback(host);
                is_reachable.then_some((host.to_owned(), port.parse().ok()?))
            });
            (Some(written.nonce), places.collect())
        }
    };
    let mut reason = "it names no address".to_owned();
    for (host, port) in places {
        let addresses = match (host.as_str(), port).to_socket_addrs() {
            Ok(addresses) => addresses,
            Err(error) => {
                reason = format!("{host}: {error}");
                continue;
            }
        };
        for address in addresses {
            let greeting = Greeting {
                rank: world.rank,
                ranks: world.ranks,
                job: world.job.clone(),
                nonce: nonce.clone(),
                visitor: visitor.to_owned(),
                hello: hello.clone(),
            };
            match greet(&greeting, address) {
                Ok(stream) => return Ok(stream),
                Err(error) => reason = format!("{address}: {error}"),
            }
        }
    }
    Err(reason)
}

fn greet(greeting: &Greeting, address: SocketAddr) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, FIRST_WORDS)?;
    // Where nobody listens at one of this machine's ports, the system may connect a socket to itself.
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(FIRST_WORDS))?;
    stream.set_write_timeout(Some(FIRST_WORDS))?;
    let greeting = serde_json::to_vec(greeting)?;
    Message::new(Kind::Greeting, 0, greeting).write(&mut stream)?;
    match Message::read(&mut stream, MOST_BYTES) {
        Ok(answer) if answer.kind == Kind::Welcome => Ok(stream),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(error),
        _ => Err(io::Error::other(
            "what answers there is not rank 0 of this run",
        )),
    }
}

/// Where others may reach this host: itself, its name, the address that its packets to others have.
fn places(host: &str, port: u16) -> Vec<String> {
    let outward = || -> io::Result<IpAddr> {
        let socket = UdpSocket::bind(("0.0.0.0", 0))?;
        // Sends nothing: 192.0.2.1 is an example's address.
        socket.connect(("192.0.2.1", 9))?;
        Ok(socket.local_addr()?.ip())
    };
    let mut places = vec![format!("127.0.0.1:{port}"), format!("{host}:{port}")];
    places.extend(outward().map(|address| format!("{address}:{port}")));
    places
}

/// Others see the file whole or not at all.
fn write_file(path: &Path, written: &Written, nonce: &str) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{nonce}"));
    let unfinished = path.with_file_name(name);
    fs::write(&unfinished, serde_json::to_vec(written)?)?;
    fs::rename(&unfinished, path).inspect_err(|_| {
        let _ = fs::remove_file(&unfinished);
    })
}

/// Different in each run.
fn nonce() -> String {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new().hash_one(std::process::id());
    format!("{random:016x}")
}

pub fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}
