//! Results of labs, made up.

use device::{KernelInfo, Launching};
use lab::Work;
use stats::{Doubt, Summary};

use crate::bound::{Bottleneck, Bound};
use crate::document::{
    Batched, CaseResults, CheckedSteps, Clock, Comparisons, Correctness, Figures, OnDevice,
    Outcome, Ratio, Row,
};

/// A lab's first variant, and its rate on one core.
pub struct MadeUpLab {
    pub name: &'static str,
    pub unit: &'static str,
    /// That an update must move.
    pub bytes: u64,
    /// Names, and rates in updates a second.
    pub variants: Vec<(&'static str, f64)>,
    /// The variant, the language, and how fast it is relative to the variant.
    pub peers: Vec<(&'static str, &'static str, f64)>,
    /// The case that the CPU is timed on.
    pub cpu_case: &'static str,
    pub cpu_rates: [f64; 2],
}

/// Label, updates of a timestep, timesteps.
pub type Size = (String, u64, Option<u64>);

impl MadeUpLab {
    /// Everything timed, nothing noisy, all right. Larger cases run at the same rate.
    pub fn results(&self, sizes: &[Size]) -> Vec<CaseResults> {
        let cases = sizes.iter().enumerate().map(|(index, size)| CaseResults {
            lab: self.name.to_owned(),
            first_variant: self.variants[0].0.to_owned(),
            case: size.0.clone().into(),
            timesteps: size.2,
            rows: self.rows(size, index == 0),
            counted: None,
            traces: Vec::new(),
        });
        cases.collect()
    }

    fn rows(&self, size: &Size, has_cpu: bool) -> Vec<Row> {
        let mut rows = Vec::new();
        if has_cpu {
            for (variant, rate) in ["serial", "parallel"].into_iter().zip(self.cpu_rates) {
                let mut row = self.row(size, variant, rate);
                (row.device, row.case) = ("cpu".to_owned(), self.cpu_case.to_owned().into());
                let figures = row.figures_mut().unwrap();
                figures.compared.vs_first = None;
                figures.on_device = OnDevice::default();
                rows.push(row);
            }
        }
        let rates = self.variants.iter().map(|(_, rate)| *rate);
        let best = rates.fold(0.0, f64::max);
        for (variant, rate) in &self.variants {
            let mut row = self.row(size, variant, *rate);
            let figures = row.figures_mut().unwrap();
            figures.compared.is_fastest = self.variants.len() > 1 && *rate == best;
            rows.push(row);
            for (_, language, speed) in self.peers.iter().filter(|(of, ..)| of == variant) {
                let mut peer = self.row(size, variant, rate * speed);
                peer.language = Some((*language).to_owned().into());
                peer.built_by = Some("nvcc 13.0.88 -O3 -arch=native".to_owned());
                peer.figures_mut().unwrap().compared.vs_variant = Some(ratio(*speed));
                rows.push(peer);
            }
        }
        rows
    }

    fn row(&self, (case, updates, timesteps): &Size, variant: &str, rate: f64) -> Row {
        let steps = timesteps.unwrap_or(1);
        let work = Work {
            updates: updates * steps,
            unit: self.unit,
            bytes: self.bytes * updates * steps,
            flops: 10 * updates * steps,
        };
        let run_s = work.updates as f64 / rate;
        let run = Summary::new(vec![run_s; 12]);
        let at_best_s = work.bytes as f64 / 3e12;
        let figures = Figures {
            on_device: OnDevice {
                batched: Some(Batched {
                    by: Launching::Graph,
                    no_graph: None,
                    runs: 1,
                    run: run.clone(),
                }),
                by: Some(Launching::Graph),
                bytes_per_s: Some(work.bytes as f64 / run_s),
                bound: Some(Bound {
                    by: if *updates < 1 << 20 {
                        Bottleneck::L2
                    } else {
                        Bottleneck::Memory
                    },
                    run_s: at_best_s,
                    share: at_best_s / run_s,
                    intensity: Some(10.0 / 24.0),
                }),
                kernels: vec![self.kernel(variant)],
                ..OnDevice::default()
            },
            compared: Comparisons {
                vs_first: Some(ratio(rate / self.variants[0].1)),
                vs_serial: Some(ratio(rate / self.cpu_rates[0])),
                vs_cpu: Some(ratio(rate / self.cpu_rates[1])),
                ..Comparisons::default()
            },
            judgement: Correctness::Equal.into(),
            ..Figures::new(run, Clock::Device, run_s).with_work(work, *timesteps)
        };
        let outcome = Outcome::Timed(Box::new(figures));
        Row::new("cuda", variant, case.clone(), outcome)
    }

    fn kernel(&self, variant: &str) -> KernelInfo {
        KernelInfo {
            name: format!("{}_{variant}", self.name),
            registers: Some(32),
            local_bytes: 0,
            spills: None,
            static_shared_bytes: 0,
            max_threads_per_block: 1024,
            blocks_per_multiprocessor: Some(8),
            occupancy: Some(1.0),
        }
    }
}

fn ratio(estimate: f64) -> Ratio {
    Ratio {
        estimate,
        interval: Some([estimate, estimate]),
    }
}

/// The figures of a row of ours on the GPU, or of the CPU.
pub fn figures<'c>(case: &'c mut CaseResults, variant: &str) -> &'c mut Figures {
    let mut ours = case.rows.iter_mut().filter(|row| row.language.is_none());
    let row = ours.find(|row| row.variant == variant).unwrap();
    row.figures_mut().unwrap()
}

/// Samples that lie far apart.
pub fn make_noisy(figures: &mut Figures) {
    let run = &mut figures.run;
    run.interval_s = Some([0.94, 1.06].map(|end| end * run.median_s));
    run.doubt(Doubt::Scattered { spread: 0.12 });
}

/// A time that cannot be.
pub fn make_impossible(figures: &mut Figures) {
    let device_s = figures.run.median_s;
    figures.run.doubt(Doubt::Clocks {
        device_s,
        host_s: device_s / 2.0,
    });
}

pub fn make_wrong(figures: &mut Figures) {
    figures.judgement.result = Correctness::Wrong;
    figures.compared.is_fastest = false;
    let mismatch = "`x` is wrong in 1 of 100000 elements, first at [99999] (number 99999): expected \
                    102399999 (0x61a7fff), got 102401022 (0x61a83fe)";
    figures.judgement.mismatch = Some(mismatch.to_owned());
}

/// All timesteps except these at both ends were computed by the GPU alone.
pub fn check_ends(cases: &mut [CaseResults], first: u64, last: u64) {
    let rows = cases.iter_mut().flat_map(|case| &mut case.rows);
    for figures in rows
        .filter(|row| row.device != "cpu")
        .filter_map(Row::figures_mut)
    {
        let of = figures.timesteps.unwrap();
        figures.judgement.checked_steps = Some(CheckedSteps { first, last, of });
    }
}

pub fn wave2d(steps: u64) -> Vec<CaseResults> {
    let lab = MadeUpLab {
        name: "wave2d",
        unit: "cell updates",
        bytes: 3,
        variants: vec![("naive", 1.78e11), ("shmem", 8.3e11)],
        peers: vec![
            ("naive", "CUDA C++", 1.002),
            ("naive", "CUDA C++, shared tile", 0.91),
            ("shmem", "CUDA C++", 0.95),
            ("shmem", "CUDA C++, -fmad=false", 0.94),
        ],
        cpu_case: "1001x1001, 200 steps, point-source",
        cpu_rates: [0.712e9, 8.31e9],
    };
    let case = format!("3201x3201, {steps} steps, point-source");
    lab.results(&[(case, 3201 * 3201, Some(steps))])
}

pub fn wave3d() -> Vec<CaseResults> {
    let lab = MadeUpLab {
        name: "wave3d",
        unit: "site updates",
        bytes: 24,
        variants: vec![
            ("single", 1.24e11),
            ("split2", 1.17e11),
            ("split3", 9.88e10),
        ],
        peers: vec![
            ("single", "CUDA C++", 0.99),
            ("single", "CUDA C++, -fmad=false", 1.01),
        ],
        cpu_case: "128x128x128, 100 steps",
        cpu_rates: [0.15e9, 1.9e9],
    };
    let cubes = [32, 64, 96, 128, 160, 192, 224, 256, 333, 384].map(|n| [n, n, n]);
    let slabs = [
        [256, 96],
        [512, 64],
        [512, 128],
        [640, 64],
        [768, 64],
        [896, 64],
        [1000, 64],
    ]
    .map(|[n, n_y]| [n, n_y, n]);
    let sizes = cubes
        .into_iter()
        .chain(slabs)
        .map(|[n_x, n_y, n_z]: [u64; 3]| {
            let sites = n_x * n_y * n_z;
            let steps = if sites <= 1 << 21 { 1000 } else { 100 };
            (
                format!("{n_x}x{n_y}x{n_z}, {steps} steps"),
                sites,
                Some(steps),
            )
        });
    lab.results(&sizes.collect::<Vec<Size>>())
}

pub fn poisson() -> Vec<CaseResults> {
    let lab = MadeUpLab {
        name: "poisson",
        unit: "point updates",
        bytes: 16,
        variants: vec![
            ("reads_source", 1.13e11),
            ("no_branches", 1.12e11),
            ("layer_by_layer", 4.56e9),
            ("shared_tile", 9.91e10),
            ("computes_source", 1.82e11),
        ],
        peers: vec![
            ("reads_source", "CUDA C++", 1.0),
            ("computes_source", "CUDA C++", 0.99),
            ("computes_source", "CUDA C++, -fmad=false", 0.98),
            ("reads_source", "Python, cupy", 1.0),
        ],
        cpu_case: "128^3, 200 iterations",
        cpu_rates: [0.5e9, 6.2e9],
    };
    let sizes =
        [128_u64, 256, 512, 640].map(|n| (format!("{n}^3, 1000 iterations"), n.pow(3), Some(1000)));
    lab.results(&sizes)
}

/// As many variants as a lab has, with the longest names, and two sizes.
pub fn matadd() -> Vec<CaseResults> {
    let names = [
        "grid2d_block2d_32x32",
        "grid2d_block2d_1x256",
        "grid1d_block1d_32",
        "grid2d_block1d_1024",
        "grid_stride_256",
        "grid_stride_vector4_256",
    ];
    let lab = MadeUpLab {
        name: "matadd",
        unit: "additions",
        bytes: 12,
        variants: names
            .map(|name| (name, 2.4e11 - 1e9 * name.len() as f64))
            .into(),
        peers: Vec::new(),
        cpu_case: "4096x4096",
        cpu_rates: [1.5e9, 6.2e9],
    };
    lab.results(&[
        ("16384x16384".to_owned(), 16384 * 16384, None),
        ("32768x32768".to_owned(), 32768 * 32768, None),
    ])
}

pub fn membench() -> Vec<CaseResults> {
    let names = [
        "coalesced_load",
        "non_coalesced_load",
        "vector_load",
        "stride_2",
        "stride_4",
        "stride_8",
        "stride_16",
        "stride_32",
    ];
    let lab = MadeUpLab {
        name: "membench",
        unit: "loads",
        bytes: 32,
        variants: names.map(|name| (name, 7.2e11 / name.len() as f64)).into(),
        peers: Vec::new(),
        cpu_case: "16777216 elements, 8 per thread, blocks of 256",
        cpu_rates: [1.5e9, 6.2e9],
    };
    let sizes = [1, 8, 32].map(|x| {
        let label = format!("268435456 elements, {x} per thread, blocks of 256");
        (label, 268_435_456, None)
    });
    lab.results(&sizes)
}
