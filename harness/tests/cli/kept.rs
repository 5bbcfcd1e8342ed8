//! A run keeps its results when a signal ends it, when the disk is full, and when two runs want one
//! folder.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use test_support::{Need, Terminal, skip};

use crate::run::{describe, harness, names};
use crate::signals::{send, wait_for};

/// More timesteps than a test can wait for, and many fields before them.
const WAVE3D: &str = "run wave3d --shape 20,20,20 --steps 4000000 --out-period 2 --device cpu";

/// A program that does not outlive its test.
struct Running(Option<Child>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
        }
    }
}

fn start(folder: &Path, args: &str) -> Running {
    let args: Vec<&str> = args.split(' ').collect();
    let mut command = harness(folder, &args);
    let piped = command.stdout(Stdio::null()).stderr(Stdio::piped());
    Running(Some(piped.spawn().unwrap()))
}

fn run(folder: &Path, args: &str) -> Output {
    let args: Vec<&str> = args.split(' ').collect();
    harness(folder, &args).output().unwrap()
}

/// Ends it, and returns what it says.
fn interrupted(mut running: Running, signal: &str, code: i32) -> String {
    let child = running.0.take().unwrap();
    send(signal, &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", describe(&output));
    String::from_utf8(output.stderr).unwrap()
}

fn fields(folder: &Path) -> Vec<String> {
    let mut names = names(folder);
    names.retain(|name| name.ends_with(".vti"));
    names
}

/// The folder holds whole fields and a `.pvd` that names them, and nothing else. Returns how many.
fn assert_is_a_series(folder: &Path, pvd: &str) -> usize {
    let fields = fields(folder);
    let list = std::fs::read_to_string(folder.join(pvd)).unwrap();
    assert!(list.ends_with("</VTKFile>\n"), "{list}");
    for field in &fields {
        assert!(
            list.contains(&format!("file=\"{field}\"")),
            "{field}: {list}"
        );
        let bytes = std::fs::read(folder.join(field)).unwrap();
        assert!(bytes.ends_with(b"</VTKFile>\n"), "{field}");
    }
    assert_eq!(list.matches("<DataSet").count(), fields.len(), "{list}");
    assert_eq!(names(folder).len(), fields.len() + 1, "{:?}", names(folder));
    fields.len()
}

#[test]
fn a_signal_keeps_the_fields() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("w3");
        let child = start(folder.path(), &format!("{WAVE3D} --out w3"));
        wait_for("fields", || out.is_dir() && fields(&out).len() > 2);
        let said = interrupted(child, signal, code);
        let kept = assert_is_a_series(&out, "wave3d.pvd");
        let expected = format!(
            "interrupted after {} of 4,000,000 timesteps; kept w3/wave3d.pvd and {kept} fields\n",
            2 * kept
        );
        assert_eq!(said, expected);
        assert_eq!(names(folder.path()), ["w3"]);
    }
}

#[test]
fn a_series_can_be_looked_at_while_it_grows() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("w3");
    let running = start(folder.path(), &format!("{WAVE3D} --out w3"));
    let pvd = out.join("wave3d.pvd");
    wait_for("series", || pvd.exists());
    while fields(&out).len() < 20 {
        let list = std::fs::read_to_string(&pvd).unwrap();
        assert!(list.ends_with("</VTKFile>\n"), "{list}");
        for line in list.lines().filter(|line| line.contains("<DataSet")) {
            let file = line.split('"').nth(5).unwrap();
            let bytes = std::fs::read(out.join(file)).unwrap();
            assert!(bytes.ends_with(b"</VTKFile>\n"), "{file}");
        }
    }
    // A program that is killed loses the field at hand.
    drop(running);
    assert!(fields(&out).len() >= 20);
}

#[test]
fn a_signal_keeps_the_film_and_the_seismogram() {
    let folder = tempfile::tempdir().unwrap();
    let args = "run stencil25 --shape 12,12,12 --shell 2 --steps 400000 --out-period 4 --device cpu --out s25 --gif g.gif --receivers r.npy";
    let out = folder.path().join("s25");
    let child = start(folder.path(), args);
    wait_for("fields", || out.is_dir() && fields(&out).len() > 2);
    let said = interrupted(child, "-TERM", 143);
    let kept = assert_is_a_series(&out, "stencil25.pvd");
    assert_eq!(names(folder.path()), ["g.gif", "r.npy", "r.png", "s25"]);
    let gif = std::fs::read(folder.path().join("g.gif")).unwrap();
    assert!(gif.starts_with(b"GIF89a") && gif.ends_with(b";"));
    for what in [
        format!("after {} of 400,000 timesteps", 4 * kept),
        format!("s25/stencil25.pvd and {kept} fields"),
        format!("g.gif: 12x12, {kept} frames"),
        format!("r.npy: {} samples of 8 receivers", 4 * kept),
    ] {
        assert!(said.contains(&what), "no {what:?} in {said:?}");
    }
}

#[test]
fn before_the_first_field_nothing_is_left() {
    let long = "run wave3d --shape 60,60,60 --steps 4000000 --out-period 4000000 --device cpu";
    let folder = tempfile::tempdir().unwrap();
    let child = start(folder.path(), &format!("{long} --out w3"));
    wait_for("claim", || !names(folder.path()).is_empty());
    let said = interrupted(child, "-INT", 130);
    assert_eq!(names(folder.path()), [""; 0]);
    insta::assert_snapshot!(said, @"interrupted after 0 of 4,000,000 timesteps; kept nothing, since no chunk was finished; a shorter --out-period finishes fields sooner");

    // A folder that was there before stays.
    let out = folder.path().join("w3");
    std::fs::create_dir(&out).unwrap();
    let other = start(folder.path(), &format!("{long} --out w3"));
    wait_for("claim", || !names(&out).is_empty());
    interrupted(other, "-INT", 130);
    assert_eq!(names(&out), [""; 0]);
}

#[test]
fn a_solution_that_is_not_finished_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let args = "run poisson --n 65 --iterations 4000000 --device cpu --output npy";
    let child = start(folder.path(), args);
    wait_for("file", || !names(folder.path()).is_empty());
    let said = interrupted(child, "-TERM", 143);
    insta::assert_snapshot!(said, @"interrupted before the last iteration; ./poisson-65.npy is not written");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_second_run_into_the_folder_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("w");
    let films = "run wave2d --shape 30,20 --device cpu --steps 4000000000";
    for (first, flag) in [
        (format!("{WAVE3D} --out w"), "--out w"),
        (format!("{films} --gif w/"), "--gif w/"),
    ] {
        let child = start(folder.path(), &first);
        wait_for("claim", || out.is_dir() && !names(&out).is_empty());
        let second = describe(&run(folder.path(), &first));
        let expected = format!(
            "exit code: 2\n--- stderr ---\nerror: {flag}: another run is writing there; name another folder"
        );
        assert_eq!(second, expected);
        interrupted(child, "-INT", 130);
        if out.exists() {
            std::fs::remove_dir_all(&out).unwrap();
        }
    }
}

#[test]
fn bars_are_off_the_screen_before_the_last_words() {
    let folder = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::new(80, 24).unwrap();
    let args = format!("{WAVE3D} --out w3");
    let args: Vec<&str> = args.split(' ').collect();
    let mut command = harness(folder.path(), &args);
    let mut child = terminal.give_to(&mut command).unwrap().spawn().unwrap();
    let seen = terminal.wait_for(" left", 0);
    terminal.press("\x03").unwrap();
    terminal.wait_for("interrupted after", seen);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let written = terminal.written();
    let (before, _) = written.split_once("interrupted after").unwrap();
    // Of two bars the cursor goes up to the first line.
    let before = before.trim_end_matches("\x1b[1A");
    assert!(before.ends_with("\r\x1b[2K"), "{before:?}");
}

#[test]
fn tests_show_how_far_they_are_and_leave_whole_lines() {
    let folder = tempfile::tempdir().unwrap();
    let terminal = Terminal::new(80, 24).unwrap();
    let args = ["test", "matadd", "--device", "cpu,emulated"];
    let mut command = harness(folder.path(), &args);
    let mut child = terminal.give_to(&mut command).unwrap().spawn().unwrap();
    terminal.wait_for("all right", 0);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let written = terminal.written();
    // The last picture of a line is what stays.
    let lines = written
        .lines()
        .map(|line| line.rsplit("\r\x1b[2K").next().unwrap());
    let stale: Vec<&str> = lines.filter(|line| line.contains("testing")).collect();
    assert_eq!(stale, [""; 0], "{written:?}");
    assert!(written.contains("testing matadd"), "{written:?}");
}

#[test]
fn a_full_disk_keeps_what_there_was_room_for() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("full")).unwrap();
    // The disk is there for these programs alone.
    let script = r#"mount -t tmpfs -o size=1m tmpfs full && echo mounted || exit 99
        "$@"; code=$?; ls -A full/o; cat full/o/wave3d.pvd; exit $code"#;
    let args = "run wave3d --shape 32,32,32 --steps 20 --out-period 2 --device cpu --out full/o";
    let output = Command::new("unshare")
        .args(["-Urm", "sh", "-c", script, "sh"])
        .arg(env!("CARGO_BIN_EXE_harness"))
        .args(args.split(' '))
        .current_dir(folder.path())
        .output();
    let output = match output {
        Ok(output) if output.stdout.starts_with(b"mounted") => output,
        other => return skip(Need::Sandbox, format!("no small disk: {other:?}")),
    };
    let text = describe(&output);
    assert_eq!(output.status.code(), Some(3), "{text}");
    let said = "error: cannot write full/o/u-000008.vti: No space left on device (os error 28); after 8 of 20 timesteps, kept full/o/wave3d.pvd and 3 fields";
    assert!(text.contains(said), "{text}");
    let listed = "u-000002.vti\nu-000004.vti\nu-000006.vti\nwave3d.pvd\n";
    assert!(text.contains(listed), "{text}");
    assert_eq!(text.matches("<DataSet").count(), 3, "{text}");
}
