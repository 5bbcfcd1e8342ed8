//! Self-contained pages: one HTML file with everything in it, light and dark, readable on a phone.
//! A page runs nothing but a script that sorts and filters its tables, where that is asked for.
//!
//! | module     | what it holds                                          |
//! |------------|--------------------------------------------------------|
//! | [`escape`] | text from others, made harmless for HTML and terminals |
//! | [`html`]   | a page under construction: headings, tables, figures |
//! | [`plot`]   | plots as SVG in the page's own colours                 |
//! | [`bars`]   | bars as SVG in the page's own colours                  |
//! | [`ladder`] | bars side by side with their limits, also as a file    |

pub mod bars;
pub mod escape;
pub mod html;
pub mod ladder;
pub mod plot;

pub use bars::Bar;
pub use html::{Cell, Page};
pub use ladder::Rung;
pub use plot::{Axis, Plot, Series, Shape};
