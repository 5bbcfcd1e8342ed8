//! A release runs on machines with an old glibc.

use std::process::Command;

/// The versions of glibc that a program names, as major and minor.
fn named(program: &[u8]) -> Vec<(u32, u32)> {
    let text = String::from_utf8_lossy(program);
    let versions = text.split("GLIBC_").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let mut numbers = rest[..end?].split('.').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    });
    versions.collect()
}

/// This test's own program is linked with this machine's glibc, which is newer on most.
#[test]
fn a_program_that_needs_a_newer_glibc_is_refused() {
    let own = std::env::current_exe().unwrap();
    let newest = named(&std::fs::read(&own).unwrap()).into_iter().max();
    let (major, minor) = newest.expect("the program needs glibc");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../.ci/release");
    let output = Command::new(script)
        .arg("--check")
        .arg(&own)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let fits = (major, minor) <= (2, 28);
    assert_eq!(output.status.success(), fits, "{said}");
    let expected = format!("needs glibc {major}.{minor}, newer than 2.28");
    assert!(fits || said.contains(&expected), "{said}");
}

/// The wheel of the program finds the library beside it, which the other wheel brings.
#[test]
fn the_wheel_of_the_course_asks_for_that_of_this_version_of_emulate() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../harness/pyproject.toml");
    let text = std::fs::read_to_string(file).unwrap();
    let project: toml::Table = text.parse().unwrap();
    let asked = project["project"]["dependencies"][0].as_str().unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        asked,
        format!("emulate == {version}; sys_platform == 'linux'")
    );
}
