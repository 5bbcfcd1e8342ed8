use std::fs;

use device::Element;
use plan::{LaunchConfig, args};
use serde_json::json;

use super::*;

fn bundle() -> Bundle {
    let mut plan = Plan::new("odd");
    let u = plan.buffer("u", Element::F32, 8);
    let config = LaunchConfig::new(2, 4);
    plan.launch("k", config, args![u, f32::NAN]).unwrap();
    plan.output("u", u);
    Bundle {
        draw: None,
        lab: "wave2d".into(),
        ptx: ".version 8.0".into(),
        cases: vec![BundledCase {
            name: "odd".into(),
            problem: json!({ "n_x": 37, "k": 0.25 }),
            plan: Ok(plan),
        }],
        timed: Vec::new(),
        built_with: BuiltWith {
            harness: "0.1.0".into(),
            kernels: "rustc 1.97.0".into(),
            llvm: 22,
            host: "rustc 1.95.0".into(),
        },
        protections: Vec::new(),
    }
}

/// A folder with `x.bundle` in it.
fn written() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.bundle");
    fs::write(&path, bundle().packed().unwrap().bytes).unwrap();
    (folder, path)
}

/// The error of reading once `change` was done to the file's bytes.
fn after(change: impl FnOnce(&mut Vec<u8>)) -> (String, Kind) {
    let (_folder, path) = written();
    let mut bytes = fs::read(&path).unwrap();
    change(&mut bytes);
    fs::write(&path, bytes).unwrap();
    message(&path)
}

fn message(path: &Path) -> (String, Kind) {
    let error = Bundle::read(path).unwrap_err();
    let text = error.to_string();
    assert_eq!(text.lines().count(), 1, "{text}");
    let folder = format!("{}/", path.parent().unwrap().display());
    (text.replace(&folder, ""), error.failure_kind())
}

#[test]
fn what_is_read_is_what_was_written() {
    let (_folder, path) = written();
    let read = Bundle::read(&path).unwrap();
    let json = |bundle: &Bundle| serde_json::to_value(bundle).unwrap();
    assert_eq!(json(&read), json(&bundle()));
    assert_eq!(
        read.packed().unwrap().sha256,
        bundle().packed().unwrap().sha256
    );
    assert!(read.case("odd").is_some());
}

#[test]
fn the_first_line_tells_what_the_file_is() {
    let (_folder, path) = written();
    let bytes = fs::read(path).unwrap();
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap();
    let line = std::str::from_utf8(line).unwrap();
    let words: Vec<&str> = line.split(' ').collect();
    assert_eq!(words[..2], ["harness-bundle", "4"]);
    assert_eq!(words[2], bundle().packed().unwrap().sha256);
    assert_eq!(words[3], (bytes.len() - line.len() - 1).to_string());
}

/// A saved plan writes out each launch; the compression finds what they have in common.
#[test]
fn a_long_run_is_a_small_file() {
    let mut long = bundle();
    let plan = long.cases[0].plan.as_mut().unwrap();
    let u = plan.buffer_ids().next().unwrap();
    let config = LaunchConfig::new((26, 3201), (128, 1));
    for step in 0..12_800u32 {
        let args = args![u, u.slice(), 3201u32, 3201u32, 0.1f32, step];
        plan.launch("wave2d_naive", config, args).unwrap();
    }
    let bytes = long.packed().unwrap().bytes.len();
    assert!(bytes < 5 * 12_800, "{bytes} bytes");
}

#[test]
fn a_truncated_file_is_told() {
    let (text, kind) = after(|bytes| bytes.truncate(bytes.len() - 1));
    let text = text.replace(char::is_numeric, "#");
    insta::assert_snapshot!(text, @"x.bundle: has ### bytes of content instead of ###; copy it again, or pack the submission again");
    assert_eq!(kind, Kind::BundleDamaged);
    // Wherever the file ends, the error says so.
    let whole = fs::read(written().1).map_or(0, |bytes| bytes.len());
    for length in (0..whole).step_by(16) {
        after(|bytes| bytes.truncate(length));
    }
}

#[test]
fn a_file_that_goes_on_is_told() {
    let (text, kind) = after(|bytes| bytes.push(0));
    assert!(text.contains("bytes of content instead of"), "{text}");
    assert_eq!(kind, Kind::BundleDamaged);
}

#[test]
fn an_edited_file_is_told() {
    let (text, kind) = after(|bytes| *bytes.last_mut().unwrap() ^= 1);
    insta::assert_snapshot!(text, @"x.bundle: does not match its checksum: it was damaged or edited; copy it again, or pack the submission again");
    assert_eq!(kind, Kind::BundleDamaged);
}

#[test]
fn another_version_is_told() {
    let (text, kind) = after(|bytes| {
        let digit = "harness-bundle ".len();
        assert_eq!(bytes[digit], b'4');
        bytes[digit] = b'1';
    });
    insta::assert_snapshot!(text, @"x.bundle: is a bundle of version 1, and this program reads version 4; pack the submission again with this program");
    assert_eq!(kind, Kind::BundleVersion);
}

#[test]
fn anything_else_is_no_bundle() {
    let (text, kind) = after(|bytes| *bytes = b"\x7fELF and so on".to_vec());
    insta::assert_snapshot!(text, @"x.bundle: is not a bundle; make one with `harness pack`");
    assert_eq!(kind, Kind::BundleDamaged);
    after(|bytes| *bytes = Vec::new());
    after(|bytes| *bytes = vec![b'h'; 1 << 20]);
}

#[test]
fn a_missing_file_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (text, kind) = message(&folder.path().join("x.bundle"));
    insta::assert_snapshot!(text, @"x.bundle: cannot be read: No such file or directory (os error 2)");
    assert_eq!(kind, Kind::MissingFile);
    let error = Bundle::read(folder.path()).unwrap_err().to_string();
    assert!(error.ends_with("cannot be read: is a directory"), "{error}");
}

/// A file around this content, with the right checksum and length.
fn around(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    let packed = encoder.finish().unwrap();
    let sha256 = digest::sha256(&packed);
    let mut bytes = format!("harness-bundle 4 {sha256} {}\n", packed.len()).into_bytes();
    bytes.extend(packed);
    bytes
}

#[test]
fn content_of_another_form_is_told() {
    let (text, kind) = after(|bytes| *bytes = around(b"{\"lab\": 1}"));
    insta::assert_snapshot!(text, @"x.bundle: holds no submission: invalid type: integer `1`, expected a string at line 1 column 9; pack the submission again");
    assert_eq!(kind, Kind::BundleDamaged);
}

#[test]
fn a_huge_length_reads_nothing() {
    let (text, kind) = after(|bytes| {
        *bytes = format!("harness-bundle 4 {} {}\n", "0".repeat(64), u64::MAX).into_bytes();
    });
    insta::assert_snapshot!(text, @"x.bundle: is larger than the 64 MiB that a bundle may have; record fewer launches");
    assert_eq!(kind, Kind::PlanTooLarge);
}

#[test]
fn content_that_unpacks_to_too_much_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.bundle");
    fs::write(&path, around(&[b' '; 10_000])).unwrap();
    assert!(matches!(
        read(&path, 1 << 20, 9_999),
        Err(BundleErrorKind::TooLarge { .. })
    ));
    // The same bytes within the limit are merely no submission.
    assert!(matches!(
        read(&path, 1 << 20, 10_000),
        Err(BundleErrorKind::Content(_))
    ));
}

#[test]
fn a_bundle_that_could_not_be_read_is_not_written() {
    let mut large = bundle();
    large.ptx = "x".repeat(2 << 20);
    let limit = 1 << 20;
    assert!(matches!(
        large.packed_within(limit, limit),
        Err(BundleErrorKind::TooLarge { .. })
    ));
    assert!(bundle().packed_within(limit, limit).is_ok());
    // It says which of the two it is.
    let mut random = bundle();
    random.ptx = std::iter::repeat_with(fastrand::alphanumeric)
        .take(1 << 20)
        .collect();
    assert!(random.packed_within(limit, 2 * limit).is_ok());
    insta::assert_snapshot!(random.packed_within(limit / 2, 2 * limit).unwrap_err(), @"is larger than the 0 MiB that a bundle may have; record fewer launches");
    insta::assert_snapshot!(random.packed_within(limit, limit).unwrap_err(), @"is larger than the 1 MiB that a bundle's content may have; record fewer launches");
    // Half of it is for cases that are not hidden.
    let case = &bundle().cases[0];
    let mut room = Room::half();
    room.take(case).unwrap();
    // One that has no place leaves its room to others.
    let mut little = Room {
        packed: MAX_PACKED / 2 - room.packed + 60,
        unpacked: MAX_UNPACKED,
    };
    let mut long = case.clone();
    long.problem = json!(random.ptx);
    insta::assert_snapshot!(little.take(&long).unwrap_err(), @"is larger than the 32 MiB that a bundle may have; record fewer launches");
    little.take(case).unwrap();
    assert!(little.take(case).is_err());
}
