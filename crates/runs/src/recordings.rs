//! Pictures of a run: a slice of a field chunk by chunk, and what receivers recorded.

use std::path::{Path, PathBuf};

use device::buffer::elements;
use device::{Error, HostBuffer, NamedBuffers};
use lab::Slice;
use units::grouped;

use super::field_files::write_npy;
use super::pictures::film::Film;
use super::pictures::{Animation, write_png};
use super::receivers::Receivers;
use exit::CommandError;
use output_files::{OutputFile, OutputPath};

/// No side of a seismogram's picture has more pixels.
const MAX_PIXELS: usize = 800;

/// A film of a slice.
pub struct Slices {
    /// The buffer that has them.
    pub field: &'static str,
    /// The points that a frame shows.
    pub slice: Slice,
    /// The frames, each of the slice's size, and where they go.
    pub animation: Animation,
}

impl Slices {
    /// Prepares a film of `frames` frames of a slice of this buffer, at the path that `flag` named.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] for too many frames, and for a path that cannot be written.
    pub fn create(
        flag: &str,
        path: &OutputPath,
        fps: u16,
        (field, slice): (&'static str, Slice),
        frames: usize,
    ) -> Result<Slices, CommandError> {
        let size = [slice.across.0, slice.down.0];
        let film = Film::new(size, |x, y| (slice.is_wall)(x, y), frames)
            .map_err(|failure| failure.context(flag))?;
        let animation = Animation::create(flag, path, fps, film)?;
        Ok(Slices {
            field,
            slice,
            animation,
        })
    }

    /// Adds a frame.
    ///
    /// # Errors
    ///
    /// [`CommandError::Bug`] for fields without the slice's.
    pub fn record(&mut self, fields: &NamedBuffers) -> Result<(), CommandError> {
        let Slice {
            first,
            across,
            down,
            ..
        } = self.slice;
        let values: &[f32] = elements(fields, self.field).map_err(Error::from)?;
        let row = |y: usize| (0..across.0 as usize).map(move |x| first + y * down.1 + x * across.1);
        let picture = (0..down.0 as usize).flat_map(row).map(|at| values[at]);
        self.animation.film.push(&picture.collect::<Vec<f32>>());
        Ok(())
    }

    /// Whether it has no frames yet.
    pub fn is_empty(&self) -> bool {
        self.animation.film.len() == 0
    }

    /// Writes the film, and says what was written.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`], typically since the disk is full.
    pub fn finish(self) -> Result<String, CommandError> {
        self.animation.finish()
    }
}

/// The receivers' recording, and the files for it: an `.npy` and, beside it, a `.png`.
pub struct Seismogram {
    receivers: Receivers,
    array: OutputFile,
    picture: OutputFile,
}

impl Seismogram {
    /// Prepares to write the file that `flag` named.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] for a path that cannot be written, or that does not end in `.npy`.
    pub fn create(
        flag: &str,
        path: &Path,
        receivers: Receivers,
    ) -> Result<Seismogram, CommandError> {
        if path.extension().is_none_or(|ending| ending != "npy") {
            return Err(CommandError::Input(format!(
                "{flag} {}: a seismogram is a NumPy array: name a file that ends in .npy; its picture is beside it, as .png",
                path.display()
            )));
        }
        let picture: PathBuf = path.with_extension("png");
        Ok(Seismogram {
            receivers,
            array: OutputFile::create(flag, path)?,
            picture: OutputFile::create(flag, &picture)?,
        })
    }

    /// The receivers, before they record anything.
    pub fn receivers(&self) -> Receivers {
        self.receivers.clone()
    }

    /// Takes the samples of these receivers, which follow those until now.
    pub fn take(&mut self, receivers: &mut Receivers) {
        self.receivers.samples.append(&mut receivers.samples);
    }

    /// Whether it has no samples yet.
    pub fn is_empty(&self) -> bool {
        self.receivers.samples.is_empty()
    }

    /// Writes what they recorded: samples by receivers, receivers contiguous. Says what was
    /// written.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`], typically since the disk is full.
    pub fn finish(mut self) -> Result<String, CommandError> {
        let width = self.receivers.len as usize;
        let recorded = std::mem::take(&mut self.receivers.samples);
        let samples = recorded.len() / width;
        let values: HostBuffer = recorded.into();
        write_npy(self.array.writer(), &[samples, width], &values)
            .map_err(|error| CommandError::not_written(self.array.target(), &error))?;
        let array = self.array.finish()?;
        let shape = format!(
            "{}: {} samples of {} receivers",
            array.display(),
            grouped(samples as u64),
            grouped(width as u64)
        );
        // Without samples there is nothing to look at.
        if samples == 0 {
            return Ok(shape);
        }
        let samples_of_all = values.as_slice().map_err(Error::from)?;
        let (picture, size) = picture(samples_of_all, width);
        write_png(self.picture.writer(), &picture, size)
            .map_err(|error| CommandError::not_written(self.picture.target(), &error))?;
        Ok(format!("{shape}; {}", self.picture.finish()?.display()))
    }
}

/// The samples as a picture, time downwards, each side shrunk by a whole factor where it is too
/// long.
fn picture(samples: &[f32], width: usize) -> (Vec<u8>, (usize, usize)) {
    let height = samples.len() / width;
    let by_x = width.div_ceil(MAX_PIXELS);
    let by_y = height.div_ceil(MAX_PIXELS);
    let mut pixels = Vec::new();
    for rows in samples.chunks(width * by_y) {
        for left in (0..width).step_by(by_x) {
            let cells = || {
                let rows = rows.chunks(width);
                rows.flat_map(|row| &row[left..width.min(left + by_x)])
            };
            pixels.push(cells().sum::<f32>() / cells().count() as f32);
        }
    }
    let size = (width.div_ceil(by_x), height.div_ceil(by_y));
    let mut film =
        Film::new([size.0 as u32, size.1 as u32], |_, _| false, 1).expect("one small frame fits");
    film.push(&pixels);
    let picture = film.pictures().next();
    (picture.expect("one frame was pushed"), size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seismograms_are_shrunk_along_each_side() {
        let samples: Vec<f32> = (0..1700 * 5).map(|at| (at / 5) as f32).collect();
        let (pixels, size) = picture(&samples, 5);
        assert_eq!((size, pixels.len()), ((5, 567), 5 * 567));
        assert!(pixels[0] < pixels[5 * 100]);
        let (_, wide) = picture(&vec![0.0; 1601 * 3], 1601);
        assert_eq!(wide, (534, 3));
    }

    #[test]
    fn other_endings_are_refused() {
        let receivers = Receivers {
            field: "u",
            first: 0,
            stride: 1,
            len: 1,
            gather: "gather",
            every: 1,
            samples: Vec::new(),
        };
        let failure = Seismogram::create("--receivers", Path::new("a.gif"), receivers);
        insta::assert_snapshot!(failure.err().unwrap(), @"--receivers a.gif: a seismogram is a NumPy array: name a file that ends in .npy; its picture is beside it, as .png");
    }
}
