//! The result as a file.

use host::poisson::Poisson;

use super::{Output, PoissonArgs};
use crate::failure::Failure;
use crate::output::{OutputFile, not_written};
use crate::progress::Bar;
use crate::run::flags::create_folder;
use crate::run::npy;
use crate::run::vti::Image;
use crate::units::bytes;

/// A file that is known to be writable.
pub struct FieldFile {
    format: Output,
    file: OutputFile,
}

impl FieldFile {
    /// Prepares the file that the flags name, and its folder; `None` if they name none.
    pub fn create(args: &PoissonArgs) -> Result<Option<FieldFile>, Failure> {
        let extension = match args.output {
            Output::None => return Ok(None),
            Output::Npy => "npy",
            Output::Vti => "vti",
        };
        let suffix = match &args.suffix {
            Some(suffix) if suffix.is_empty() || suffix.contains(['/', '\\', '\0']) => {
                return Err(Failure::Input(format!(
                    "--suffix {suffix:?}: a part of a file's name, without / and \\; name folders with --out"
                )));
            }
            Some(suffix) => format!("-{suffix}"),
            None => String::new(),
        };
        create_folder("--out", &args.out)?;
        let path = args
            .out
            .join(format!("poisson-{}{suffix}.{extension}", args.n));
        Ok(Some(FieldFile {
            format: args.output,
            file: OutputFile::create("--out", &path)?,
        }))
    }

    /// Writes the field, and tells what was written.
    pub fn write(mut self, problem: &Poisson, u: &[f64]) -> Result<String, Failure> {
        let n = problem.n() as usize;
        let bar = Bar::spinner(format!("writing {}", self.file.target().display()));
        let written = match self.format {
            Output::Vti => {
                let image = Image {
                    name: "u",
                    points: [problem.n(); 3],
                    origin: [-1.0; 3],
                    spacing: [2.0 / f64::from(problem.n() - 1); 3],
                };
                image.write(self.file.writer(), |x, y, z| u[(z * n + y) * n + x])
            }
            _ => npy::write(self.file.writer(), &[n, n, n], u),
        };
        written.map_err(|error| not_written(self.file.target(), &error))?;
        drop(bar);
        let path = self.file.finish()?;
        let size = std::fs::metadata(&path).map_or(0, |data| data.len());
        Ok(format!("{} ({})", path.display(), bytes(size)))
    }
}
