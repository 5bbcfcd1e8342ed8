//! The fold of a picture: its table, and the command that measured it.

use std::path::Path;

use terminal::command_line::quoted;

/// The title of a fold. Pictures are seen at once, and tables where they are asked for.
pub(super) const TABLE: &str = "Table and command";

/// A command as it can be typed again: what the shell would not take literally is quoted. The
/// folders of the machine that it ran on are left out: those of the program, and those of whole
/// paths.
pub(super) fn shell_line(words: &[String]) -> String {
    let shown = |(index, word): (usize, &String)| {
        let flag_ends = word.find('=').filter(|_| word.starts_with("--"));
        let (flag, value) = word.split_at(flag_ends.map_or(0, |end| end + 1));
        let file = Path::new(value).file_name().and_then(|name| name.to_str());
        let is_of_machine = index == 0 || value.starts_with('/');
        let word = match file.filter(|_| is_of_machine) {
            Some(file) => format!("{flag}{file}"),
            None => word.clone(),
        };
        quoted(&word)
    };
    let words = words.iter().enumerate().map(shown);
    words.collect::<Vec<_>>().join(" ")
}
