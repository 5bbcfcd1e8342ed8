//! Compiles a kernel crate to a PTX file: `cargo run -p cuda_builder --example ptx -- CRATE
//! OUT.ptx [messages]`. With the last word, panics have messages.

use cuda_builder::{CudaBuilder, Panics};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (krate, out, panics) = match &arguments[..] {
        [krate, out] => (krate, out, Panics::Trap),
        [krate, out, word] if word == "messages" => (krate, out, Panics::Message),
        _ => {
            eprintln!("usage: ptx CRATE OUT.ptx [messages]");
            std::process::exit(2);
        }
    };
    let built = CudaBuilder::new(krate)
        .panics(panics)
        .target_dir("target/cuda-builder")
        .copy_to(out)
        .build();
    if let Err(error) = built {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}
