//! Formulas behind figures: `12 * 16384^2 / copy`, `time(h100 matadd 16384x16384 naive)`.

/// A value, and half the width of its 95 % interval where it was measured.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    pub value: f64,
    pub half: Option<f64>,
}

/// What names in a formula mean.
pub trait Names {
    /// The text that `let NAME = ..` gave.
    fn defined(&self, name: &str) -> Option<&str>;
    /// The value of `NAME(WORDS)`, or None if there is no such function.
    fn looked_up(&self, function: &str, words: &[&str]) -> Option<Result<Value, String>>;
}

struct Parser<'a> {
    rest: &'a str,
    names: &'a dyn Names,
    depth: usize,
    /// Operators, functions and names so far.
    parts: usize,
}

/// The value of a formula. One that is only a number is an error: it would repeat the page.
pub fn evaluate(formula: &str, names: &dyn Names) -> Result<Value, String> {
    let (value, parts) = parse(formula, names, 0)?;
    if parts == 0 {
        return Err(format!(
            "`{formula}` repeats the figure: give a formula or a source"
        ));
    }
    Ok(value)
}

fn parse(formula: &str, names: &dyn Names, depth: usize) -> Result<(Value, usize), String> {
    if depth > 8 {
        return Err(format!("`{formula}` is defined by itself"));
    }
    let mut parser = Parser {
        rest: formula.trim(),
        names,
        depth,
        parts: 0,
    };
    let value = parser
        .sum()
        .map_err(|error| format!("`{formula}`: {error}"))?;
    match parser.rest {
        "" => Ok((value, parser.parts)),
        rest => Err(format!("`{formula}`: what is `{rest}`?")),
    }
}

fn plain(value: f64) -> Value {
    Value { value, half: None }
}

impl<'a> Parser<'a> {
    /// Takes one of these operators.
    fn operator(&mut self, among: &str) -> Option<char> {
        let first = self.rest.chars().next()?;
        among.contains(first).then(|| {
            self.rest = self.rest[1..].trim_start();
            self.parts += 1;
            first
        })
    }

    fn sum(&mut self) -> Result<Value, String> {
        let mut value = self.product()?;
        while let Some(operator) = self.operator("+-") {
            let right = self.product()?.value;
            let right = if operator == '+' { right } else { -right };
            value = plain(value.value + right);
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<Value, String> {
        let mut value = self.power()?;
        while let Some(operator) = self.operator("*/") {
            let right = self.power()?.value;
            let right = if operator == '*' { right } else { 1.0 / right };
            value = plain(value.value * right);
        }
        Ok(value)
    }

    fn power(&mut self) -> Result<Value, String> {
        let base = self.atom()?;
        if self.operator("^").is_some() {
            return Ok(plain(base.value.powf(self.power()?.value)));
        }
        Ok(base)
    }

    /// Takes text as long as its letters are such.
    fn taken(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|letter| !is_part(letter));
        let (taken, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest.trim_start();
        taken
    }

    fn atom(&mut self) -> Result<Value, String> {
        if self.operator("-").is_some() {
            return Ok(plain(-self.power()?.value));
        }
        if self.operator("(").is_some() {
            let value = self.sum()?;
            self.operator(")").ok_or("a `)` is missing")?;
            return Ok(value);
        }
        if self
            .rest
            .starts_with(|letter: char| letter.is_ascii_digit())
        {
            let number = self.taken(|letter| letter.is_ascii_digit() || letter == '.');
            let mut text = number.to_owned();
            if self.rest.starts_with('e') {
                text += self.taken(|letter| "e-".contains(letter));
                text += self.taken(|letter| letter.is_ascii_digit());
            }
            return text
                .parse()
                .map(plain)
                .map_err(|_| format!("what is `{text}`?"));
        }
        let name = self.taken(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        self.parts += 1;
        if !self.rest.starts_with('(') {
            let meaning = self
                .names
                .defined(name)
                .ok_or_else(|| format!("what is `{name}`?"))?;
            return Ok(parse(meaning, self.names, self.depth + 1)?.0);
        }
        if let Some(function) = of_one_number(name) {
            // Its argument is a formula, with parentheses of its own.
            self.operator("(");
            let argument = self.sum()?.value;
            self.operator(")").ok_or("a `)` is missing")?;
            return Ok(plain(function(argument)));
        }
        let (quoted, rest) = self.rest[1..].split_once(')').ok_or("a `)` is missing")?;
        self.rest = rest.trim_start();
        let meanings = quoted.split_whitespace();
        let meanings = meanings.map(|word| self.names.defined(word).unwrap_or(word));
        let expanded = meanings.collect::<Vec<_>>().join(" ");
        let words: Vec<&str> = expanded.split_whitespace().collect();
        let found = self.names.looked_up(name, &words);
        found.unwrap_or_else(|| Err(format!("there is no function `{name}`")))
    }
}

fn of_one_number(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "sqrt" => f64::sqrt,
        "ln" => f64::ln,
        "cos" => f64::cos,
        "ceil" => f64::ceil,
        "floor" => f64::floor,
        // To two or three significant digits, for a figure that is written so.
        "two" => |value| significant(value, 2),
        "three" => |value| significant(value, 3),
        _ => return None,
    })
}

fn significant(value: f64, digits: i32) -> f64 {
    let unit = 10_f64.powi(value.abs().log10().floor() as i32 + 1 - digits);
    (value / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Some2;

    impl Names for Some2 {
        fn defined(&self, name: &str) -> Option<&str> {
            let all = [
                ("pair", "1 + 1"),
                ("P", "h100 poisson"),
                ("loop", "loop + 1"),
            ];
            all.iter().find(|one| one.0 == name).map(|one| one.1)
        }

        fn looked_up(&self, function: &str, words: &[&str]) -> Option<Result<Value, String>> {
            (function == "length").then(|| Ok(plain(words.concat().len() as f64)))
        }
    }

    fn value(formula: &str) -> Result<f64, String> {
        evaluate(formula, &Some2).map(|it| it.value)
    }

    #[test]
    fn formulas_have_their_values() {
        assert_eq!(value("2 + 3 * 4^2 / 8 - 1"), Ok(7.0));
        assert_eq!(value("-(1 - pair)^2 * 1.5e1"), Ok(-15.0));
        assert_eq!(
            value("sqrt(4 * (pair + 2)) / 4 + length(P fast)"),
            Ok(1.0 + 15.0)
        );
        assert_eq!(value("two(2114) + three(0.11949)"), Ok(2100.0 + 0.119));
    }

    #[test]
    fn what_is_not_a_formula_is_refused() {
        assert!(value("341").unwrap_err().contains("repeats"));
        for (wrong, part) in [
            ("2 +", "what is ``"),
            ("third", "`third`"),
            ("f(x)", "no function"),
            ("(1 + 1", "missing"),
            ("loop", "by itself"),
        ] {
            assert!(value(wrong).unwrap_err().contains(part), "{wrong}");
        }
    }
}
