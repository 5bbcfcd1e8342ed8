//! Shapes that are chosen for GPUs without entries, against the times in `tuned.toml`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use device::{DeviceInfo, DeviceKind, LaunchLimits};
use host::labs;
use lab::{CaseParams, Demand, LabCase, Speed, Variant, find_lab, find_variant, target};

use select::tuned::{Entry, Table, Tried, by_demand};

/// A GPU by its data sheet: capability, multiprocessors, MHz of these and of the memory, bits of
/// its bus, KiB of shared memory of a block.
fn gpu(
    name: &str,
    capability: (u32, u32),
    multiprocessors: u32,
    [clock_mhz, memory_mhz, bus_bits, shared_kib]: [u32; 4],
) -> DeviceInfo {
    DeviceInfo {
        compute_capability: Some(capability),
        multiprocessors: Some(multiprocessors),
        clock_khz: Some(1000 * clock_mhz),
        memory_clock_khz: Some(1000 * memory_mhz),
        memory_bus_bits: Some(bus_bits),
        limits: LaunchLimits {
            shared_mem_per_block_bytes: shared_kib << 10,
            compute_capability: capability,
            ..LaunchLimits::SM_90
        },
        ..DeviceInfo::new(DeviceKind::Cuda, name)
    }
}

pub fn h100() -> DeviceInfo {
    gpu(
        "NVIDIA H100 80GB HBM3",
        (9, 0),
        132,
        [1980, 2619, 5120, 227],
    )
}

pub fn h200() -> DeviceInfo {
    gpu("NVIDIA H200", (9, 0), 132, [1980, 3201, 6144, 227])
}

/// The case with this label: its first numbers are its size, the last one its timesteps.
pub fn case(lab: &str, label: &str) -> Box<dyn LabCase> {
    let mut numbers: Vec<&str> = label.split(|c: char| !c.is_ascii_digit()).collect();
    numbers.retain(|number| !number.is_empty());
    let names: &[&str] = match lab {
        "poisson" => {
            numbers.remove(1);
            &["n", "iterations"]
        }
        "wave2d" => &["n_x", "n_y", "steps"],
        _ => &["n_x", "n_y", "n_z", "steps"],
    };
    let params: Vec<String> = names
        .iter()
        .zip(numbers)
        .map(|(name, number)| format!("{name}={number}"))
        .collect();
    let params = CaseParams::parse(params.iter().map(String::as_str)).unwrap();
    find_lab(labs(), lab).unwrap().case(&params).unwrap()
}

/// A case whose shapes were timed on a GPU and state their demand.
struct TimedCase {
    gpu: &'static str,
    of: String,
    label: String,
    case: Box<dyn LabCase>,
    shapes: Vec<(&'static Variant, f64)>,
}

fn timed() -> Vec<TimedCase> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tuned.toml");
    let (table, _) = Table::usable(file.as_ref(), labs()).unwrap();
    let timed = table.entries.iter().filter_map(|entry| {
        let Entry {
            gpu,
            lab,
            variant,
            case: label,
            ..
        } = entry;
        let lab = find_lab(labs(), lab).unwrap();
        let variant = find_variant(&lab.variants, variant).unwrap();
        let measured = entry.tried.iter().filter_map(Tried::measured);
        let shapes: Vec<_> = measured
            .filter_map(|measured| {
                let mut shapes = variant.shapes.iter();
                let shape = shapes.find(|shape| shape.label() == Some(&measured.shape))?;
                Some((shape, measured.step))
            })
            .collect();
        let case = case_if_modelled(lab.name, label, shapes.first()?.0)?;
        Some(TimedCase {
            gpu: if gpu.contains("H200") { "H200" } else { "H100" },
            of: format!("{} {}", lab.name, variant.name),
            label: label.clone(),
            case,
            shapes,
        })
    });
    timed.collect()
}

fn case_if_modelled(lab: &str, label: &str, shape: &Variant) -> Option<Box<dyn LabCase>> {
    let is_modelled = ["poisson", "wave3d", "stencil25"].contains(&lab);
    let case = is_modelled.then(|| case(lab, label))?;
    // Where another variant is faster in any shape, launches alone take most of the time.
    // `resident_grid` is faster at larger sizes too, for other reasons.
    let lab = find_lab(labs(), lab).unwrap();
    let mut variants = lab.variants.iter();
    let is_other = |name: &str| name != "resident_grid" && name != shape.base();
    if variants.any(|variant| is_other(&variant.name) && variant.wins(case.as_ref(), 1)) {
        return None;
    }
    shape.demand(case.as_ref(), 1.into()).map(|_| case)
}

impl TimedCase {
    fn info(&self) -> DeviceInfo {
        if self.gpu == "H200" { h200() } else { h100() }
    }

    /// The model's time of a shape in us, if an update takes `factor` times as long.
    fn predicted(&self, shape: &Variant, factor: f64) -> f64 {
        let info = self.info();
        let demand = shape.demand(self.case.as_ref(), target(&info, 1)).unwrap();
        let demand = Demand {
            lane_cycles: factor * demand.lane_cycles,
            ..demand
        };
        1e6 * Speed::of(&info).unwrap().step_s(&demand)
    }

    /// The measured time of the shape that the model chooses / that of the best.
    fn loss(&self, factor: f64) -> f64 {
        let key = |shape: &Variant| self.predicted(shape, factor);
        let shapes = || self.shapes.iter();
        let chosen = shapes()
            .min_by(|(a, _), (b, _)| key(a).total_cmp(&key(b)))
            .unwrap();
        let best = shapes().map(|(_, us)| *us).reduce(f64::min).unwrap();
        chosen.1 / best
    }

    /// The default shape's.
    fn loss_of_default(&self) -> f64 {
        let best = self
            .shapes
            .iter()
            .map(|(_, us)| *us)
            .reduce(f64::min)
            .unwrap();
        self.shapes[0].1 / best
    }
}

/// The mean (geometric) and the largest.
fn summary(losses: &[f64]) -> (f64, f64) {
    let logs: f64 = losses.iter().map(|loss| loss.ln()).sum();
    let worst = losses.iter().copied().fold(1.0, f64::max);
    ((logs / losses.len() as f64).exp(), worst)
}

#[test]
fn the_model_of_one_gpu_chooses_well_on_the_other() {
    let timed = timed();
    let mut of_variants: BTreeMap<&str, Vec<&TimedCase>> = BTreeMap::new();
    for case in &timed {
        of_variants.entry(&case.of).or_default().push(case);
    }
    let mut text = String::new();
    for (variant, cases) in &of_variants {
        for left_out in ["H100", "H200"] {
            let (own, others): (Vec<&TimedCase>, Vec<&TimedCase>) =
                cases.iter().partition(|case| case.gpu == left_out);
            if own.is_empty() || others.is_empty() {
                continue;
            }
            // The one constant of a variant, from the other GPU alone.
            let error = |factor: f64| -> f64 {
                let shapes = others.iter().flat_map(|case| {
                    let shapes = case.shapes.iter();
                    shapes.map(move |(shape, us)| (case.predicted(shape, factor) / us).ln().abs())
                });
                shapes.sum()
            };
            let factors = (-20..=20).map(|step| 1.02_f64.powi(step));
            let factor = factors
                .min_by(|a, b| error(*a).total_cmp(&error(*b)))
                .unwrap();
            let (mean, worst) =
                summary(&own.iter().map(|case| case.loss(factor)).collect::<Vec<_>>());
            for case in own.iter().filter(|case| case.loss(factor) > 1.1) {
                writeln!(text, "{variant} {}: {:.3}", case.label, case.loss(factor)).unwrap();
            }
            let of_default: Vec<f64> = own.iter().map(|case| case.loss_of_default()).collect();
            let (default_mean, default_worst) = summary(&of_default);
            writeln!(
                text,
                "{variant} without {left_out}: constant x {factor:.2}, {} cases, mean {mean:.3}, worst {worst:.3}; default {default_mean:.3}, {default_worst:.3}",
                own.len()
            )
            .unwrap();
            assert!(
                (0.85..1.18).contains(&factor),
                "the constant in use is another: {text}"
            );
            assert!(mean < 1.10 && worst < 1.25, "{text}");
            assert!(mean <= default_mean + 0.02, "{text}");
        }
        let losses: Vec<f64> = cases.iter().map(|case| case.loss(1.0)).collect();
        let (mean, worst) = summary(&losses);
        let rows: Vec<String> = cases
            .iter()
            .zip(&losses)
            .filter(|(_, loss)| **loss > 1.1)
            .map(|(case, loss)| format!("{} {}: {loss:.3}", case.gpu, case.label))
            .collect();
        writeln!(
            text,
            "{variant} in use: mean {mean:.3}, worst {worst:.3} {rows:?}"
        )
        .unwrap();
        assert!(mean < 1.15, "{text}");
    }
    let compared = text.matches("without").count();
    assert!(compared >= 4, "{text}");
}

#[test]
fn other_gpus_get_shapes_that_they_can_run() {
    let gpus = [
        gpu("A100, 8.0", (8, 0), 108, [1410, 1593, 5120, 163]),
        gpu("RTX 3090, 8.6", (8, 6), 82, [1695, 9751, 384, 99]),
        gpu("RTX 4090, 8.9", (8, 9), 128, [2520, 10501, 384, 99]),
        gpu("B200, 10.0", (10, 0), 148, [1965, 3996, 8192, 227]),
        gpu("RTX 5090, 12.0", (12, 0), 170, [2407, 14001, 512, 99]),
        gpu("unknown, 13.1", (13, 1), 200, [2000, 4000, 8192, 227]),
    ];
    let cases = [
        ("wave3d", "fast", "128x128x128, 100 steps"),
        ("wave3d", "fast", "384x384x384, 100 steps"),
        ("poisson", "fast", "128^3, 100 iterations"),
        ("poisson", "fast", "512^3, 100 iterations"),
        ("stencil25", "two_steps", "512x512x512, 20 steps"),
    ];
    let mut text = String::new();
    for info in &gpus {
        write!(text, "{:14}", info.name).unwrap();
        for (lab, variant, label) in cases {
            let variant = find_variant(&find_lab(labs(), lab).unwrap().variants, variant).unwrap();
            let case = case(lab, label);
            let shape = by_demand(variant, case.as_ref(), info, 1).unwrap();
            write!(text, " {:18}", shape.label().unwrap()).unwrap();
        }
        text = text.trim_end().to_owned() + "\n";
    }
    insta::assert_snapshot!(text, @"
    A100, 8.0      t2_r2_y10_c16      t2_r2_y10_c16      t2_r4_w8_s6        t3_r4_w8_s6        y8_z32_a1_c1
    RTX 3090, 8.6  t2_r2_y10_c16      t2_r2_y10_c16      t3_r4_w8_s3        t3_r4_w8_s3        y8_z32_a1_c1
    RTX 4090, 8.9  t2_r2_y10_c16      t2_r2_y10_c16      t3_r4_w8_s3        t3_r4_w8_s3        y8_z32_a1_c1
    B200, 10.0     t2_r2_y10_c16      t3_r4_y9_c16       t3_r4_w8_s6        t2_r4_w8_s6        y24_z40_a2_c1
    RTX 5090, 12.0 t2_r2_y10_c16      t2_r2_y10_c16      t3_r4_w8_s3        t3_r4_w8_s3        y8_z32_a1_c1
    unknown, 13.1  t2_r2_y10_c16      t3_r4_y9_c16       t2_r4_w8_s6        t2_r4_w8_s6        y24_z40_a2_c1
    ");
}

/// On four H100, `fast@t3_r4_w8_s6` of poisson takes 14.15 us per iteration at 256^3, and
/// `t3_r4_w8_s3`, the best shape for a cube of 128^3, 16.02.
#[test]
fn the_table_has_a_good_shape_for_a_quarter_of_a_cube() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tuned.toml");
    let (table, _) = Table::usable(file.as_ref(), labs()).unwrap();
    let lab = find_lab(labs(), "poisson").unwrap();
    let fast = find_variant(&lab.variants, "fast").unwrap();
    let case = case("poisson", "256^3, 200 iterations");
    let chosen = table.shape(lab, fast, case.as_ref(), &h100(), 4).launched;
    assert_eq!(chosen.name, "fast@t3_r4_w8_s6");
}
