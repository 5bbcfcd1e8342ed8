//! Where the wrong cells are: at the border, in the last tile, where tiles meet.
//!
//! Each of these is a set of coordinates of one axis, or of several, in which most cells are wrong
//! while everywhere else all are right. The share of wrong cells is taken for each coordinate of an
//! axis; coordinates that stand out are a candidate, and it counts only if
//! - every wrong cell has one of these coordinates,
//! - most cells that have one are wrong, over most of the length of the other axes,
//! - the set has the shape of a border, a tail, a comb or a band.
//!
//! Each name is therefore true of the data. Wrong cells that are scattered, or a patch of them,
//! have no such set.

use super::field::Field;
use super::pattern::Pattern;

/// Share of the cells with an outstanding coordinate that must be wrong.
const FILL: f64 = 0.4;
/// Share of the other axes' length over which wrong cells must be found.
const SPREAD: f64 = 0.75;
/// Fewer wrong cells than this show no pattern.
const FEWEST: usize = 8;
/// So many times the width of a band fit along its axis, or more.
const THINNEST: usize = 8;
/// The largest depth of a border.
const DEEPEST: usize = 4;

/// The patterns, one for each axis that takes part; none if the wrong cells have no such order.
pub fn patterns(field: &Field<'_>) -> Vec<Pattern> {
    if field.wrong < FEWEST || field.wrong == field.len() {
        return Vec::new();
    }
    let extents = field.extents();
    let mut counts = extents.map(|extent| vec![0usize; extent]);
    for place in field.wrong_places() {
        for (of_axis, at) in counts.iter_mut().zip(place) {
            of_axis[at] += 1;
        }
    }
    let peaks = counts.each_ref().map(|counts| find_peaks(counts));
    // Fewer axes explain more.
    let mut subsets: Vec<u8> = (1..8).collect();
    subsets.sort_by_key(|subset| subset.count_ones());
    for subset in subsets {
        let axes = (0..3).filter(|axis| subset >> axis & 1 == 1);
        let chosen: Option<Vec<(usize, &[usize])>> = axes
            .map(|axis| Some((axis, peaks[axis].as_deref()?)))
            .collect();
        if let Some(chosen) = chosen
            && explains(field, &counts, &chosen)
            && let Some(patterns) = name(field, &chosen)
        {
            return patterns;
        }
    }
    Vec::new()
}

/// The first of the wrong cells, where they are too few for a pattern.
pub fn few_cells(field: &Field<'_>) -> Option<Pattern> {
    let first = field.first_wrong()?;
    (field.wrong < FEWEST).then_some(Pattern::FewCells {
        cells: field.wrong as u64,
        first: first.place,
    })
}

/// The coordinates of one axis, ascending, in which far more cells are wrong than in the others.
fn find_peaks(counts: &[usize]) -> Option<Vec<usize>> {
    let (least, most) = (*counts.iter().min()?, *counts.iter().max()?);
    // Without contrast nothing stands out.
    if counts.len() < 3 || 2 * most < 3 * least || most == 0 {
        return None;
    }
    let is_peak = |at: &usize| 2 * counts[*at] > least + most;
    let coordinates: Vec<usize> = (0..counts.len()).filter(is_peak).collect();
    let is_minority = 2 * coordinates.len() <= counts.len() + 1;
    is_minority.then_some(coordinates)
}

/// Whether every wrong cell is in one of the sets, and the sets are well filled.
fn explains(field: &Field<'_>, counts: &[Vec<usize>; 3], chosen: &[(usize, &[usize])]) -> bool {
    let in_sets = |place: [usize; 3]| {
        chosen
            .iter()
            .any(|(axis, peaks)| peaks.binary_search(&place[*axis]).is_ok())
    };
    if !field.wrong_places().all(in_sets) {
        return false;
    }
    let extents = field.extents();
    let outside: f64 = chosen
        .iter()
        .map(|(axis, peaks)| 1.0 - peaks.len() as f64 / extents[*axis] as f64)
        .product();
    let cells_in_sets = (1.0 - outside) * field.len() as f64;
    if (field.wrong as f64) < FILL * cells_in_sets {
        return false;
    }
    // The sets of one axis are spread along all others; those of several are, if there are wrong
    // cells all along.
    (0..3)
        .filter(|axis| chosen.len() > 1 || chosen[0].0 != *axis)
        .all(|axis| {
            let touched = counts[axis].iter().filter(|count| **count > 0).count();
            // The outermost cells may be fixed, and so right.
            touched as f64 >= SPREAD * extents[axis].saturating_sub(2).max(1) as f64
        })
}

/// The patterns of these sets, if each has the shape of one.
fn name(field: &Field<'_>, chosen: &[(usize, &[usize])]) -> Option<Vec<Pattern>> {
    let extents = field.extents();
    let axis_name = |axis: usize| field.axes[axis].name.clone();
    let as_border = |(axis, peaks): &(usize, &[usize])| Border::of(peaks, extents[*axis]);
    let borders: Option<Vec<Border>> = chosen.iter().map(as_border).collect();
    if let Some(borders) = borders {
        // Several cells deep at the far ends alone: the part that a division of the extent leaves
        // over.
        let is_tail = borders
            .iter()
            .all(|border| !border.at_start && border.depth == border.cells)
            && borders.iter().any(|border| border.cells > 1);
        if !is_tail {
            let mut sides = Vec::new();
            for ((axis, _), border) in chosen.iter().zip(&borders) {
                if border.at_start {
                    sides.push(format!("{} = 0", axis_name(*axis)));
                }
                if border.at_end {
                    sides.push(format!("{} = last", axis_name(*axis)));
                }
            }
            let depth = borders.iter().map(|border| border.depth as u64).max()?;
            return Some(vec![Pattern::BorderOnly { sides, depth }]);
        }
    }
    let pattern = |(axis, peaks): &(usize, &[usize])| {
        let extent = extents[*axis];
        if let Some(from) = tail(peaks, extent) {
            return Some(Pattern::LastPartialTile {
                axis: axis_name(*axis),
                from: from as u64,
                extent: extent as u64,
            });
        }
        if let Some((period, offsets)) = comb(peaks, extent) {
            return Some(Pattern::TileSeams {
                axis: axis_name(*axis),
                period: period as u64,
                offsets: offsets.into_iter().map(|offset| offset as u64).collect(),
            });
        }
        let (from, to) = ends(peaks)?;
        let is_thin = THINNEST * peaks.len() <= extent;
        is_thin.then(|| Pattern::Band {
            axis: axis_name(*axis),
            from: from as u64,
            to: to as u64,
        })
    };
    chosen.iter().map(pattern).collect()
}

struct Border {
    at_start: bool,
    at_end: bool,
    depth: usize,
    cells: usize,
}

impl Border {
    /// Coordinates that are all near one end or the other, without a gap between them and the
    /// outermost cells, which may be fixed.
    fn of(coordinates: &[usize], extent: usize) -> Option<Border> {
        let depth_of = |&at: &usize| at.min(extent - 1 - at) + 1;
        let depth = coordinates.iter().map(depth_of).max()?;
        // Of a short axis, much is near an end.
        if depth > DEEPEST || 4 * depth > extent {
            return None;
        }
        let is_near = |distance: usize, at: usize| at.min(extent - 1 - at) == distance;
        let reaches_end = |half: &[usize]| {
            let depths = half.iter().map(|&at| at.min(extent - 1 - at));
            let Some(deepest) = depths.max() else {
                return true;
            };
            (1..deepest).all(|distance| half.iter().any(|&at| is_near(distance, at)))
        };
        let (start, end) = coordinates.split_at(coordinates.partition_point(|&at| at < extent / 2));
        if !reaches_end(start) || !reaches_end(end) {
            return None;
        }
        Some(Border {
            at_start: coordinates.iter().any(|&at| at < extent / 2),
            at_end: coordinates.iter().any(|&at| at >= extent / 2),
            depth,
            cells: coordinates.len(),
        })
    }
}

/// The first of coordinates that go on to the end, or to the cell before it, which may be a fixed
/// border. Those that begin beside the other border are all that is not fixed, and no tail.
fn tail(coordinates: &[usize], extent: usize) -> Option<usize> {
    let (first, last) = ends(coordinates)?;
    (last + 2 >= extent && first > 1).then_some(first)
}

/// The first and the last of ascending coordinates without a gap.
fn ends(coordinates: &[usize]) -> Option<(usize, usize)> {
    let (&first, &last) = (coordinates.first()?, coordinates.last()?);
    (last - first + 1 == coordinates.len()).then_some((first, last))
}

/// The least period under which the coordinates repeat, and their offsets in it.
fn comb(coordinates: &[usize], extent: usize) -> Option<(usize, Vec<usize>)> {
    // The outermost cells may be fixed, and so right.
    let is_inside = |at: usize| at > 0 && at + 1 < extent;
    let inside = coordinates.iter().filter(|at| is_inside(**at)).count();
    (2..=extent / 2).find_map(|period| {
        let mut offsets: Vec<usize> = coordinates.iter().map(|at| at % period).collect();
        offsets.sort_unstable();
        offsets.dedup();
        if 2 * offsets.len() > period {
            return None;
        }
        let predicted = (0..extent)
            .filter(|at| is_inside(*at) && offsets.binary_search(&(at % period)).is_ok())
            .count();
        // Each offset repeats, and nearly everywhere.
        let repeats = coordinates.len() >= 2 * offsets.len();
        (repeats && 10 * inside >= 9 * predicted).then_some((period, offsets))
    })
}
