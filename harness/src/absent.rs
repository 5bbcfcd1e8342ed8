//! Commands of the instructor's program, which the students' copy of the course answers with what to do in their place.

use clap::Args;

use crate::failure::Failure;

/// Whatever follows such a command.
#[derive(Debug, Clone, Args)]
#[command(disable_help_flag = true)]
pub struct AbsentArgs {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _rest: Vec<String>,
}

/// For `check-course`.
pub fn check_course() -> Failure {
    absent(
        "check-course needs the solutions",
        "`cargo test` grades your starters",
    )
}

/// For `export`.
pub fn export() -> Failure {
    absent(
        "export makes the students' copy of the course",
        "this is one",
    )
}

/// For `run matadd`.
pub fn run_matadd() -> Failure {
    absent(
        "run matadd runs the built-in solution",
        "`harness grade labs/matadd/starter` runs yours",
    )
}

fn absent(what: &str, instead: &str) -> Failure {
    Failure::Input(format!("{what}, and is the instructor's; {instead}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_what_to_do_instead() {
        insta::assert_snapshot!(check_course(), @"check-course needs the solutions, and is the instructor's; `cargo test` grades your starters");
        insta::assert_snapshot!(export(), @"export makes the students' copy of the course, and is the instructor's; this is one");
        insta::assert_snapshot!(run_matadd(), @"run matadd runs the built-in solution, and is the instructor's; `harness grade labs/matadd/starter` runs yours");
    }

    #[test]
    fn whatever_follows_is_taken() {
        #[derive(clap::Parser)]
        struct Parser {
            #[command(flatten)]
            args: AbsentArgs,
        }
        let line = ["export", "--out", "copy", "--help"];
        let parsed = <Parser as clap::Parser>::parse_from(line);
        assert_eq!(parsed.args._rest.len(), 3);
    }
}
