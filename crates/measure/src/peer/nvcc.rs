//! CUDA's compiler, if there is one.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use output_files::ScratchFolder;

use inspect::toolkit::Toolkit;

/// How a source is compiled: to PTX for the GPU's own virtual architecture, which the driver then
/// compiles for the GPU as it does the Rust kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Build {
    /// Of the GPU: what `-arch=native` would find, said explicitly since a machine may have GPUs of
    /// several kinds.
    pub compute_capability: (u32, u32),
    /// Whether a product and a sum may become one instruction, rounded once: nvcc's default.
    /// Without it they are rounded each, as Rust does.
    pub fuses: bool,
}

impl Build {
    fn flags(self) -> [String; 4] {
        let (major, minor) = self.compute_capability;
        [
            "-O3".to_owned(),
            "-std=c++17".to_owned(),
            format!("-arch=compute_{major}{minor}"),
            format!("-fmad={}", self.fuses),
        ]
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nvcc {
    path: PathBuf,
    /// As it says: `13.0.88`.
    pub version: String,
}

impl Nvcc {
    /// The first that is installed. Otherwise, why there is none, as a message for the user.
    pub fn find() -> Result<Nvcc, String> {
        let path = Toolkit::installed().find("nvcc");
        Nvcc::at(path.map_err(|error| error.to_string())?)
    }

    /// The one at this path, or what keeps it from starting.
    pub fn at(path: PathBuf) -> Result<Nvcc, String> {
        let output = Command::new(&path)
            .arg("--version")
            .output()
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = version(&text)
            .ok_or_else(|| format!("{} --version names no version", path.display()))?
            .to_owned();
        Ok(Nvcc { path, version })
    }

    /// Such a build as a row names it: compiler, version, flags.
    pub fn names(&self, build: Build) -> String {
        format!("nvcc {} {}", self.version, build.flags().join(" "))
    }

    /// The PTX of a source, or nvcc's message; `name` is what messages call it.
    pub fn compile(&self, name: &str, source: &str, build: Build) -> Result<String, String> {
        let failed = |error: std::io::Error| format!("{name}: {error}");
        let folder = ScratchFolder::new("nvcc").map_err(failed)?;
        let [input, output] = [name, "out.ptx"].map(|file| folder.path().join(file));
        fs::write(&input, source).map_err(failed)?;
        let run = Command::new(&self.path)
            .arg("-ptx")
            .args(build.flags())
            .arg("-o")
            .args([&output, &input])
            .output()
            .map_err(|error| format!("{}: {error}", self.path.display()))?;
        if !run.status.success() {
            let said = String::from_utf8_lossy(&run.stderr)
                .trim()
                .replace(&input.display().to_string(), name);
            let first = said.lines().next().unwrap_or("no message");
            return Err(format!("nvcc {}: {first}", self.version));
        }
        fs::read_to_string(&output).map_err(failed)
    }
}

/// The last line but one: `Cuda compilation tools, release 13.0, V13.0.88`.
fn version(text: &str) -> Option<&str> {
    let line = text.lines().find(|line| line.contains(", release "))?;
    let version = line.rsplit(", V").next()?.trim();
    version
        .starts_with(|c: char| c.is_ascii_digit())
        .then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        let text = "nvcc: NVIDIA (R) Cuda compiler driver\nBuilt on Wed_Aug_20_01:58:59_PM_PDT_2025\n\
                    Cuda compilation tools, release 13.0, V13.0.88\nBuild cuda_13.0.r13.0/compiler.36424714_0\n";
        assert_eq!(version(text), Some("13.0.88"));
        assert_eq!(version("command not found"), None);
        assert_eq!(version("tools, release 13"), None);
    }

    #[test]
    fn what_does_not_start_is_named() {
        insta::assert_snapshot!(Nvcc::at("/no/such/nvcc".into()).unwrap_err(), @"/no/such/nvcc: No such file or directory (os error 2)");
    }
}
