//! The names of a kernel's arguments in its source, from debug information.

use gimli::{
    AttributeValue, DW_AT_MIPS_linkage_name, DW_AT_linkage_name, DW_AT_name,
    DW_TAG_formal_parameter, DW_TAG_subprogram, DebugAbbrev, DebugInfo, DebuggingInformationEntry,
    EndianSlice, LittleEndian,
};

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The arguments of a kernel, in their order; one without a name is an empty string. `None` if the
/// text has no debug information of the kernel. `nvcc -G` and Numba's `debug=True` write some, with
/// all strings in `.debug_info` itself.
pub(super) fn arguments(program: &ptx::Program, kernel: &str) -> Option<Vec<String>> {
    let abbreviations = program.section("debug_abbrev")?;
    let information = program.section("debug_info")?;
    let abbreviations = DebugAbbrev::new(&abbreviations, LittleEndian);
    let information = DebugInfo::new(&information, LittleEndian);
    let mut units = information.units();
    while let Ok(Some(unit)) = units.next() {
        let abbreviations = unit.abbreviations(&abbreviations).ok()?;
        let mut entries = unit.entries(&abbreviations);
        // Where the kernel's own entries are.
        let mut inside = None;
        let mut names = Vec::new();
        while let Some(entry) = entries.next_dfs().ok()? {
            match inside {
                None if is_function(entry, kernel) => inside = Some(entry.depth()),
                Some(depth) if entry.depth() <= depth => break,
                Some(depth)
                    if entry.depth() == depth + 1 && entry.tag() == DW_TAG_formal_parameter =>
                {
                    names.push(text(entry, DW_AT_name).unwrap_or_default());
                }
                _ => {}
            }
        }
        if inside.is_some() {
            return Some(names);
        }
    }
    None
}

/// Whether an entry is of the function that has this name in PTX.
fn is_function(entry: &DebuggingInformationEntry<Bytes<'_>>, name: &str) -> bool {
    let is = |attribute| text(entry, attribute).is_some_and(|text| text == name);
    entry.tag() == DW_TAG_subprogram
        && [DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name]
            .into_iter()
            .any(is)
}

fn text(entry: &DebuggingInformationEntry<Bytes<'_>>, attribute: gimli::DwAt) -> Option<String> {
    match entry.attr_value(attribute)? {
        AttributeValue::String(text) => Some(text.to_string_lossy().into_owned()),
        _ => None,
    }
}
