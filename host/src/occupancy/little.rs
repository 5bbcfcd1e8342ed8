//! Little's law: what must be under way at once = latency * throughput.
//!
//! J. D. C. Little, "A Proof for the Queuing Formula L = lambda W", Operations Research 9 (1961).

/// Warps that a multiprocessor needs to issue `instructions_per_cycle` instructions (of warps) in each cycle although each
/// takes `latency_cycles` to finish, where a warp has `independent` of them under way at once.
///
/// # Panics
///
/// If `independent` is 0, or another is negative or NaN.
pub fn warps_to_hide(latency_cycles: f64, instructions_per_cycle: f64, independent: u32) -> u32 {
    assert!(
        independent > 0,
        "a warp has at least 1 instruction under way"
    );
    assert!(
        latency_cycles >= 0.0 && instructions_per_cycle >= 0.0,
        "latency and throughput are not negative"
    );
    (latency_cycles * instructions_per_cycle / f64::from(independent)).ceil() as u32
}

/// Bytes that must be under way at once to move `bytes_per_s` although each takes `latency_ns` to arrive.
pub fn bytes_in_flight(latency_ns: f64, bytes_per_s: f64) -> f64 {
    latency_ns * 1e-9 * bytes_per_s
}

/// Warps of each of `multiprocessors` that keep `bytes` under way, where a thread has loads of `bytes_per_thread` under
/// way at once.
///
/// # Panics
///
/// If a multiprocessor or a thread's bytes are missing.
pub fn warps_to_cover(bytes: f64, multiprocessors: u32, bytes_per_thread: u32) -> u32 {
    assert!(multiprocessors > 0 && bytes_per_thread > 0, "nothing moves");
    let bytes_per_warp = f64::from(bytes_per_thread) * f64::from(super::Gpu::WARP);
    (bytes / f64::from(multiprocessors) / bytes_per_warp).ceil() as u32
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    #[test]
    fn dependent_arithmetic_needs_latency_times_throughput() {
        // An addition of 4 cycles on 4 schedulers that issue one each cycle: 16 warps, as the CUDA C++ Programming Guide
        // says under "Multiprocessor Level".
        assert_eq!(warps_to_hide(4.0, 4.0, 1), 16);
        // Two independent ones in each warp halve that; parts of warps count whole.
        assert_eq!(warps_to_hide(4.0, 4.0, 2), 8);
        assert_eq!(warps_to_hide(5.0, 1.0, 2), 3);
        assert_eq!(warps_to_hide(0.0, 4.0, 1), 0);
    }

    #[test]
    fn device_memory_needs_bytes_under_way() {
        // 3 TB/s at 600 ns: 1.8 MB, 13.6 KB for each of 132 multiprocessors.
        let bytes = bytes_in_flight(600.0, 3e12);
        assert_relative_eq!(bytes, 1.8e6);
        // One 4-byte load a thread: more warps than there are. Four of them: 27 of 64.
        assert_eq!(warps_to_cover(bytes, 132, 4), 107);
        assert_eq!(warps_to_cover(bytes, 132, 16), 27);
    }

    #[test]
    #[should_panic(expected = "at least 1 instruction")]
    fn no_instruction_hides_nothing() {
        warps_to_hide(4.0, 1.0, 0);
    }
}
