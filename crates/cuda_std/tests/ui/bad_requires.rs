use cuda_std::kernel;

#[kernel(requires(m < 3))]
pub unsafe fn unknown(n: u32) {
    let _ = n;
}

#[kernel(requires(x[0] > n))]
pub unsafe fn element(n: u32, x: &[u32]) {
    let _ = (n, x);
}

#[kernel(requires(y > 0))]
pub unsafe fn pointer(y: *mut u32) {
    let _ = y;
}

fn main() {}
