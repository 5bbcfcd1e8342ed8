//! Conditions of kernels on the arguments of a launch: `#[kernel(requires(...))]`.
//!
//! A kernel is compiled to rely on them. `cuda_builder` writes each as a comment at the start of
//! the PTX: kernel, operations with operands before their operators, source text.
//!
//! ```text
//! // cuda_std.requires axpy;P0=n P2=x.len() <=;n <= x.len()
//! ```

use plan::{Arg, Plan, View};

use super::error::LaunchFault;

const MARK: &str = "// cuda_std.requires ";

/// Checks the conditions in the PTX that are `kernel`'s.
pub(super) fn check(ptx: &str, kernel: &str, args: &[Arg], plan: &Plan) -> Result<(), LaunchFault> {
    let conditions = ptx
        .lines()
        .take_while(|line| line.starts_with("//"))
        .filter_map(|line| {
            line.strip_prefix(MARK)?
                .strip_prefix(kernel)?
                .strip_prefix(';')
        })
        .filter_map(|condition| condition.split_once(';'));
    for (operations, text) in conditions {
        let values = values(args, plan);
        let mut named = Vec::new();
        if evaluate(operations, &values, &mut named) != Some(1) {
            named.dedup();
            return Err(LaunchFault::Requires {
                condition: text.to_owned(),
                values: named.join(", "),
            });
        }
    }
    Ok(())
}

/// The integer that each parameter gets, if it is one and not negative.
fn values(args: &[Arg], plan: &Plan) -> Vec<Option<u64>> {
    let mut values = Vec::new();
    for arg in args {
        match *arg {
            Arg::Slice(id)
            | Arg::Within {
                id,
                view: View::Slice,
                ..
            } => values.extend([None, Some(plan.buffers()[id.index()].len)]),
            Arg::SliceAt { len, .. } => values.extend([None, Some(len)]),
            Arg::U8(value) => values.push(Some(value.into())),
            Arg::U32(value) => values.push(Some(value.into())),
            Arg::I32(value) => values.push(u64::try_from(value).ok()),
            Arg::U64(value) => values.push(Some(value)),
            Arg::I64(value) => values.push(u64::try_from(value).ok()),
            _ => values.push(None),
        }
    }
    values
}

/// The value of a condition, 1 if it holds. `None` where a value is missing or a step overflows:
/// the kernel computes in 64 bits too. `named` takes the values of parameters, as a text.
fn evaluate(operations: &str, values: &[Option<u64>], named: &mut Vec<String>) -> Option<u64> {
    let mut stack = Vec::new();
    let mut is_known = true;
    for operation in operations.split(' ') {
        if let Some(parameter) = operation.strip_prefix('P') {
            let (index, name) = parameter.split_once('=')?;
            let value = values.get(index.parse::<usize>().ok()?).copied().flatten();
            let text = value.map_or("negative or no integer".to_owned(), |v| v.to_string());
            named.push(format!("{name} is {text}"));
            is_known &= value.is_some();
            stack.push(value.unwrap_or(0));
        } else if let Some(number) = operation.strip_prefix('L') {
            stack.push(number.parse().ok()?);
        } else {
            let (b, a) = (stack.pop()?, stack.pop()?);
            let result = match operation {
                "+" => a.checked_add(b),
                "-" => a.checked_sub(b),
                "*" => a.checked_mul(b),
                "/" => a.checked_div(b),
                "%" => a.checked_rem(b),
                "==" => Some((a == b).into()),
                "!=" => Some((a != b).into()),
                "<" => Some((a < b).into()),
                "<=" => Some((a <= b).into()),
                ">" => Some((a > b).into()),
                ">=" => Some((a >= b).into()),
                "&&" => Some(a & b),
                _ => None,
            };
            is_known &= result.is_some();
            stack.push(result.unwrap_or(0));
        }
    }
    stack.pop().filter(|_| is_known && stack.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "// cuda_std.requires axpy;P0=n P2=x.len() <=;n <= x.len()\n\
                       // cuda_std.requires axpy;P0=n L4 % L0 ==;n % 4 == 0\n\
                       // cuda_std.requires other;L1 L0 ==;1 == 0\n.version 7.4\n";

    fn checked(n: i32) -> Result<(), String> {
        let mut plan = Plan::new("demo");
        let x = plan.buffer("x", plan::Element::F32, 8);
        let args = [Arg::I32(n), Arg::Slice(x)];
        check(PTX, "axpy", &args, &plan).map_err(|fault| fault.to_string())
    }

    #[test]
    fn a_launch_that_breaks_a_condition_is_refused_with_the_values() {
        assert_eq!(checked(8), Ok(()));
        let message = |condition: &str, values: &str| {
            Err(format!(
                "the kernel requires `{condition}`, which does not hold: {values}"
            ))
        };
        assert_eq!(
            checked(12),
            message("n <= x.len()", "n is 12, x.len() is 8")
        );
        assert_eq!(checked(6), message("n % 4 == 0", "n is 6"));
        assert_eq!(
            checked(-4),
            message("n <= x.len()", "n is negative or no integer, x.len() is 8")
        );
    }

    #[test]
    fn what_overflows_does_not_hold() {
        let values = [Some(u64::MAX), Some(0)];
        for operations in ["P0=a L1 + L0 >=", "P1=b L1 - L0 >=", "P0=a P1=b / L0 >="] {
            assert_eq!(
                evaluate(operations, &values, &mut Vec::new()),
                None,
                "{operations}"
            );
        }
    }
}
