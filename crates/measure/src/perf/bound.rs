//! The roofline of a run: what the device allows at best, from limits measured in the same run.

use device::{Element, NamedBuffers};
use host::limits::{MeasuredLimits, Rate};
use lab::Work;
use results::bound::{Bottleneck, Bound};

/// The type of the floating-point numbers that a run computes with: the widest of its buffers';
/// `None` where there are only integers.
pub fn precision(buffers: &NamedBuffers) -> Option<Element> {
    let has = |element: &Element| buffers.iter().any(|(_, own)| own.element() == *element);
    [Element::F64, Element::F32].into_iter().find(has)
}

/// A run, as the roofline needs to know it.
#[derive(Debug, Clone, Copy)]
pub struct Demand {
    pub work: Work,
    pub buffer_bytes: u64,
    /// Its arithmetic: [`precision`].
    pub precision: Option<Element>,
    pub l2_bytes: Option<u64>,
    /// Whether products and sums may be fused, which halves the instructions at best.
    pub may_fuse: bool,
}

/// The bound of a run that takes `run_s`, from measured limits. `None` where nothing that it needs
/// was measured.
pub fn bound(limits: &MeasuredLimits, demand: &Demand, run_s: f64) -> Option<Bound> {
    let best = |rate: &Option<Rate>| Some(rate.as_ref()?.best_per_s);
    let Work { bytes, flops, .. } = demand.work;
    // Buffers that fit the L2 cache together come once from device memory: after that, from the
    // cache.
    let is_cached =
        demand.l2_bytes.is_some_and(|l2| demand.buffer_bytes <= l2) && demand.buffer_bytes < bytes;
    let memory = match (best(&limits.copy), best(&limits.l2)) {
        (Some(copy), Some(l2)) if is_cached => {
            let again = bytes - demand.buffer_bytes;
            let time = demand.buffer_bytes as f64 / copy + again as f64 / l2;
            Some((Bottleneck::L2, time))
        }
        // Without a figure for the cache, device memory says nothing of what comes from there.
        (_, None) if is_cached => None,
        (copy, _) => copy.map(|copy| (Bottleneck::Memory, bytes as f64 / copy)),
    };
    let arithmetic = match demand.precision {
        Some(Element::F32) => best(&limits.fp32).map(|rate| (Bottleneck::Fp32, rate)),
        Some(Element::F64) => best(&limits.fp64).map(|rate| (Bottleneck::Fp64, rate)),
        _ => None,
    };
    // Measured with fused multiply-adds, where each counts as two.
    let per_instruction = if demand.may_fuse { 1.0 } else { 2.0 };
    let arithmetic = arithmetic.map(|(limit, rate)| (limit, per_instruction * flops as f64 / rate));
    let (by, at_best_s) = [memory, arithmetic]
        .into_iter()
        .flatten()
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(Bound {
        by,
        run_s: at_best_s,
        share: at_best_s / run_s.max(1e-12),
        intensity: (bytes > 0).then(|| flops as f64 / bytes as f64),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn limits() -> MeasuredLimits {
        let rate = |best_per_s| {
            Some(Rate {
                median_per_s: 0.9 * best_per_s,
                best_per_s,
                amount: 1,
                runs: 1,
                samples: vec![Duration::from_secs(1)],
            })
        };
        MeasuredLimits {
            copy: rate(1e12),
            l2: rate(4e12),
            fp32: rate(20e12),
            fp64: rate(2e12),
            ..MeasuredLimits::default()
        }
    }

    fn demand(bytes: u64, flops: u64, precision: Element) -> Demand {
        Demand {
            work: Work {
                updates: 1,
                unit: "updates",
                bytes,
                flops,
            },
            buffer_bytes: 100 << 20,
            precision: Some(precision),
            l2_bytes: Some(50 << 20),
            may_fuse: false,
        }
    }

    fn binding(demand: Demand) -> (Bottleneck, f64) {
        let bound = bound(&limits(), &demand, 1.0).unwrap();
        (bound.by, bound.run_s)
    }

    #[test]
    fn the_slowest_resource_binds() {
        let (gb, gflop) = (1_000_000_000, 1_000_000_000);
        let of = |bytes, flops, precision| binding(demand(bytes, flops, precision));
        assert_eq!(of(gb, gflop, Element::F32), (Bottleneck::Memory, 1e-3));
        assert_eq!(of(gb, 20 * gflop, Element::F32), (Bottleneck::Fp32, 2e-3));
        assert_eq!(of(gb, 2 * gflop, Element::F64), (Bottleneck::Fp64, 2e-3));
        let fused = Demand {
            may_fuse: true,
            ..demand(gb, 3 * gflop, Element::F64)
        };
        assert_eq!(binding(fused), (Bottleneck::Fp64, 1.5e-3));
    }

    #[test]
    fn buffers_that_fit_the_cache_are_bound_by_it() {
        let small = Demand {
            buffer_bytes: 1_000_000,
            ..demand(401_000_000, 0, Element::F32)
        };
        // 1 us for the first megabyte, 100 us for the 400 others.
        let (by, run_s) = binding(small);
        assert_eq!(by, Bottleneck::L2);
        assert!((run_s - 101e-6).abs() < 1e-12, "{run_s}");
        // Read once, it comes from memory whatever its size.
        let once = Demand {
            work: Work {
                bytes: 1_000_000,
                ..small.work
            },
            ..small
        };
        assert_eq!(binding(once), (Bottleneck::Memory, 1e-6));
        let no_l2 = MeasuredLimits {
            l2: None,
            fp32: None,
            ..limits()
        };
        assert_eq!(bound(&no_l2, &small, 1.0), None);
    }

    #[test]
    fn a_share_of_one_is_as_fast_as_can_be() {
        let demand = demand(1_000_000_000, 0, Element::F32);
        assert_eq!(bound(&limits(), &demand, 2e-3).unwrap().share, 0.5);
        assert_eq!(bound(&MeasuredLimits::default(), &demand, 1.0), None);
    }
}
