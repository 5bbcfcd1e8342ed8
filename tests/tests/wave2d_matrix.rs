//! wave2d on a GPU, bit for bit against the CPU reference: every scene and variant, over sizes and numbers of steps that
//! are below, at and beside blocks, tiles and launches. The emulated device runs the lab's small cases instead.

use host::lab::NoProgress;
use host::wave2d::{LAB, Start, Wave2d};
use host::{Case, Cpu, Lab, run_case};
use kernels_gpu::wave2d::AnyScene;

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
    let devices = match host::device::discover() {
        Ok(devices) => devices,
        Err(reason) => {
            println!("skipped: {reason}");
            return;
        }
    };
    let device = devices[0].as_ref();
    let mut runs = 0;
    for scene in AnyScene::NAMES {
        for (n_x, n_y) in SIZES {
            for steps in STEPS {
                let seed = u64::from(n_x) * 1000 + u64::from(steps);
                let problem = Wave2d::new(n_x, n_y, steps, scene)
                    .unwrap()
                    .with_start(Start::Random { seed });
                let expected = problem.reference(Cpu::Parallel, &NoProgress).unwrap();
                for variant in LAB.variants() {
                    let outcome = run_case(device, LAB.module(), &problem, variant.name).unwrap();
                    if let Err(error) = problem.check(variant.name, &expected, &outcome.outputs) {
                        panic!("{} of {problem}: {error}", variant.name);
                    }
                    runs += 1;
                }
            }
        }
    }
    println!("{runs} runs equal the reference on {}", device.info().name);
}
