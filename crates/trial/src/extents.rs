//! The extents of a grid, a block or a cluster.

use std::str::FromStr;

/// Up to three extents, as in `8,4`; the others are 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extents(pub [u32; 3]);

impl FromStr for Extents {
    type Err = String;

    fn from_str(text: &str) -> Result<Extents, String> {
        let mut extents = [1; 3];
        let parts: Vec<&str> = text.split(',').collect();
        if parts.len() > 3 {
            return Err("write up to three numbers: X,Y,Z".to_owned());
        }
        for (extent, part) in extents.iter_mut().zip(parts) {
            let number = part.trim().parse().ok().filter(|number| *number > 0);
            *extent = number.ok_or("write whole numbers, 1 or more: X,Y,Z")?;
        }
        Ok(Extents(extents))
    }
}
