//! `harness new-lab`: the files of a lab, from a template that compiles, and its lines in lists.
//!
//! The template is a small lab of its own, heat in a rod: see the folder [`TEMPLATE`]. `TODO(lab)`
//! marks each place that a new lab fills. `harness check-course` names those that are left.

mod lists;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use clap::Args;
use exit::{CommandError, Ending};
use output_files::OutputFiles;
use output_files::input::{own_text, unreadable};
use select::catalogue::needs_solutions;
use select::course_root;
use terminal::stdout::Out;
use units::count;

/// Arguments of `harness new-lab`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "The page new-lab in docs explains the files.")]
pub struct NewLabArgs {
    /// Its name: a word of a-z and 0-9, for its modules, its kernels and its folder
    name: String,
    /// The course's folder [default: the working folder, or the nearest above it that is a course]
    #[arg(long, value_name = "DIR")]
    course: Option<PathBuf>,
}

/// The folder of the template. A student's copy does not have it.
const TEMPLATE: &str = "harness/examples/new-lab";

/// Where the template's files go, and their names there. The lab's names replace `heat1d` and
/// `Heat1d`.
const FILES: [(&str, &str); 12] = [
    ("crates/plan/src/heat1d.rs", "plan.rs"),
    ("kernels-gpu/src/heat1d.rs", "physics.rs"),
    ("host/src/heat1d.rs", "host.rs"),
    ("kernels-gpu/solutions/heat1d/variants.rs", "variants.rs"),
    (
        "kernels-gpu/solutions/heat1d/naive/kernels.rs",
        "solution_kernels.rs",
    ),
    (
        "kernels-gpu/solutions/heat1d/naive/launch.rs",
        "solution_launch.rs",
    ),
    ("labs/heat1d/README.md", "README.md"),
    ("labs/heat1d/lab.toml", "lab.toml"),
    ("labs/heat1d/hints.toml", "hints.toml"),
    ("labs/heat1d/starter/kernels.rs", "starter_kernels.rs"),
    ("labs/heat1d/starter/launch.rs", "starter_launch.rs"),
    ("labs/heat1d/solution/README.md", "solution_README.md"),
];

/// Makes the lab.
///
/// # Errors
///
/// A name that is invalid or taken; a folder that is not a course, or cannot be written. Then
/// nothing is changed.
pub fn run(args: &NewLabArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    needs_solutions(
        host::labs(),
        "new-lab adds a lab with its solution",
        "`harness list` shows yours",
    )?;
    let root = course_root::find(args.course.as_deref(), Path::new("."))?;
    let name = &args.name;
    let changes = changes(&root, name)?;
    let (new, lists): (Vec<_>, Vec<_>) = changes.iter().partition(|change| change.old.is_none());
    write(&changes)?;
    let look = out.look();
    out.line(look.title(&format!(
        "{name}: {} and {}",
        count(new.len(), "new file"),
        count(lists.len(), "line")
    )))?;
    for change in new.into_iter().chain(lists) {
        let path = change.path.strip_prefix(&root).unwrap_or(&change.path);
        out.line(format!("  {}", path.display()))?;
    }
    out.line(format!(
        "\nIt is a small lab that works. Make it yours where {MARK} stands:\n\n  \
         cargo build -p harness      # compiles its kernels too: minutes\n  \
         harness test {name}\n  \
         harness check-course {name}   # names what is left to do"
    ))?;
    Ok(Ending::Fine)
}

/// Stands in the template where a new lab differs.
const MARK: &str = classroom::check_course::TODO;

/// A file with the text that it gets, and the one that it has.
struct Change {
    path: PathBuf,
    old: Option<String>,
    new: String,
}

/// All that makes the lab, from the files as they are.
fn changes(root: &Path, name: &str) -> Result<Vec<Change>, CommandError> {
    check_name(root, name)?;
    let type_name = type_name(name);
    let mut changes = Vec::new();
    for (path, text) in FILES {
        let path = root.join(path.replace("heat1d", name));
        if path.exists() {
            return Err(taken(root, name, &path));
        }
        let text = read(&root.join(TEMPLATE).join(text))?;
        let new = text.replace("heat1d", name).replace("Heat1d", &type_name);
        changes.push(Change {
            path,
            old: None,
            new,
        });
    }
    for (path, add) in lists::LISTS {
        let path = root.join(path);
        let old = read(&path)?;
        let new = add(&old, name, &type_name).ok_or_else(|| {
            let path = path.display();
            CommandError::Input(format!(
                "{path}: no place for the lab's line was found; the page new-lab in docs says what it is"
            ))
        })?;
        changes.push(Change {
            path,
            old: Some(old),
            new,
        });
    }
    Ok(changes)
}

/// Refuses a name that cannot be a module's beside those that are there.
fn check_name(root: &Path, name: &str) -> Result<(), CommandError> {
    let is_word = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9'));
    if !is_word || KEYWORDS.contains(&name) {
        return Err(CommandError::Input(format!(
            "new-lab {name}: a lab's name is a word of a-z and 0-9 that begins with a letter, and not a keyword of Rust: \
             its modules, its folder and the beginnings of its kernels' names are called so"
        )));
    }
    let crates = ["crates/plan", "host", "kernels-gpu"];
    for manifest in crates.map(|folder| root.join(folder).join("Cargo.toml")) {
        let text = read(&manifest)?;
        let parsed: Result<toml_edit::DocumentMut, _> = text.parse();
        let document = parsed
            .map_err(|error| CommandError::Input(format!("{}: {error}", manifest.display())))?;
        let dependencies = document
            .get("dependencies")
            .and_then(|item| item.as_table());
        let is_crate = dependencies.is_some_and(|table| {
            let mut names = table.iter().map(|(key, _)| key.replace('-', "_"));
            names.any(|key| key == name)
        });
        if is_crate || ["std", "core", "alloc", "test"].contains(&name) {
            return Err(CommandError::Input(format!(
                "new-lab {name}: a crate that the lab uses has this name; take another"
            )));
        }
    }
    let modules = ["crates/plan/src", "host/src", "kernels-gpu/src"];
    let folders = modules.iter().chain(&["labs", "kernels-gpu/solutions"]);
    for path in folders.map(|folder| root.join(folder).join(name)) {
        if path.exists() {
            return Err(taken(root, name, &path));
        }
    }
    Ok(())
}

/// The name has a lab: there is `path`. Or it has a part of one, as a call leaves it that was
/// killed; the lists are changed last.
fn taken(root: &Path, name: &str, path: &Path) -> CommandError {
    let lines = [format!("mod {name};"), format!(" {name}::")];
    let is_in = |file: &&str| {
        let list = read(&root.join(file)).unwrap_or_default();
        lines.iter().any(|line| list.contains(line.as_str()))
    };
    let lists = lists::LISTS.map(|(file, _)| file);
    let with_line: Vec<&str> = lists.iter().copied().filter(is_in).collect();
    if with_line.len() == lists.len() {
        return CommandError::Input(format!(
            "new-lab {name}: the name is taken: there is {}",
            path.display()
        ));
    }
    let places = PLACES.map(|place| place.replace("heat1d", name));
    let mut parts: Vec<String> = places
        .into_iter()
        .filter(|place| root.join(place).exists())
        .collect();
    parts.extend(with_line.iter().map(|list| format!("its line in {list}")));
    CommandError::Input(format!(
        "new-lab {name}: there is a part of a lab of this name: {}; if a call that was killed left it, remove it and \
         call again, otherwise take another name",
        parts.join(", ")
    ))
}

/// The files and folders that hold all of [`FILES`].
const PLACES: [&str; 5] = [
    "crates/plan/src/heat1d.rs",
    "kernels-gpu/src/heat1d.rs",
    "host/src/heat1d.rs",
    "kernels-gpu/solutions/heat1d",
    "labs/heat1d",
];

/// Rust's reserved words of lowercase letters.
pub(crate) const KEYWORDS: [&str; 50] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while",
];

/// The name of the lab's type: `Heat1d` for `heat1d`.
fn type_name(name: &str) -> String {
    let mut type_name = name.to_owned();
    type_name[..1].make_ascii_uppercase();
    type_name
}

/// Writes all files, or none.
fn write(changes: &[Change]) -> Result<(), CommandError> {
    let mut files = OutputFiles::default();
    for change in changes {
        files.add(&change.path, &change.new)?;
    }
    Ok(files.finish()?)
}

fn read(path: &Path) -> Result<String, CommandError> {
    own_text(path).map_err(|error| {
        let why = unreadable(&error);
        CommandError::Input(format!("{}: {why}", path.display()))
    })
}
