//! A module whose kernels may use fewer registers: each entry gets a `.maxnreg` (PTX ISA,
//! "Performance-tuning directives").
//!
//! With fewer registers per thread, a multiprocessor holds more threads; what does not fit into
//! them is spilled to local memory. How a kernel's time answers to that is an experiment.

use std::str::FromStr;

use thiserror::Error;

use device::Module;

/// The most registers that each thread of a kernel may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RegisterCap(u32);

/// A number of registers that no GPU can keep to.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{text}` is not a number of registers: a thread has {} to {}",
    RegisterCap::MIN,
    RegisterCap::MAX
)]
pub struct NoRegisterCap {
    text: String,
}

impl RegisterCap {
    /// ptxas needs this many for calls and addresses.
    pub const MIN: u32 = 16;
    /// No thread has more.
    pub const MAX: u32 = 255;

    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl FromStr for RegisterCap {
    type Err = NoRegisterCap;

    fn from_str(text: &str) -> Result<RegisterCap, NoRegisterCap> {
        let number = text.parse().ok();
        let number = number.filter(|number| (Self::MIN..=Self::MAX).contains(number));
        number.map(RegisterCap).ok_or_else(|| NoRegisterCap {
            text: text.to_owned(),
        })
    }
}

impl std::fmt::Display for RegisterCap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} registers", self.0)
    }
}

/// The module with this cap on each of its kernels. It replaces a cap that they may have.
/// `.minnctapersm` remains: where the two disagree, ptxas keeps to the cap.
pub fn capped(module: &Module, cap: RegisterCap) -> Module {
    let name = format!("{} with {cap}", module.name());
    // A text that is not PTX stays as it is, for others to refuse.
    let text = ptx::with_max_registers(module.ptx(), cap.get());
    Module::new(name, text.unwrap_or_else(|_| module.ptx().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::labs;

    #[test]
    fn numbers_that_no_thread_has_are_refused() {
        let cap = |text: &str| text.parse::<RegisterCap>();
        assert_eq!(
            [16, 255].map(|number| cap(&number.to_string()).unwrap().get()),
            [16, 255]
        );
        insta::assert_snapshot!(cap("15").unwrap_err(), @"`15` is not a number of registers: a thread has 16 to 255");
        assert!(
            ["256", "-1", "", "many", "4294967312"]
                .iter()
                .all(|text| cap(text).is_err())
        );
    }

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
            for (plain, under_cap) in before.kernels().zip(after.kernels()) {
                assert_eq!(
                    (
                        &plain.name,
                        plain.max_threads,
                        plain.min_blocks,
                        &plain.params
                    ),
                    (
                        &under_cap.name,
                        under_cap.max_threads,
                        under_cap.min_blocks,
                        &under_cap.params
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
            let (uncapped, capped_code) = (others(module.ptx()), others(capped.ptx()));
            let differs = uncapped
                .iter()
                .zip(&capped_code)
                .find(|(one, other)| one != other);
            assert_eq!(differs, None);
            assert_eq!(uncapped.len(), capped_code.len());
        }
    }
}
