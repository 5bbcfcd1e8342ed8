//! Names of Arm's cores. Linux tells the numbers in a core's main ID register (MIDR_EL1): the one
//! of its designer, and the one that the designer gave it. Firmware seldom names the CPU.

/// Designers, by their numbers.
const DESIGNERS: [(u32, &str); 9] = [
    (0x41, "Arm"),
    (0x46, "Fujitsu"),
    (0x48, "HiSilicon"),
    (0x4e, "NVIDIA"),
    (0x51, "Qualcomm"),
    // Whose numbers virtual machines hide.
    (0x61, "Apple"),
    (0x6d, "Microsoft"),
    (0x70, "Phytium"),
    (0xc0, "Ampere"),
];

/// Cores, by the numbers of designer and core. Of machines that have NVIDIA's GPUs, or that people
/// rent or write programs on.
const CORES: [(u32, u32, &str); 34] = [
    (0x41, 0xd03, "Cortex-A53"),
    (0x41, 0xd05, "Cortex-A55"),
    (0x41, 0xd07, "Cortex-A57"),
    (0x41, 0xd08, "Cortex-A72"),
    (0x41, 0xd09, "Cortex-A73"),
    (0x41, 0xd0a, "Cortex-A75"),
    (0x41, 0xd0b, "Cortex-A76"),
    (0x41, 0xd0c, "Neoverse-N1"),
    (0x41, 0xd0d, "Cortex-A77"),
    (0x41, 0xd40, "Neoverse-V1"),
    (0x41, 0xd41, "Cortex-A78"),
    (0x41, 0xd42, "Cortex-A78AE"),
    (0x41, 0xd44, "Cortex-X1"),
    (0x41, 0xd46, "Cortex-A510"),
    (0x41, 0xd47, "Cortex-A710"),
    (0x41, 0xd48, "Cortex-X2"),
    (0x41, 0xd49, "Neoverse-N2"),
    (0x41, 0xd4d, "Cortex-A715"),
    (0x41, 0xd4e, "Cortex-X3"),
    (0x41, 0xd4f, "Neoverse-V2"),
    (0x41, 0xd80, "Cortex-A520"),
    (0x41, 0xd81, "Cortex-A720"),
    (0x41, 0xd82, "Cortex-X4"),
    (0x41, 0xd83, "Neoverse-V3AE"),
    (0x41, 0xd84, "Neoverse-V3"),
    (0x41, 0xd85, "Cortex-X925"),
    (0x41, 0xd87, "Cortex-A725"),
    (0x46, 0x001, "A64FX"),
    (0x48, 0xd01, "TaiShan v110"),
    (0x4e, 0x003, "Denver 2"),
    (0x4e, 0x004, "Carmel"),
    (0x51, 0x001, "Oryon"),
    (0xc0, 0xac3, "Ampere-1"),
    (0xc0, 0xac4, "Ampere-1a"),
];

/// The kinds of cores among these, each once, in their order; `None` if there are none. `cores`:
/// the numbers of designer and core as `/proc/cpuinfo` writes them, `0x41` and `0xd4f`.
pub(crate) fn names<'a>(cores: impl Iterator<Item = (&'a str, &'a str)>) -> Option<String> {
    let mut kinds: Vec<String> = Vec::new();
    for (designer, core) in cores {
        let kind = name(designer, core);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    (!kinds.is_empty()).then(|| kinds.join(" and "))
}

fn name(designer: &str, core: &str) -> String {
    let number = |text: &str| u32::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let numbers = number(designer).zip(number(core));
    let known = numbers.and_then(|(of, which)| {
        let (_, by) = DESIGNERS.iter().find(|(known, _)| *known == of)?;
        let found = CORES.iter().find(|known| (known.0, known.1) == (of, which));
        Some(match found {
            Some((.., name)) => format!("{by} {name}"),
            None => format!("{by} core {core}"),
        })
    });
    known.unwrap_or_else(|| format!("core {core} of designer {designer}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_named_once() {
        let names = |cores: &[(&str, &str)]| names(cores.iter().copied());
        let spark = [("0x41", "0xd87"), ("0x41", "0xd85"), ("0x41", "0xd87")];
        assert_eq!(
            names(&spark).as_deref(),
            Some("Arm Cortex-A725 and Arm Cortex-X925")
        );
        assert_eq!(
            names(&[("0x61", "0x000")]).as_deref(),
            Some("Apple core 0x000")
        );
        assert_eq!(
            names(&[("0x7f", "0x123")]).as_deref(),
            Some("core 0x123 of designer 0x7f")
        );
        assert_eq!(names(&[]), None);
    }

    #[test]
    fn numbers_are_in_order_and_of_known_designers() {
        assert!(DESIGNERS.is_sorted_by(|a, b| a.0 < b.0));
        assert!(CORES.is_sorted_by(|a, b| (a.0, a.1) < (b.0, b.1)));
        for (of, ..) in CORES {
            assert!(DESIGNERS.iter().any(|(known, _)| *known == of), "{of:#x}");
        }
    }
}
