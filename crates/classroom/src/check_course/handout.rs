//! The commands that a handout tells its readers to type.
//!
//! The convention: a line in a fenced block marked `sh` that begins with `harness ` or
//! `cargo run -p harness -- `. Blanks part words; quotes, pipes and variables have no meaning. Each
//! command runs in a folder in which `labs/` is the course's, and may leave files there; the same
//! command is run once.

/// The beginnings of a line that is a command of ours.
pub const PROGRAM: [&str; 2] = ["harness ", "cargo run -p harness -- "];

/// The arguments of each of a handout's commands, in order, each once.
pub fn commands(markdown: &str) -> Vec<Vec<String>> {
    let mut commands: Vec<Vec<String>> = Vec::new();
    let mut in_shell = false;
    for line in markdown.lines().map(str::trim) {
        if let Some(language) = line.strip_prefix("```") {
            in_shell = !in_shell && language.split_whitespace().next() == Some("sh");
            continue;
        }
        let arguments = PROGRAM
            .iter()
            .find_map(|program| line.strip_prefix(program));
        if let Some(arguments) = arguments.filter(|_| in_shell) {
            let command: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
            if !commands.contains(&command) {
                commands.push(command);
            }
        }
    }
    commands
}

/// Whether the command grades the lab's starter, on the default or the emulated device, and at most
/// writes the report or shows more or less of it.
pub fn is_grade_of_starter(command: &[String], lab: &str) -> bool {
    let starter = format!("labs/{lab}/starter");
    match command {
        [grade, folder, flags @ ..] if grade == "grade" && *folder == starter => {
            let shown = |flag: &&String| !["--counts", "--brief"].contains(&flag.as_str());
            let flags: Vec<&String> = flags.iter().filter(shown).collect();
            flags.chunks(2).all(|flag| {
                matches!(flag, [name, value] if *name == "-o" || *name == "--device" && *value == "emulated")
            })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_plain_grade_of_the_starter_is_one() {
        let is = |text: &str| {
            let command: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            is_grade_of_starter(&command, "wave2d")
        };
        assert!(is("grade labs/wave2d/starter"));
        assert!(is(
            "grade labs/wave2d/starter --device emulated -o report.json"
        ));
        assert!(is(
            "grade labs/wave2d/starter --counts --device emulated --brief"
        ));
        assert!(!is("grade labs/wave2d/starter --heat-maps wrong"));
        assert!(!is("grade labs/wave2d/starter --device cuda"));
        assert!(!is("grade labs/wave2d/starter --html"));
        assert!(!is("grade labs/wave3d/starter"));
        assert!(!is("pack labs/wave2d/starter"));
    }

    #[test]
    fn what_is_in_shell_blocks_is_a_command() {
        let text = "\
1. See:

   ```sh
   harness grade labs/wave2d/starter
   ls
   ```

   `harness perf wave2d` is not run.

```rust
harness grade not/this
```

```sh
cargo run -p harness -- doctor
harness grade labs/wave2d/starter
```

    harness grade nor/this
";
        assert_eq!(
            commands(text),
            [vec!["grade", "labs/wave2d/starter"], vec!["doctor"]]
        );
    }

    #[test]
    fn a_shell_block_may_say_more_of_itself() {
        let text = "```sh on a GPU\nharness doctor\n```\n```text\nharness list\n```\n";
        assert_eq!(commands(text), [["doctor"]]);
    }
}
