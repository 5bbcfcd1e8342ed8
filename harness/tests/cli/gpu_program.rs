//! A program that uses the CUDA driver, for `harness emulate`: this one, which runs itself again.

use std::process::Command;

/// The kernel that the program launches.
const KERNEL: &str = "EMULATE_TEST_KERNEL";

/// The program's words on a command line, for a shell too.
pub fn words() -> [String; 3] {
    let program = std::env::current_exe().unwrap().into_os_string();
    let name = "gpu_program::program".to_owned();
    [program.into_string().unwrap(), "--exact".to_owned(), name]
}

/// Adds the program, with this kernel: `fine`, `race`, or `endless`.
pub fn of<'a>(command: &'a mut Command, kernel: &str) -> &'a mut Command {
    command.args(words()).env(KERNEL, kernel)
}

/// A shell that runs a script, in which `"$@"` is the program with this kernel.
pub fn of_shell<'a>(command: &'a mut Command, kernel: &str, script: &str) -> &'a mut Command {
    command.args(["sh", "-c", script, "sh"]);
    of(command, kernel)
}

/// This is not a test but the program.
#[test]
fn program() {
    use cuda::CudaDevice;
    use device::{Device, Element, Module};
    use plan::{LaunchConfig, Plan, args};

    static KERNELS: Module = Module::from_static(
        "kernels",
        ".version 7.8\n.target sm_80\n.address_size 64\n
        .visible .entry fine(.param .u64 data) { ret; }
        .visible .entry race(.param .u64 data) {
            .reg .b32 %r<2>;
            .reg .b64 %rd<2>;
            ld.param.u64 %rd1, [data];
            mov.u32 %r1, %tid.x;
            st.global.u32 [%rd1], %r1;
            ret;
        }
        .visible .entry endless(.param .u64 data) {
            again: bra.uni again;
        }",
    );
    let Ok(kernel) = std::env::var(KERNEL) else {
        return;
    };
    let mut plan = Plan::new("p");
    let data = plan.buffer("data", Element::U32, 1);
    let shape = LaunchConfig::new(1, 32);
    plan.launch(&kernel, shape, args![data].to_vec()).unwrap();
    let device = CudaDevice::open(0).unwrap();
    device.prepare(&KERNELS, &plan).unwrap().run().unwrap();
}
