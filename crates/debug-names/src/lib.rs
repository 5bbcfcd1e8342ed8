//! The names that a kernel's source gives its arguments and its registers, from the DWARF that PTX
//! has where it is compiled for a debugger: by `nvcc -G`, or Numba's `debug=True`. All strings are
//! in `.debug_info` itself.
//!
//! # Limits
//!
//! Variables of functions that are inlined, and those in memory, have no names here.

use std::collections::HashMap;

use gimli::{
    AttributeValue, DW_AT_MIPS_linkage_name, DW_AT_linkage_name, DW_AT_location, DW_AT_name,
    DW_TAG_formal_parameter, DW_TAG_subprogram, DW_TAG_variable, DebugAbbrev, DebugInfo,
    DebuggingInformationEntry, DwAt, EndianSlice, LittleEndian, Reader,
};

type Bytes<'a> = EndianSlice<'a, LittleEndian>;
type Entry<'a> = DebuggingInformationEntry<Bytes<'a>>;

/// `DW_OP_regx`: the variable is in the register of this number.
const REGISTER: u8 = 0x90;

/// The arguments of a kernel, in their order; one without a name is an empty string. `None` if the
/// text has no debug information of the kernel.
pub fn arguments(program: &ptx::Program, kernel: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let is_there = visit(program, kernel, |entry, depth| {
        if depth == 1 && entry.tag() == DW_TAG_formal_parameter {
            names.push(text(entry, DW_AT_name).unwrap_or_default());
        }
    })?;
    is_there.then_some(names)
}

/// The variables of a kernel by the registers that they are in, at any time: `%r5` is `row`. Empty
/// if the text has no debug information of the kernel.
///
/// ```
/// let program = ptx::Program::read(".version 8.0 .target sm_90", |_| Ok(()))?;
/// assert!(debug_names::variables(&program, "scale").is_empty());
/// # Ok::<(), ptx::Error>(())
/// ```
pub fn variables(program: &ptx::Program, kernel: &str) -> HashMap<String, String> {
    let lists = program.section("debug_loc").unwrap_or_default();
    let mut names = HashMap::new();
    visit(program, kernel, |entry, _| {
        if ![DW_TAG_variable, DW_TAG_formal_parameter].contains(&entry.tag()) {
            return;
        }
        let (Some(name), Some(location)) =
            (text(entry, DW_AT_name), entry.attr_value(DW_AT_location))
        else {
            return;
        };
        let registers = match location {
            AttributeValue::Block(bytes) => register(bytes.slice()).into_iter().collect(),
            AttributeValue::Exprloc(expression) => {
                register(expression.0.slice()).into_iter().collect()
            }
            AttributeValue::SecOffset(at) => listed(&lists, at),
            AttributeValue::LocationListsRef(at) => listed(&lists, at.0),
            AttributeValue::Data4(at) => listed(&lists, at as usize),
            _ => Vec::new(),
        };
        for register in registers {
            names.entry(register).or_insert_with(|| name.clone());
        }
    });
    names
}

/// Visits the entries of a kernel, each with its depth below that of the kernel. Whether there are
/// any; `None` if the text has none that can be read.
fn visit(
    program: &ptx::Program,
    kernel: &str,
    mut visit: impl FnMut(&Entry<'_>, isize),
) -> Option<bool> {
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
        while let Some(entry) = entries.next_dfs().ok()? {
            match inside {
                None if is_function(entry, kernel) => inside = Some(entry.depth()),
                Some(depth) if entry.depth() <= depth => break,
                Some(depth) => visit(entry, entry.depth() - depth),
                None => {}
            }
        }
        if inside.is_some() {
            return Some(true);
        }
    }
    Some(false)
}

/// Whether an entry is of the function that has this name in PTX.
fn is_function(entry: &Entry<'_>, name: &str) -> bool {
    let is = |attribute| text(entry, attribute).is_some_and(|text| text == name);
    entry.tag() == DW_TAG_subprogram
        && [DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name]
            .into_iter()
            .any(is)
}

fn text(entry: &Entry<'_>, attribute: DwAt) -> Option<String> {
    match entry.attr_value(attribute)? {
        AttributeValue::String(text) => Some(text.to_string_lossy().into_owned()),
        _ => None,
    }
}

/// The registers of a list of locations: two addresses, the length of an expression, and it; two
/// zeros are the end.
fn listed(lists: &[u8], at: usize) -> Vec<String> {
    let mut rest = lists.get(at..).unwrap_or_default();
    let mut found = Vec::new();
    while let Some((addresses, behind)) = rest.split_at_checked(16) {
        if addresses.iter().all(|byte| *byte == 0) {
            break;
        }
        let Some(([low, high], behind)) = behind.split_first_chunk() else {
            break;
        };
        let length = usize::from(u16::from_le_bytes([*low, *high]));
        let Some((expression, behind)) = behind.split_at_checked(length) else {
            break;
        };
        found.extend(register(expression));
        rest = behind;
    }
    found
}

/// The register that an expression names. Its number is its name: the characters are the digits, to
/// the base of 256, the first one the highest.
fn register(expression: &[u8]) -> Option<String> {
    let (&REGISTER, digits) = expression.split_first()? else {
        return None;
    };
    let mut digits = Bytes::new(digits, LittleEndian);
    let number = digits.read_uleb128().ok()?;
    let name = number.to_be_bytes();
    let name = name.iter().skip_while(|byte| **byte == 0).copied();
    String::from_utf8(name.collect()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_have_their_names_for_numbers() {
        assert_eq!(register(&[0x90, 177, 228, 149, 1]).as_deref(), Some("%r1"));
        assert_eq!(
            register(&[0x90, 178, 226, 200, 171, 2]).as_deref(),
            Some("%r12")
        );
        assert_eq!(register(&[3, 0, 0]), None);
        assert_eq!(register(&[]), None);
    }

    /// A kernel with an argument in a register, a variable in two after each other, and one in
    /// memory, as nvcc writes them; and another kernel.
    const TEXT: &str = ".version 8.0
        .target sm_90, debug
        .address_size 64
        .section .debug_loc {
            .b64 0, 0
            .b64 $L__a, $L__b
            .b8 5, 0, 144, 177, 228, 149, 1
            .b64 $L__b, $L__c
            .b8 5, 0, 144, 178, 228, 149, 1
            .b64 0, 0
        }
        .section .debug_abbrev {
            .b8 1, 17, 1, 0, 0
            .b8 2, 46, 1, 3, 8, 0, 0
            .b8 3, 5, 0, 2, 10, 3, 8, 0, 0
            .b8 4, 52, 0, 2, 6, 3, 8, 0, 0
            .b8 5, 52, 0, 2, 10, 3, 8, 0, 0
            .b8 0
        }
        .section .debug_info {
            .b32 56
            .b16 2
            .b32 .debug_abbrev
            .b8 8
            .b8 1
            .b8 2, 107, 0
            .b8 3, 5, 144, 179, 204, 149, 1, 110, 0
            .b8 4
            .b32 .debug_loc+16
            .b8 97, 116, 0
            .b8 5, 9, 3
            .b64 $L__place
            .b8 109, 0
            .b8 0
            .b8 2, 106, 0
            .b8 3, 5, 144, 180, 204, 149, 1, 120, 0
            .b8 0
            .b8 0
        }";

    #[test]
    fn variables_are_known_by_their_registers() {
        let program = ptx::Program::read(TEXT, |_| Ok(())).unwrap();
        let mut found: Vec<_> = variables(&program, "k").into_iter().collect();
        found.sort();
        let expected = [("%f3", "n"), ("%r1", "at"), ("%r2", "at")];
        assert_eq!(
            found,
            expected.map(|(register, name)| (register.to_owned(), name.to_owned()))
        );
        assert_eq!(arguments(&program, "k"), Some(vec!["n".to_owned()]));
        assert_eq!(variables(&program, "j")["%f4"], "x");
        assert_eq!(arguments(&program, "absent"), None);
    }
}
