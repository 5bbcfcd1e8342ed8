use device::DeviceInfo;
use host::membench::{
    Access, BandwidthFigure, Coalescing, CoalescingFigure, LatencyCurve, LatencyPoint, Memory,
};

use super::*;
use crate::test_command::{parse, printed};
use terminal::look::Look;

/// The ending of `harness run membench` with these arguments, and the text that it prints.
fn measured(args: &[&str], machine: &Machine) -> (Result<Ending, CommandError>, String) {
    printed(|out| run_on(&parse(args), machine, out))
}

fn info() -> DeviceInfo {
    let machine = test_lab::machine();
    let chosen = machine.choose(&[Wanted::CUDA]).unwrap();
    chosen.devices[0].device.info().clone()
}

/// Curves as if of a GPU with 256 KiB of L1 and 50 MiB of L2.
fn example() -> Measured {
    let info = info();
    let latencies = [Path::Ca, Path::Shared].map(|path| {
        let most = if path == Path::Shared { 7 } else { 20 };
        let points: Vec<LatencyPoint> = (0..=most)
            .map(|octave| {
                let footprint_bytes = 1024_u64 << octave;
                let cycles = match (path, footprint_bytes >> 10) {
                    (Path::Shared, _) => 29.0,
                    (_, ..=128) => 34.0,
                    (_, ..=32_768) => 265.0,
                    _ => 650.0,
                };
                LatencyPoint {
                    footprint_bytes,
                    cycles,
                    ns: cycles / 2.0,
                }
            })
            .collect();
        Latencies {
            levels: levels(path, &plateaus(&points), &info),
            curve: LatencyCurve { path, points },
        }
    });
    let figure = |memory, access, rate: f64| BandwidthFigure {
        memory,
        access,
        footprint_bytes: 1 << 30,
        moved_bytes: 1 << 30,
        seconds: Some((1_u64 << 30) as f64 / rate),
        bytes_per_s: Some(rate),
    };
    let sweep = |variant, x, times: u64| {
        let seconds = 1e-3 * times as f64;
        CoalescingFigure {
            variant: str::to_owned(variant),
            x,
            seconds: Some(seconds),
            bytes_per_s: Some((1 << 30) as f64 / seconds),
            sectors: 8192 * times,
            ideal_sectors: 8192,
        }
    };
    Measured {
        lines: Vec::new(),
        command_line: vec![
            "harness".to_owned(),
            "run".to_owned(),
            "membench".to_owned(),
        ],
        coalescing: Coalescing {
            elements: 1 << 28,
            by_x: vec![[
                sweep("coalesced_load", 4, 1),
                sweep("non_coalesced_load", 4, 4),
            ]],
            by_stride: vec![
                (1, sweep("coalesced_load", 8, 1)),
                (2, sweep("stride_2", 8, 2)),
            ],
        },
        device: info.name,
        latencies: latencies.into(),
        bandwidths: vec![
            figure(Memory::L1, Access::Read, 3.0e13),
            figure(Memory::Device, Access::Copy, 3.02e12),
        ],
    }
}

#[test]
fn tables() {
    insta::assert_snapshot!(report::render(&example(), &info(), Look::PLAIN));
}

#[test]
fn the_document_is_read_back() {
    let mut text = Vec::new();
    let mut out = Out::new(&mut text, Look::PLAIN);
    let json = terminal::json::JsonOut::Stdout;
    json.write("run membench", example(), &mut out).unwrap();
    drop(out);
    let text = String::from_utf8(text).unwrap();
    let head = terminal::json::read::Head::of(&text).unwrap();
    assert_eq!(head.command, "run membench");
    let again = Measured::parse(&head, &text).unwrap();
    assert_eq!(again, example());
}

#[test]
fn the_plot_names_the_levels() {
    let svg = plot::svg(&example()).unwrap();
    assert!(
        svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"),
        "{svg}"
    );
    for text in [
        "L1: 34 cycles, 17 ns",
        "L2: 265 cycles, 132 ns",
        "device memory: 650 cycles, 325 ns",
        "shared memory: 29 cycles",
        "L1: 256 KiB",
        "L2: 50.0 MiB",
        "ld.global.ca",
        "ld.shared",
        "Adder 9000",
        "1.00 MiB",
    ] {
        assert!(svg.contains(text), "{text} is not in {svg}");
    }
    // One line for each curve, with all its points.
    let longest = svg
        .lines()
        .filter(|line| line.contains("<polyline"))
        .map(|line| line.matches(',').count());
    assert_eq!(longest.max(), Some(21));
}

#[test]
fn a_curve_without_sense_is_no_plot() {
    let mut wrong = example();
    wrong.latencies[0].curve.points[3].cycles = 0.0;
    assert_eq!(
        plot::svg(&wrong).unwrap_err().to_string(),
        "a latency is not a number above 0"
    );
}

#[test]
fn the_emulated_device_checks_every_kernel() {
    let machine = Machine::discover(&[Wanted::EMULATED], Sanitize::ALL);
    let (ending, text) = measured(&["--device=emulated"], &machine);
    assert_eq!(ending, Ok(Ending::Fine));
    assert!(text.contains("no times, no plot"), "{text}");
    // Sectors of neighbours, of threads that each read 8 in a row, of a stride of 2.
    let (by_x, by_stride) = text.split_once("vs stride 1").unwrap();
    let words = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<String>>()
    };
    let row = |table: &str, first: &str| {
        let mut rows = table.lines().map(words);
        rows.find(|row| row.first().is_some_and(|word| word == first))
            .unwrap()
    };
    assert_eq!(
        row(by_x, "8"),
        ["8", "-", "-", "1.00", "-", "-", "8.00", "-"]
    );
    assert_eq!(row(by_stride, "2"), ["2", "-", "-", "2.00", "-"]);

    let (json_ending, json_text) = measured(&["--device=emulated", "--json"], &machine);
    assert_eq!(json_ending, Ok(Ending::Fine));
    let json: serde_json::Value = serde_json::from_str(&json_text).unwrap();
    assert_eq!(json["coalescing"]["by_x"][3][1]["sectors"], 8 * 8192);
    assert_eq!(json["latencies"], serde_json::json!([]));
}

#[test]
fn a_plot_of_what_is_finished_is_there_after_each_curve() {
    let machine = Machine::discover(&[Wanted::EMULATED], Sanitize::NONE);
    let chosen = machine.choose(&[Wanted::EMULATED]).unwrap();
    let mut curves = Vec::new();
    measure(chosen.devices[0], |so_far| {
        curves.push(so_far.latencies.len())
    })
    .unwrap();
    assert_eq!(curves, [1, 2, 3, 4]);
    let mut first = example();
    first.latencies.truncate(1);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("membench.svg");
    let file = OutputDocument::create("--plot", &path).unwrap();
    for measured in [first, example()] {
        write_plot(&file, &path, &measured).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.contains("ld.shared"), measured.latencies.len() == 2);
    }
}

#[test]
fn without_a_gpu() {
    let (ending, text) = measured(&[], &test_lab::machine_without_gpu());
    let failure = ending.unwrap_err();
    assert_eq!(
        (failure.exit_code(), text.as_str()),
        (exit::codes::ENVIRONMENT, "")
    );
    insta::assert_snapshot!(failure, @"--device cuda: no CUDA device: libcuda.so.1 not found; see `harness doctor`; `--device emulated` checks the kernels without one");
    let machine = Machine::discover(&[Wanted::EMULATED], Sanitize::ALL);
    let (plotted, _) = measured(&["--device=emulated", "--plot=no/such/p.svg"], &machine);
    insta::assert_snapshot!(plotted.unwrap_err(), @"--plot no/such/p.svg: the emulated device measures no times to plot; leave --plot out");
    let (on_cpu, _) = measured(&["--device=cpu"], &test_lab::machine_without_gpu());
    insta::assert_snapshot!(on_cpu.unwrap_err(), @"--device cpu: the kernels measure a GPU's memory; name cuda or emulated");
}
