//! The memory sweeps on a GPU, if there is one; occupancy against its driver; and what the kernels'
//! PTX must hold.

use host::membench::LAB;

mod on_a_gpu {
    use device::Device;
    use host::matadd;
    use host::membench::{
        BandwidthOptions, LatencyOptions, Memory, Path, bandwidth, latency, levels, plateaus,
    };
    use lab::occupancy::{BlockNeeds, Gpu, occupancy};
    use plan::Command;
    use terminal::progress::NoProgress;
    use test_support::{Need, skip};

    #[test]
    fn latencies_rise_from_level_to_level() {
        let Some(device) = crate::gpu::device() else {
            return;
        };
        let options = LatencyOptions {
            footprints_bytes: (0..=8).map(|step| 1024 << (2 * step)).collect(),
            loads: 1 << 12,
            samples: 1,
            ..LatencyOptions::for_device(device.info())
        };
        let curve = |path| latency(device, path, &options, &NoProgress).unwrap();
        let ca = curve(Path::Ca).points;
        assert!(ca[0].cycles > 10.0 && ca[0].cycles < 100.0, "{ca:?}");
        // 64 MiB are beyond L1 everywhere, and cost several times as much.
        assert!(ca[8].cycles > 3.0 * ca[0].cycles, "{ca:?}");
        let cg = curve(Path::Cg).points;
        assert!(cg[0].cycles > 3.0 * ca[0].cycles, "L1 is passed by: {cg:?}");
        let shared = curve(Path::Shared).points;
        assert!(
            shared[0].cycles > 10.0 && shared[0].cycles < 60.0,
            "{shared:?}"
        );
        let found = levels(Path::Ca, &plateaus(&ca), device.info());
        assert_eq!(found[0].memory, Some(Memory::L1), "{found:?}");
    }

    #[test]
    fn bandwidths_are_measured() {
        let Some(device) = crate::gpu::device() else {
            return;
        };
        let options = BandwidthOptions {
            device_bytes: 1 << 26,
            passes: 64,
            samples: 3,
            ..BandwidthOptions::for_device(device.info())
        };
        let figures = bandwidth(device, &options, &NoProgress).unwrap();
        assert_eq!(figures.len(), 6);
        assert!(figures.iter().all(|figure| figure.bytes_per_s > Some(1e10)));
    }

    #[test]
    fn the_driver_computes_the_same_occupancy() {
        let Some(device) = crate::gpu::device() else {
            return;
        };
        let capability = device.info().compute_capability.unwrap();
        let Some(known) = Gpu::of_capability(capability) else {
            return skip(
                Need::Gpu,
                format!("no limits of compute capability {capability:?} are known"),
            );
        };
        for variant in &matadd::LAB.variants {
            let case = matadd::MatAdd::new(64, 64, 1).unwrap();
            let plan = variant.record(&case).unwrap();
            let session = device.prepare(&variant.module, &plan).unwrap();
            let info = session.kernel_info(&plan.kernels()[0]).unwrap();
            let Some(Command::Launch(launch)) = plan.commands().next() else {
                panic!("{}: no launch", variant.name)
            };
            let needs = BlockNeeds {
                registers: info.registers.unwrap(),
                threads: launch.config.block.iter().product(),
                shared_mem_bytes: info.static_shared_bytes,
            };
            let held = occupancy(known, needs).unwrap();
            assert_eq!(
                Some(held.blocks),
                info.blocks_per_multiprocessor,
                "{needs:?}"
            );
            let driver = info.occupancy.unwrap();
            assert!((held.share - driver).abs() < 1e-9, "{needs:?}: {driver}");
        }
    }

    #[test]
    fn threads_own_the_same_elements_as_on_the_emulated_device() {
        let Some(device) = crate::gpu::device() else {
            return;
        };
        let emulated = device::EmulatedDevice::default();
        for variant in &matadd::LAB.variants {
            let map = |on: &dyn Device| matadd::check_index(on, variant, 67, 41).unwrap();
            assert_eq!(map(device), map(&emulated), "{}", variant.name);
        }
    }
}

/// The lines of a kernel's body.
fn body(kernel: &str) -> Vec<&'static str> {
    let ptx = LAB.module.ptx();
    let start = ptx
        .find(&format!(".entry {kernel}("))
        .unwrap_or_else(|| panic!("no kernel {kernel}"));
    let lines = ptx[start..].lines().map(str::trim);
    lines.take_while(|line| *line != "}").collect()
}

/// The operands behind `prefix` in a line.
fn operands<'l>(line: &'l str, prefix: &str) -> Option<Vec<&'l str>> {
    let (_, rest) = line.split_once(prefix)?;
    let rest = rest.split(';').next()?;
    Some(rest.split(',').map(|operand| operand.trim()).collect())
}

#[test]
fn each_load_of_a_chase_gives_the_next_ones_address() {
    for operator in ["ca", "cg", "cv"] {
        let body = body(&format!("membench_chase_{operator}"));
        let clocks: Vec<usize> = (0..body.len())
            .filter(|&i| body[i].contains("%clock64"))
            .collect();
        let [first, last] = clocks[..] else {
            panic!("{operator}: the clock is read {} times", clocks.len())
        };
        let load = format!("ld.global.{operator}.b64");
        let (mut loads, mut loaded, mut address) = (0, None, None);
        for line in &body[first..last] {
            if let Some(from) = operands(line, "cvta.to.global.u64") {
                address = Some(from[1]);
            } else if let Some(to) = operands(line, &load) {
                if loads > 0 {
                    assert_eq!(address, loaded, "{operator}: load {loads} does not wait");
                }
                loaded = Some(to[0]);
                loads += 1;
            } else {
                assert!(!line.starts_with("ld."), "{operator}: {line}");
            }
        }
        assert_eq!(loads, 8, "{operator}: loads of one turn");
    }
}

#[test]
fn the_variants_that_are_compared_load_in_the_same_way() {
    let loads = |kernel: &str| -> Vec<&str> {
        body(kernel)
            .iter()
            .filter(|line| line.starts_with("ld.global"))
            .map(|line| line.split_whitespace().next().unwrap())
            .collect()
    };
    for kernel in ["coalesced", "non_coalesced", "strided"] {
        let loads = loads(&format!("membench_{kernel}_load"));
        // Whole tiles and parts of one, for 1 + 2 + 4 + 8 + 16 + 32 elements.
        assert_eq!(loads.len(), 2 * 63, "{kernel}");
        let vectors = loads.iter().filter(|load| load.contains(".v"));
        assert_eq!(vectors.count(), 0, "{kernel}: loads were joined");
    }
    let vectors = loads("membench_vector_load");
    let v4 = vectors.iter().filter(|load| load.contains(".v4.b32"));
    assert_eq!(v4.count(), 1 + 2 + 4 + 8);
}
