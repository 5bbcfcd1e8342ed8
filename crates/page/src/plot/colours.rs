//! The page's colours.
//!
//! A plot is drawn in fixed colours, each of which stands for one of the page's: in the end it is replaced by the name of
//! the style sheet's variable, so that one drawing serves the light and the dark page.

use plotters::style::RGBColor;

/// Of texts.
pub const FOREGROUND: RGBColor = RGBColor(0x01, 0x00, 0x01);
/// Of the lines behind the plot.
pub const GRID: RGBColor = RGBColor(0xdf, 0xe3, 0x01);
/// Of axes, limits and secondary texts.
pub const MUTED: RGBColor = RGBColor(0x5d, 0x66, 0x01);

/// How many series are told apart by colour.
const SERIES: u8 = 8;

/// Of a series: the stand-in for the style sheet's variable `--sN`.
pub const fn of_series(index: usize) -> RGBColor {
    RGBColor(0x12, 0x34, (index % SERIES as usize) as u8)
}

/// Replaces the stand-ins.
pub fn in_page(svg: &str) -> String {
    let named = [(FOREGROUND, "--fg"), (GRID, "--grid"), (MUTED, "--muted")];
    let named = named.map(|(colour, variable)| (colour, variable.to_owned()));
    let series = (0..SERIES).map(|index| (of_series(index.into()), format!("--s{index}")));
    let mut text = svg.to_owned();
    for (RGBColor(r, g, b), variable) in named.into_iter().chain(series) {
        text = text.replace(
            &format!("#{r:02X}{g:02X}{b:02X}"),
            &format!("var({variable})"),
        );
    }
    text
}
