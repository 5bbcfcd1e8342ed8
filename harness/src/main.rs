//! The `harness` program. See `harness --help`.

fn main() -> std::process::ExitCode {
    harness::cli::main()
}
