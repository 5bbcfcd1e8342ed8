//! The frames, kept until all are known: only then is it known how strong the waves are.

use host::wave2d::Wave2d;

use super::palette;
use super::picture::Raster;
use crate::failure::Failure;

/// Frames beyond this are refused.
const MAX_BYTES: u128 = 2 << 30;

/// Frames of one raster.
#[derive(Debug, Clone)]
pub struct Film {
    raster: Raster,
    frames: Vec<Vec<f32>>,
}

impl Film {
    /// An empty film for so many frames.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] if they would need more than 2 GiB.
    pub fn new(problem: &Wave2d, frames: usize) -> Result<Film, Failure> {
        let raster = Raster::new(problem);
        let (width, height) = raster.size();
        let bytes = 4 * frames as u128 * width as u128 * height as u128;
        if bytes > MAX_BYTES {
            return Err(Failure::Input(format!(
                "{frames} frames of {width}x{height} pixels need {bytes} bytes; at most {MAX_BYTES}: ask for fewer with --frames"
            )));
        }
        Ok(Film {
            raster,
            frames: Vec::new(),
        })
    }

    /// Adds a frame: the field's n_x * n_y values, x contiguous.
    pub fn push(&mut self, field: &[f32]) {
        self.frames.push(self.raster.average(field));
    }

    /// Pixels along x and y.
    pub fn size(&self) -> (usize, usize) {
        self.raster.size()
    }

    /// How many frames there are.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Every frame as indices into [`palette::rgb`].
    pub fn pictures(&self) -> impl ExactSizeIterator<Item = Vec<u8>> {
        let scale = self.scale();
        self.frames.iter().map(move |frame| {
            let pixels = frame.iter().zip(self.raster.walls());
            pixels
                .map(|(value, is_wall)| {
                    if *is_wall {
                        palette::WALL
                    } else {
                        palette::index(value / scale)
                    }
                })
                .collect()
        })
    }

    /// The magnitude that gets the strongest colour: one value in 15 is stronger, in all frames together.
    fn scale(&self) -> f32 {
        // A million values tell.
        let values = self.frames.iter().map(Vec::len).sum::<usize>();
        let every = values.div_ceil(1_000_000).max(1);
        let mut magnitudes: Vec<f32> = self
            .frames
            .iter()
            .flatten()
            .step_by(every)
            .map(|value| value.abs())
            .filter(|magnitude| *magnitude > 0.0)
            .collect();
        if magnitudes.is_empty() {
            return 1.0;
        }
        let position = (magnitudes.len() - 1) * 14 / 15;
        *magnitudes
            .select_nth_unstable_by(position, f32::total_cmp)
            .1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strong_waves_get_strong_colours() {
        let mut film = Film::new(&Wave2d::new(20, 10, 1, "empty-box").unwrap(), 1).unwrap();
        let mut field = vec![0.0; 200];
        (field[7], field[8]) = (-0.01, 0.01);
        film.push(&field);
        let picture = film.pictures().next().unwrap();
        assert_eq!(picture.len(), 200);
        let middle = palette::LEVELS;
        assert_eq!(picture[6..10], [middle, 0, 2 * middle, middle]);
    }

    #[test]
    fn silence_has_the_middle_colour() {
        let mut film = Film::new(&Wave2d::new(5, 5, 1, "empty-box").unwrap(), 1).unwrap();
        film.push(&[0.0; 25]);
        let picture = film.pictures().next().unwrap();
        assert!(picture.iter().all(|index| *index == palette::LEVELS));
    }

    #[test]
    fn too_many_frames_are_refused() {
        let problem = Wave2d::new(800, 800, 1, "empty-box").unwrap();
        let failure = Film::new(&problem, 1000).unwrap_err();
        insta::assert_snapshot!(failure, @"1000 frames of 800x800 pixels need 2560000000 bytes; at most 2147483648: ask for fewer with --frames");
    }
}
