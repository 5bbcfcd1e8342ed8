//! How many thread instructions a second one core executes, with checks off and on.
//!
//! `cargo bench -p ptx-emu`, or `cargo bench -p ptx-emu -- KERNEL`. Targets: 300 million a second
//! with checks off, half of that with all checks on.
//!
//! `cargo bench -p ptx-emu -- --threads` tells how much faster launches with all checks are on more
//! host threads than on one, by the clock: for a machine that does nothing else.

use std::time::{Duration, Instant};

use ptx_emu::{DeviceLimits, Executable, LaunchConfig, Machine, Options, Sanitize};

const TARGET: f64 = 300e6;
const STENCIL: &str = include_str!("../tests/ptx/stencil.ptx");
const SCATTERED: &str = include_str!("../tests/ptx/scattered.ptx");
/// Words of a row or column of [`SCATTERED`].
const ROW: u32 = 128;
const N_X: u32 = 512;
const N_Y: u32 = 512;
const CELLS: usize = (N_X * N_Y) as usize;

/// One kernel with its launch, and how it takes its parameters.
struct Case {
    ptx: &'static str,
    kernel: &'static str,
    config: LaunchConfig,
    params: fn(u64, u64) -> Vec<u8>,
}

fn cases() -> Vec<Case> {
    let launch = |grid, block| LaunchConfig {
        grid,
        block,
        shared_mem_bytes: 0,
        cluster: [1; 3],
    };
    let stencils = [
        Case {
            ptx: STENCIL,
            kernel: "arithmetic",
            config: launch([64, 1, 1], [256, 1, 1]),
            params: |out, _| [&out.to_le_bytes()[..], &100u32.to_le_bytes()].concat(),
        },
        Case {
            ptx: STENCIL,
            kernel: "stencil",
            config: launch([N_X / 32, N_Y / 8, 1], [32, 8, 1]),
            params: stencil_params,
        },
        Case {
            ptx: STENCIL,
            kernel: "stencil",
            config: launch([N_X / 16, N_Y / 16, 1], [16, 16, 1]),
            params: stencil_params,
        },
        Case {
            ptx: STENCIL,
            kernel: "tiled",
            config: launch([N_X / 32, N_Y / 8, 1], [32, 8, 1]),
            params: |out, input| {
                [
                    &out.to_le_bytes()[..],
                    &input.to_le_bytes(),
                    &N_X.to_le_bytes(),
                ]
                .concat()
            },
        },
    ];
    let scattered = ["rows", "bytes", "bins"].map(|kernel| Case {
        ptx: SCATTERED,
        kernel,
        config: launch([CELLS as u32 / ROW / 128, 1, 1], [128, 1, 1]),
        params: |out, input| {
            [
                &out.to_le_bytes()[..],
                &input.to_le_bytes(),
                &ROW.to_le_bytes(),
            ]
            .concat()
        },
    });
    stencils.into_iter().chain(scattered).collect()
}

fn stencil_params(before: u64, now: u64) -> Vec<u8> {
    [
        &before.to_le_bytes()[..],
        &now.to_le_bytes(),
        &N_X.to_le_bytes(),
        &N_Y.to_le_bytes(),
        &0.5f32.to_le_bytes(),
        &0.3f32.to_le_bytes(),
    ]
    .concat()
}

/// The processor time that this thread has used, so that other work does not count; where the
/// system does not say, the time since the start.
fn time(start: Instant) -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let used = stat.and_then(|stat| stat.split(' ').next()?.parse().ok());
    used.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// Thread instructions a second: the best of as many launches as fit in a second. By the time of
/// the processor on one thread, by the clock on more.
fn measure(case: &Case, sanitize: Sanitize, threads: usize) -> f64 {
    let options = Options {
        sanitize,
        threads,
        ..Options::default()
    };
    let time = |start: Instant| match threads {
        1 => time(start),
        _ => start.elapsed(),
    };
    let mut machine = Machine::new(DeviceLimits::default(), options);
    let program = Executable::parse(case.ptx).expect("the PTX is valid");
    let module = machine.load(program).expect("it fits");
    let data: Vec<u8> = (0..CELLS)
        .flat_map(|i| (i as f32 * 1e-3).to_le_bytes())
        .collect();
    let [a, b] = ["a", "b"].map(|name| {
        let buffer = machine.allocate(4 * CELLS as u64, name).expect("it fits");
        machine.write(buffer, &data).expect("it lies in the buffer");
        buffer
    });
    let params = (case.params)(a, b);
    let (start, mut best) = (Instant::now(), 0.0f64);
    while start.elapsed() < Duration::from_secs(1) {
        let begin = time(start);
        let report = machine
            .launch(&module, case.kernel, &case.config, &params)
            .unwrap_or_else(|fault| panic!("{fault}"));
        let taken = time(start).saturating_sub(begin);
        let rate = report.counts.instructions.thread as f64 / taken.as_secs_f64();
        if rate > best {
            best = rate;
        }
    }
    best
}

/// Tells how much faster more threads are.
fn scale<'c>(cases: impl Iterator<Item = &'c Case>) {
    let most = std::thread::available_parallelism().map_or(1, usize::from);
    let doubled = std::iter::successors(Some(2), |count| Some(2 * count));
    let counts: Vec<usize> = doubled.take_while(|count| *count <= most).collect();
    let heads = counts.iter().map(|count| format!("{count:>4} threads"));
    println!("kernel       block   {}", heads.collect::<String>());
    for case in cases {
        let one = measure(case, Sanitize::ALL, 1);
        let factors = counts.iter().map(|count| {
            let factor = measure(case, Sanitize::ALL, *count) / one;
            format!("{factor:>12.2}")
        });
        let [x, y, _] = case.config.block;
        let row = factors.collect::<String>();
        println!("{:<12} {x:>3}x{y:<3} {row}", case.kernel);
    }
}

fn main() {
    if std::env::args().any(|word| word == "--threads") {
        return scale(cases().iter());
    }
    println!(
        "kernel       block    checks off        checks on     on/off   off/target  on/(target/2)"
    );
    let names: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let is_named = |case: &Case| names.is_empty() || names.iter().any(|name| name == case.kernel);
    for case in cases().into_iter().filter(is_named) {
        let off = measure(&case, Sanitize::NONE, 1);
        let on = measure(&case, Sanitize::ALL, 1);
        let [x, y, _] = case.config.block;
        println!(
            "{:<12} {x:>3}x{y:<3} {:>8.0} M/s {:>12.0} M/s {:>9.2} {:>10.1} {:>12.1}",
            case.kernel,
            off / 1e6,
            on / 1e6,
            on / off,
            off / TARGET,
            on / (TARGET / 2.0),
        );
    }
}
