//! Text in lines of a width.

/// Columns of a block where no terminal says how many it has.
pub const WIDTH: usize = terminal::look::WIDTH;

/// The fewest columns that text is laid out for.
pub const LEAST: usize = 40;

/// The text in lines of at most `columns`: the first line begins with `first`, further ones with as
/// many spaces as `indent`. Words longer than a line are cut.
pub fn wrapped(text: &str, first: &str, indent: usize, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut is_fresh = true;
    for word in text.split_whitespace() {
        let mut word: Vec<char> = word.chars().collect();
        loop {
            let blank = usize::from(!is_fresh);
            if length(&line) + blank + word.len() <= columns {
                line.extend(std::iter::repeat_n(' ', blank).chain(word));
                is_fresh = false;
                break;
            }
            if is_fresh {
                let room = columns.saturating_sub(length(&line)).max(1);
                line.extend(word.drain(..room.min(word.len())));
            }
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            is_fresh = true;
        }
    }
    if !is_fresh || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// A command in lines of at most `columns`, which a shell puts together again: a new line begins at
/// a flag. A longer part is not cut.
pub fn command(command: &str, indent: usize, columns: usize) -> Vec<String> {
    let mut parts = command.split(" --");
    let mut lines = vec![format!(
        "{:indent$}{}",
        "",
        parts.next().unwrap_or_default()
    )];
    for part in parts {
        let line = lines.last_mut().expect("there is one");
        // Two for the backslash, should another line follow.
        if length(line) + 3 + length(part) + 2 <= columns {
            *line += &format!(" --{part}");
        } else {
            *line += " \\";
            lines.push(format!("{:indent$}    --{part}", ""));
        }
    }
    lines
}

/// The line, cut after `columns`; three dots say that there is more.
pub fn cut(line: &str, columns: usize) -> String {
    if length(line) <= columns {
        return line.to_owned();
    }
    let kept: String = line.chars().take(columns.saturating_sub(3)).collect();
    kept + "..."
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_with_its_indent() {
        let lines = wrapped("one two three four five", "  next  ", 8, 18);
        assert_eq!(
            lines,
            ["  next  one two", "        three four", "        five"]
        );
        let long = wrapped("aaaaaaaaaaaa b", "  ", 4, 10);
        assert_eq!(long, ["  aaaaaaaa", "    aaaa b"]);
        assert_eq!(wrapped("", "  x", 2, 10), ["  x"]);
    }

    #[test]
    fn a_command_stays_one_that_can_be_copied() {
        assert_eq!(command("grade a --seed 1", 2, 20), ["  grade a --seed 1"]);
        assert_eq!(
            command("grade a --seed 1", 2, 16),
            ["  grade a \\", "      --seed 1"]
        );
    }

    #[test]
    fn what_is_cut_shows_it() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abc...");
    }
}
