//! A lab with PTX written by hand, for tests on the emulated device: exact counts can be worked out
//! on paper.
//!
//! Every variant computes y = 3 x, one thread an element, in blocks of 64 threads.

use std::fmt::{Display, Formatter};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use device::{Element, Error, Module, NamedBuffers};
use lab::{Cpu, Lab, LabCase, Parameter, Series, Variant, Work, boxed, downcast};
use plan::{LaunchConfig, Plan, args};
use terminal::progress::Progress;

/// Threads of a block.
const BLOCK: u32 = 64;

/// The lab.
pub static TRIPLING: LazyLock<Lab> = LazyLock::new(|| {
    let module = Arc::new(Module::new("tripling", ptx()));
    let variant = |name: &'static str, summary| {
        Variant::recorded(name, summary, Arc::clone(&module), move |case, _| {
            downcast::<Numbers>(name, case).record(name)
        })
    };
    let variants = vec![
        variant("coalesced", "neighbours read neighbours"),
        variant("scattered", "half of each sector is not used by the warp"),
        variant("banked", "through shared memory, all lanes in one bank"),
        variant("divergent", "odd lanes take another way"),
        variant("racy", "all threads write one word of shared memory"),
        variant("stray", "writes behind the end"),
        variant("wrong", "triples one too few"),
    ];
    Lab {
        name: "tripling",
        summary: "triples numbers",
        parameters: &PARAMETERS,
        outputs: &["y"],
        rounds: true,
        seed_bits: 64,
        module,
        variants,
        extents: &["blocks"],
        least_extent: 1,
        series: Series::USUAL,
        of_extent: |blocks| Ok(Box::new(Numbers { blocks })),
        from_values: |values| {
            let blocks = values.get("blocks")?;
            Ok(Box::new(Numbers { blocks }))
        },
        check_seedable: |_| Ok(()),
        running: None,
        small: || boxed([1, 2].map(|blocks| Numbers { blocks })),
        laptop: || boxed([Numbers { blocks: 12 }]),
        large: || boxed([Numbers { blocks: 128 }]),
    }
});

const PARAMETERS: [Parameter; 1] = [Parameter::new("blocks", "blocks of 64 elements", "2")];

/// Source file of the kernels, as `.loc` has it: line 1 loads, 2 stores, 3 computes, 4 finds the
/// element.
pub const SOURCE: &str = "kernels/tripling.rs";

const HEADER: &str = "
.version 7.8
.target sm_80
.address_size 64
.file 1 \"kernels/tripling.rs\"
";

/// A kernel: `index` computes the element of thread %r1 in its block, from %r2, the block's first
/// element; `before` the store, the result is in %r5.
fn kernel(name: &str, declarations: &str, index: &str, before: &str) -> String {
    format!(
        "
.visible .entry {name}(.param .u64 x, .param .u64 y)
{{
    .reg .pred %p<3>;
    .reg .b32 %r<10>;
    .reg .b64 %rd<8>;
    {declarations}
    .loc 1 4 0
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    shl.b32 %r2, %r2, 6;
    {index}
    mul.wide.u32 %rd3, %r3, 4;
    .loc 1 1 5
    ld.param.u64 %rd1, [x];
    add.s64 %rd4, %rd1, %rd3;
    ld.global.u32 %r4, [%rd4];
    .loc 1 3 9
    mul.lo.u32 %r5, %r4, 3;
    {before}
    .loc 1 2 5
    ld.param.u64 %rd2, [y];
    add.s64 %rd5, %rd2, %rd3;
    st.global.u32 [%rd5], %r5;
    ret;
}}
"
    )
}

fn ptx() -> String {
    let straight = "add.u32 %r3, %r2, %r1;";
    // (t % 8) * 8 + t / 8: lanes of a warp get four of the eight elements of each sector.
    let scattered =
        "and.b32 %r6, %r1, 7; shl.b32 %r6, %r6, 3; shr.u32 %r7, %r1, 3; add.u32 %r6, %r6, %r7;
        add.u32 %r3, %r2, %r6;";
    let words = ".shared .align 4 .b8 words[8192];";
    // 128 bytes apart: all in one bank.
    let banked = "mov.u32 %r6, words; shl.b32 %r7, %r1, 7; add.u32 %r6, %r6, %r7;
        st.shared.u32 [%r6], %r5; bar.sync 0; ld.shared.u32 %r5, [%r6];";
    let divergent = "and.b32 %r6, %r1, 1; setp.eq.u32 %p1, %r6, 0; @%p1 bra EVEN;
        add.u32 %r5, %r5, 0;
    EVEN:";
    [
        HEADER.to_owned(),
        kernel("coalesced", "", straight, ""),
        kernel("scattered", "", scattered, ""),
        kernel("banked", words, straight, banked),
        kernel("divergent", "", straight, divergent),
        kernel("racy", words, straight, "st.shared.u32 [words], %r1;"),
        kernel("stray", "", straight, "add.s64 %rd3, %rd3, 4096;"),
        kernel("wrong", "", straight, "sub.u32 %r5, %r5, 3;"),
    ]
    .concat()
}

struct Numbers {
    blocks: u32,
}

impl Numbers {
    fn record(&self, kernel: &str) -> Result<Plan, Error> {
        let len = (self.blocks * BLOCK) as usize;
        let mut plan = Plan::new(kernel);
        let x = plan.buffer("x", Element::U32, len);
        let y = plan.buffer("y", Element::U32, len);
        plan.output("y", y);
        plan.launch(kernel, LaunchConfig::new(self.blocks, BLOCK), args![x, y])?;
        Ok(plan)
    }
}

impl Display for Numbers {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} blocks", self.blocks)
    }
}

impl LabCase for Numbers {
    fn problem_json(&self) -> serde_json::Value {
        serde_json::json!({ "blocks": self.blocks })
    }

    fn inputs(&self) -> Result<NamedBuffers, Error> {
        let x: Vec<u32> = (0..self.blocks * BLOCK).collect();
        Ok(vec![("x".to_owned(), x.into())])
    }

    fn reference_from(
        &self,
        inputs: &NamedBuffers,
        _: Cpu,
        _: &dyn Progress,
    ) -> Result<NamedBuffers, Error> {
        let x = inputs[0].1.as_slice::<u32>()?;
        let y: Vec<u32> = x.iter().map(|x| 3 * x).collect();
        Ok(vec![("y".to_owned(), y.into())])
    }

    fn work(&self) -> Work {
        let updates = u64::from(self.blocks * BLOCK);
        Work {
            updates,
            unit: "numbers",
            bytes: 8 * updates,
            flops: 0,
        }
    }

    fn advance(
        &self,
        buffers: &mut NamedBuffers,
        cpu: Cpu,
        progress: &dyn Progress,
    ) -> Result<Duration, Error> {
        let began = Instant::now();
        buffers.extend(self.reference_from(buffers, cpu, progress)?);
        Ok(began.elapsed())
    }

    fn reduced(&self) -> Option<Box<dyn LabCase>> {
        let blocks = self.blocks.min(2);
        Some(Box::new(Numbers { blocks }))
    }
}
