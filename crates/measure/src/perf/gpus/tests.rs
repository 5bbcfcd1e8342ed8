//! Measuring on GPUs that are emulated, with times that are made up.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use device::telemetry::{About, Reading, Telemetry};
use device::{Device, DeviceKind, Error, HostBuffer, KernelInfo, Launching, Module, Timing};
use device::{DeviceInfo, EmulatedDevice, Options, Preparation, Sanitize, Session, TimedSession};
use host::poisson::Poisson;
use lab::{CaseParams, Lab};
use plan::{BufferId, Plan};

use super::link;
use super::sizes::{self, Sizes, done_by, rate_unit};
use crate::perf::bench::Place;
use crate::perf::settings::Settings;
use crate::perf::stopwatch::Stopwatch;
use crate::perf::watch::Watch;
use device::cpu::CpuInfo;
use exit::Ending;
use results::tables;
use results::{CaseResults, Correctness, Link, Results, Row, Scaling};
use select::devices::Route;
use select::tuned::Table;
use terminal::look::Look;

/// Three GPUs; each more saves less time.
struct Gpus {
    emulated: EmulatedDevice,
    info: DeviceInfo,
    /// The number of GPUs on which the result is wrong.
    wrong_on: u32,
}

impl Gpus {
    fn new(memory_bytes: u64) -> Gpus {
        let info = DeviceInfo::new(DeviceKind::Cuda, "NVIDIA Test");
        // As for `harness perf` itself: the labs' tests have all checks.
        let options = Options {
            sanitize: Sanitize::NONE,
            ..Options::default()
        };
        Gpus {
            emulated: EmulatedDevice::new(options).with_devices(3),
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

    fn prepare_as<'d>(
        &'d self,
        module: &Module,
        plan: &Plan,
        _: &Preparation,
    ) -> Result<Box<dyn TimedSession + 'd>, Error> {
        Ok(Box::new(Timed {
            session: self.emulated.prepare(module, plan)?,
            run: Duration::from_micros([800, 500, 400][plan.devices() as usize - 1]),
            is_wrong: plan.devices() == self.wrong_on,
            runs: 0,
        }))
    }
}

/// Computes the first run alone: results are those of first runs, and times are made up.
struct Timed<'d> {
    session: Box<dyn Session + 'd>,
    run: Duration,
    is_wrong: bool,
    runs: u32,
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
        assert!(self.runs <= 1, "the result of a run that was not computed");
        let mut buffer = self.session.read(id)?;
        if self.is_wrong {
            buffer.bytes_mut()[4321] ^= 1;
        }
        Ok(buffer)
    }

    fn run(&mut self) -> Result<Timing, Error> {
        if self.runs == 0 {
            self.session.run()?;
        }
        self.runs += 1;
        Ok(Timing {
            device: Some(self.run),
            host: self.run,
        })
    }

    fn kernel_info(&self, kernel: &str) -> Result<KernelInfo, Error> {
        self.session.kernel_info(kernel)
    }
}

impl TimedSession for Timed<'_> {
    fn run_times(&mut self, runs: u32, _: Launching) -> Result<Timing, Error> {
        assert_eq!(runs, 1);
        self.run()
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
fn measured(gpus: &Gpus, lab: &'static Lab, is_weak: bool) -> Results {
    let mut params = CaseParams::default();
    match lab.name {
        "poisson" => params.set("n", 12).set("iterations", 4),
        _ => ["n_x", "n_y", "n_z"]
            .iter()
            .fold(params.set("steps", 4), |cube, name| cube.set(*name, 12)),
    };
    let sizes = Sizes {
        lab,
        variant: lab.usual_on_several(),
        target: 3.into(),
        info: gpus.info(),
        tuned: &Table::default(),
        counts: &[1, 2, 3],
        is_weak,
        params: Some(params),
        is_large: false,
    };
    let settings = Settings {
        device_warm_up: Duration::ZERO,
        // One run.
        energy: Some(Duration::ZERO),
        ..Settings::usual().with_samples(6)
    };
    let table = Table::default();
    let watches = [(); 3].map(|()| Watch::new(Some(Arc::new(Meter::default()))));
    let about = About {
        driver: Some("580.0".to_owned()),
        ..About::default()
    };
    let record = super::record(gpus, Some(about));
    let benches = super::benches(&sizes, gpus, settings, &table).unwrap();
    let mut cases: Vec<CaseResults> = benches
        .iter()
        .map(|bench| {
            let place = Place {
                named: super::named(gpus),
                record: &record,
                watch: &Watch::joined(&watches),
                stopwatch: &Stopwatch::default(),
            };
            CaseResults {
                rows: bench.rows_of_gpus(place).unwrap(),
                ..bench.empty()
            }
        })
        .collect();
    let rows = cases.iter_mut().flat_map(|case| &mut case.rows);
    for figures in rows.filter_map(Row::figures_mut) {
        let known = figures.on_several.as_mut().unwrap();
        (known.setup_s, known.write_s, known.read_s) = (2e-3, 1e-3, 5e-4);
    }
    let cpu = CpuInfo {
        model: "Test".to_owned(),
        cores: 2,
        clock_mhz: None,
        is_virtual: false,
    };
    Results {
        cases,
        scaling: Some(Scaling {
            variant: super::names(&benches),
            weak: is_weak,
            devices: gpus.count(),
            link: Some(Link::Nvlink { links: Some(18) }),
            start_s: 1.25,
            rate_unit: match rate_unit(benches[0].case.as_ref()) {
                "byte" => "byte".to_owned(),
                _ => "updates".to_owned(),
            },
        }),
        ..Results::begun(false, Some(cpu), vec![record], Vec::new())
    }
}

fn head(results: &Results) -> String {
    tables::head(results, Look::PLAIN)
}

fn body(results: &Results) -> String {
    tables::last_lab(results, false, Look::PLAIN)
}

/// One size on more and more GPUs.
static ONE_SIZE: LazyLock<Results> =
    LazyLock::new(|| measured(&Gpus::new(1 << 30), &host::poisson::LAB, false));

#[test]
fn one_size_on_more_and_more() {
    let results = &*ONE_SIZE;
    insta::assert_snapshot!(head(results));
    insta::assert_snapshot!(body(results));
    assert_eq!(results.ending(), Ending::Fine);
}

#[test]
fn sizes_that_grow() {
    let results = measured(&Gpus::new(1 << 30), &host::wave3d::LAB, true);
    insta::assert_snapshot!(body(&results));
}

#[test]
fn what_does_not_fit_and_what_is_wrong() {
    // Two fields of 8 * 12^3 bytes, and the sixteenth part that stays free.
    let mut gpus = Gpus::new(2 * 8 * 1728);
    gpus.wrong_on = 3;
    let results = measured(&gpus, &host::poisson::LAB, false);
    insta::assert_snapshot!(body(&results));
    assert_eq!(results.ending(), Ending::Wrong);
}

#[test]
fn a_size_that_fewer_do_not_hold_is_unchecked() {
    let results = measured(&Gpus::new(2 * 8 * 1728 * 2), &host::poisson::LAB, true);
    let found = results.rows().map(|view| view.row.correctness());
    use Correctness::{Reference, Unchecked};
    assert_eq!(
        found.collect::<Vec<_>>(),
        [Some(Reference), Some(Unchecked), Some(Unchecked)]
    );
}

#[test]
fn the_document_and_the_page() {
    let results = &*ONE_SIZE;
    let json = results.to_json().unwrap();
    assert_eq!(Results::parse(&json), Ok(results.clone()));
    let page = results::report::of(results);
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
    let done = done_by(&problem);
    assert_eq!(done, problem.usual_bytes() as f64);
}

#[test]
fn one_submission_is_timed_if_it_uses_several_gpus() {
    let lab = host::find_lab("poisson").unwrap();
    let at = |name: &str| {
        lab.variants
            .iter()
            .position(|known| known.name == name)
            .unwrap()
    };
    let [one, several] = ["reads_source", "fast"].map(|name| &lab.variants[at(name)..][..1]);
    assert_eq!(sizes::submission(lab, several).unwrap().name, "fast");
    let refused = |own| sizes::submission(lab, own).unwrap_err();
    insta::assert_snapshot!(refused(one), @"--submission: reads_source records plans for one GPU; with --gpus, its launch.rs records one for as many as it is given");
    insta::assert_snapshot!(refused(&lab.variants[..2]), @"--submission: with --gpus one solution is timed; name one");
}

#[test]
fn a_variant_is_timed_in_a_shape_that_is_named() {
    let poisson = lab::find_lab(host::labs(), "poisson").unwrap();
    let named = |name: &str| {
        let variant = sizes::variant(host::labs(), poisson, &[name.to_owned()], &[]);
        variant.map(|variant| variant.unwrap().name.as_str())
    };
    assert_eq!(named("fast@t3_r4_w8_s6").unwrap(), "fast@t3_r4_w8_s6");
    let error = named("fast@t9").unwrap_err();
    assert_eq!(error.exit_code(), exit::codes::BAD_INPUT);
}

#[test]
fn each_row_has_the_variant_that_wins_there() {
    let gpu = EmulatedDevice::default();
    let choice = |lab, devices: u32, extents: &[u32]| {
        let lab = host::find_lab(lab).unwrap();
        let sizes = Sizes {
            lab,
            variant: None,
            target: devices.into(),
            info: gpu.info(),
            tuned: &Table::default(),
            counts: &[devices],
            is_weak: false,
            params: None,
            is_large: false,
        };
        let names = extents.iter().map(|&extent| {
            let item = sizes.item(Some(extent), false).unwrap();
            item.runs[0].variant.name.as_str()
        });
        names.collect::<Vec<_>>().join(" ")
    };
    insta::assert_snapshot!(choice("poisson", 2, &[128, 192, 256]), @"fast_at_once fast_at_once fast");
    insta::assert_snapshot!(choice("poisson", 4, &[192, 256, 1024]), @"fast_at_once fast_at_once fast");
    insta::assert_snapshot!(choice("stencil25", 2, &[256, 512]), @"fast two_steps");
    insta::assert_snapshot!(choice("stencil25", 4, &[512, 768]), @"fast two_steps");
    insta::assert_snapshot!(choice("stencil25", 1, &[256, 512]), @"fast two_steps");
    insta::assert_snapshot!(choice("wave3d", 4, &[256]), @"fast");
}

#[test]
fn nvml_knows_best() {
    let joined = |route, links| link(route, links).to_string();
    assert_eq!(joined(Route::Atomic, Some(18)), "NVLink, 18 links each");
    assert_eq!(joined(Route::Atomic, None), "NVLink");
    assert_eq!(joined(Route::Peer, Some(4)), "NVLink, 4 links each");
    for (route, links) in [
        (Route::Peer, None),
        (Route::Peer, Some(0)),
        (Route::Atomic, Some(0)),
    ] {
        assert_eq!(joined(route, links), "PCIe, from one GPU to the other");
    }
    assert_eq!(link(Route::Staged, Some(18)), Link::Staged);
}
