//! The latency of lines of L2 from every multiprocessor, as SVG: a picture whose points are pairs
//! of a multiprocessor and a line.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use host::membench::LineMap;

/// Pixels of a pair, along each side.
const SCALE: usize = 3;
/// Space around each picture, and above it for its title.
const MARGIN: usize = 60;

/// Black on white, or the other way round where the reader's screen is dark.
const STYLE: &str = "rect{fill:#fff}text{fill:#1a1a1a}@media (prefers-color-scheme:dark){rect{fill:#12161b}text{fill:#e8eaed}}";

/// A picture for each way to access, one below the other. Multiprocessors run downwards in the
/// order of their numbers; lines run to the right, in the order of their latency from the first.
///
/// # Errors
///
/// The encoder's.
pub fn svg(device: &str, maps: &[LineMap]) -> Result<String, png::EncodingError> {
    let size = |map: &LineMap| (map.cycles[0].len() * SCALE, map.cycles.len() * SCALE);
    let width = maps.iter().map(|map| size(map).0).max();
    let height: usize = maps.iter().map(|map| size(map).1 + MARGIN).sum();
    let (width, height) = (width.unwrap_or(0) + 2 * MARGIN, height + MARGIN);
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13"><style>{STYLE}</style><rect width="{width}" height="{height}"/>"##
    );
    let mut top = MARGIN;
    for map in maps {
        let (wide, high) = size(map);
        let [least, most] = ends(map);
        let picture = STANDARD.encode(png(map)?);
        let (left, title, middle) = (MARGIN, top - 10, top + high / 2);
        svg += &format!(
            r#"<text x="{left}" y="{title}">{device}, {access}: {least:.0} cycles dark, {most:.0} bright</text><image x="{left}" y="{top}" width="{wide}" height="{high}" style="image-rendering:pixelated" href="data:image/png;base64,{picture}"/><text x="{side}" y="{middle}" transform="rotate(-90 {side} {middle})" text-anchor="middle">multiprocessor</text>"#,
            access = map.access.name(),
            side = MARGIN - 12,
        );
        top += high + MARGIN;
    }
    svg += &format!(
        r#"<text x="{MARGIN}" y="{}">line of L2, in the order of its latency from multiprocessor 0</text></svg>"#,
        height - MARGIN + 25
    );
    Ok(svg)
}

/// `ld.global.cg 200 to 280 cycles, atom ...`.
pub fn summary(maps: &[LineMap]) -> String {
    let of = |map: &LineMap| {
        let [least, most] = ends(map);
        format!("{} {least:.0} to {most:.0} cycles", map.access.name())
    };
    maps.iter().map(of).collect::<Vec<String>>().join(", ")
}

/// The least and the most cycles, without one in a hundred at each end.
fn ends(map: &LineMap) -> [f32; 2] {
    let mut all = map.cycles.concat();
    all.sort_by(f32::total_cmp);
    [all.len() / 100, all.len() - 1 - all.len() / 100].map(|at| all[at])
}

fn png(map: &LineMap) -> Result<Vec<u8>, png::EncodingError> {
    let mut order: Vec<usize> = (0..map.cycles[0].len()).collect();
    order.sort_by(|a, b| map.cycles[0][*a].total_cmp(&map.cycles[0][*b]));
    let [least, most] = ends(map);
    let level = |cycles: f32| {
        let share = (cycles - least) / (most - least).max(f32::MIN_POSITIVE);
        (255.0 * share.clamp(0.0, 1.0)) as u8
    };
    let rows = map.cycles.iter();
    let picture = rows.flat_map(|row| order.iter().map(|line| level(row[*line])));
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, order.len() as u32, map.cycles.len() as u32);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_palette(palette());
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&picture.collect::<Vec<u8>>())?;
    writer.finish()?;
    Ok(file)
}

/// From dark blue over green to yellow: brighter for every reader, and in print.
fn palette() -> Vec<u8> {
    const COLOURS: [[f32; 3]; 3] = [
        [68.0, 1.0, 84.0],
        [33.0, 144.0, 140.0],
        [253.0, 231.0, 37.0],
    ];
    let of = |level: u8| {
        let at = f32::from(level) / 127.5;
        let from = (at as usize).min(1);
        let share = at - from as f32;
        let [low, high] = [COLOURS[from], COLOURS[from + 1]];
        [0, 1, 2].map(|part| (low[part] + share * (high[part] - low[part])) as u8)
    };
    (0..=255).flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use host::membench::LineAccess;

    use super::*;

    #[test]
    fn a_point_is_as_bright_as_its_latency_is_long() {
        let map = LineMap {
            access: LineAccess::Atomic,
            distance_bytes: 4224,
            cycles: vec![vec![300.0, 200.0, 250.0], vec![200.0, 300.0, 250.0]],
        };
        let file = png(&map).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(file))
            .read_info()
            .unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (3, 2));
        // Lines in the order of the first row.
        assert_eq!(pixels[..6], [0, 127, 255, 255, 127, 0]);
        assert_eq!(
            summary(std::slice::from_ref(&map)),
            "atom 200 to 300 cycles"
        );
        let picture = svg("H100", &[map]).unwrap();
        assert!(picture.contains(">H100, atom: 200 cycles dark, 300 bright<"));
        assert!(picture.contains(r#"<text x="48" y="63" transform="rotate(-90 48 63)""#));
        assert_eq!(palette().len(), 3 * 256);
        assert_eq!(
            (&palette()[..3], &palette()[765..]),
            (&[68, 1, 84][..], &[253, 231, 37][..])
        );
    }
}
