use super::*;
use terminal::look::Look;

fn parse(args: &[&str]) -> OccupancyArgs {
    #[derive(clap::Parser)]
    struct Parser {
        #[command(flatten)]
        args: OccupancyArgs,
    }
    let args = std::iter::once("occupancy").chain(args.iter().copied());
    <Parser as clap::Parser>::parse_from(args).args
}

fn explained(args: &[&str]) -> String {
    let args = parse(args);
    let gpu = Gpu::named(args.gpu.as_deref().unwrap()).unwrap();
    report(&args, gpu).unwrap().render(Look::PLAIN)
}

#[test]
fn registers_limit() {
    insta::assert_snapshot!(explained(&[
        "--gpu=h100",
        "--registers=72",
        "--threads=256"
    ]));
}

#[test]
fn shared_memory_limits_and_too_few_warps_hide_a_latency() {
    insta::assert_snapshot!(explained(&[
        "--gpu=a100",
        "--registers=32",
        "--threads=128",
        "--shared=40000",
        "--latency-cycles=650",
        "--throughput=0.25",
        "--independent=2",
    ]));
}

#[test]
fn nothing_is_left_to_gain() {
    let text = explained(&["--gpu=t4", "--registers=32", "--threads=256"]);
    assert!(
        text.contains("4 blocks, 32 of 32 warps: occupancy 100 %"),
        "{text}"
    );
}

#[test]
fn a_block_that_does_not_fit_at_all() {
    let text = explained(&["--gpu=h100", "--registers=128", "--threads=1024"]);
    assert!(
        text.contains("0 blocks, 0 of 64 warps: occupancy 0 %"),
        "{text}"
    );
    assert!(text.contains("at most 64 registers"), "{text}");
}

#[test]
fn the_remedy_works() {
    // What is promised is exactly what a block of the smaller needs gets, and one more would not
    // do.
    let gpu = Gpu::named("h100").unwrap();
    for registers in [33, 40, 72, 128, 255] {
        let needs = BlockNeeds {
            registers,
            threads: 192,
            shared_mem_bytes: 0,
        };
        let held = occupancy(gpu, needs).unwrap();
        let fewer = report::fewer_registers(needs);
        let (more, blocks) = report::with_more_blocks(gpu, &held, fewer).unwrap();
        let with = |number| {
            occupancy(
                gpu,
                BlockNeeds {
                    registers: number,
                    ..needs
                },
            )
            .unwrap()
            .blocks
        };
        assert_eq!(with(more.registers), blocks);
        assert!(blocks > held.blocks && with(more.registers + 1) == held.blocks);
    }
}

#[test]
fn the_present_gpu_if_there_is_one() {
    let (gpu, note) = present(&test_lab::machine()).unwrap();
    assert_eq!(
        (gpu.name, note.as_deref()),
        ("h100", Some("this machine's Adder 9000"))
    );
    let (without, of_none) = present(&test_lab::machine_without_gpu()).unwrap();
    assert_eq!(without.name, "h100");
    assert!(of_none.unwrap().contains("no GPU"));
    // A GPU is described also where no kernel runs on it, or its limits are not known.
    let of = |capability| present(&test_lab::machine_with(&[("NVIDIA X", capability)]));
    let (old, of_old) = of((7, 5)).unwrap();
    assert_eq!(
        (old.name, of_old.as_deref()),
        ("t4", Some("this machine's NVIDIA X"))
    );
    let (new, of_new) = of((12, 1)).unwrap();
    assert_eq!(new.name, "rtx-50");
    insta::assert_snapshot!(of_new.unwrap(), @"this machine's NVIDIA X has compute capability 12.1, whose limits are not known here; these are the figures of the newest before it (--gpu names another)");
    insta::assert_snapshot!(of((5, 2)).unwrap_err(), @"NVIDIA X has compute capability 5.2, whose limits are unknown; choose the nearest GPU with --gpu");
}

#[test]
fn the_help_names_every_gpu() {
    for gpu in Gpu::known() {
        let text = format!("{:8}{}", gpu.name, gpu.products);
        assert!(HELP.contains(&text), "{text}");
    }
}
