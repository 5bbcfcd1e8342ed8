use std::time::Instant;
fn main() {
    for path in [
        "crates/ptx/tests/data/llc_sm_80.ptx",
        "crates/ptx/tests/data/llc_sm_90_lines.ptx",
        "crates/ptx-emu/tests/ptx/stencil.ptx",
    ] {
        let text = std::fs::read_to_string(path).unwrap();
        let (mut parse, mut both) = (f64::MAX, f64::MAX);
        for _ in 0..300 {
            let t = Instant::now();
            let program = ptx_emu::Executable::parse(&text).unwrap();
            parse = parse.min(t.elapsed().as_secs_f64());
            let mut machine = ptx_emu::Machine::default();
            let module = machine.load(program).unwrap();
            both = both.min(t.elapsed().as_secs_f64());
            std::hint::black_box(&module);
        }
        println!(
            "{path}: parse {:.0} us, parse+load {:.0} us",
            parse * 1e6,
            both * 1e6
        );
    }
}
