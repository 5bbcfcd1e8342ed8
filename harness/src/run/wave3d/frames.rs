//! The fields as a series of files.

use std::path::Path;

use host::wave3d::Wave3d;

use crate::failure::Failure;
use crate::output::{OutputFolder, not_written};
use crate::progress::Bar;
use crate::run::vti::{Image, write_series};
use crate::units::count;

/// A folder of fields in the making: nothing of it is seen before it is complete.
pub struct Frames {
    folder: OutputFolder,
    /// Times in seconds, and names.
    files: Vec<(f64, String)>,
}

impl Frames {
    /// Prepares the folder.
    pub fn create(folder: &Path) -> Result<Frames, Failure> {
        Ok(Frames {
            folder: OutputFolder::create("--out", folder)?,
            files: Vec::new(),
        })
    }

    /// Adds the field `u` after `step` timesteps.
    pub fn write(&mut self, problem: &Wave3d, step: u32, u: &[f64]) -> Result<(), Failure> {
        let name = format!("u-{step:06}.vti");
        let _bar = Bar::spinner(format!("writing {name}"));
        let domain = problem.domain();
        let image = Image {
            name: "u",
            points: [domain.n_x, domain.n_y, domain.n_z],
            origin: [0.0; 3],
            spacing: [problem.dx_m(); 3],
        };
        let (n_y, n_z) = (domain.n_y as usize, domain.n_z as usize);
        let mut writer = self.folder.file(&name)?;
        image
            .write(&mut writer, |x, y, z| u[(x * n_y + y) * n_z + z])
            .map_err(|error| not_written(&self.folder.target().join(&name), &error))?;
        self.files.push((f64::from(step) * problem.dt_s(), name));
        Ok(())
    }

    /// Completes the series, and tells what was written.
    pub fn finish(self) -> Result<String, Failure> {
        let name = "wave3d.pvd";
        let mut writer = self.folder.file(name)?;
        write_series(&mut writer, &self.files)
            .map_err(|error| not_written(&self.folder.target().join(name), &error))?;
        drop(writer);
        let path = self.folder.finish()?.join(name);
        let fields = count(self.files.len(), "field");
        Ok(format!("{} and {fields}", path.display()))
    }
}
