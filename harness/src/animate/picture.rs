//! From cells to pixels.

use host::wave2d::Wave2d;
use kernels_gpu::wave2d::Scene;

/// No side of a picture is longer: larger domains are shrunk by a whole factor.
const MAX_PIXELS: u32 = 800;

/// Pixels that are squares of `factor` by `factor` cells, fewer at the far sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Raster {
    n_x: usize,
    factor: usize,
    walls: Vec<bool>,
}

impl Raster {
    /// For the problem's domain and walls.
    pub fn new(problem: &Wave2d) -> Raster {
        let domain = problem.domain();
        let factor = domain.n_x.max(domain.n_y).div_ceil(MAX_PIXELS) as usize;
        let n_x = domain.n_x as usize;
        let scene = problem.scene();
        let cells = 0..problem.cells();
        let is_wall = |cell| scene.is_wall((cell % n_x) as u32, (cell / n_x) as u32);
        let mut raster = Raster {
            n_x,
            factor,
            walls: Vec::new(),
        };
        // A thin wall stays visible: one cell of it makes a pixel wall.
        let walls: Vec<f32> = cells
            .map(|cell| f32::from(u8::from(is_wall(cell))))
            .collect();
        raster.walls = raster
            .average(&walls)
            .into_iter()
            .map(|share| share > 0.0)
            .collect();
        raster
    }

    /// Pixels along x and y.
    pub fn size(&self) -> (usize, usize) {
        let width = self.n_x.div_ceil(self.factor);
        (width, self.walls.len() / width)
    }

    /// Which pixels are walls.
    pub fn walls(&self) -> &[bool] {
        &self.walls
    }

    /// The mean of every pixel's cells.
    pub fn average(&self, field: &[f32]) -> Vec<f32> {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_domains_have_a_pixel_for_each_cell() {
        let raster = Raster::new(&Wave2d::new(800, 3, 1, "empty-box").unwrap());
        assert_eq!(raster.size(), (800, 3));
        let field: Vec<f32> = (0..2400).map(|cell| cell as f32).collect();
        assert_eq!(raster.average(&field), field);
    }

    #[test]
    fn large_ones_are_averaged_with_their_ragged_ends() {
        let raster = Raster::new(&Wave2d::new(801, 3, 1, "empty-box").unwrap());
        assert_eq!(raster.size(), (401, 2));
        let field: Vec<f32> = (0..801 * 3).map(|cell| (cell / 801) as f32).collect();
        let pixels = raster.average(&field);
        assert_eq!((pixels[0], pixels[400]), (0.5, 0.5));
        assert_eq!((pixels[401], pixels[801]), (2.0, 2.0));
    }

    #[test]
    fn walls_stay_visible() {
        let raster = Raster::new(&Wave2d::new(2000, 1000, 1, "double-slit").unwrap());
        let (width, height) = raster.size();
        // The wall crosses the top row of pixels, and two slits open it further down.
        let columns = |row: usize| &raster.walls()[row * width..][..width];
        assert!(columns(0).contains(&true));
        let open = (0..height).filter(|row| !columns(*row).contains(&true));
        assert!(open.count() > 10);
    }
}
