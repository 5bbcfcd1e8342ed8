//! Compiles a kernel crate to a PTX file: `cargo run -p cuda_builder --example ptx -- CRATE
//! OUT.ptx`.

use cuda_builder::CudaBuilder;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [krate, out] = &arguments[..] else {
        eprintln!("usage: ptx CRATE OUT.ptx");
        std::process::exit(2);
    };
    let built = CudaBuilder::new(krate)
        .target_dir("target/cuda-builder")
        .copy_to(out)
        .build();
    if let Err(error) = built {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}
