//! Each defect, planted in random fields, is named; damage without order is not.

use device::check::Tolerance;
use device::{HostBuffer, NamedBuffers};
use proptest::prelude::*;

use super::*;

/// Two random fields of one shape, and what a run left of them.
struct Planted {
    extents: Vec<usize>,
    expected: [Vec<f32>; 2],
    got: [Vec<f32>; 2],
    inputs: NamedBuffers,
    before: NamedBuffers,
    random: fastrand::Rng,
}

impl Planted {
    fn new(extents: &[usize], seed: u64) -> Planted {
        let mut random = fastrand::Rng::with_seed(seed);
        let len = extents.iter().product();
        let expected = [(); 2].map(|()| field(len, &mut random));
        Planted {
            extents: extents.to_vec(),
            got: expected.clone(),
            expected,
            inputs: Vec::new(),
            before: Vec::new(),
            random,
        }
    }

    fn len(&self) -> usize {
        self.expected[0].len()
    }

    fn place(&self, index: usize) -> Vec<usize> {
        let mut rest = index;
        let split = |extent: &usize| {
            let at = rest % extent;
            rest /= extent;
            at
        };
        self.extents.iter().map(split).collect()
    }

    /// Every cell of field `which` that is chosen gets another random value.
    fn damage(&mut self, which: usize, is_chosen: impl Fn(&[usize]) -> bool) {
        for index in 0..self.len() {
            if is_chosen(&self.place(index)) {
                self.got[which][index] = self.random.f32() * 2.0 + 1.5;
            }
        }
    }

    fn axes(&self) -> Vec<Axis> {
        let names = ["x", "y", "z"].iter();
        let axis = |(name, extent): (&&str, &usize)| Axis {
            name: (*name).to_owned(),
            extent: *extent as u64,
        };
        names.zip(&self.extents).map(axis).collect()
    }

    fn diagnose_with(
        &self,
        steps: Option<u64>,
        after_steps: Option<&AfterSteps<'_>>,
        again: Option<Again<'_>>,
    ) -> Option<Diagnosis> {
        let axes = |_: &str| self.axes();
        diagnose(&Evidence {
            axes: &axes,
            expected: &named(&self.expected),
            got: &named(&self.got),
            tolerance: &|_| None,
            inputs: &self.inputs,
            before: &self.before,
            steps,
            after_steps,
            again,
            stores: None,
        })
    }

    fn diagnose(&self) -> Diagnosis {
        self.diagnose_with(None, None, None)
            .expect("something is wrong")
    }

    /// The names that the damage gets.
    fn patterns(&self) -> Vec<Pattern> {
        self.diagnose().patterns
    }
}

/// Values that are nowhere equal, or small.
fn field(len: usize, random: &mut fastrand::Rng) -> Vec<f32> {
    (0..len).map(|_| random.f32() - 1.25).collect()
}

fn named(fields: &[Vec<f32>; 2]) -> NamedBuffers {
    let [u0, u1] = fields.clone();
    vec![("u0".to_owned(), u0.into()), ("u1".to_owned(), u1.into())]
}

/// Two or three axes, none of a size that tiles divide by chance.
fn extents() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![
        prop::collection::vec(17usize..70, 2),
        prop::collection::vec(17usize..24, 3),
    ]
}

const AXES: [&str; 3] = ["x", "y", "z"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn nothing_wrong_is_no_diagnosis(extents in extents(), seed: u64) {
        prop_assert_eq!(Planted::new(&extents, seed).diagnose_with(None, None, None), None);
    }

    #[test]
    fn borders(extents in extents(), seed: u64, chosen in 1u8..64) {
        let mut planted = Planted::new(&extents, seed);
        let sides: Vec<(usize, bool)> = (0..extents.len())
            .flat_map(|axis| [(axis, false), (axis, true)])
            .filter(|(axis, at_end)| chosen >> (2 * axis + usize::from(*at_end)) & 1 == 1)
            .collect();
        prop_assume!(!sides.is_empty());
        let limits = extents.clone();
        planted.damage(1, |place| {
            sides.iter().any(|&(axis, at_end)| place[axis] == if at_end { limits[axis] - 1 } else { 0 })
        });
        let names = sides
            .iter()
            .map(|&(axis, at_end)| format!("{} = {}", AXES[axis], if at_end { "last" } else { "0" }));
        let expected = Pattern::BorderOnly { sides: names.collect(), depth: 1 };
        let patterns = planted.patterns();
        prop_assert!(patterns.contains(&expected), "{:?}", patterns);
    }

    #[test]
    fn last_partial_tiles(extents in extents(), seed: u64, axis in 0usize..3, width in 2usize..8) {
        let axis = axis % extents.len();
        let mut planted = Planted::new(&extents, seed);
        let from = extents[axis] - width;
        planted.damage(1, |place| place[axis] >= from);
        let expected = Pattern::LastPartialTile {
            axis: AXES[axis].to_owned(),
            from: from as u64,
            extent: extents[axis] as u64,
        };
        let patterns = planted.patterns();
        prop_assert!(patterns.contains(&expected), "{:?}", patterns);
    }

    #[test]
    fn seams(
        extents in extents(),
        seed: u64,
        axis in 0usize..3,
        period in 4usize..8,
        both_sides: bool,
    ) {
        let axis = axis % extents.len();
        let mut planted = Planted::new(&extents, seed);
        let extent = extents[axis];
        let is_seam = |at: usize| {
            at > 0 && at + 1 < extent && (at.is_multiple_of(period) || both_sides && at % period == period - 1)
        };
        planted.damage(1, |place| is_seam(place[axis]));
        let expected = Pattern::TileSeams {
            axis: AXES[axis].to_owned(),
            period: period as u64,
            offsets: if both_sides { vec![0, period as u64 - 1] } else { vec![0] },
        };
        let patterns = planted.patterns();
        prop_assert!(patterns.contains(&expected), "{:?}", patterns);
    }

    #[test]
    fn a_seam_alone(n in 30usize..60, other in 5usize..20, seed: u64, axis in 0usize..2, at in 0.2f64..0.7, width in 1usize..4) {
        let extents = if axis == 0 { [n, other] } else { [other, n] };
        let from = (at * n as f64) as usize;
        let mut planted = Planted::new(&extents, seed);
        // Too few cells have no name.
        prop_assume!(width * other >= 8);
        planted.damage(1, |place| (from..from + width).contains(&place[axis]));
        let band = Pattern::Band { axis: AXES[axis].to_owned(), from: from as u64, to: (from + width - 1) as u64 };
        let patterns = planted.patterns();
        prop_assert!(patterns.contains(&band), "{:?}", patterns);
    }

    #[test]
    fn seams_of_two_axes(seed: u64, n_x in 40usize..70, n_y in 40usize..70, t_x in 6usize..16, t_y in 6usize..16) {
        let mut planted = Planted::new(&[n_x, n_y], seed);
        planted.damage(0, |place| place[0] % t_x == t_x - 1 || place[1] % t_y == t_y - 1);
        let seam = |axis: &str, period: usize| Pattern::TileSeams {
            axis: axis.to_owned(),
            period: period as u64,
            offsets: vec![period as u64 - 1],
        };
        let patterns = planted.patterns();
        prop_assert!(patterns.contains(&seam("x", t_x)) && patterns.contains(&seam("y", t_y)), "{:?}", patterns);
    }

    #[test]
    fn scattered_damage_has_no_name(extents in extents(), seed: u64, share in 0.0f64..0.7) {
        let mut planted = Planted::new(&extents, seed);
        let mut chooser = fastrand::Rng::with_seed(seed ^ 1);
        let chosen: Vec<bool> = (0..planted.len()).map(|_| chooser.f64() < share).collect();
        for which in 0..2 {
            for (index, is_chosen) in chosen.iter().enumerate() {
                if *is_chosen || index == which {
                    planted.got[which][index] = chooser.f32() + 3.0;
                }
            }
        }
        prop_assert_eq!(planted.patterns(), vec![]);
    }

    #[test]
    fn a_patch_has_no_name(
        extents in extents(),
        seed: u64,
        starts in prop::array::uniform3(0.0f64..1.0),
        sizes in prop::array::uniform3(0.0f64..0.6),
    ) {
        let mut planted = Planted::new(&extents, seed);
        let limits = extents.clone();
        for which in 0..2 {
            planted.damage(which, |place| {
                place.iter().enumerate().all(|(axis, &at)| {
                    let extent = limits[axis] as f64;
                    let size = (sizes[axis] * extent).max(1.0).floor();
                    let start = (starts[axis] * (extent - size)).floor();
                    (start..start + size).contains(&(at as f64))
                })
            });
        }
        prop_assert_eq!(planted.patterns(), vec![]);
    }

    #[test]
    fn unwritten_cells(extents in extents(), seed: u64, share in 0.05f64..1.0) {
        let mut planted = Planted::new(&extents, seed);
        // Far from every right value: a cell that is right by chance is not left unwritten.
        let poison: Vec<f32> = (0..planted.len()).map(|_| planted.random.f32() + 4.0).collect();
        let mut cells = 0;
        for which in 0..2 {
            cells = 0;
            for (index, value) in poison.iter().enumerate() {
                if index == 0 || planted.random.f64() < share {
                    planted.got[which][index] = *value;
                    cells += 1;
                }
            }
            planted.before.push((format!("u{which}"), poison.clone().into()));
        }
        let diagnosis = planted.diagnose();
        if diagnosis.field == "u1" {
            prop_assert_eq!(diagnosis.patterns, vec![Pattern::Unwritten { cells }]);
        } else {
            let is_unwritten = matches!(diagnosis.patterns[..], [Pattern::Unwritten { .. }]);
            prop_assert!(is_unwritten, "{:?}", diagnosis.patterns);
        }
    }

    #[test]
    fn half_precision(extents in extents(), seed: u64, bits in 8u32..13) {
        let mut planted = Planted::new(&extents, seed);
        for got in &mut planted.got {
            for value in got {
                // Truncation to fewer bits of the mantissa.
                *value = f32::from_bits(value.to_bits() & (!0 << (24 - bits)));
            }
        }
        prop_assert_eq!(planted.patterns(), vec![Pattern::ReducedPrecision { mantissa_bits: bits }]);
    }

    #[test]
    fn rounding(extents in extents(), seed: u64) {
        let mut planted = Planted::new(&extents, seed);
        for value in planted.got.iter_mut().flatten() {
            let ulps = planted.random.u32(0..4);
            *value = f32::from_bits(value.to_bits() + ulps);
        }
        prop_assert_eq!(planted.patterns(), vec![Pattern::RoundingOnly { max_ulp: 3 }]);
    }

    #[test]
    fn zeros_of_the_other_sign(extents in extents(), seed: u64) {
        let mut planted = Planted::new(&extents, seed);
        for (got, expected) in planted.got.iter_mut().zip(&mut planted.expected) {
            for (cell, right) in got.iter_mut().zip(expected).step_by(3) {
                (*cell, *right) = (-0.0, 0.0);
            }
        }
        prop_assert_eq!(planted.patterns(), vec![Pattern::SignOfZero]);
        // With one more value that is off by rounding, it is rounding.
        planted.got[0][1] = f32::from_bits(planted.got[0][1].to_bits() + 1);
        prop_assert!(!planted.patterns().contains(&Pattern::SignOfZero));
    }

    #[test]
    fn moved_fields(extents in extents(), seed: u64, axis in 0usize..3, by in prop::sample::select(vec![-2isize, -1, 1, 2])) {
        let axis = axis % extents.len();
        let mut planted = Planted::new(&extents, seed);
        let stride: usize = extents[..axis].iter().product();
        for index in 0..planted.len() {
            let at = planted.place(index)[axis] as isize + by;
            if (0..extents[axis] as isize).contains(&at) {
                let from = index.wrapping_add_signed(by * stride as isize);
                for which in 0..2 {
                    planted.got[which][index] = planted.expected[which][from];
                }
            }
        }
        let expected = Pattern::Shifted { axis: AXES[axis].to_owned(), by: by as i64 };
        prop_assert_eq!(planted.patterns(), vec![expected]);
    }

    #[test]
    fn transposed_fields(n in 9usize..40, seed: u64) {
        let mut planted = Planted::new(&[n, n], seed);
        for index in 0..planted.len() {
            for which in 0..2 {
                planted.got[which][index] = planted.expected[which][index / n + index % n * n];
            }
        }
        let expected = Pattern::Transposed { axes: ["x".to_owned(), "y".to_owned()] };
        prop_assert_eq!(planted.patterns(), vec![expected]);
    }

    #[test]
    fn other_steps(extents in extents(), seed: u64, behind in prop::sample::select(vec![-2i64, -1, 1, 2, 5, 8])) {
        let planted = Planted::new(&extents, seed);
        let at_step = |step: u64| {
            let mut random = fastrand::Rng::with_seed(seed ^ step);
            named(&[(); 2].map(|()| field(planted.len(), &mut random)))
        };
        let axes = |_: &str| planted.axes();
        let steps: u64 = 10;
        let diagnosis = diagnose(&Evidence {
            axes: &axes,
            expected: &at_step(steps),
            got: &at_step(steps.checked_add_signed(-behind).unwrap()),
            tolerance: &|_| None,
            inputs: &Vec::new(),
            before: &Vec::new(),
            steps: Some(steps),
            after_steps: Some(&|step| Some(at_step(step))),
            again: None,
            stores: None,
        });
        prop_assert_eq!(diagnosis.unwrap().patterns, vec![Pattern::OtherStep { behind }]);
    }

    #[test]
    fn the_first_wrong_step_is_found_and_the_place_is_taken_there(seed: u64, first in 1u64..30, from in 20usize..29) {
        let (n, steps) = (31usize, 30);
        // A wrong band that grows by one cell per step.
        let after = |step: u64| {
            let mut planted = Planted::new(&[n, n], seed ^ step);
            if step >= first {
                let from = from.saturating_sub((step - first) as usize);
                planted.damage(1, |place| place[0] >= from);
            }
            planted
        };
        let expected = |step: u64| Some(named(&after(step).expected));
        let run = |step: u64| Ok(named(&after(step).got));
        let again = Some(Again::Steps(&run));
        let diagnosis = after(steps).diagnose_with(Some(steps), Some(&expected), again).unwrap();
        prop_assert_eq!(diagnosis.first_wrong_step, Some(FirstWrongStep::Step { step: first }));
        let tile = Pattern::LastPartialTile { axis: "x".to_owned(), from: from as u64, extent: n as u64 };
        prop_assert!(diagnosis.patterns.contains(&tile), "{:?}", diagnosis.patterns);
    }

    #[test]
    fn the_first_wrong_launch_is_found_where_each_does_several_steps(
        seed: u64, each in 2u64..9, launches in 2u64..9, short in 0u64..8, first in 1u64..9, tile in 20usize..24,
    ) {
        let (first, steps) = (first.min(launches), each * launches - short.min(each - 1));
        // Launch by launch the damage at the seams grows over the whole tile.
        let after = |launch: u64| {
            let step = steps.min(launch * each);
            let mut planted = Planted::new(&[67, 61], seed ^ step);
            if launch >= first {
                let wide = 3 * (1 + launch - first) as usize;
                planted.damage(0, |place| place[0] % tile < wide);
            }
            planted
        };
        let expected = |step: u64| Some(named(&Planted::new(&[67, 61], seed ^ step).expected));
        let run = |launch: u64| Ok(named(&after(launch).got));
        let again = Some(Again::Launches { count: launches, run: &run });
        let diagnosis = after(launches).diagnose_with(Some(steps), Some(&expected), again).unwrap();
        let found = FirstWrongStep::Launch { launch: first, right_after: (first - 1) * each, step: steps.min(first * each) };
        prop_assert_eq!(diagnosis.first_wrong_step, Some(found));
        let seams = Pattern::TileSeams { axis: "x".to_owned(), period: tile as u64, offsets: vec![0, 1, 2] };
        prop_assert!(diagnosis.patterns.contains(&seams), "{:?}", diagnosis.patterns);
    }
}

#[test]
fn fields_that_are_something_else() {
    let planted = || Planted::new(&[37, 53], 7);
    let mut zeros = planted();
    zeros.got = [vec![0.0; zeros.len()], vec![-0.0; zeros.len()]];
    assert_eq!(zeros.patterns(), [Pattern::AllZeros]);

    let mut copy = planted();
    let input = field(copy.len(), &mut copy.random);
    copy.inputs.push(("u1".to_owned(), input.clone().into()));
    copy.got = [input.clone(), input];
    let name = "u1".to_owned();
    assert_eq!(
        copy.patterns(),
        [Pattern::CopyOfInput {
            input: name,
            others_computed: false
        }]
    );

    let mut swapped = planted();
    swapped.got.swap(0, 1);
    let (a, b) = ("u0".to_owned(), "u1".to_owned());
    assert_eq!(swapped.patterns(), [Pattern::SwappedFields { a, b }]);

    let mut one = planted();
    one.got[1] = field(one.len(), &mut one.random);
    let field = "u1".to_owned();
    assert_eq!(one.patterns(), [Pattern::OneFieldOnly { field }]);
}

#[test]
fn single_precision_in_between() {
    let mut random = fastrand::Rng::with_seed(3);
    let expected: Vec<f64> = (0..900).map(|_| random.f64() - 1.5).collect();
    let got: Vec<f64> = expected
        .iter()
        .map(|value| f64::from(*value as f32))
        .collect();
    let of = |values: Vec<f64>| vec![("u".to_owned(), HostBuffer::from(values))];
    let diagnosis = diagnose(&Evidence {
        axes: &|_| Vec::new(),
        expected: &of(expected),
        got: &of(got),
        tolerance: &|_| None,
        inputs: &Vec::new(),
        before: &Vec::new(),
        steps: None,
        after_steps: None,
        again: None,
        stores: None,
    });
    let reduced = [Pattern::ReducedPrecision { mantissa_bits: 24 }];
    assert_eq!(diagnosis.unwrap().patterns, reduced);
}

#[test]
fn what_is_allowed_is_not_wrong_and_what_is_not_finite_is() {
    let of = |values: &[f32]| vec![("u".to_owned(), HostBuffer::from(values.to_vec()))];
    let diagnose = |got: &[f32]| {
        diagnose(&Evidence {
            axes: &|_| Vec::new(),
            expected: &of(&[1.0, 2.0, f32::INFINITY]),
            got: &of(got),
            tolerance: &|_| {
                Some(Tolerance {
                    absolute: 0.1,
                    relative: 0.0,
                })
            },
            inputs: &Vec::new(),
            before: &Vec::new(),
            steps: None,
            after_steps: None,
            again: None,
            stores: None,
        })
        .unwrap()
    };
    let diagnosis = diagnose(&[1.05, f32::NAN, f32::INFINITY]);
    assert_eq!((diagnosis.wrong, diagnosis.non_finite), (2, 2));
    assert_eq!(diagnosis.first.index, 1);
    assert_eq!(diagnosis.max_error, None);
    assert_eq!(diagnose(&[1.2, 2.0, 3.0]).wrong, 2);
}

#[test]
fn sentences() {
    let mut planted = Planted::new(&[37, 53], 11);
    planted.damage(1, |place| place[0] >= 32);
    planted.got[1][37 * 40 + 36] = f32::NAN;
    let rerun =
        |_| Err("the plan's 7 commands are not the same number in each of 10 steps".to_owned());
    let diagnosis = planted
        .diagnose_with(Some(10), None, Some(Again::Steps(&rerun)))
        .unwrap();
    insta::assert_snapshot!(text::lines(&diagnosis).join("\n"), @r"
    `u1` is wrong in 265 of 1,961 cells, 1 NaN or infinite, by at most 4.64; `u0` is right
    first at x = 32, y = 0: expected -1.2202377 (0xbf9c30c0), got 3.219071 (0x404e0542)
    at which step it first goes wrong is not known: the plan's 7 commands are not the same number in each of 10 steps
    only `u1` is wrong, the other outputs are right
    only the last 5 of 37 cells along x are wrong (x >= 32): the part that does not fill a whole tile?
    ");
}

#[test]
fn one_cell_is_one() {
    insta::assert_snapshot!(Pattern::Unwritten { cells: 1 }.to_string(), @"1 of the wrong cells holds what was there before the run: nothing wrote it");
    insta::assert_snapshot!(Pattern::Unwritten { cells: 2 }.to_string(), @"2 of the wrong cells hold what was there before the run: nothing wrote them");
    let last = |from| {
        let axis = "x".to_owned();
        let pattern = Pattern::LastPartialTile {
            axis,
            from,
            extent: 33,
        };
        pattern.to_string()
    };
    insta::assert_snapshot!(last(32), @"only the last of 33 cells along x is wrong (x = 32): the part that does not fill a whole tile?");
    insta::assert_snapshot!(last(31), @"only the last 2 of 33 cells along x are wrong (x >= 31): the part that does not fill a whole tile?");
}

/// A decoded PNG file.
struct Picture {
    width: usize,
    pixels: Vec<[u8; 3]>,
}

impl Picture {
    fn read(file: &[u8]) -> Picture {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
        // Colours for the indices of a palette.
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut bytes).unwrap();
        assert_eq!(frame.color_type, png::ColorType::Rgb);
        let (pixels, []) = bytes[..frame.buffer_size()].as_chunks() else {
            panic!("three bytes per pixel");
        };
        Picture {
            width: frame.width as usize,
            pixels: pixels.to_vec(),
        }
    }

    /// Width and height.
    fn extents(&self) -> (usize, usize) {
        (self.width, self.pixels.len() / self.width)
    }

    fn pixel(&self, x: usize, y: usize) -> [u8; 3] {
        self.pixels[y * self.width + x]
    }

    fn pixels(&self) -> impl Iterator<Item = &[u8; 3]> {
        self.pixels.iter()
    }
}

#[test]
fn the_picture_shows_right_wrong_and_not_finite() {
    let mut planted = Planted::new(&[20, 30], 5);
    planted.got[1][3] = f32::NAN;
    planted.got[1][20 * 29 + 19] += 1.0;
    let heat_map = planted.diagnose().heat_map.unwrap();
    assert_eq!((heat_map.pixels_per_cell, heat_map.cells_per_pixel), (8, 1));
    let picture = Picture::read(&heat_map.png());
    assert_eq!(picture.extents(), (160, 240));
    assert_eq!(picture.pixel(0, 0), [0xd5, 0xd9, 0xde]);
    assert_eq!(picture.pixel(3 * 8 + 7, 7), [0x1d, 0x3f, 0xd1]);
    let [red, green, blue] = picture.pixel(159, 239);
    assert!(
        red > 0x50 && green < 0x10 && blue < 0x30,
        "{red:x} {green:x} {blue:x}"
    );
}

#[test]
fn large_fields_shrink_and_keep_their_worst_cells() {
    let mut planted = Planted::new(&[1500, 40, 3], 5);
    // The last cell of the second slice.
    planted.got[0][2 * 1500 * 40 - 1] = f32::INFINITY;
    let heat_map = planted.diagnose().heat_map.unwrap();
    assert_eq!(heat_map.shows, "u0 at z = 1");
    assert_eq!((heat_map.cells_per_pixel, heat_map.pixels_per_cell), (3, 1));
    assert_eq!((heat_map.width, heat_map.height), (500, 14));
    let picture = Picture::read(&heat_map.png());
    let blue = picture
        .pixels()
        .filter(|pixel| **pixel == [0x1d, 0x3f, 0xd1])
        .count();
    assert_eq!(blue, 1);
    assert_eq!(picture.pixel(499, 13), [0x1d, 0x3f, 0xd1]);
}

/// A field that comes back to where it was after six steps: of the steps that would do, the nearest
/// is named.
#[test]
fn the_nearest_other_step_is_named() {
    let planted = Planted::new(&[5, 4], 1);
    let at_step = |step: u64| {
        let mut random = fastrand::Rng::with_seed(step % 6);
        named(&[(); 2].map(|()| field(planted.len(), &mut random)))
    };
    let diagnosis = diagnose(&Evidence {
        axes: &|_| planted.axes(),
        expected: &at_step(10),
        got: &at_step(11),
        tolerance: &|_| None,
        inputs: &Vec::new(),
        before: &Vec::new(),
        steps: Some(10),
        after_steps: Some(&|step| Some(at_step(step))),
        again: None,
        stores: None,
    });
    let behind = -1;
    assert_eq!(diagnosis.unwrap().patterns, [Pattern::OtherStep { behind }]);
}

/// The patterns and the first wrong step of a run in which only these inner rows of a wide, low
/// field are wrong.
fn of_rows(rows: &[usize]) -> Vec<Pattern> {
    let mut planted = Planted::new(&[261, 5], 3);
    let last = planted.extents[0] - 1;
    planted.damage(1, |place| {
        (1..last).contains(&place[0]) && rows.contains(&place[1])
    });
    planted.patterns()
}

/// Between fixed borders, all rows are wrong: a tile would leave some of them right.
#[test]
fn all_inner_rows_are_no_partial_tile() {
    let is_tile = |pattern: &Pattern| matches!(pattern, Pattern::LastPartialTile { .. });
    let patterns = of_rows(&[1, 2, 3]);
    assert!(!patterns.iter().any(is_tile), "{patterns:?}");
    let without_first = of_rows(&[2, 3]);
    assert!(without_first.iter().any(is_tile), "{without_first:?}");
}

/// A line of cells that is near a border, and not on it, is a source's more often than a border's.
#[test]
fn a_line_beside_the_border_is_not_the_border() {
    let mut planted = Planted::new(&[61, 40], 3);
    planted.damage(1, |place| place[0] == 3 && (1..39).contains(&place[1]));
    let diagnosis = planted.diagnose();
    let (from, to, axis) = (3, 3, "x".to_owned());
    let band = Pattern::Band { axis, from, to };
    assert!(
        diagnosis.patterns.contains(&band),
        "{:?}",
        diagnosis.patterns
    );
    insta::assert_snapshot!(band.to_string(), @"all wrong cells are at x = 3: a source or a wall there, or two tiles that meet there?");
}

/// The damage after many steps does not say where it began.
#[test]
fn the_place_is_not_taken_where_the_damage_has_spread() {
    let (n, steps) = (31usize, 12);
    // One cell, and from the third step on the column of it.
    let after = |step: u64| {
        let mut planted = Planted::new(&[n, n], step);
        planted.damage(1, |place| match step {
            0 => false,
            1 | 2 => place[0] == 20 && place[1] == 15,
            _ => place[0] == 20,
        });
        planted
    };
    let expected = |step: u64| Some(named(&after(step).expected));
    let run = |step: u64| Ok(named(&after(step).got));
    let again = Some(Again::Steps(&run));
    let diagnosis = after(steps)
        .diagnose_with(Some(steps), Some(&expected), again)
        .unwrap();
    assert_eq!(
        diagnosis.first_wrong_step,
        Some(FirstWrongStep::Step { step: 1 })
    );
    insta::assert_snapshot!(text::lines(&diagnosis).join("\n"), @r"
    `u1` is wrong in 31 of 961 cells, by at most 4.51; `u0` is right
    first at x = 20, y = 0: expected -0.8562239 (0xbf5b317d), got 2.0095663 (0x40009cbc)
    wrong from step 1 on
    only `u1` is wrong, the other outputs are right
    after step 1: only the cell at x = 20, y = 15 is wrong
    ");
    // The picture is of that step.
    let heat_map = diagnosis.heat_map.unwrap();
    assert_eq!(heat_map.shows, "u1 after step 1");
    let picture = Picture::read(&heat_map.png());
    let right = picture
        .pixels()
        .filter(|pixel| **pixel == [0xd5, 0xd9, 0xde]);
    let cell = heat_map.pixels_per_cell.pow(2);
    assert_eq!(right.count() as u32, cell * (n * n - 1) as u32);
}

/// A plan of one launch for twelve steps, which does one of them right: the launch is right.
#[test]
fn missing_launches_are_not_a_wrong_launch() {
    let (n, steps) = (16usize, 40);
    // Most cells are a border that no step changes.
    let after = |step: u64| {
        let mut planted = Planted::new(&[n, n], 1);
        let mut random = fastrand::Rng::with_seed(step);
        let inside = |place: &[usize]| place.iter().all(|at| (6..10).contains(at));
        for index in 0..planted.len() {
            if inside(&planted.place(index)) {
                planted.expected[1][index] = random.f32();
            }
        }
        named(&planted.expected)
    };
    let planted = Planted::new(&[n, n], 1);
    let diagnosed = |launches: u64, last: u64| {
        let run = |launch: u64| Ok(after(launch));
        let axes = |_: &str| planted.axes();
        let count = launches;
        let diagnosis = diagnose(&Evidence {
            axes: &axes,
            expected: &after(last),
            got: &after(launches),
            tolerance: &|_| None,
            inputs: &Vec::new(),
            before: &Vec::new(),
            steps: Some(last),
            after_steps: Some(&|step| Some(after(step))),
            again: Some(Again::Launches { count, run: &run }),
            stores: None,
        });
        let lines = text::lines(&diagnosis.unwrap());
        lines[2..].join("\n")
    };
    insta::assert_snapshot!(diagnosed(1, 12), @r"
    it is the right result of 11 steps earlier: too few steps, or outputs from before the last
    only `u1` is wrong, the other outputs are right
    ");
    insta::assert_snapshot!(diagnosed(12, steps), @r"
    at which step it first goes wrong is not known: the plan has 12 launches for 40 steps, and the first does 1 step: launches are missing
    only `u1` is wrong, the other outputs are right
    ");
}

/// Outputs that are each other's, and an output that is an input while the other is not: that is
/// what a forgotten swap of the buffers leaves too.
#[test]
fn a_forgotten_swap_is_thought_of() {
    let (a, b) = ("u0".to_owned(), "u1".to_owned());
    insta::assert_snapshot!(Pattern::SwappedFields { a, b }.to_string(), @"`u0` and `u1` are each other's: the outputs are swapped, or the last swap of the buffers is missing");
    let mut planted = Planted::new(&[37, 53], 7);
    let input = field(planted.len(), &mut planted.random);
    planted.inputs.push(("u1".to_owned(), input.clone().into()));
    planted.got[1] = input;
    planted.got[0] = field(planted.len(), &mut planted.random);
    planted.got[0][7] = planted.expected[0][7];
    let lines = text::lines(&planted.diagnose());
    insta::assert_snapshot!(lines[2..].join("\n"), @"it is the input `u1`, unchanged, and another output is not: is a swap of the buffers missing, or the wrong buffer the output?");
}

/// Cells that nothing wrote hold the bytes that memory was filled with, which are NaN.
#[test]
fn cells_that_nothing_wrote_are_not_called_nan() {
    let mut planted = Planted::new(&[37, 53], 7);
    let poison = f32::from_bits(u32::from_ne_bytes([device::POISON; 4]));
    planted
        .before
        .push(("u1".to_owned(), vec![poison; planted.len()].into()));
    for (index, got) in planted.got[1].iter_mut().enumerate() {
        if index % 3 == 0 {
            *got = poison;
        }
    }
    let diagnosis = planted.diagnose();
    assert_eq!(diagnosis.non_finite, 0);
    insta::assert_snapshot!(text::lines(&diagnosis).join("\n"), @r"
    `u1` is wrong in 654 of 1,961 cells, 654 never written; `u0` is right
    first at x = 0, y = 0: expected -0.48151284 (0xbef688da), got NaN (0xffffffff)
    654 of the wrong cells hold what was there before the run: nothing wrote them
    only `u1` is wrong, the other outputs are right
    ");
}
