//! The harness, for the tests.

fn main() -> std::process::ExitCode {
    harness::cli::main()
}
