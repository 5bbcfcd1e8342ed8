//! A system without isolation: a program has a deadline and a bound on its output, and its
//! processes end with it. It may read and write what its user may, so it has its user's
//! environment: by that, compilers find their linker there.

#[cfg(all(test, unix))]
mod tests;
#[cfg_attr(windows, path = "job.rs")]
#[cfg_attr(not(windows), path = "group.rs")]
mod tree;

use std::io::{self, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::unnamed_file;
use crate::{End, Finished, InForce, Layer, Sandbox};
use tree::Tree;

/// How often to look whether the program has ended, or has to.
const TICK: Duration = Duration::from_millis(5);

/// How long to listen after all were killed: a process that left the tree may hold the pipes.
const GRACE: Duration = Duration::from_millis(200);

/// Runs `command` to its end: see [`Sandbox::run`].
pub fn run(sandbox: &Sandbox, command: &mut Command, input: &[u8]) -> io::Result<Finished> {
    command
        .stdin(unnamed_file(input)?)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let deadline = Instant::now() + sandbox.limits.wall;
    let mut tree = Tree::start(command)?;
    let printed = Printed::with_room(sandbox.limits.output_bytes);
    printed.listen(0, tree.child.stdout.take().expect("is piped"));
    printed.listen(1, tree.child.stderr.take().expect("is piped"));
    let stopped = loop {
        if printed.lock().is_over {
            break Some(End::TooMuchOutput);
        }
        if tree.has_ended()? {
            break None;
        }
        if Instant::now() >= deadline {
            break Some(End::TimedOut);
        }
        thread::sleep(TICK);
    };
    tree.kill();
    let status = tree.child.wait()?;
    let until = Instant::now() + GRACE;
    while printed.lock().open > 0 && Instant::now() < until {
        thread::sleep(TICK);
    }
    let mut printed = printed.lock();
    let [stdout, stderr] = std::mem::take(&mut printed.texts);
    let is_over = printed.is_over.then_some(End::TooMuchOutput);
    Ok(Finished {
        end: stopped.or(is_over).unwrap_or_else(|| end(status)),
        stdout,
        stderr,
        in_force: in_force(),
    })
}

/// See [`crate::available`].
pub fn available() -> io::Result<InForce> {
    Ok(in_force())
}

/// See [`crate::confines_files`].
pub fn confines_files() -> bool {
    false
}

fn in_force() -> InForce {
    InForce::from_bits(Layer::Deadline as u32)
}

fn end(status: ExitStatus) -> End {
    match status.code() {
        Some(code) => End::Exited(code),
        None => End::Signal(tree::signal(status).unwrap_or(0)),
    }
}

/// The output and errors of a program.
#[derive(Clone)]
struct Printed(Arc<Mutex<Texts>>);

struct Texts {
    texts: [Vec<u8>; 2],
    /// Bytes that both may still take.
    left: usize,
    /// Whether there was more.
    is_over: bool,
    /// Pipes that are read.
    open: usize,
}

impl Printed {
    fn with_room(left: usize) -> Printed {
        Printed(Arc::new(Mutex::new(Texts {
            texts: [Vec::new(), Vec::new()],
            left,
            is_over: false,
            open: 0,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Texts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a pipe into this text, in another thread, until it is closed or the room is full.
    fn listen(&self, text: usize, mut pipe: impl Read + Send + 'static) {
        self.lock().open += 1;
        let own = self.clone();
        thread::spawn(move || {
            let mut buffer = [0; 16 << 10];
            loop {
                let count = match pipe.read(&mut buffer) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Ok(0) | Err(_) => break,
                    Ok(count) => count,
                };
                let mut all = own.lock();
                let kept = count.min(all.left);
                all.texts[text].extend_from_slice(&buffer[..kept]);
                all.left -= kept;
                if kept < count {
                    all.is_over = true;
                    break;
                }
            }
            own.lock().open -= 1;
        });
    }
}
