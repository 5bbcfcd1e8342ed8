//! A linker of PTX texts: several in, one out.
//!
//! It edits tokens, so that what it does not have to change stays as it was written:
//!
//! - one header, of the newest version and architecture;
//! - of each symbol one definition (PTX ISA, "Linking Directives"), and no declaration behind it;
//! - private names that are taken get others, labels of debug sections too;
//! - source files have one table, to which every `.loc` refers;
//! - lines stay lines: a line of a part is as far from the part's beginning as it was.
//!
//! Sections of debuggers, except the names that `.loc` uses, are left out of several texts: they
//! count from beginnings that a linked text does not have.

mod error;
mod symbols;
mod target;
mod write;

pub use error::LinkError;

use crate::error::Problem;
use crate::parse::declarations::declarations;
use symbols::{Definitions, Text, symbols};

/// A text to be linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkPart<'a> {
    /// How errors call it: the file that it comes from.
    pub name: &'a str,
    /// PTX.
    pub text: &'a str,
    /// A member of a library: it is linked only if it defines a symbol that the others lack.
    pub on_demand: bool,
}

/// Links PTX texts to one. `is_provided` tells the functions that need no definition, since the
/// device has them: `vprintf`, for example.
///
/// ```
/// use ptx::{LinkPart, link};
///
/// let header = ".version 8.3\n.target sm_90\n.address_size 64\n";
/// let main = format!(
///     "{header}.extern .func step();
///      .visible .entry run() {{ call.uni step; ret; }}"
/// );
/// let step = format!("{header}.visible .func step() {{ ret; }}");
/// let part = |name, text| LinkPart { name, text, on_demand: false };
/// let linked = link(&[part("main.ptx", &main), part("step.ptx", &step)], |_| false)?;
/// assert_eq!(linked.matches(".version").count(), 1);
/// assert!(ptx::Program::read(&linked, |_| Ok(())).is_ok());
///
/// let error = link(&[part("main.ptx", &main)], |_| false).unwrap_err();
/// assert_eq!(error.to_string(), "undefined reference to `step` in `main.ptx`");
/// # Ok::<(), ptx::LinkError>(())
/// ```
///
/// # Errors
/// A part that is not PTX, symbols that no part defines or that two define, declarations that do
/// not agree, and architectures that no device has together.
pub fn link(
    parts: &[LinkPart<'_>],
    is_provided: impl Fn(&str) -> bool,
) -> Result<String, LinkError> {
    let mut texts = Vec::new();
    for part in parts {
        texts.push(read(part).map_err(|problem| LinkError::Text {
            part: part.name.to_owned(),
            error: Box::new(problem.into_error(part.text)),
        })?);
    }
    let definitions = Definitions::find(&mut texts, &is_provided)?;
    let header = target::header(&texts)?;
    Ok(write::write(&texts, &definitions, &header))
}

fn read<'a>(part: &LinkPart<'a>) -> Result<Text<'a>, Problem> {
    let tokens = crate::lex::lex(part.text)?;
    let declarations = declarations(part.text, &tokens)?;
    Ok(Text {
        name: part.name,
        source: part.text,
        symbols: symbols(&declarations),
        tokens,
        declarations,
        on_demand: part.on_demand,
    })
}
