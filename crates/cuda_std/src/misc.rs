//! Breakpoints, events of the profiler, and the clock under its other name.

/// Stops a debugger here (`brkpt`).
#[inline(always)]
pub fn breakpoint() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: no preconditions.
    unsafe {
        core::arch::asm!("brkpt;", options(nomem, nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::gpu_only("brkpt")
}

/// Counts an event of the profiler (`pmevent`).
///
/// # Panics
/// If `counter` is above 7.
#[inline(always)]
pub fn profiler_counter(counter: u32) {
    macro_rules! counters {
        ($($number:literal)*) => {
            match counter {
                $($number => {
                    #[cfg(target_arch = "nvptx64")]
                    // SAFETY: no preconditions.
                    unsafe {
                        core::arch::asm!(
                            concat!("pmevent ", $number, ";"),
                            options(nomem, nostack, preserves_flags)
                        );
                    }
                    #[cfg(not(target_arch = "nvptx64"))]
                    crate::gpu_only("pmevent")
                })*
                _ => panic!("the profiler's counters are 0 to 7, and not {counter}"),
            }
        };
    }
    counters!(0 1 2 3 4 5 6 7);
}

/// The cycles of this multiprocessor's clock (`%clock64`).
#[inline(always)]
pub fn clock() -> u64 {
    crate::clock::clock64()
}
