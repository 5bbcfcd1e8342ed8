//! The program as its users meet it: messages, exit codes, files.

mod bad_input;
#[cfg(target_os = "linux")]
mod book;
#[cfg(target_os = "linux")]
mod colab;
mod commands;
#[cfg(target_os = "linux")]
mod emulate;
#[cfg(target_os = "linux")]
mod faults;
mod files;
#[cfg(target_os = "linux")]
mod forge;
#[cfg(target_os = "linux")]
mod gpu_program;
mod grade;
mod help;
#[cfg(target_os = "linux")]
mod kept;
#[cfg(target_os = "linux")]
mod lab0;
#[cfg(target_os = "linux")]
mod lacking;
#[cfg(target_os = "linux")]
mod launch;
mod own;
mod paths;
#[cfg(target_os = "linux")]
mod ranks;
#[cfg(target_os = "linux")]
mod record;
mod results;
mod run;
mod shards;
#[cfg(unix)]
mod signals;
#[cfg(target_os = "linux")]
mod tile;
#[cfg(target_os = "linux")]
mod watch;
