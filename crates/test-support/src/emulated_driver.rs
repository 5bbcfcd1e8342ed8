//! Tests for a GPU, on the emulated driver.

use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

/// Set in the process that has the emulated driver.
const DEVICES: &str = "EMULATED_DRIVER_DEVICES";

/// Runs tests of this program again, in a process that finds the emulated driver with this number
/// of devices as its `libcuda.so.1`: those that `chosen` names, as on the command line of a
/// test program. None of them may be skipped for want of a GPU. Does nothing in that process.
///
/// The package that tests has `emulated-driver` among its `dev-dependencies`, so that cargo makes
/// the library.
///
/// # Panics
///
/// If one of the tests fails, or if there is none.
pub fn on_emulated_driver(chosen: &[&str], devices: u32) {
    if std::env::var_os(DEVICES).is_some() {
        return;
    }
    let program = std::env::current_exe().expect("the file of this program");
    let output = Command::new(program)
        .args(chosen)
        .arg("--test-threads=2")
        .env("LD_LIBRARY_PATH", folder())
        .env(DEVICES, devices.to_string())
        .env("REQUIRE_GPU", "1")
        .output()
        .expect("this program runs again");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && !said.contains("running 0 tests"),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A folder beside this program in which the library has the driver's name.
fn folder() -> PathBuf {
    let program = std::env::current_exe().expect("the file of this program");
    let folder = program.with_file_name("emulated-driver");
    std::fs::create_dir_all(&folder).expect("cargo's folder may be written");
    match symlink("../libemulated_driver.so", folder.join("libcuda.so.1")) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => panic!("{error}"),
        _ => folder,
    }
}
