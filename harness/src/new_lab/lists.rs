//! The lists in which a lab has a line.

/// The text with the lab's line: for the name, and the name of its type. `None` if there is no
/// place for it.
type Add = fn(text: &str, name: &str, type_name: &str) -> Option<String>;

/// Each file with such a list.
pub const LISTS: [(&str, Add); 4] = [
    ("crates/plan/src/interface.rs", add_lab),
    ("crates/plan/src/lib.rs", add_module),
    ("host/src/lib.rs", add_module),
    ("kernels-gpu/src/lib.rs", add_module),
];

/// Adds the last line of the macro `labs!`.
fn add_lab(text: &str, name: &str, type_name: &str) -> Option<String> {
    let list = text.find("macro_rules! labs {")?;
    let first = list + text[list..].find("$callback! {\n")?;
    let end = first + text[first..].find("\n        }\n")? + 1;
    let line = format!("            {name}::{type_name},\n");
    Some(format!("{}{line}{}", &text[..end], &text[end..]))
}

/// Adds the module's line to those of the file, which are in alphabetical order.
fn add_module(text: &str, name: &str, _type_name: &str) -> Option<String> {
    let line = format!("pub mod {name};\n");
    let mut at = 0;
    // Where the attributes of an item begin, or the item.
    let mut start = 0;
    let mut after_last = None;
    for text_line in text.split_inclusive('\n') {
        let trimmed = text_line.trim_start_matches("pub ").trim_end();
        let module = trimmed.strip_prefix("mod ");
        match module.and_then(|rest| rest.strip_suffix(';')) {
            Some(module) if module > name => {
                return Some(format!("{}{line}{}", &text[..start], &text[start..]));
            }
            Some(_) => after_last = Some(at + text_line.len()),
            None => {}
        }
        at += text_line.len();
        if !text_line.starts_with("#[") {
            start = at;
        }
    }
    let end = after_last?;
    Some(format!("{}{line}{}", &text[..end], &text[end..]))
}
