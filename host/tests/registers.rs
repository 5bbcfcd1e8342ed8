//! A cap on registers, on every kernel of the labs.

use device::registers::capped;
use host::labs;

#[test]
fn of_the_labs_kernels_each_is_capped_and_nothing_else_changes() {
    for lab in labs() {
        let module = &lab.module;
        let capped = capped(module, "80".parse().unwrap());
        let (before, after) = (module.program().unwrap(), capped.program().unwrap());
        assert!(
            after
                .kernels()
                .all(|kernel| kernel.max_registers == Some(80))
        );
        assert_eq!(before.kernels().count(), after.kernels().count());
        for (before, after) in before.kernels().zip(after.kernels()) {
            assert_eq!(
                (
                    &before.name,
                    before.max_threads,
                    before.min_blocks,
                    &before.params
                ),
                (
                    &after.name,
                    after.max_threads,
                    after.min_blocks,
                    &after.params
                )
            );
        }
        // A kernel's own cap gives way.
        let others = |ptx: &str| -> Vec<String> {
            let code = ptx
                .lines()
                .map(|line| line.split("//").next().unwrap().trim());
            let others = code.filter(|line| !line.is_empty() && !line.starts_with(".maxnreg "));
            others.map(str::to_owned).collect()
        };
        let (before, after) = (others(module.ptx()), others(capped.ptx()));
        let differs = before
            .iter()
            .zip(&after)
            .find(|(before, after)| before != after);
        assert_eq!(differs, None);
        assert_eq!(before.len(), after.len());
    }
}
