//! The kernels behind `llc_*.ptx`: what the compiler makes of core, of calls, of tables and of
//! inline assembly.
//!
//! Compiled for `nvptx64-nvidia-cuda` with `-Zbuild-std=core`, `lto = "fat"`, `panic = "abort"`,
//! paths remapped; linked with IR that defines the two functions of shared memory (one external
//! array in address space 3, one of 1024 bytes), then `opt -passes='internalize,default<O3>'` and
//! `llc`: for sm_80 without debug information, for sm_90 with line tables and four of the kernels.

#![no_std]
#![feature(
    core_float_math,
    abi_ptx,
    asm_experimental_arch,
    stdarch_nvptx,
    core_intrinsics
)]
#![allow(internal_features)]
use core::arch::asm;
use core::arch::nvptx::*;
use core::f32::math as cf32;
use core::f64::math as cf64;
use core::sync::atomic::*;
unsafe extern "C" {
    fn dynamic_shared() -> *mut u8;
    fn static_shared() -> *mut u8;
}
#[panic_handler]
fn p(_: &core::panic::PanicInfo) -> ! {
    unsafe { trap() }
}
fn gid() -> usize {
    unsafe { (_block_idx_x() * _block_dim_x() + _thread_idx_x()) as usize }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn shared_shift(a: &[f32], b: *mut f32, n: usize) {
    unsafe {
        let i = gid();
        let t = _thread_idx_x() as usize;
        let s = core::slice::from_raw_parts_mut(dynamic_shared() as *mut f32, 1024);
        let q = core::slice::from_raw_parts_mut(static_shared() as *mut f32, 256);
        if i < n {
            s[t] = a[i];
            q[t % 256] = a[i] * 3.0;
        }
        _syncthreads();
        if i < n {
            *b.add(i) = s[(t + 1) % 1024] * 2.0 + a[i] + q[(t + 7) % 256];
        }
    }
}
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn wide(a: &[u64], b: *mut u128, s: i32) {
    unsafe {
        let i = gid();
        let x = a[i] as u128;
        let y = a[(i * 7) % a.len()] as u128;
        let m = x * y + (x << (s as u32 & 127)) - (y >> 3);
        let d = if y != 0 { m / y } else { m % 10 };
        *b.add(2 * i) = m.rotate_left(s as u32) ^ d;
        *b.add(2 * i + 1) =
            (m as i128 >> (s & 127)) as u128 + m.leading_zeros() as u128 + m.count_ones() as u128;
    }
}
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn table(a: *const u32, b: *mut u32) {
    unsafe {
        let i = gid();
        let v = *a.add(i);
        let mut r = v;
        for k in 0..v % 17 {
            r = match (v + k) % 9 {
                0 => r.rotate_left(3),
                1 => r.swap_bytes(),
                2 => r.reverse_bits(),
                3 => r.leading_zeros(),
                4 => r.trailing_zeros(),
                5 => r.count_ones(),
                6 => r.wrapping_mul(0x9E3779B9),
                7 => {
                    *b.add(i) = k;
                    r / (v | 1)
                }
                _ => r % (k + 3),
            };
        }
        *b.add(i) = r;
    }
}
const LUT: [u16; 16] = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3];
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn lut(a: *const u8, b: *mut i64, c: *mut i16) {
    unsafe {
        let i = gid();
        let v = *a.add(i);
        *b.add(i) = LUT[(v & 15) as usize] as i64 - (v as i8) as i64;
        *c.add(i) = (v as i16)
            .wrapping_mul(-3)
            .saturating_add(5)
            .abs()
            .min(40)
            .clamp(-3, 77);
    }
}
#[inline(never)]
fn helper(x: &mut [f64; 12], k: usize, y: f32) -> (f64, u32) {
    for i in 0..12 {
        x[(i * k) % 12] += core::f64::math::mul_add(i as f64, y as f64, 0.5);
    }
    (x[k % 12], x[(k + 1) % 12] as u32)
}
#[inline(never)]
fn scalar(a: u8, b: i16, c: f32) -> f32 {
    (a as f32) * c + b as f32
}
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn calls(a: *const f64, b: *mut f64, y: f32) {
    unsafe {
        let i = gid();
        let mut x = [0f64; 12];
        for k in 0..12 {
            x[k] = *a.add(i + k);
        }
        let (p, q) = helper(&mut x, i, y);
        *b.add(i) = p + q as f64 + scalar(q as u8, i as i16, y) as f64;
        let (p, q) = helper(&mut x, i + 1, y * 2.0);
        *b.add(i + 1) = p - q as f64;
    }
}
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn math(
    a: *const f64,
    b: *mut f64,
    c: *const f32,
    d: *mut f32,
    e: *mut i32,
) {
    unsafe {
        let i = gid();
        use core::intrinsics::*;
        let x = *a.add(i);
        let y = *a.add(i + 1);
        let mut r =
            cf64::mul_add(x, y, 1.0) + sqrtf64(x.abs()) / y - x.min(y).max(0.5) + x.copysign(y);
        if x.is_nan() || y.is_infinite() {
            r = f64::NAN
        }
        r += cf64::floor(x)
            + cf64::ceil(y)
            + cf64::round(x)
            + cf64::trunc(y)
            + cf64::round_ties_even(x);
        *b.add(i) = r + x % y;
        let u = *c.add(i);
        let v = *c.add(i + 1);
        let mut w = cf32::mul_add(u, v, 1.0) + sqrtf32(u.abs()) / v - u.min(v).max(0.5)
            + u.copysign(v)
            + cf32::powi(u, 3)
            + u.signum();
        if u < v || !(u <= 3.0) {
            w -= 1.0
        }
        w = w.clamp(-100.0, 100.0);
        *d.add(i) = w + cf32::floor(u) + (v % 3.0) + u.recip();
        *e.add(i) = (u as i32)
            + (v as u8) as i32
            + (x as i64 as i32)
            + (y as u64 as i32)
            + (u as i16) as i32
            + (w.to_bits() >> 3) as i32
            + u.total_cmp(&v) as i32;
    }
}
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn atomics(
    a: &AtomicU32,
    b: &AtomicU64,
    c: &AtomicI32,
    out: *mut u32,
    d: &AtomicU16,
) {
    let i = gid() as u32;
    let mut r = a.fetch_add(i, Ordering::Relaxed);
    r ^= a.fetch_max(i, Ordering::SeqCst);
    r ^= a.fetch_and(i, Ordering::AcqRel);
    r ^= a.fetch_or(i, Ordering::Acquire);
    r ^= a.fetch_xor(i, Ordering::Release);
    r ^= a.fetch_sub(i, Ordering::Relaxed);
    r ^= a.swap(i, Ordering::Relaxed);
    r ^= a.fetch_nand(i, Ordering::Relaxed);
    r ^= c.fetch_min(i as i32, Ordering::Relaxed) as u32;
    r ^= b.fetch_add(i as u64, Ordering::Relaxed) as u32;
    r ^= match b.compare_exchange(i as u64, 5, Ordering::SeqCst, Ordering::Relaxed) {
        Ok(x) => x as u32,
        Err(y) => y as u32 + 1,
    };
    r ^= a.load(Ordering::Acquire);
    c.store(r as i32, Ordering::Release);
    r ^= b.load(Ordering::Relaxed) as u32;
    b.store(r as u64, Ordering::Relaxed);
    r ^= a.load(Ordering::SeqCst);
    c.store(r as i32, Ordering::SeqCst);
    r ^= d.fetch_add(3, Ordering::Relaxed) as u32;
    fence(Ordering::SeqCst);
    fence(Ordering::Acquire);
    fence(Ordering::AcqRel);
    unsafe {
        core::ptr::write_volatile(out.add(i as usize), r + core::ptr::read_volatile(out));
    }
}
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn inline_asm(a: *const u32, out: *mut u32, f: *mut f32) {
    let i = gid();
    unsafe {
        let v = *a.add(i);
        let mut r: u32;
        let lane: u32;
        let ball: u32;
        let act: u32;
        let t: u64;
        asm!("shfl.sync.bfly.b32 {0}, {1}, 16, 31, 0xffffffff;", out(reg32) r, in(reg32) v);
        asm!("mov.u32 {0}, %laneid;", out(reg32) lane);
        asm!("{{ .reg .pred p; setp.ne.u32 p, {1}, 0; vote.sync.ballot.b32 {0}, p, 0xffffffff; }}", out(reg32) ball, in(reg32) v&1);
        asm!("{{", ".reg .pred p;", ".reg .b32 q;", "shfl.sync.down.b32 q|p, {1}, 1, 0x1f, -1;", "@p add.u32 {0}, {0}, q;", "}}", inout(reg32) r, in(reg32) v);
        asm!("activemask.b32 {0};", out(reg32) act);
        asm!("mov.u64 {0}, %globaltimer;", out(reg64) t);
        let x: f32;
        let y: f32;
        asm!("ex2.approx.f32 {0}, {1};", out(reg32) x, in(reg32) v as f32);
        asm!("rsqrt.approx.ftz.f32 {0}, {1};", out(reg32) y, in(reg32) x);
        asm!("atom.global.add.f32 {0}, [{1}], {2};", out(reg32) _ , in(reg64) f, in(reg32) y);
        asm!("red.relaxed.gpu.global.add.u32 [{0}], {1};", in(reg64) out, in(reg32) lane);
        asm!("prefetch.global.L2 [{0}];", in(reg64) a);
        let (p, q, s, w): (u32, u32, u32, u32);
        asm!("ld.global.cs.v4.u32 {{{0}, {1}, {2}, {3}}}, [{4}+16];", out(reg32) p, out(reg32) q, out(reg32) s, out(reg32) w, in(reg64) a);
        asm!("nanosleep.u32 20;");
        asm!("membar.gl;");
        asm!("bar.warp.sync 0xffffffff;");
        *out.add(i) = r ^ lane ^ ball ^ act ^ t as u32 ^ p ^ q ^ s ^ w;
        *f.add(i) = x + y;
    }
}
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Params {
    a: f32,
    b: [f64; 3],
    n: u32,
    s: bool,
}
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn by_value(
    p: Params,
    out: *mut f64,
    k: u8,
    flag: bool,
    h: i16,
    msg: &mut [u8],
) {
    let i = gid();
    unsafe {
        *out.add(i) = p.a as f64
            + p.b[i % 3]
            + p.n as f64
            + k as f64
            + h as f64
            + if p.s ^ flag { 1.0 } else { 2.0 };
    }
    if let Some(m) = msg.get_mut(i) {
        *m = m.checked_sub(3).expect("large enough");
    } else {
        panic!("index {} too large", i)
    }
}
#[repr(align(16))]
#[derive(Clone, Copy)]
pub struct V4([f32; 4]);
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn vectors(a: &[V4], b: *mut V4, n: u32, s: *const [f32; 2]) {
    let i = gid();
    if (i as u32) < n {
        unsafe {
            let v = a[i].0;
            let t = *s;
            *b.add(i) = V4([
                v[0] + v[1] * t[0],
                v[1] - v[2],
                v[2] * v[3] / t[1],
                v[3].max(v[0]),
            ]);
        }
    }
}
trait Shape {
    fn area(&self) -> f32;
    fn name(&self) -> u32;
}
struct Sq(f32);
struct Ci(f32, f32);
impl Shape for Sq {
    #[inline(never)]
    fn area(&self) -> f32 {
        self.0 * self.0
    }
    fn name(&self) -> u32 {
        1
    }
}
impl Shape for Ci {
    #[inline(never)]
    fn area(&self) -> f32 {
        self.0 * self.1 * 3.0
    }
    fn name(&self) -> u32 {
        2
    }
}
#[inline(never)]
fn total(x: &dyn Shape) -> f32 {
    x.area() + x.name() as f32
}
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn dynamic(b: *mut f32, n: u32) {
    let i = gid();
    let s = Sq(i as f32);
    let c = Ci(2.0, n as f32);
    let r: &dyn Shape = if i as u32 % 3 == n { &s } else { &c };
    unsafe {
        *b.add(i) = total(r);
    }
}
static COUNTER: AtomicU32 = AtomicU32::new(7);
static NAMES: [&[u8]; 3] = [b"one", b"three", b"eleven"];
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn statics(b: *mut u32) {
    let i = gid();
    unsafe {
        *b.add(i) = COUNTER.fetch_add(1, Ordering::Relaxed)
            + NAMES[i % 3].len() as u32
            + NAMES[i % 3][i % 2] as u32;
    }
}
