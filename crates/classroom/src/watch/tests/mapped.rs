//! The map of a wrong field.

use device::Stored;
use device::ThreadId;

use super::*;

/// A wrong field of these extents: `got` gives each cell by its coordinates, 1 being right and none
/// what was there before; each thread has a cell, in blocks of this shape, if `stores` says so.
fn wrong_field(
    [n_x, n_y]: [usize; 2],
    got: impl Fn(usize, usize) -> Option<f32>,
    blocks: Option<[usize; 2]>,
) -> Failure {
    let cells = || (0..n_y).flat_map(|y| (0..n_x).map(move |x| (x, y)));
    let values: Vec<f32> = cells()
        .map(|(x, y)| got(x, y).unwrap_or(f32::NAN))
        .collect();
    let named = |of: Vec<f32>| vec![("c".to_owned(), of.into())];
    let expected = named(vec![1.0; n_x * n_y]);
    let axis = |name: &str, extent: usize| Axis {
        name: name.to_owned(),
        extent: extent as u64,
    };
    let stored = |_: &str| {
        let [width, height] = blocks?;
        let by = |(x, y): (usize, usize)| {
            got(x, y).map(|_| Stored {
                launch: 0,
                thread: ThreadId {
                    block: [(x / width) as u32, (y / height) as u32, 0],
                    thread: [(x % width) as u32, (y % height) as u32, 0],
                },
            })
        };
        Some(cells().map(by).collect())
    };
    let none: NamedBuffers = Vec::new();
    let found = diagnose(&Evidence {
        axes: &|_| vec![axis("x", n_x), axis("y", n_y)],
        expected: &expected,
        got: &named(values),
        tolerance: &|_| None,
        inputs: &none,
        before: &named(vec![f32::NAN; n_x * n_y]),
        steps: None,
        after_steps: None,
        again: None,
        stores: Some(&stored),
    });
    Failure::new(Kind::WrongResult, "c is wrong").with_diagnosis(found.expect("it is wrong"))
}

fn page(failure: Failure) -> String {
    sized(&shown([report(&[("one-step", failure)])]), 80, 24)
}

#[test]
fn a_map_shows_what_no_block_wrote() {
    // Matadd's starter: one block of 32 x 8 on 128 x 64 elements.
    let written = |x, y| (x < 32 && y < 8).then_some(1.0);
    assert_snapshot!(page(wrong_field([128, 64], written, Some([32, 8]))));
}

#[test]
fn a_map_shows_where_blocks_meet() {
    let seams = |x: usize, y: usize| {
        Some(if x.is_multiple_of(16) && x > 0 && y > 0 {
            2.0
        } else {
            1.0
        })
    };
    assert_snapshot!(page(wrong_field([64, 24], seams, Some([16, 8]))));
}

#[test]
fn a_gpu_knows_neither_blocks_nor_threads() {
    let last = |x: usize, _| Some(if x > 1995 { 2.0 } else { 1.0 });
    let text = page(wrong_field([2001, 40], last, None));
    assert!(!text.contains('|') && !text.contains("stored"), "{text}");
    assert_snapshot!(text);
    // No room for it: the sentences stay.
    let failure = wrong_field([2001, 40], last, None);
    let screen = shown([report(&[("one-step", failure)])]);
    let narrow = sized(&screen, 60, 40);
    assert!(
        narrow.contains("is wrong in") && !narrow.contains('@'),
        "{narrow}"
    );
}
