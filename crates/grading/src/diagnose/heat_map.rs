//! The picture of where a field is wrong.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use png::{BitDepth, ColorType, Encoder, EncodingError};

use super::field::Field;
use super::finding::HeatMap;

/// The meaning of the colours.
pub const LEGEND: &str = "grey: right; yellow to dark red: wrong by 1e-7 to 1 of the field's greatest value, in steps of \
     the logarithm; blue: NaN or infinite. First axis to the right, second down.";

/// Fields are shrunk to this many pixels along their longer axis.
const MAX_PIXELS: usize = 512;
/// Small ones are magnified to about this many.
const ENOUGH_PIXELS: usize = 256;

const RIGHT: [u8; 3] = [0xd5, 0xd9, 0xde];
const NOT_FINITE: [u8; 3] = [0x1d, 0x3f, 0xd1];
/// From the least error to the greatest.
const RAMP: [[u8; 3]; 4] = [
    [0xff, 0xe0, 0x66],
    [0xfd, 0x8d, 0x3c],
    [0xd9, 0x1e, 0x2e],
    [0x5c, 0x00, 0x1a],
];
/// Errors from 10 to the power of -7 to 1, relative to the field's greatest value.
const DECADES: f64 = 7.0;

/// The picture of a field of two axes, or of the slice of one of three that has most wrong cells,
/// after this number of steps if not after all; `None` for a line.
pub fn draw(field: &Field<'_>, after_step: Option<u64>) -> Option<HeatMap> {
    if field.axes.len() < 2 {
        return None;
    }
    let [n_x, n_y, n_z] = field.extents();
    let wrong_in = |z: usize| {
        field.is_wrong[z * n_x * n_y..(z + 1) * n_x * n_y]
            .iter()
            .filter(|wrong| **wrong)
            .count()
    };
    // The first of the slices that have most.
    let slice = (0..n_z).rev().max_by_key(|&z| wrong_in(z))?;
    let pool = n_x.max(n_y).div_ceil(MAX_PIXELS);
    let (columns, rows) = (n_x.div_ceil(pool), n_y.div_ceil(pool));
    let magnify = (ENOUGH_PIXELS / columns.max(rows)).clamp(1, 16);
    let (width, height) = (columns * magnify, rows * magnify);

    let scale = field.scale();
    let mut pixels = vec![RIGHT; width * height];
    for row in 0..rows {
        for column in 0..columns {
            let cells = (row * pool..((row + 1) * pool).min(n_y)).flat_map(|y| {
                let xs = column * pool..((column + 1) * pool).min(n_x);
                xs.map(move |x| x + n_x * (y + n_y * slice))
            });
            let wrong = cells.filter(|&index| field.is_wrong[index]);
            let errors = wrong.map(|index| field.error(index));
            let colour = errors
                .reduce(worse)
                .map_or(RIGHT, |error| colour(error, scale));
            for y in row * magnify..(row + 1) * magnify {
                pixels[y * width + column * magnify..][..magnify].fill(colour);
            }
        }
    }
    let png = encode(width as u32, height as u32, pixels.as_flattened()).ok()?;
    let mut shows = match field.axes.get(2) {
        None => field.name.to_owned(),
        Some(axis) => format!("{} at {} = {slice}", field.name, axis.name),
    };
    if let Some(step) = after_step {
        shows += &format!(" after step {step}");
    }
    Some(HeatMap {
        shows,
        width: width as u32,
        height: height as u32,
        cells_per_pixel: pool as u32,
        pixels_per_cell: magnify as u32,
        png_base64: STANDARD.encode(&png),
    })
}

/// The PNG file of these pixels, three bytes each.
fn encode(width: u32, height: u32, pixels: &[u8]) -> Result<Vec<u8>, EncodingError> {
    let mut png = Vec::new();
    let mut encoder = Encoder::new(&mut png, width, height);
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(png)
}

/// The greater of two errors; those that are not finite are the greatest.
fn worse(a: f64, b: f64) -> f64 {
    if a.is_finite() && b.is_finite() {
        a.max(b)
    } else {
        f64::INFINITY
    }
}

/// The colour of a wrong cell.
fn colour(error: f64, scale: f64) -> [u8; 3] {
    if !error.is_finite() {
        return NOT_FINITE;
    }
    // Signs of zero differ by 0, and a field of zeros has no scale.
    let relative = if scale > 0.0 { error / scale } else { 1.0 };
    let share = (1.0 + relative.max(1e-300).log10() / DECADES).clamp(0.0, 1.0);
    let position = share * (RAMP.len() - 1) as f64;
    let below = (position as usize).min(RAMP.len() - 2);
    let mix = position - below as f64;
    std::array::from_fn(|channel| {
        let (from, to) = (RAMP[below][channel], RAMP[below + 1][channel]);
        (f64::from(from) + mix * (f64::from(to) - f64::from(from))).round() as u8
    })
}

impl HeatMap {
    /// The PNG file; empty if this is not Base64, which only an edited report holds.
    pub fn png(&self) -> Vec<u8> {
        STANDARD.decode(&self.png_base64).unwrap_or_default()
    }
}
