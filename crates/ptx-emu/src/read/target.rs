//! Instructions that are newer than the architecture of their module. A compiler refuses them, and
//! so does a driver: PTX is for the devices that its `.target` names, and newer ones. Each rule is
//! in the "Target ISA Notes" of its instruction, and as `ptxas` of CUDA 13.5 has it.

use ptx::{Inst, Operands, Problem};

use super::{Read, Reader};

/// Compute capabilities, major and minor.
type Capability = (u32, u32);

const SM_89: Capability = (8, 9);
const SM_90: Capability = (9, 0);

/// Special registers of clusters, and of what came with them.
const REGISTERS: [&str; 7] = [
    "%aggr_smem_size",
    "%cluster_ctaid",
    "%cluster_ctarank",
    "%cluster_nctaid",
    "%cluster_nctarank",
    "%clusterid",
    "%nclusterid",
];

impl Reader<'_, '_, '_> {
    /// Checks that the instruction is not newer than the `.target` of its module.
    pub(crate) fn check_target(&self) -> Read<()> {
        let inst = self.syntax();
        let (Some((what, needed)), [target, ..]) = (needed(inst), &self.body.program().target[..])
        else {
            return Ok(());
        };
        match ptx::capability(target) {
            Some(has) if has < needed => Err(too_new(inst, &what, needed, target).into()),
            _ => Ok(()),
        }
    }
}

fn too_new(inst: &Inst, what: &str, (major, minor): Capability, target: &str) -> Problem {
    let message = format!(
        "{what} needs `.target sm_{major}{minor}` or newer, and this module is for {target} (PTX ISA, \
         \"Target ISA Notes\"): compile it for that one, in Rust by \
         `#[kernel(capability = \"{major}.{minor}\")]`"
    );
    Problem::invalid(inst.opcode.pos, message)
}

/// The part of an instruction that devices before compute capability 9.0 lack, and from which one
/// on they have it.
fn needed(inst: &Inst) -> Option<(String, Capability)> {
    let opcode = inst.opcode.text;
    let has = |name: &str| inst.modifiers.contains(&name);
    let of = |names: &[&'static str]| names.iter().copied().find(|name| has(name));
    let scoped = ["ld", "st", "atom", "red", "fence", "mbarrier"].contains(&opcode);
    let with = |part: &str| format!("`{opcode}.{part}`");
    let from_90 = match opcode {
        "mapa" | "getctarank" | "elect" | "griddepcontrol" | "stmatrix" | "multimem"
        | "tensormap" | "wgmma" | "setmaxnreg" => Some(format!("`{opcode}`")),
        "mov" => {
            let from = inst.text.rsplit([',', ' ']).next()?;
            let name = REGISTERS
                .into_iter()
                .find(|name| from.split('.').next() == Some(name))?;
            Some(format!("`{name}`"))
        }
        "barrier" if has("cluster") => Some(with("cluster")),
        "cp" if has("bulk") => Some(with("async.bulk")),
        "st" | "red" if has("async") => Some(with("async")),
        "prefetch" if has("tensormap") => Some(with("tensormap")),
        "fence" => {
            let named = ["async", "tensormap", "mbarrier_init"];
            let given = inst.modifiers.iter();
            let mut kinds = given.map(|given| given.split("::").next().unwrap_or_default());
            kinds.find(|kind| named.contains(kind)).map(with)
        }
        "mbarrier" => {
            let counts = matches!(&inst.operands, Operands::List(list) if list.len() == 3)
                && has("arrive")
                && !has("noComplete");
            let with_count = || counts.then(|| "`mbarrier.arrive` with a count".to_owned());
            let kind = of(&["try_wait", "expect_tx", "complete_tx"]).map(with);
            kind.or_else(with_count)
        }
        "add" | "sub" | "mul" => of(&["bf16", "bf16x2", "s16x2", "u16x2"]).map(with),
        "min" | "max" => {
            let is_whole = of(&["s16x2", "u16x2", "s32"]);
            let relu = has("relu").then_some("relu");
            is_whole
                .filter(|ty| *ty != "s32" || relu.is_some())
                .map(with)
        }
        "ex2" | "tanh" => of(&["bf16", "bf16x2"]).filter(|_| has("approx")).map(with),
        "atom" | "red" => of(&["bf16", "bf16x2", "v2", "v4", "v8", "b128"]).map(with),
        "mma" if has("f64") => of(&["m16n8k4", "m16n8k8", "m16n8k16"]).map(with),
        _ => None,
    };
    let of_clusters = || {
        let given = inst.modifiers.iter().copied();
        let mut parts = given.filter(|m| m.ends_with("::cluster") || scoped && *m == "cluster");
        parts.next().map(with)
    };
    let from_90 = from_90.or_else(of_clusters).or_else(|| conversion(inst));
    if let Some(what) = from_90 {
        return Some((what, SM_90));
    }
    let eights = || of(&["e4m3", "e5m2", "e4m3x2", "e5m2x2"]).map(with);
    let from_89 = if matches!(opcode, "mma" | "cvt") {
        eights()
    } else {
        None
    };
    from_89.map(|what| (what, SM_89))
}

/// A conversion between `bf16` and other types than `f32`, or to `tf32` by another rounding.
fn conversion(inst: &Inst) -> Option<String> {
    if inst.opcode.text != "cvt" {
        return None;
    }
    let modifiers = &inst.modifiers;
    let [.., to, from] = modifiers[..] else {
        return None;
    };
    let is_other = match (to, from) {
        ("bf16", "f32") | ("f32", "bf16") => false,
        ("bf16", _) | (_, "bf16") => true,
        ("tf32", "f32") => !modifiers.contains(&"rna"),
        _ => false,
    };
    is_other.then(|| format!("`cvt.{to}.{from}`"))
}

#[cfg(test)]
mod tests {
    use crate::Executable;

    /// What `ptxas` of CUDA 13.5 says of each for sm_80: its "requires .target" as a number, or 0.
    const LINES: [(&str, u32); 58] = [
        ("mapa.u64 %rd1, %rd2, %r1;", 90),
        ("getctarank.u64 %r1, %rd1;", 90),
        ("elect.sync %r1|%p1, -1;", 90),
        ("griddepcontrol.wait;", 90),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};", 90),
        ("barrier.cluster.arrive;", 90),
        ("barrier.sync 0;", 0),
        ("cp.async.bulk.commit_group;", 90),
        ("cp.async.bulk.wait_group 0;", 90),
        ("cp.async.bulk.prefetch.L2.global [%rd1], %r2;", 90),
        ("cp.async.ca.shared.global [%r1], [%rd1], 16;", 0),
        ("fence.proxy.async;", 90),
        ("fence.proxy.alias;", 0),
        ("fence.proxy.tensormap::generic.release.gpu;", 90),
        ("fence.mbarrier_init.release.cluster;", 90),
        ("fence.acq_rel.cluster;", 90),
        ("fence.acq_rel.gpu;", 0),
        ("mbarrier.init.shared.b64 [%r1], 1;", 0),
        ("mbarrier.try_wait.shared.b64 %p1, [%r1], %rd1;", 90),
        ("mbarrier.test_wait.shared.b64 %p1, [%r1], %rd1;", 0),
        ("mbarrier.test_wait.parity.shared.b64 %p1, [%r1], %r2;", 0),
        ("mbarrier.expect_tx.relaxed.cta.shared.b64 [%r1], 8;", 90),
        ("mbarrier.arrive.shared.b64 %rd1, [%r1];", 0),
        ("mbarrier.arrive.shared.b64 %rd1, [%r1], 2;", 90),
        ("mbarrier.arrive.noComplete.shared.b64 %rd1, [%r1], 2;", 0),
        ("mbarrier.arrive.expect_tx.shared.b64 %rd1, [%r1], 8;", 90),
        (
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];",
            90,
        ),
        ("ld.acquire.cluster.global.u32 %r1, [%rd1];", 90),
        ("ld.shared::cluster.u32 %r1, [%r2];", 90),
        ("ld.shared::cta.u32 %r1, [%r2];", 0),
        ("st.shared::cluster.u32 [%r2], %r1;", 90),
        ("atom.cluster.global.add.u32 %r1, [%rd1], 1;", 90),
        ("isspacep.shared::cluster %p1, %rd1;", 90),
        ("isspacep.shared::cta %p1, %rd1;", 0),
        ("cvta.shared::cluster.u64 %rd1, %rd2;", 90),
        ("add.bf16x2 %r1, %r2, %r3;", 90),
        ("sub.bf16 %h1, %h2, %h3;", 90),
        ("fma.rn.bf16x2 %r1, %r2, %r3, %r4;", 0),
        ("min.bf16x2 %r1, %r2, %r3;", 0),
        ("add.u16x2 %r1, %r2, %r3;", 90),
        ("max.s16x2 %r1, %r2, %r3;", 90),
        ("min.relu.s32 %r1, %r2, %r3;", 90),
        ("min.s32 %r1, %r2, %r3;", 0),
        ("tanh.approx.bf16x2 %r1, %r2;", 90),
        ("cvt.rn.bf16.s32 %h1, %r1;", 90),
        ("cvt.rn.bf16.f32 %h1, %f1;", 0),
        ("cvt.rn.bf16x2.f32 %r1, %f1, %f2;", 0),
        ("cvt.f32.bf16 %f1, %h1;", 0),
        ("cvt.rn.f16.bf16 %h1, %h2;", 90),
        ("cvt.rna.tf32.f32 %r1, %f1;", 0),
        ("cvt.rn.tf32.f32 %r1, %f1;", 90),
        ("cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;", 89),
        ("red.global.add.noftz.bf16x2 [%rd1], %r2;", 90),
        ("red.global.add.noftz.f16x2 [%rd1], %r2;", 0),
        ("red.global.v4.f32.add [%rd1], {%f1,%f2,%f1,%f2};", 90),
        ("mov.u32 %r1, %clusterid.x;", 90),
        ("mov.u32 %r1, %cluster_ctarank;", 90),
        ("mov.u32 %r1, %ctaid.x;", 0),
    ];

    fn parse(line: &str, target: &str) -> Result<Executable, ptx::Error> {
        Executable::parse(&format!(
            ".version 8.8\n.target {target}\n.address_size 64\n.visible .entry k() {{\n.reg .b16 \
             %h<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .pred \
             %p<4>;\n{line}\nret;\n}}"
        ))
    }

    #[test]
    fn instructions_need_the_target_that_ptxas_names() {
        for (line, needed) in LINES {
            let said = parse(line, "sm_80").err().map(|error| error.to_string());
            match needed {
                0 => assert_eq!(said, None, "{line}"),
                _ => {
                    let said = said.unwrap_or_else(|| panic!("{line}: nothing"));
                    let wanted = format!("needs `.target sm_{needed}` or newer");
                    assert!(said.contains(&wanted), "{line}: {said}");
                }
            }
            parse(line, "sm_90a").unwrap();
        }
    }

    #[test]
    fn the_message_names_instruction_and_rule() {
        let said = parse("mapa.u64 %rd1, %rd2, %r1;", "sm_86").unwrap_err();
        assert!(said.to_string().contains(
            "`mapa` needs `.target sm_90` or newer, and this module is for sm_86 (PTX ISA, \"Target ISA Notes\")"
        ));
    }
}
