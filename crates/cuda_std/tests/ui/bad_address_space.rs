use core::mem::MaybeUninit;

use cuda_std::address_space;

#[address_space(shared)]
static mut ZEROS: [f32; 4] = [0.0; 4];

#[address_space(shared)]
static NEVER_WRITTEN: [MaybeUninit<f32>; 4] = [MaybeUninit::uninit(); 4];

#[address_space(constant)]
static mut CHANGING: u32 = 1;

#[address_space(local)]
static LOCAL: u32 = 1;

#[address_space(texture)]
static TEXTURE: u32 = 1;

#[address_space]
static NOWHERE: u32 = 1;

#[address_space(shared)]
fn function() {}

fn main() {}
