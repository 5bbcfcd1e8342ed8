//! Whether a measurement is of the kernels that this program has: a digest for each kernel.
//!
//! A digest is over the kernel's entry in the PTX for the device's generation, without what does
//! not change what it does: comments, source lines, empty lines. Names that the compiler makes,
//! labels and mangled ones, count by their order. So neither another kernel of the module nor a
//! line above this one changes it. Tables of constants are outside of the entry, and do not count.

use std::collections::{BTreeMap, HashMap};

use device::{DeviceInfo, Module};
use output_files::digest::sha256;
use plan::Plan;

/// The first digits of a digest that are kept.
const DIGITS: usize = 16;

/// Names of kernels, each with its digest.
pub type Digests = BTreeMap<String, String>;

/// Those of the kernels that a plan launches on devices like this one.
pub fn of_plan(module: &Module, plan: &Plan, info: &DeviceInfo) -> Digests {
    let ptx = module.for_device(info.limits.compute_capability).ptx();
    let digest = |name: &String| Some((name.clone(), digest(ptx, name)?));
    plan.kernels().iter().filter_map(digest).collect()
}

/// The first of these kernels that the module has otherwise, or no longer.
pub fn changed<'d>(digests: &'d Digests, module: &Module, info: &DeviceInfo) -> Option<&'d str> {
    let ptx = module.for_device(info.limits.compute_capability).ptx();
    let mut changed = digests
        .iter()
        .filter(|(name, known)| digest(ptx, name).as_ref() != Some(*known));
    Some(changed.next()?.0)
}

/// The digest of the kernel of this name, if the text has it.
pub fn digest(ptx: &str, kernel: &str) -> Option<String> {
    let start = ptx.find(&format!(".entry {kernel}("))?;
    // An entry ends with the first brace that begins a line; those of its blocks are further in.
    let text = &ptx[start..];
    let end = text.find("\n}").map_or(text.len(), |end| end + 2);
    let mut digits = sha256(normal(&text[..end]));
    digits.truncate(DIGITS);
    Some(digits)
}

/// The text without what differs between two builds of one kernel.
fn normal(text: &str) -> String {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut normal = String::with_capacity(text.len() / 2);
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let is_debug = [".loc", ".file", "$L__tmp", "$L__func"];
        if line.is_empty() || is_debug.iter().any(|start| line.starts_with(start)) {
            continue;
        }
        let mut rest = line;
        while let Some(at) = rest.find(is_of_name) {
            let (before, name) = rest.split_at(at);
            let len = name
                .find(|it: char| !is_of_name(it) && !it.is_ascii_digit())
                .unwrap_or(name.len());
            let (name, after) = name.split_at(len);
            normal.push_str(before);
            if ["$L", "_R", "_ZN"]
                .iter()
                .any(|start| name.starts_with(start))
            {
                let next = numbers.len();
                let number = numbers.entry(name).or_insert(next);
                normal.push_str(&format!("${number}"));
            } else {
                normal.push_str(name);
            }
            rest = after;
        }
        normal.push_str(rest);
        normal.push('\n');
    }
    normal
}

/// Whether a name can begin with it. Digits come later in one.
fn is_of_name(it: char) -> bool {
    it.is_ascii_alphabetic() || it == '_' || it == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "\
.visible .entry k(
	.param .u64 k_param_0 // a pointer
)
{
	.reg .b32 	%r<3>;
	.shared .b8 _RNvCsjtgVx_1k4TILE_17[128];
$L__func_begin0:
	.loc	1 46 0
	{ // callseq 0, 0
	mov.b32 	%r1, _RNvCsjtgVx_1k4TILE_17;
	}
$L__BB3_1:
	bra 	$L__BB3_1;

}
";

    fn digest_of(text: &str) -> String {
        digest(text, "k").unwrap()
    }

    #[test]
    fn what_a_kernel_does_counts_and_what_it_is_called_by_does_not() {
        let own = digest_of(KERNEL);
        assert_eq!(own.len(), DIGITS);
        for (from, to) in [
            ("1 46 0", "1 47 0"),
            ("// a pointer", ""),
            ("BB3_1", "BB4_1"),
            ("TILE_17", "TILE_18"),
            ("Csjtg", "Csabc"),
            ("$L__func_begin0:", "$L__func_begin7:\n$L__tmp1:"),
        ] {
            assert_eq!(digest_of(&KERNEL.replace(from, to)), own, "{to}");
        }
        for (from, to) in [
            ("mov.b32", "mov.u32"),
            ("[128]", "[256]"),
            ("bra 	$L__BB3_1", "bra 	$L__BB3_2"),
            ("%r1,", "%r2,"),
        ] {
            assert_ne!(digest_of(&KERNEL.replace(from, to)), own, "{to}");
        }
    }

    #[test]
    fn other_kernels_do_not_count() {
        let other = KERNEL.replace("entry k(", "entry other(");
        assert_eq!(
            digest_of(&format!("{other}{KERNEL}{other}")),
            digest_of(KERNEL)
        );
        assert_eq!(digest(KERNEL, "other"), None);
    }

    #[test]
    fn a_kernel_that_changed_is_named() {
        let module = Module::new("m", KERNEL);
        let info = DeviceInfo::new(device::DeviceKind::Cuda, "Adder 9000");
        let of =
            |name: &str, digest: &str| -> Digests { [(name.to_owned(), digest.to_owned())].into() };
        let same = of("k", &digest_of(KERNEL));
        assert_eq!(changed(&same, &module, &info), None);
        assert_eq!(changed(&of("k", "0123"), &module, &info), Some("k"));
        assert_eq!(changed(&of("gone", "0123"), &module, &info), Some("gone"));
    }
}
