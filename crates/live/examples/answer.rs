//! Answers the questions of standard input, one per line, as WebAssembly does in a browser:
//! `tests/live.py` compares the two.

use std::io::{BufRead, Write, stdin, stdout};

fn main() -> std::io::Result<()> {
    let mut out = stdout().lock();
    for question in stdin().lock().lines() {
        writeln!(out, "{}", live::answer(&question?))?;
    }
    Ok(())
}
