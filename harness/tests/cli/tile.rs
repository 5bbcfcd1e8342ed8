//! The tile that wave2d's handout begins is right, once its reader has written the middle, and
//! earns what a kernel of one timestep per launch does not.

use std::fs;
use std::path::Path;

use crate::book::{ROOT, typed, workplace};
use crate::run::describe;

/// The part of the handout that the reader writes, with two barriers.
const MIDDLE: &str = "
        thread::sync_threads();
        let is_edge = column == 0 || column == W - 1 || row == 0 || row == H - 1;
        let next = match update::kind(&scene, domain, x, y) {
            _ if !is_inside => 0.0,
            Kind::Zero => 0.0,
            Kind::Source => scene.source_value(t.wrapping_add(step)),
            Kind::Free { .. } if is_edge => 0.0,
            Kind::Free { damping } => {
                let at = |i: usize| unsafe { *tile.add(i) };
                let around = Neighbours {
                    west: at(me - 1),
                    east: at(me + 1),
                    north: at(me - W as usize),
                    south: at(me + W as usize),
                };
                update::free_cell(previous, current, around, k, damping)
            }
        };
        thread::sync_threads();
";

/// `text` with everything from `begin` up to `end` replaced.
fn replaced(text: &str, begin: &str, end: &str, by: &str) -> String {
    let (before, rest) = text.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    format!("{before}{by}{end}{after}")
}

#[test]
fn the_tile_of_the_handout_is_right_with_its_middle() {
    let read = |name: &str| fs::read_to_string(Path::new(ROOT).join(name)).unwrap();
    let handout = read("labs/wave2d/README.md");
    let blocks: Vec<&str> = handout
        .split("```rust\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    let [kernel, record] = blocks[..] else {
        panic!("{} blocks", blocks.len());
    };
    let kernel = replaced(kernel, "// TODO", "(previous, current)", MIDDLE);
    let kernels = read("labs/wave2d/starter/kernels.rs") + &kernel;
    let sizes = kernel.split("///").next().unwrap();
    let launch = read("labs/wave2d/starter/launch.rs")
        .replace("use plan::{", "use plan::{Element, ")
        .replace("Buffers { u0, u1 }", "Buffers { mut u0, mut u1 }")
        .replace("/// The solution", &format!("{sizes}\n/// The solution"));
    let launch = replaced(&launch, "// As many blocks", "\n    }\n", record);

    let (folder, search) = workplace();
    let course = folder.path().join("course");
    fs::create_dir(course.join("mine")).unwrap();
    fs::write(course.join("mine/kernels.rs"), kernels).unwrap();
    fs::write(course.join("mine/launch.rs"), launch).unwrap();
    let command = "harness grade mine --lab wave2d --device emulated --brief";
    let graded = typed(command, &course, &search);
    let said = String::from_utf8_lossy(&graded.stdout);
    assert!(said.contains("60 / 60 points"), "{}", describe(&graded));
}

/// The handout shows what a right kernel of part 1 lacks.
#[test]
fn one_timestep_per_launch_earns_all_but_the_tile() {
    let (folder, search) = workplace();
    let course = folder.path().join("course");
    let plain = Path::new(ROOT).join("tests/submissions/programs/wave2d");
    fs::create_dir(course.join("mine")).unwrap();
    for file in ["kernels.rs", "launch.rs"] {
        fs::copy(plain.join(file), course.join("mine").join(file)).unwrap();
    }
    let command = "harness grade mine --lab wave2d --device emulated";
    let graded = typed(command, &course, &search);
    let said = String::from_utf8_lossy(&graded.stdout);
    assert!(said.contains("55 / 60 points"), "{}", describe(&graded));
    let handout = fs::read_to_string(Path::new(ROOT).join("labs/wave2d/README.md")).unwrap();
    let shown = said
        .lines()
        .find(|line| line.contains("launches of two-steps"));
    let shown = shown.unwrap_or_else(|| panic!("{}", describe(&graded)));
    assert!(
        handout.contains(shown),
        "the handout does not show `{shown}`"
    );
}
