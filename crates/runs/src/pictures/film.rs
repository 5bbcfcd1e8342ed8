//! The frames, kept until all are known: only then is it known how strong the waves are.

use super::palette;
use exit::CommandError;

/// Frames beyond this are refused.
const MAX_BYTES: u128 = 2 << 30;

/// No side of a picture is longer: larger fields are shrunk by a whole factor.
const MAX_PIXELS: u32 = 800;

/// Frames of a two-dimensional field. Each pixel is a square of `factor` by `factor` cells, fewer
/// at the far sides.
#[derive(Debug, Clone)]
pub struct Film {
    n_x: usize,
    factor: usize,
    walls: Vec<bool>,
    frames: Vec<Vec<f32>>,
}

impl Film {
    /// An empty film for `frames` frames of a field of `n_x` by `n_y` cells; some cells are walls.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] if they would need more than 2 GiB.
    pub fn new(
        [n_x, n_y]: [u32; 2],
        is_wall: impl Fn(u32, u32) -> bool,
        frames: usize,
    ) -> Result<Film, CommandError> {
        let factor = n_x.max(n_y).div_ceil(MAX_PIXELS);
        let [width, height] = [n_x, n_y].map(|cells| cells.div_ceil(factor));
        let bytes = 4 * frames as u128 * u128::from(width) * u128::from(height);
        if bytes > MAX_BYTES {
            return Err(CommandError::Input(format!(
                "{frames} frames of {width}x{height} pixels need {bytes} bytes; at most {MAX_BYTES}: make fewer, with a longer --out-period"
            )));
        }
        let mut film = Film {
            n_x: n_x as usize,
            factor: factor as usize,
            walls: Vec::new(),
            frames: Vec::new(),
        };
        let cells = (0..n_y).flat_map(|y| (0..n_x).map(move |x| (x, y)));
        let walls: Vec<f32> = cells
            .map(|(x, y)| if is_wall(x, y) { 1.0 } else { 0.0 })
            .collect();
        // A thin wall stays visible: one cell of it makes a pixel wall.
        film.walls = film
            .pixels(&walls)
            .iter()
            .map(|share| *share > 0.0)
            .collect();
        Ok(film)
    }

    /// Adds a frame: the field's n_x * n_y values, x contiguous.
    pub fn push(&mut self, field: &[f32]) {
        self.frames.push(self.pixels(field));
    }

    /// The mean of every pixel's cells.
    fn pixels(&self, field: &[f32]) -> Vec<f32> {
        if self.factor == 1 {
            return field.to_vec();
        }
        let width = self.n_x.div_ceil(self.factor);
        let mut pixels = Vec::new();
        for rows in field.chunks(self.n_x * self.factor) {
            let mut sums = vec![(0.0f32, 0u32); width];
            for row in rows.chunks(self.n_x) {
                for (cells, (sum, count)) in row.chunks(self.factor).zip(&mut sums) {
                    *sum += cells.iter().sum::<f32>();
                    *count += cells.len() as u32;
                }
            }
            pixels.extend(sums.into_iter().map(|(sum, count)| sum / count as f32));
        }
        pixels
    }

    /// Pixels along x and y.
    pub fn size(&self) -> (usize, usize) {
        let width = self.n_x.div_ceil(self.factor);
        (width, self.walls.len() / width)
    }

    /// How many frames there are.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Every frame as indices into [`palette::rgb`].
    pub fn pictures(&self) -> impl ExactSizeIterator<Item = Vec<u8>> {
        let scale = self.scale();
        self.frames.iter().map(move |frame| {
            let pixels = frame.iter().zip(&self.walls);
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

    /// The magnitude that gets the strongest colour: one value in 15 is stronger, in all frames
    /// together.
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
    use host::wave2d::Wave2d;
    use kernels_gpu::wave2d::Scene;

    fn open(size: [u32; 2]) -> Film {
        Film::new(size, |_, _| false, 1).unwrap()
    }

    #[test]
    fn strong_waves_get_strong_colours() {
        let mut film = open([20, 10]);
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
        let mut film = open([5, 5]);
        film.push(&[0.0; 25]);
        let picture = film.pictures().next().unwrap();
        assert!(picture.iter().all(|index| *index == palette::LEVELS));
    }

    #[test]
    fn too_many_frames_are_refused() {
        let failure = Film::new([800, 800], |_, _| false, 1000).unwrap_err();
        insta::assert_snapshot!(failure, @"1000 frames of 800x800 pixels need 2560000000 bytes; at most 2147483648: make fewer, with a longer --out-period");
    }

    #[test]
    fn small_fields_have_a_pixel_for_each_cell() {
        let film = open([800, 3]);
        assert_eq!(film.size(), (800, 3));
        let field: Vec<f32> = (0..2400).map(|cell| cell as f32).collect();
        assert_eq!(film.pixels(&field), field);
    }

    #[test]
    fn large_ones_are_averaged_with_their_ragged_ends() {
        let film = open([801, 3]);
        assert_eq!(film.size(), (401, 2));
        let field: Vec<f32> = (0..801 * 3).map(|cell| (cell / 801) as f32).collect();
        let pixels = film.pixels(&field);
        assert_eq!((pixels[0], pixels[400]), (0.5, 0.5));
        assert_eq!((pixels[401], pixels[801]), (2.0, 2.0));
    }

    #[test]
    fn walls_stay_visible() {
        let problem = Wave2d::new(2000, 1000, 1, "double-slit").unwrap();
        let scene = problem.scene();
        let film = Film::new([2000, 1000], |x, y| scene.is_wall(x, y), 1).unwrap();
        let (width, height) = film.size();
        // The wall crosses the top row of pixels, and two slits open it further down.
        let columns = |row: usize| &film.walls[row * width..][..width];
        assert!(columns(0).contains(&true));
        let open = (0..height).filter(|row| !columns(*row).contains(&true));
        assert!(open.count() > 10);
    }
}
