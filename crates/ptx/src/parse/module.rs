//! Directives at the top level: variables and functions among them.

use super::cursor::{Cursor, Result};
use super::{statement, variable};
use crate::error::{ErrorKind, Problem};
use crate::lex::Tok;
use crate::syntax::{Function, Item, Linkage, ModuleSyntax, Name};

pub(super) fn module<'a>(c: &mut Cursor<'_, 'a>) -> Result<ModuleSyntax<'a>> {
    let mut module = ModuleSyntax {
        version: version(c)?,
        ..ModuleSyntax::default()
    };
    loop {
        match c.tok() {
            Tok::End => return Ok(module),
            Tok::Dot("target") => target(c, &mut module.target)?,
            Tok::Dot("address_size") => address_size(c)?,
            Tok::Dot("alias") => module.aliases.push(alias(c)?),
            Tok::Dot("file") => module.files.push(file(c)?),
            Tok::Dot("loc") => {
                statement::loc(c)?;
            }
            Tok::Dot("section") => section(c)?,
            Tok::Dot("pragma") => {
                c.pragma()?;
            }
            Tok::Dot(_) => item(c, &mut module)?,
            Tok::Punct(';') => {
                c.bump();
            }
            _ => return Err(c.expected("a directive")),
        }
    }
}

/// `.target name, ..`.
pub(super) fn target<'a>(c: &mut Cursor<'_, 'a>, into: &mut Vec<&'a str>) -> Result<()> {
    c.bump();
    loop {
        let target = c.word("a target architecture")?;
        known_target(target)?;
        into.push(target.text);
        if !c.eat(',') {
            return Ok(());
        }
    }
}

/// `.address_size 64`.
pub(super) fn address_size(c: &mut Cursor<'_, '_>) -> Result<()> {
    c.bump();
    let pos = c.pos();
    match c.int_u32("64")? {
        64 => Ok(()),
        32 => {
            let message = "modules with 32-bit addresses are not supported, as on devices from \
                           sm_90 on; compile for 64-bit addresses (`nvcc -m64`)";
            Err(Problem::invalid(pos, message))
        }
        bits => {
            let message = format!("address size {bits}: expected 64");
            Err(Problem::invalid(pos, message))
        }
    }
}

/// `.alias name, function;`.
pub(super) fn alias<'a>(c: &mut Cursor<'_, 'a>) -> Result<(Name<'a>, Name<'a>)> {
    c.bump();
    let name = c.word("a function name")?;
    c.punct(',')?;
    let function = c.word("a function name")?;
    c.punct(';')?;
    Ok((name, function))
}

/// `.version major.minor`: lexed as a decimal, so the digits are read from the text.
pub(super) fn version(c: &mut Cursor<'_, '_>) -> Result<(u32, u32)> {
    if !c.eat_dot("version") {
        return Err(c.expected("`.version`"));
    }
    let token = c.token();
    let text = c.text(token.start, token.end);
    let version: (u32, u32) = text
        .split_once('.')
        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)))
        .ok_or_else(|| c.expected("a version such as `8.3`"))?;
    if !VERSIONS
        .iter()
        .any(|&(major, last)| version.0 == major && version.1 <= last)
    {
        let message = format!("PTX has no version {text}; compilers of today write 8.x or 9.x");
        return Err(Problem::invalid(c.pos(), message));
    }
    c.bump();
    Ok(version)
}

/// The major versions of PTX, and the last minor one of each (PTX ISA, "Release Notes"). Of 9, more
/// are to come.
const VERSIONS: [(u32, u32); 9] = [
    (1, 5),
    (2, 3),
    (3, 2),
    (4, 3),
    (5, 1),
    (6, 5),
    (7, 8),
    (8, 8),
    (9, 9),
];

/// The architectures, without the letter of those that are for one GPU (`a`) or its family (`f`)
/// only, and the other words of a `.target` (PTX ISA, "PTX Module Directives").
const ARCHITECTURES: [u32; 31] = [
    10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89,
    90, 100, 101, 103, 110, 120, 121,
];
const OPTIONS: [&str; 4] = [
    "debug",
    "map_f64_to_f32",
    "texmode_independent",
    "texmode_unified",
];

/// Checks that there is such a target.
fn known_target(target: Name) -> Result<()> {
    let architecture = target.text.strip_prefix("sm_").and_then(|number| {
        let digits = number.trim_end_matches(['a', 'f']);
        let has_letter = digits.len() < number.len();
        let known = |a: &u32| a.to_string() == digits && (!has_letter || *a >= 90);
        (number.len() - digits.len() < 2).then(|| ARCHITECTURES.iter().find(|a| known(a)))?
    });
    if architecture.is_some() || OPTIONS.contains(&target.text) {
        return Ok(());
    }
    let message = format!(
        "`{}` is not a target of PTX; an architecture such as `sm_90` is expected",
        target.text
    );
    Err(Problem::invalid(target.pos, message))
}

/// `.file number "path" [, time, size]`.
pub(super) fn file<'a>(c: &mut Cursor<'_, 'a>) -> Result<(u32, &'a str)> {
    c.bump();
    let number = c.int_u32("a file number")?;
    let Tok::Str(path) = c.tok() else {
        return Err(c.expected("a path in quotes"));
    };
    c.bump();
    while c.eat(',') {
        c.int("a number")?;
    }
    Ok((number, path))
}

/// `.section name { .. }`: debug information, not read.
pub(super) fn section(c: &mut Cursor<'_, '_>) -> Result<()> {
    c.bump();
    while matches!(
        c.tok(),
        Tok::Dot(_) | Tok::Word(_) | Tok::Punct(',') | Tok::Str(_)
    ) {
        c.bump();
    }
    c.skip_braces()
}

/// A variable or a function, behind its linkage.
fn item<'a>(c: &mut Cursor<'_, 'a>, module: &mut ModuleSyntax<'a>) -> Result<()> {
    let linkage = linkage(c);
    match c.tok() {
        Tok::Dot("func" | "entry") => {
            module.items.push(Item::Function(function(c)?));
            Ok(())
        }
        Tok::Dot("global" | "const" | "shared") => {
            let is_extern = linkage == Linkage::Extern;
            variable::declaration(c, is_extern, |v| module.items.push(Item::Variable(v)))
        }
        _ => Err(c.expected(AFTER_LINKAGE)),
    }
}

/// The directives of an item, behind those of its linkage.
pub(super) const AFTER_LINKAGE: &str = "`.func`, `.entry`, `.global`, `.const` or `.shared`";

/// The linking directives in front of an item, any number of them.
pub(super) fn linkage(c: &mut Cursor<'_, '_>) -> Linkage {
    let mut linkage = Linkage::Private;
    loop {
        let found = match c.tok() {
            Tok::Dot("extern") => Linkage::Extern,
            Tok::Dot("visible") => Linkage::Visible,
            Tok::Dot("weak") => Linkage::Weak,
            Tok::Dot("common") => Linkage::Common,
            _ => return linkage,
        };
        if linkage != Linkage::Extern {
            linkage = found;
        }
        c.bump();
    }
}

/// A `.func` or `.entry`, from that keyword to its body's end or its semicolon.
pub(super) fn function<'a>(c: &mut Cursor<'_, 'a>) -> Result<Function<'a>> {
    let keyword = c.bump();
    let is_kernel = keyword.tok == Tok::Dot("entry");
    let (mut function, has_body) = declared_function(c, is_kernel)?;
    function.start = (keyword.start, keyword.pos);
    if c.tok() == Tok::Body {
        c.bump();
        function.body = Some(Vec::new());
    } else if has_body {
        let open = c.mark();
        function.body = Some(match statement::body(c) {
            Ok(body) => body,
            // A wrong body costs its function only, if its end can be found.
            Err(problem) => {
                c.reset(open);
                if c.skip_braces().is_err() {
                    return Err(problem);
                }
                function.refused = Some(problem);
                Vec::new()
            }
        });
    }
    Ok(function)
}

/// A `.func` or `.entry`, from behind that keyword to the brace of its body, or to behind its
/// semicolon; whether it has a body.
pub(super) fn declared_function<'a>(
    c: &mut Cursor<'_, 'a>,
    is_kernel: bool,
) -> Result<(Function<'a>, bool)> {
    c.attributes()?;
    let returns = variable::parameters(c)?;
    let name = c.word("a function name")?;
    let params = variable::parameters(c)?;
    let mut function = Function {
        name,
        is_kernel,
        params,
        returns,
        max_threads: None,
        required_threads: None,
        min_blocks: None,
        max_registers: None,
        required_cluster: None,
        max_cluster_blocks: None,
        no_return: false,
        body: None,
        refused: None,
        start: (0, name.pos),
        sketch: None,
    };
    loop {
        match c.tok() {
            // Compilers of old wrote declarations without `;`.
            Tok::Dot("func" | "entry" | "global" | "const" | "visible" | "extern" | "weak")
                if !is_kernel =>
            {
                return Ok((function, false));
            }
            Tok::Dot(directive) => {
                performance(c, directive, &mut function)?;
            }
            Tok::Punct(';') => {
                c.bump();
                return Ok((function, false));
            }
            Tok::Punct('{') | Tok::Body => return Ok((function, true)),
            _ => return Err(c.expected("`{`, `;` or a performance directive")),
        }
    }
}

/// A directive between a signature and its body.
fn performance<'a>(
    c: &mut Cursor<'_, 'a>,
    directive: &'a str,
    function: &mut Function<'a>,
) -> Result<()> {
    if directive == "pragma" {
        return c.pragma().map(drop);
    }
    let pos = c.pos();
    c.bump();
    match directive {
        "maxntid" => function.max_threads = Some(dimensions(c)?),
        "reqntid" => function.required_threads = Some(dimensions(c)?),
        "minnctapersm" => function.min_blocks = Some(c.int_u32("a number of blocks")?),
        "maxnreg" => function.max_registers = Some(c.int_u32("a number of registers")?),
        "noreturn" => function.no_return = true,
        // Without meaning for execution on one block at a time.
        "maxnctapersm" | "abi_preserve" | "abi_preserve_control" => {
            c.int("a number")?;
        }
        "explicitcluster" | "blocksareclusters" | "unified" => {}
        "reqnctapercluster" => function.required_cluster = Some(dimensions(c)?),
        "maxclusterrank" => function.max_cluster_blocks = Some(c.int_u32("a number of blocks")?),
        _ => {
            return Err(Problem::new(
                pos,
                ErrorKind::UnsupportedDirective(directive.to_string()),
            ));
        }
    }
    Ok(())
}

/// One to three extents; the missing ones are 1.
fn dimensions(c: &mut Cursor<'_, '_>) -> Result<[u32; 3]> {
    let mut dims = [1; 3];
    for (i, dim) in dims.iter_mut().enumerate() {
        if i > 0 && !c.eat(',') {
            break;
        }
        *dim = c.int_u32("a number of threads")?;
    }
    Ok(dims)
}
