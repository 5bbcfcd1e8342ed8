//! Measuring on GPUs that are emulated, with times that are made up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use device::telemetry::{About, Reading, Telemetry};
use device::{Device, DeviceKind, Error, HostBuffer, KernelInfo, Launching, Module, Timing};
use device::{DeviceInfo, EmulatedDevice, Session};
use host::poisson::Poisson;
use host::{CaseParams, Lab};
use plan::{BufferId, Plan};

use super::agenda::{self, Agenda};
use super::measure::Bench;
use super::results::{Link, Outcome, Results, SCHEMA_VERSION, Size};
use super::{done_by, rate_unit, text};
use crate::cpu::CpuInfo;
use crate::perf::settings::Settings;
use crate::perf::watch::Watch;
use exit::Ending;
use terminal::look::Look;

/// Three GPUs of which each more saves less time.
struct Gpus {
    emulated: EmulatedDevice,
    info: DeviceInfo,
    /// On so many, the result is wrong.
    wrong_on: u32,
}

impl Gpus {
    fn new(memory_bytes: u64) -> Gpus {
        let info = DeviceInfo::new(DeviceKind::Cuda, "NVIDIA Test");
        Gpus {
            emulated: EmulatedDevice::default().with_devices(3),
            info: DeviceInfo {
                memory_bytes: Some(memory_bytes),
                ..info
            },
            wrong_on: 0,
        }
    }
}

impl Device for Gpus {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn count(&self) -> u32 {
        3
    }

    fn prepare<'d>(&'d self, module: &Module, plan: &Plan) -> Result<Box<dyn Session + 'd>, Error> {
        Ok(Box::new(Timed {
            session: self.emulated.prepare(module, plan)?,
            run: Duration::from_micros([800, 500, 400][plan.devices() as usize - 1]),
            is_wrong: plan.devices() == self.wrong_on,
        }))
    }
}

struct Timed<'d> {
    session: Box<dyn Session + 'd>,
    run: Duration,
    is_wrong: bool,
}

impl Session for Timed<'_> {
    fn write(&mut self, id: BufferId, from: &HostBuffer) -> Result<(), Error> {
        self.session.write(id, from)
    }

    fn fill(&mut self, id: BufferId, byte: u8) -> Result<(), Error> {
        self.session.fill(id, byte)
    }

    fn poison(&mut self, id: BufferId) -> Result<(), Error> {
        self.session.poison(id)
    }

    fn read(&mut self, id: BufferId) -> Result<HostBuffer, Error> {
        let mut buffer = self.session.read(id)?;
        if self.is_wrong {
            buffer.bytes_mut()[4321] ^= 1;
        }
        Ok(buffer)
    }

    fn run(&mut self) -> Result<Timing, Error> {
        self.session.run()?;
        Ok(Timing {
            device: Some(self.run),
            host: self.run,
        })
    }

    fn run_times(&mut self, runs: u32, _: Launching) -> Result<Timing, Error> {
        assert_eq!(runs, 1);
        self.run()
    }

    fn kernel_info(&self, kernel: &str) -> Result<KernelInfo, Error> {
        self.session.kernel_info(kernel)
    }
}

/// A counter of energy that has gone up by 2 mJ at each reading of it.
#[derive(Default)]
struct Meter {
    about: About,
    readings: AtomicU32,
}

impl Telemetry for Meter {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&self) -> Reading {
        let readings = self.readings.fetch_add(1, Ordering::Relaxed);
        Reading {
            energy_j: Some(2e-3 * f64::from(readings)),
            ..Reading::default()
        }
    }
}

/// Measures a cube of 12 points along each axis; transfers and setup take no time.
fn measured(gpus: &Gpus, lab: &dyn Lab, is_weak: bool) -> Results {
    let mut params = CaseParams::default();
    match lab.name() {
        "poisson" => params.set("n", 12).set("iterations", 4),
        _ => ["n_x", "n_y", "n_z"]
            .iter()
            .fold(params.set("steps", 4), |params, name| params.set(*name, 12)),
    };
    let agenda = Agenda {
        lab,
        variant: agenda::variant(lab, &[]).unwrap(),
        counts: &[1, 2, 3],
        is_weak,
        params: Some(params),
        is_long: false,
    };
    let items = agenda.items(gpus).unwrap();
    let bench = Bench {
        lab,
        variant: agenda.variant,
        device: gpus,
        watches: &[(); 3].map(|()| Watch::new(Some(Arc::new(Meter::default())))),
        settings: Settings {
            device_warm_up: Duration::ZERO,
            // One run.
            energy: Some(Duration::ZERO),
            ..Settings::usual().with_samples(6)
        },
        is_timed: true,
    };
    let rate = |case: &dyn host::Case| done_by(lab, case, agenda.variant);
    let sizes = items.iter().map(|item| bench.size(item, rate).unwrap());
    let mut sizes: Vec<Size> = sizes.collect();
    for row in sizes.iter_mut().flat_map(|size| &mut size.rows) {
        if let Outcome::Timed(figures) = &mut row.outcome {
            (figures.setup_s, figures.write_s, figures.read_s) = (2e-3, 1e-3, 5e-4);
        }
    }
    Results {
        schema_version: SCHEMA_VERSION,
        command: super::results::COMMAND.to_owned(),
        harness_version: "0.1.0".to_owned(),
        command_line: ["harness", "perf"].map(str::to_owned).into(),
        began_unix_s: 0,
        wall_s: 1.0,
        quick: false,
        lab: lab.name().to_owned(),
        variant: agenda.variant.to_owned(),
        weak: is_weak,
        cpu: CpuInfo {
            model: "Test".to_owned(),
            cores: 2,
            clock_mhz: None,
            is_virtual: false,
        },
        device: gpus.info.clone(),
        devices: gpus.count(),
        driver: Some("580.0".to_owned()),
        link: Some(Link::Nvlink { links: Some(18) }),
        start_s: 1.25,
        rate_unit: rate_unit(lab, "updates").to_owned(),
        sizes,
    }
}

#[test]
fn one_size_on_more_and_more() {
    let results = measured(&Gpus::new(1 << 30), &host::poisson::LAB, false);
    insta::assert_snapshot!(text::head(&results, Look::PLAIN));
    insta::assert_snapshot!(text::body(&results, Look::PLAIN));
    assert_eq!(results.ending(), Ending::Fine);
}

#[test]
fn sizes_that_grow() {
    let results = measured(&Gpus::new(1 << 30), &host::wave3d::LAB, true);
    insta::assert_snapshot!(text::body(&results, Look::PLAIN));
}

#[test]
fn what_does_not_fit_and_what_is_wrong() {
    // Two fields of 8 * 12^3 bytes, and the sixteenth part that stays free.
    let mut gpus = Gpus::new(2 * 8 * 1728);
    gpus.wrong_on = 3;
    let results = measured(&gpus, &host::poisson::LAB, false);
    insta::assert_snapshot!(text::body(&results, Look::PLAIN));
    assert_eq!(results.ending(), Ending::Wrong);
}

#[test]
fn a_size_that_fewer_do_not_hold_is_unchecked() {
    let results = measured(&Gpus::new(2 * 8 * 1728 * 3 / 2), &host::poisson::LAB, true);
    let agreements = results.rows().map(|row| row.agreement());
    use super::results::Agreement::{First, Unchecked};
    assert_eq!(
        agreements.collect::<Vec<_>>(),
        [Some(First), Some(Unchecked), Some(Unchecked)]
    );
}

#[test]
fn the_document_and_the_page() {
    let results = measured(&Gpus::new(1 << 30), &host::poisson::LAB, false);
    let json = results.to_json().unwrap();
    let head = terminal::json::read::Head::of(&json).unwrap();
    assert_eq!(Results::parse(&head, &json), Ok(results.clone()));
    let page = crate::report::of_scaling(&results);
    for part in [
        "efficiency, %",
        "speedup",
        "ideal",
        "12^3",
        "NVLink, 18 links each",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn poissons_rate_is_the_usual_one() {
    let problem = Poisson::new(17, 6).unwrap();
    let done = done_by(&host::poisson::LAB, &problem, "split");
    assert_eq!(done, problem.usual_bytes() as f64);
}
