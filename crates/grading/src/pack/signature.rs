//! The names and lines, in a submission's two files, that a wrong argument is about.
//!
//! A plan knows arguments by their position, and PTX knows parameters by their number. The author
//! knows names and lines, which the two files have.

use device::validate::{ArgsError, LaunchFault, ValidationError, validate};
use device::{Error, LaunchLimits, Module};
use plan::{Command, Plan};

use super::Sources;
use super::screen::tokens::{self, Token, TokenKind};

/// The parameter that the plan's first wrong argument is for, and the line of its launch, as far as
/// the files show them; `None` if no argument is wrong, or nothing is known.
pub fn of_wrong_argument(
    sources: &Sources,
    module: &Module,
    plan: &Plan,
    limits: &LaunchLimits,
) -> Option<String> {
    let wrong_param = |part: &Plan| match validate(module, part, limits) {
        Err(Error::Validation(ValidationError::Launch {
            fault: LaunchFault::Args(ArgsError::Type { param, .. }),
            ..
        })) => Some(param),
        _ => None,
    };
    let param = wrong_param(plan)?;
    // The shortest beginning of the plan that is wrong: its last command is.
    let (mut right, mut wrong) = (0, plan.commands().len());
    while wrong - right > 1 {
        let middle = right + (wrong - right) / 2;
        match wrong_param(&first_commands(plan, middle)?) {
            Some(_) => wrong = middle,
            None => right = middle,
        }
    }
    let Command::Launch(launch) = plan.commands().nth(wrong - 1)? else {
        return None;
    };
    let params = module
        .program()
        .ok()?
        .functions
        .iter()
        .clone()
        .find(|function| function.name == launch.kernel)?;
    let place = parameter(&sources.kernels, launch.kernel, param, params.params.len())
        .map(|(name, line)| format!("it is for {name} in kernels.rs:{line}"));
    let launched = line_of_launch(&sources.launch, launch.kernel)
        .map(|line| format!("the launch is in launch.rs:{line}"));
    let said: Vec<String> = place.into_iter().chain(launched).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

fn first_commands(plan: &Plan, keep: usize) -> Option<Plan> {
    let mut left = keep;
    let shorter = plan.map(|shorter, command| {
        if left == 0 {
            return Ok(());
        }
        left -= 1;
        shorter.push(command)
    });
    shorter.ok()
}

/// The name and the line of a kernel's PTX parameter of this number. A slice is two of them.
fn parameter(kernels: &str, kernel: &str, number: usize, of: usize) -> Option<(String, usize)> {
    let tokens = tokens::flatten(kernels, tokens::MAX_DEPTH).ok()?;
    let is_name = |token: &Token, name: &str| token.kind == TokenKind::Name(name.to_owned());
    let begins = |pair: &[Token]| is_name(&pair[0], "fn") && is_name(&pair[1], kernel);
    let after_name = tokens.windows(2).position(begins)? + 2;
    let depth = tokens[after_name - 1].depth;
    let is_bracket =
        |token: &Token, mark| token.kind == TokenKind::Mark(mark) && token.depth == depth;
    let rest = &tokens[after_name..];
    let start = rest.iter().position(|token| is_bracket(token, '('))? + 1;
    let end = rest.iter().position(|token| is_bracket(token, ')'))?;
    let is_comma = |token: &Token| token.kind == TokenKind::Mark(',') && token.depth == depth + 1;
    let mut names = Vec::new();
    for declared in rest[start..end]
        .split(is_comma)
        .filter(|part| !part.is_empty())
    {
        let is_colon = |token: &Token| token.kind == TokenKind::Mark(':');
        let colon = declared.iter().position(is_colon)?;
        let name = declared[..colon].last()?;
        let TokenKind::Name(text) = &name.kind else {
            return None;
        };
        names.push((format!("`{text}`"), name.line));
        if is_slice(&declared[colon + 1..]) {
            names.push((format!("the length of `{text}`"), name.line));
        }
    }
    // Types with commas in them would shift the names.
    (names.len() == of).then(|| names.swap_remove(number))
}

/// Whether a type is `&[T]`, with or without a lifetime.
fn is_slice(of_type: &[Token]) -> bool {
    let begins_with = |mark| {
        of_type
            .first()
            .is_some_and(|token| token.kind == TokenKind::Mark(mark))
    };
    let bracket = |token: &&Token| matches!(token.kind, TokenKind::Mark('[' | '(' | '<'));
    let first_bracket = of_type.iter().find(bracket);
    begins_with('&') && first_bracket.is_some_and(|token| token.kind == TokenKind::Mark('['))
}

/// The line of the only text in launch.rs that names this kernel.
fn line_of_launch(launch: &str, kernel: &str) -> Option<usize> {
    let tokens = tokens::flatten(launch, tokens::MAX_DEPTH).ok()?;
    let literal = TokenKind::Literal(format!("\"{kernel}\""));
    let mut named = tokens.iter().filter(|token| token.kind == literal);
    let line = named.next()?.line;
    named.next().is_none().then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_names_and_lines() {
        let kernels = "#[kernel]\npub unsafe fn step(\n    u0: *mut f32,\n    u1: &'a [f32],\n    mut n: u32) {}";
        let named = |number, of| parameter(kernels, "step", number, of);
        let some = |name: &str, line| Some((name.to_owned(), line));
        assert_eq!(named(0, 4), some("`u0`", 3));
        assert_eq!(named(1, 4), some("`u1`", 4));
        assert_eq!(named(2, 4), some("the length of `u1`", 4));
        assert_eq!(named(3, 4), some("`n`", 5));
        // Other parameters than the PTX has are not understood.
        assert_eq!(named(3, 5), None);
        assert_eq!(parameter(kernels, "other", 0, 4), None);
    }

    #[test]
    fn a_launch_has_a_line_if_it_is_the_only_one() {
        assert_eq!(line_of_launch("a();\nb(\"step\");", "step"), Some(2));
        assert_eq!(line_of_launch("b(\"step\"); b(\"step\");", "step"), None);
        assert_eq!(line_of_launch("b(NAME);", "step"), None);
    }
}
