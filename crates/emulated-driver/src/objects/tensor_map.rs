//! The rules for tensor maps of tiles (`cuda.h`, `cuTensorMapEncodeTiled`).

use ptx_emu::{MAX_RANK, TensorElement, TensorMap};

/// The arguments of `cuTensorMapEncodeTiled`, as far as they are numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tiled {
    pub(crate) element: u32,
    pub(crate) rank: u32,
    pub(crate) address: u64,
    pub(crate) extents: [u64; MAX_RANK],
    /// In bytes; along the second dimension first.
    pub(crate) strides: [u64; MAX_RANK - 1],
    pub(crate) tile: [u32; MAX_RANK],
    pub(crate) steps: [u32; MAX_RANK],
    pub(crate) interleave: u32,
    pub(crate) swizzle: u32,
    pub(crate) promotion: u32,
    pub(crate) fill: u32,
}

/// Why a map is not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The argument breaks a rule.
    Wrong(String),
    /// It is not modelled.
    Unsupported(&'static str),
}

impl Tiled {
    /// The map, if the arguments keep all rules.
    pub(crate) fn map(&self) -> Result<TensorMap, Refusal> {
        let rule = |holds: bool, wrong: &dyn Fn() -> String| {
            if holds {
                Ok(())
            } else {
                Err(Refusal::Wrong(wrong()))
            }
        };
        let known = |name: &str, value: u32, most: u32| {
            rule(value <= most, &|| {
                format!("`{name}` is {value}, which `cuda.h` does not name")
            })
        };
        known("tensorDataType", self.element, 15)?;
        known("interleave", self.interleave, 2)?;
        known("swizzle", self.swizzle, 6)?;
        known("l2Promotion", self.promotion, 3)?;
        known("oobFill", self.fill, 1)?;
        let rank = self.rank as usize;
        rule((1..=MAX_RANK).contains(&rank), &|| {
            format!("`tensorRank` is {rank}; it must be 1 to 5")
        })?;
        rule(self.interleave == 0 || rank >= 3, &|| {
            format!("`tensorRank` is {rank}; an interleaved layout has at least 3 dimensions")
        })?;
        rule(self.interleave != 2 || self.swizzle == 1, &|| {
            "an interleaved layout of 32 bytes needs CU_TENSOR_MAP_SWIZZLE_32B".to_owned()
        })?;
        let Some(element) = TensorElement::new(self.element) else {
            return Err(Refusal::Unsupported("a tensor map of packed elements"));
        };
        if self.swizzle > 3 {
            return Err(Refusal::Unsupported("a tensor map with such a swizzle"));
        }
        if self.interleave != 0 {
            return Err(Refusal::Unsupported(
                "a tensor map of an interleaved layout",
            ));
        }
        let mut strides = [element.bytes().into(); MAX_RANK];
        strides[1..].copy_from_slice(&self.strides);
        let map = TensorMap {
            address: self.address,
            element,
            rank,
            extents: self.extents,
            strides,
            tile: self.tile,
            steps: self.steps,
            swizzle: self.swizzle,
            fills_nan: self.fill == 1,
        };
        map.broken_rule()
            .map_or(Ok(map), |wrong| Err(Refusal::Wrong(wrong)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tensor of 64 by 32 f16 in tiles of 64 by 8.
    const RIGHT: Tiled = Tiled {
        element: 6,
        rank: 2,
        address: 0x2000_0000_0000,
        extents: [64, 32, 0, 0, 0],
        strides: [128, 0, 0, 0],
        tile: [64, 8, 0, 0, 0],
        steps: [1; 5],
        interleave: 0,
        swizzle: 3,
        promotion: 2,
        fill: 1,
    };

    #[test]
    fn each_rule_is_kept() {
        assert!(RIGHT.map().is_ok());
        // The first step does nothing.
        let steps = [3, 8, 0, 0, 0];
        assert!(Tiled { steps, ..RIGHT }.map().is_ok());
        type Change<'c> = (&'c str, &'c dyn Fn(&mut Tiled));
        let wrong: [Change; 18] = [
            ("tensorDataType", &|t| t.element = 16),
            ("tensorRank", &|t| t.rank = 0),
            ("tensorRank", &|t| t.rank = 6),
            ("tensorRank", &|t| t.interleave = 1),
            ("globalAddress", &|t| t.address += 8),
            ("globalDim[1]", &|t| t.extents[1] = 0),
            ("globalDim[0]", &|t| t.extents[0] = (1 << 32) + 1),
            ("globalStrides[0]", &|t| t.strides[0] = 136),
            ("globalStrides[0]", &|t| t.strides[0] = 1 << 40),
            ("boxDim[1]", &|t| t.tile[1] = 257),
            ("boxDim[0]", &|t| t.tile[0] = 4),
            ("boxDim[0]", &|t| t.tile[0] = 72),
            ("elementStrides[0]", &|t| t.steps[0] = 0),
            ("elementStrides[1]", &|t| t.steps[1] = 9),
            ("swizzle", &|t| t.swizzle = 7),
            ("l2Promotion", &|t| t.promotion = 4),
            ("oobFill", &|t| t.fill = 2),
            ("oobFill", &|t| {
                (t.element, t.strides[0], t.tile[0]) = (1, 128, 8)
            }),
        ];
        for (name, change) in wrong {
            let mut tiled = RIGHT;
            change(&mut tiled);
            match tiled.map() {
                Err(Refusal::Wrong(why)) => assert!(why.contains(name), "{name}: {why}"),
                other => panic!("{name}: {other:?}"),
            }
        }
        let packed = Tiled {
            element: 13,
            ..RIGHT
        };
        assert!(matches!(packed.map(), Err(Refusal::Unsupported(_))));
    }
}
