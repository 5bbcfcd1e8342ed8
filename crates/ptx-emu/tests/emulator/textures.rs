//! Textures and surfaces of the machine, without a driver.

use ptx_emu::{
    AddressMode, Buffer, Channel, Fault, FaultKind, Image, ImageKind, ImageProblem, LoadedModule,
    Machine, Sampler, args,
};

use crate::common::{load, one_block};

const KERNELS: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry row(.param .u64 out, .param .u64 object)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<8>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [object];
    mov.u32 %r1, %tid.x;
    sub.s32 %r2, %r1, 1;
    tex.1d.v4.u32.s32 {%r3, %r4, %r5, %r6}, [%rd2, {%r2}];
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd1, %rd1, %rd3;
    st.global.u32 [%rd1], %r3;
    ret;
}
.visible .entry between(.param .u64 out, .param .u64 object)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<4>;
    .reg .f32 %f<8>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [object];
    mov.u32 %r1, %tid.x;
    cvt.rn.f32.u32 %f1, %r1;
    mov.f32 %f2, 0f3F000000;
    tex.level.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd2, {%f1, %f2}], %f2;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd1, %rd1, %rd3;
    st.global.f32 [%rd1], %f3;
    ret;
}
.visible .entry extents(.param .u64 out, .param .u64 object)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<3>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [object];
    suq.width.b32 %r1, [%rd2];
    suq.height.b32 %r2, [%rd2];
    st.global.v2.u32 [%rd1], {%r1, %r2};
    ret;
}
.global .texref named;
.global .surfref written;
.visible .entry by_name(.param .u64 out, .param .u64 object)
{
    .reg .pred %p<2>;
    .reg .b64 %rd<4>;
    .reg .b32 %r<9>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, 2;
    tex.1d.v4.u32.s32 {%r3, _, _, _}|%p1, [named, {%r1}];
    selp.b32 %r4, 1, 0, %p1;
    mov.u64 %rd2, named;
    tex.1d.v4.u32.s32 {%r5, _, _, _}, [%rd2, {%r1}];
    txq.width.b32 %r6, [named];
    st.global.v4.u32 [%rd1], {%r3, %r4, %r5, %r6};
    mov.u32 %r7, 4;
    sust.b.1d.b32.trap [written, {%r7}], %r3;
    suld.b.1d.b32.trap %r8, [written, {%r7}];
    st.global.u32 [%rd1+16], %r8;
    ret;
}
.visible .entry halves(.param .u64 out, .param .u64 object)
{
    .reg .b64 %rd<4>;
    .reg .b16 %h<5>;
    .reg .b32 %r<9>;
    .reg .f32 %f<3>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [object];
    mov.f32 %f1, 0f3FC00000;
    mov.f32 %f2, 0f3F000000;
    tex.2d.v4.f16.f32 {%h1, %h2, %h3, %h4}, [%rd2, {%f1, %f2}];
    mov.b32 %r1, {%h1, %h2};
    mov.b32 %r2, {%h3, %h4};
    tex.2d.v2.f16x2.f32 {%r3, %r4}, [%rd2, {%f1, %f2}];
    st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};
    ret;
}
.visible .entry cube(.param .u64 out, .param .u64 object)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<5>;
    .reg .f32 %f<12>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [object];
    mov.u32 %r1, %tid.x;
    cvt.rn.f32.u32 %f1, %r1;
    // A direction to the face of greater z, twice as long as to its middle.
    mov.f32 %f2, 0f00000000;
    mov.f32 %f3, 0f40000000;
    mul.f32 %f4, %f1, 0f3F000000;
    tex.grad.cube.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd2, {%f2, %f2, %f3, %f3}], {%f4, %f2, %f2, %f2}, {%f2, %f2, %f2, %f2};
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd1, %rd1, %rd3;
    st.global.f32 [%rd1], %f5;
    ret;
}
.visible .entry formatted(.param .u64 out, .param .u64 object)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<3>;
    .reg .f32 %f<3>;
    ld.param.u64 %rd2, [object];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, 1;
    cvt.rn.f32.u32 %f1, %r1;
    neg.f32 %f2, %f1;
    sust.p.2d.b32.zero [%rd2, {%r1, %r2}], {%f1, %f2};
    sust.p.2d.v2.b32.trap [%rd2, {%r1, %r2}], {%f1, %f2};
    ret;
}
.visible .entry last_layer(.param .u64 out, .param .u64 object)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<4>;
    ld.param.u64 %rd2, [object];
    mov.u32 %r1, 0xffffffff;
    mov.u32 %r2, 0;
    mov.u32 %r3, 7;
    sust.b.a2d.b32.clamp [%rd2, {%r1, %r2, %r2, %r2}], {%r3};
    ret;
}
.visible .entry race(.param .u64 out, .param .u64 object)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<3>;
    ld.param.u64 %rd2, [object];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, 0;
    sust.b.2d.b32.trap [%rd2, {%r2, %r2}], {%r1};
    ret;
}
";

/// 4 x 2 elements in memory of its own.
fn image(machine: &mut Machine, channel: Channel, words: &[u32]) -> Image {
    let (width, bytes) = (4, 4 * words.len() as u64);
    let address = machine.allocate(bytes.max(32), "elements").unwrap();
    let content: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    machine.write(address, &content).unwrap();
    Image {
        address,
        kind: ImageKind::Plain,
        channel,
        channels: 1,
        extent: [width, 2, 1],
        pitch: 16,
        layer: 32,
    }
}

struct Tried {
    machine: Machine,
    module: LoadedModule,
    out: Buffer<u32>,
}

impl Tried {
    fn new() -> Self {
        let mut machine = Machine::default();
        let out = machine.buffer(&[0u32; 8]).unwrap();
        let module = load(&mut machine, KERNELS);
        Self {
            machine,
            module,
            out,
        }
    }

    fn variable(&self, name: &str) -> u64 {
        self.module.global(name).unwrap().0
    }

    fn launch(&mut self, kernel: &str, threads: u32, object: u64) -> Result<Vec<u32>, Fault> {
        let config = one_block(threads);
        let arguments = args![&self.out, object];
        self.machine
            .launch(&self.module, kernel, &config, arguments)?;
        Ok(self.out.to_vec(&self.machine).unwrap())
    }

    fn fault(&mut self, kernel: &str, threads: u32, object: u64) -> FaultKind {
        match self.launch(kernel, threads, object) {
            Err(Fault::Program(fault)) => fault.kind,
            other => panic!("{other:?}"),
        }
    }
}

fn problem(kind: &FaultKind) -> &ImageProblem {
    match kind {
        FaultKind::Image { problem, .. } => problem,
        other => panic!("{other}"),
    }
}

#[test]
fn linear_memory_is_zero_outside() {
    let mut tried = Tried::new();
    let mut row = image(&mut tried.machine, Channel::U32, &[7, 8, 9, 10]);
    (row.kind, row.extent) = (ImageKind::Linear, [4, 1, 1]);
    let object = tried.machine.add_texture(row, Sampler::default());
    assert_eq!(
        tried.launch("row", 7, object).unwrap()[..7],
        [0, 7, 8, 9, 10, 0, 0]
    );
}

#[test]
fn elements_without_weight_are_not_read() {
    let mut tried = Tried::new();
    let first = [2.0f32, 4.0, 6.0, 8.0].map(f32::to_bits);
    // Nothing has written the second row, which the filter at a half does not reach.
    let plane = image(&mut tried.machine, Channel::F32, &first);
    let sampler = Sampler {
        modes: [AddressMode::Border; 3],
        is_linear: true,
        ..Sampler::default()
    };
    let object = tried.machine.add_texture(plane, sampler);
    let found = tried.launch("between", 5, object).unwrap();
    let found: Vec<f32> = found[..5]
        .iter()
        .map(|&bits| f32::from_bits(bits))
        .collect();
    assert_eq!(found, [1.0, 3.0, 5.0, 7.0, 4.0]);
}

/// A fetch of one element moves it, as a copy does; a filter makes a value of it.
#[test]
fn unwritten_elements_are_told_where_they_are_used() {
    let mut tried = Tried::new();
    let plane = image(&mut tried.machine, Channel::F32, &[]);
    let object = tried.machine.add_texture(plane, Sampler::default());
    assert!(tried.launch("between", 4, object).is_ok());
    let sampler = Sampler {
        is_linear: true,
        ..Sampler::default()
    };
    let smooth = tried.machine.add_texture(plane, sampler);
    let fault = tried.fault("between", 4, smooth);
    let told = "load of 4 bytes from byte 0 of buffer `elements`, which nothing has written before";
    assert_eq!(
        (fault.to_string().as_str(), fault.name()),
        (told, "uninitialized read")
    );
}

#[test]
fn objects_that_are_not_there_are_told() {
    let mut tried = Tried::new();
    let plane = image(&mut tried.machine, Channel::U32, &[0; 8]);
    let texture = tried.machine.add_texture(plane, Sampler::default());
    let surface = tried.machine.add_surface(plane);
    assert_eq!(problem(&tried.fault("row", 1, 0)), &ImageProblem::NeverMade);
    assert_eq!(
        problem(&tried.fault("row", 1, surface)),
        &ImageProblem::OtherKind
    );
    assert_eq!(tried.launch("extents", 1, surface).unwrap()[..2], [4, 2]);
    assert!(!tried.machine.remove_surface(texture));
    assert!(tried.machine.remove_texture(texture));
    let fault = tried.fault("row", 1, texture);
    assert!(fault.is_unnoticed_by_a_gpu());
    assert_eq!(
        fault.to_string(),
        format!(
            "`tex.1d.v4.u32.s32` of texture object {texture:#x} at (-1): the object has been destroyed"
        )
    );
}

#[test]
fn references_are_what_they_are_bound_to() {
    let mut tried = Tried::new();
    let mut row = image(&mut tried.machine, Channel::U32, &[7, 8, 9, 10]);
    (row.kind, row.extent) = (ImageKind::Linear, [4, 1, 1]);
    let mut other = image(&mut tried.machine, Channel::U32, &[0; 4]);
    other.extent = [4, 1, 1];
    let [texture, surface] = ["named", "written"].map(|name| tried.variable(name));
    let fault = tried.fault("by_name", 1, 0);
    assert!(fault.is_unnoticed_by_a_gpu());
    insta::assert_snapshot!(fault.to_string());
    let sampler = Sampler::default();
    tried.machine.bind_texture(texture, [row].into(), sampler);
    tried.machine.bind_surface(surface, Some(other));
    let found = tried.launch("by_name", 1, 0).unwrap();
    assert_eq!(found[..5], [9, 1, 9, 4, 9]);
    tried.machine.bind_texture(texture, [].into(), sampler);
    assert_eq!(
        problem(&tried.fault("by_name", 1, 0)),
        &ImageProblem::Unbound
    );
}

#[test]
fn results_of_sixteen_bits_are_apart_or_in_pairs() {
    let mut tried = Tried::new();
    let words = [1.0f32, 2.0, 1.0 / 3.0, 65504.0 * 2.0].map(f32::to_bits);
    let mut plane = image(&mut tried.machine, Channel::F32, &[[0; 4], words].concat());
    (plane.channels, plane.extent, plane.pitch) = (4, [2, 1, 1], 32);
    let object = tried.machine.add_texture(plane, Sampler::default());
    let found = tried.launch("halves", 1, object).unwrap();
    let pairs = [0x4000_3c00, 0x7c00_3555];
    assert_eq!(found[..4], [pairs, pairs].concat());
}

#[test]
fn changes_of_directions_choose_levels_of_a_cube() {
    let mut tried = Tried::new();
    let level = |machine: &mut Machine, extent: u32, value: f32| {
        let elements = vec![value.to_bits(); 6 * (extent * extent) as usize];
        let plane = image(machine, Channel::F32, &elements);
        Image {
            kind: ImageKind::Cube,
            extent: [extent, extent, 6],
            pitch: u64::from(extent * 4),
            layer: u64::from(extent * extent * 4),
            ..plane
        }
    };
    let levels = [(8, 0.0), (4, 1.0), (2, 2.0), (1, 3.0)]
        .map(|(extent, value)| level(&mut tried.machine, extent, value));
    let sampler = Sampler {
        levels: [0.0, 10.0],
        is_normalized: true,
        is_linear: true,
        ..Sampler::default()
    };
    let object = tried.machine.add_mipmap(levels.into(), sampler);
    // A change by half of a thread's number is an eighth of it on the face, one element of eight.
    let found = tried.launch("cube", 5, object).unwrap();
    let found: Vec<f32> = found[..5]
        .iter()
        .map(|&bits| f32::from_bits(bits))
        .collect();
    assert_eq!(found, [0.0, 0.0, 1.0, 2.0, 2.0]);
}

#[test]
fn freed_memory_behind_a_texture_is_out_of_bounds() {
    let mut tried = Tried::new();
    let plane = image(&mut tried.machine, Channel::U32, &[0; 8]);
    let texture = tried.machine.add_texture(plane, Sampler::default());
    assert!(tried.machine.free(plane.address));
    let fault = tried.fault("row", 1, texture);
    assert_eq!(fault.name(), "out of bounds");
    assert_eq!(
        fault.to_string(),
        format!(
            "`tex.1d.v4.u32.s32` of texture object {texture:#x} at (-1): 4 bytes at offset 0 of buffer `elements`, which has been freed"
        )
    );
}

/// The first coordinate counts elements, and floats become those of the surface.
#[test]
fn formatted_stores_convert() {
    let mut tried = Tried::new();
    let plane = image(&mut tried.machine, Channel::F16, &[0; 8]);
    let plane = Image {
        channels: 2,
        ..plane
    };
    let surface = tried.machine.add_surface(plane);
    tried.launch("formatted", 4, surface).unwrap();
    let mut row = [0; 16];
    tried.machine.read(plane.address + 16, &mut row).unwrap();
    let halves: Vec<u16> = { row.chunks_exact(2) }
        .map(|two| u16::from_le_bytes([two[0], two[1]]))
        .collect();
    assert_eq!(
        halves,
        [0, 0x8000, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4200, 0xc200]
    );
    let fault = tried.fault("formatted", 5, surface);
    assert_eq!(fault.name(), "out of bounds");
    assert_eq!(
        fault.to_string(),
        format!(
            "`sust.p.2d.v2.b32.trap` of surface object {surface:#x} at (4, 1): the element there is outside of the surface, which has 4 elements per row, 2 rows and 1 layers"
        )
    );
}

/// Elements of two bytes: neighbours have words in common, and no race.
#[test]
fn formatted_stores_to_narrow_elements_do_not_race() {
    let mut tried = Tried::new();
    let plane = image(&mut tried.machine, Channel::F16, &[0; 8]);
    let surface = tried.machine.add_surface(plane);
    tried.launch("formatted", 4, surface).unwrap();
}

/// A layer's number has no sign: the largest is behind the last layer, not before the first.
#[test]
fn a_layer_behind_the_last_is_the_last() {
    let mut tried = Tried::new();
    let layers = Image {
        kind: ImageKind::Layered,
        extent: [4, 2, 2],
        ..image(&mut tried.machine, Channel::U32, &[0; 16])
    };
    let surface = tried.machine.add_surface(layers);
    tried.launch("last_layer", 1, surface).unwrap();
    let mut words = [0; 64];
    tried.machine.read(layers.address, &mut words).unwrap();
    assert_eq!([words[0], words[32]], [0, 7]);
}

#[test]
fn stores_to_one_element_of_a_surface_race() {
    let mut tried = Tried::new();
    let plane = image(&mut tried.machine, Channel::U32, &[0; 8]);
    let surface = tried.machine.add_surface(plane);
    let fault = tried.fault("race", 64, surface);
    assert!(matches!(fault, FaultKind::Race { .. }), "{fault}");
}
