//! Mistakes that students make in kernels, in `tests/ui`. Each file states parts of the errors that
//! rustc gives, and all hints behind them.

use std::path::Path;

use cuda_builder::Error;

#[test]
fn mistakes_have_hints() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui");
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let source = std::fs::read_to_string(&file).unwrap();
        let name = file.file_stem().unwrap().to_str().unwrap();
        let stated = |mark: &str| -> Vec<String> {
            // A long one goes on in lines that begin with blanks.
            let source = source.replace("\n//~   ", " ");
            let lines = source.lines().filter_map(|line| line.strip_prefix(mark));
            lines.map(str::to_owned).collect()
        };
        let built = super::build(&super::krate(&format!("ui_{name}"), &source));
        let Err(error @ Error::KernelCompile { .. }) = built else {
            panic!("{name}: {built:?}");
        };
        let text = error.to_string();
        assert!(!text.contains("internal compiler error"), "{name}: {text}");
        for part in stated("//~ error: ") {
            let mut errors = text.lines().filter(|line| line.starts_with("error"));
            assert!(
                errors.any(|line| line.contains(&part)),
                "{name}: no `{part}` in\n{text}"
            );
        }
        let Error::KernelCompile { hints, .. } = &error else {
            unreachable!()
        };
        assert_eq!(*hints, stated("//~ hint: "), "{name}: {text}");
        let last = hints.last().map(|hint| format!("\n\nhint: {hint}"));
        assert!(text.ends_with(&last.unwrap_or_default()), "{name}: {text}");
    }
}
