//! Why a program cannot be started, with a remedy.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use exit::CommandError;
use rustix::io::Errno;

/// The error for a program that the system does not start.
pub(super) fn failed(program: &OsStr, error: &io::Error) -> CommandError {
    let name = program.display();
    let why = match error.kind() {
        ErrorKind::NotFound => match (program.is_empty(), find(program)) {
            (true, _) => "the program's name is empty: write it behind `--`".to_owned(),
            (_, None) => format!("{name}: not found; write ./NAME for one in this folder"),
            (_, Some(path)) => format!("{name}: {}", lacks(&path)),
        },
        ErrorKind::PermissionDenied if Path::new(program).is_dir() => {
            format!("{name}: this is a folder; name a program in it")
        }
        ErrorKind::PermissionDenied => {
            format!("{name}: it may not be executed; name a program, or `chmod +x` it")
        }
        _ => format!("{name}: cannot be run: {error}"),
    };
    match Errno::from_io_error(error) {
        // Too many processes, too little memory, too many open files.
        Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE) => {
            CommandError::Environment(why)
        }
        _ => CommandError::Input(why),
    }
}

/// The file of a program, if there is one.
fn find(program: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut files = std::env::split_paths(&folders).map(|folder| folder.join(program));
    files.find(|path| path.is_file())
}

/// The reason why a program that is there is "not found": the program that runs it is not.
fn lacks(path: &Path) -> String {
    let mut start = Vec::new();
    // A file that cannot be read is told of as one without a first line.
    let _ = File::open(path).and_then(|file| file.take(256).read_to_end(&mut start));
    match start.strip_prefix(b"#!") {
        Some(line) => {
            let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let line = String::from_utf8_lossy(line);
            let line = line.trim();
            let name = line.split_whitespace().next().unwrap_or_default();
            format!(
                "its first line, `#!{line}`, names a program that is not there: install {name}, or mend the line"
            )
        }
        None => "the file is there, and the loader that it asks for is not: it was built for \
                 another system; `readelf -l` shows the loader"
            .to_owned(),
    }
}
