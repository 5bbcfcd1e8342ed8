//! wave2d: required instructions of the kernels' PTX. On a GPU, also every scene and variant, over
//! sizes and numbers of steps just below, at and above those of blocks, tiles and launches. The
//! emulated device runs the lab's small cases instead.

use std::collections::BTreeMap;

use host::wave2d::{LAB, Start, Wave2d};
use kernels_gpu::wave2d::AnyScene;
use lab::run::run_case;
use lab::{Cpu, LabCase, Seed};
use terminal::progress::NoProgress;
use test_support::{Need, skip};

const SIZES: [(u32, u32); 7] = [
    (2, 2),
    (3, 3),
    (37, 53),
    (200, 201),
    (201, 201),
    (108, 44),
    (1000, 129),
];
const STEPS: [u32; 5] = [0, 1, 7, 20, 100];

#[test]
fn every_scene_size_and_step_count_equals_the_reference_on_cuda() {
    let devices = match cuda::discover() {
        Ok(devices) => devices,
        Err(reason) => return skip(Need::Gpu, reason),
    };
    let device = devices[0].as_ref();
    let mut runs = 0;
    for scene in AnyScene::NAMES {
        for (n_x, n_y) in SIZES {
            for steps in STEPS {
                let seed = u64::from(n_x) * 1000 + u64::from(steps);
                let problem =
                    Wave2d::new(n_x, n_y, steps, scene)
                        .unwrap()
                        .with_start(Start::Random {
                            seed: Seed::Number(seed),
                        });
                let inputs = LabCase::inputs(&problem).unwrap();
                let expected = problem
                    .reference_from(&inputs, Cpu::Parallel, &NoProgress)
                    .unwrap();
                for variant in &LAB.variants {
                    let outcome = run_case(device, &problem, variant).unwrap();
                    let outputs = &outcome.outputs;
                    let checked = variant.check(&problem, &inputs, &expected, outputs);
                    if let Err(error) = checked.unwrap() {
                        panic!("{} of {problem}: {error}", variant.name);
                    }
                    runs += 1;
                }
            }
        }
    }
    println!("{runs} runs equal the reference on {}", device.info().name);
}

/// The number of instructions of each opcode.
fn opcodes(ptx: &str) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for line in ptx.lines().map(str::trim) {
        let line = match line.strip_prefix('@') {
            Some(guarded) => guarded
                .split_once(char::is_whitespace)
                .map_or("", |(_, rest)| rest.trim()),
            None => line,
        };
        let opcode = line.split([' ', '\t', ';']).next().unwrap_or("");
        if !opcode.is_empty() {
            *counts.entry(opcode).or_insert(0) += 1;
        }
    }
    counts
}

#[test]
fn memory_accesses_have_their_state_space() {
    let counts = opcodes(LAB.module.ptx());
    let any = |prefix: &str| counts.keys().any(|opcode| opcode.starts_with(prefix));
    assert!(
        any("ld.shared.v4") && any("st.shared.v4"),
        "edges move as vectors"
    );
    assert!(
        any("ld.global.nc"),
        "read-only fields go through the read-only path"
    );
    for (opcode, count) in &counts {
        let access = opcode.starts_with("ld.") || opcode.starts_with("st.");
        let spaces = [".global", ".shared", ".param"];
        let known = spaces.iter().any(|space| opcode.contains(space));
        assert!(
            !access || known,
            "{count} of {opcode}: generic or local memory"
        );
    }
}

#[test]
fn the_parser_knows_every_instruction_and_the_kernels_are_listed() {
    let executable = LAB.module.executable().unwrap();
    assert_eq!(executable.unsupported(), []);
    let program = executable.program();
    let mut names: Vec<_> = program
        .kernels()
        .map(|kernel| kernel.name.as_str())
        .filter(|name| name.starts_with("wave2d"))
        .collect();
    names.sort();
    let starts = |start| move |name: &&str| name.starts_with(start);
    let (fast, others): (Vec<_>, Vec<_>) = names.into_iter().partition(starts("wave2d_fast"));
    // Two kernels change the layout, three write tables.
    assert_eq!(fast.len(), 2 + 3 + 3 + 3, "{fast:?}");
    let (wavefront, others): (Vec<_>, Vec<_>) =
        others.into_iter().partition(starts("wave2d_wavefront"));
    // Two kernels change the layout, three write tables, one prepares a launch.
    assert_eq!(wavefront.len(), 2 + 3 + 1 + 3 + 3, "{wavefront:?}");
    let expected = [
        "wave2d_naive",
        // A kernel for each depth.
        "wave2d_resident_13",
        "wave2d_resident_4",
        "wave2d_resident_5",
        "wave2d_resident_7",
        "wave2d_resident_one_step",
        "wave2d_shmem",
        "wave2d_single",
        "wave2d_single_codes",
    ];
    assert_eq!(others, expected);
    let shmem = program.kernel("wave2d_shmem").unwrap();
    let most: u32 = shmem.max_threads.expect("launch bounds").iter().product();
    let [x, y] = kernels_gpu::solutions::wave2d::shmem::kernels::BLOCK;
    assert_eq!(most, x * y, "launch bounds are the block that is launched");
}
