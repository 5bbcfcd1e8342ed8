//! How sources move.
//!
//! The wavelength is about 20 cells at k = 1/4 (c = 1/2 cell a step, so a period of 40 steps). The amplitude rises over the
//! first two periods, so that no sharp front excites the grid's shortest waves.

use crate::real::sine;

/// A 40-step period, as a fraction of 2^32 a step.
const PHASE_PER_STEP: u32 = (1_u64 << 32).div_euclid(40) as u32;
/// Two periods.
const RISE_STEPS: u32 = 80;

/// The value of a source at timestep `t`.
#[inline(always)]
pub fn oscillation(t: u32) -> f32 {
    let value = sine(t.wrapping_mul(PHASE_PER_STEP));
    if t < RISE_STEPS {
        value * (t as f32 * (1.0 / RISE_STEPS as f32))
    } else {
        value
    }
}
