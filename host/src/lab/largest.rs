//! The largest case that fits.

/// The largest number from `least` to `most` that fits, where all below one that fits do too.
pub(crate) fn largest(least: u32, most: u32, fits: impl Fn(u32) -> bool) -> Option<u32> {
    if !fits(least) {
        return None;
    }
    let (mut fitting, mut above) = (least, u64::from(most) + 1);
    while u64::from(fitting) + 1 < above {
        let middle = u64::midpoint(fitting.into(), above) as u32;
        if fits(middle) {
            fitting = middle;
        } else {
            above = middle.into();
        }
    }
    Some(fitting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_that_fits_is_found() {
        for limit in 2..=9 {
            assert_eq!(largest(2, 9, |n| n <= limit), Some(limit));
        }
        assert_eq!(largest(2, 9, |_| false), None);
        assert_eq!(largest(0, u32::MAX, |_| true), Some(u32::MAX));
    }
}
