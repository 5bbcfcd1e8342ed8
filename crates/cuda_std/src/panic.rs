//! The panic handler of every kernel crate.

use crate::intrinsics;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: `trap` has no preconditions.
    unsafe { intrinsics::trap() }
}
