//! Where a program of Python is: its interpreter's frames, read as they lie.
//!
//! To ask the interpreter takes its lock, which a thread may hold that waits for the driver. It is
//! not needed: a thread's own frames stay as they are while that thread is in a call, and they keep
//! their code alive. How a frame lies differs by version (`Include/internal/pycore_frame.h`,
//! `Include/cpython/pystate.h`); the rest is asked by functions that only read, or is in the
//! members of the type `code`. Versions that are not known here, and those without a global lock,
//! have no places.

use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;

use super::frame::{Frame, Line};

/// Frames that are looked at, from the innermost on.
const DEPTH: usize = 64;
/// Characters of a name that are read.
const LONGEST: isize = 4096;

/// `tp_basicsize` and `tp_members` of a type, and the type of an object.
const BASIC_SIZE: usize = 32;
const MEMBERS: usize = 240;
const TYPE: usize = 8;
/// A `PyMemberDef`, and the offset in it.
const MEMBER_BYTES: usize = 40;
const MEMBER_OFFSET: usize = 16;

/// How a version's frames lie, in bytes.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// From the thread's state to the innermost frame: each is an offset of a pointer.
    innermost: &'static [usize],
    code: usize,
    previous: usize,
    /// The instruction of the frame; before 3.11 the frame is an object that is asked for its line.
    instruction: Option<usize>,
}

impl Layout {
    /// Of a final release, by what `Py_GetVersion` says: `3.13.5 (main, ...`.
    fn of(version: &str) -> Option<Layout> {
        if version.contains("free-threading") {
            return None;
        }
        let mut numbers = version.split(' ').next()?.split('.');
        let (3, minor) = (numbers.next()?.parse::<u32>().ok()?, numbers.next()?) else {
            return None;
        };
        // One that is not final has a letter here: 3.15.0b1.
        let patch = numbers.next()?;
        patch.trim_end_matches('+').parse::<u32>().ok()?;
        let frame = |innermost, code, previous| Layout {
            innermost,
            code,
            previous,
            instruction: Some(56),
        };
        Some(match minor.parse::<u32>().ok()? {
            9 | 10 => Layout {
                innermost: &[24],
                code: 32,
                previous: 24,
                instruction: None,
            },
            11 => frame(&[56, 8], 32, 48),
            12 => frame(&[56, 0], 0, 8),
            13 | 14 => frame(&[72], 0, 8),
            _ => return None,
        })
    }
}

/// The interpreter of this process.
struct Interpreter {
    layout: Layout,
    state: unsafe extern "C" fn() -> usize,
    code_line: unsafe extern "C" fn(usize, c_int) -> c_int,
    frame_line: unsafe extern "C" fn(usize) -> c_int,
    length: unsafe extern "C" fn(usize) -> isize,
    character: unsafe extern "C" fn(usize, isize) -> u32,
    /// The type of code, the size of its objects, and where a file's name and its own lie in them.
    code_type: usize,
    code_bytes: usize,
    file: usize,
    name: usize,
}

/// The word at an address.
///
/// # Safety
///
/// There is one.
unsafe fn word(at: usize) -> usize {
    // SAFETY: as the caller states.
    unsafe { (at as *const usize).read() }
}

/// The address of an exported name; 0 where nothing has it.
fn exported(name: &CStr) -> usize {
    // SAFETY: a lookup by a string that ends with a zero.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) as usize }
}

impl Interpreter {
    /// That of this process. A process that has none yet may have one at a later call.
    fn get() -> Option<&'static Interpreter> {
        static FOUND: OnceLock<Option<Interpreter>> = OnceLock::new();
        if let Some(found) = FOUND.get() {
            return found.as_ref();
        }
        let version = exported(c"Py_GetVersion");
        if version == 0 {
            return None;
        }
        FOUND.get_or_init(|| Interpreter::find(version)).as_ref()
    }

    fn find(version: usize) -> Option<Interpreter> {
        let address = |name| Some(exported(name)).filter(|address| *address != 0);
        let (state, code_line) = (
            address(c"PyGILState_GetThisThreadState")?,
            address(c"PyCode_Addr2Line")?,
        );
        let frame_line = address(c"PyFrame_GetLineNumber")?;
        let (length, character) = (
            address(c"PyUnicode_GetLength")?,
            address(c"PyUnicode_ReadChar")?,
        );
        let code_type = address(c"PyCode_Type")?;
        // SAFETY: the functions have had these types since 3.3, and `Py_GetVersion` gives a
        // constant text that ends with a zero.
        let mut found = unsafe {
            use std::mem::transmute;
            let version: unsafe extern "C" fn() -> *const c_char = transmute(version);
            Interpreter {
                layout: Layout::of(CStr::from_ptr(version()).to_str().ok()?)?,
                state: transmute::<usize, unsafe extern "C" fn() -> usize>(state),
                code_line: transmute::<usize, unsafe extern "C" fn(usize, c_int) -> c_int>(
                    code_line,
                ),
                frame_line: transmute::<usize, unsafe extern "C" fn(usize) -> c_int>(frame_line),
                length: transmute::<usize, unsafe extern "C" fn(usize) -> isize>(length),
                character: transmute::<usize, unsafe extern "C" fn(usize, isize) -> u32>(character),
                code_type,
                code_bytes: word(code_type + BASIC_SIZE),
                file: 0,
                name: 0,
            }
        };
        // SAFETY: the members of a built-in type are a table that ends with one without a name, and
        // a type's own fields lie alike in all versions with a layout.
        unsafe {
            let mut member = word(code_type + MEMBERS);
            while member != 0 && word(member) != 0 {
                let offset = word(member + MEMBER_OFFSET);
                match CStr::from_ptr(word(member) as *const c_char).to_bytes() {
                    b"co_filename" => found.file = offset,
                    // From 3.11 on, and behind the other.
                    b"co_name" | b"co_qualname" => found.name = offset,
                    _ => {}
                }
                member += MEMBER_BYTES;
            }
        }
        (found.file != 0 && found.name != 0).then_some(found)
    }

    /// The frames of this thread, from the innermost on: code, and line.
    fn frames(&self) -> impl Iterator<Item = (usize, c_int)> {
        let layout = self.layout;
        // SAFETY: it looks up a variable of the thread. A state, and frames that this thread is
        // in, lie as the version's layout says, and stay while the thread is in this call.
        let mut frame = unsafe {
            let state = (self.state)();
            let steps = layout.innermost.iter();
            steps.fold(
                state,
                |at, offset| if at == 0 { 0 } else { word(at + offset) },
            )
        };
        std::iter::from_fn(move || {
            while frame != 0 {
                let this = frame;
                // SAFETY: as above. An object's lowest bits may mark how it is referred to. What
                // has the type of code is code, which the frame keeps.
                unsafe {
                    let code = word(this + layout.code) & !7;
                    frame = word(this + layout.previous);
                    // Between calls from C there are frames without code.
                    if code == 0 || word(code + TYPE) != self.code_type {
                        continue;
                    }
                    let line = match layout.instruction {
                        Some(instruction) => {
                            let first = code + self.code_bytes;
                            let offset = word(this + instruction).wrapping_sub(first);
                            (self.code_line)(code, offset as c_int)
                        }
                        None => (self.frame_line)(this),
                    };
                    return Some((code, line));
                }
            }
            None
        })
        .take(DEPTH)
    }

    /// A text that code has.
    fn text(&self, code: usize, offset: usize) -> String {
        // SAFETY: code has a string there, and both functions only read it.
        unsafe {
            let text = word(code + offset);
            let length = (self.length)(text).min(LONGEST);
            (0..length)
                .filter_map(|index| char::from_u32((self.character)(text, index)))
                .collect()
        }
    }
}

/// Whether a file is of the interpreter or of an installed package, or is none.
fn is_foreign(file: &str) -> bool {
    file.starts_with('<')
        || ["/site-packages/", "/dist-packages/", "/lib/python3."]
            .iter()
            .any(|part| file.contains(part))
}

/// The innermost line of the program's own Python; that of a package where there is none.
pub(super) fn here() -> Option<Frame> {
    let interpreter = Interpreter::get()?;
    let mut innermost = None;
    for (code, line) in interpreter.frames() {
        let file = interpreter.text(code, interpreter.file);
        let is_own = !is_foreign(&file);
        if is_own || innermost.is_none() && !file.starts_with('<') {
            let frame = Frame {
                function: interpreter.text(code, interpreter.name),
                line: Some(Line {
                    file,
                    line: u32::try_from(line).ok()?,
                    column: 0,
                }),
            };
            if is_own {
                return Some(frame);
            }
            innermost = Some(frame);
        }
    }
    innermost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_is_of_final_releases_with_a_lock() {
        let is_known = |version: &str| Layout::of(version).is_some();
        assert!(is_known(
            "3.11.7 (main, May  9 2026, 07:35:25) [GCC 12.2.0]"
        ));
        assert!(is_known("3.14.10+ (main, Oct 26 2026)"));
        assert!(!is_known("3.15.0b1 (main, May  9 2026, 07:35:25)"));
        assert!(!is_known("3.14.0 free-threading build (main, Oct  7 2025)"));
        assert!(!is_known("2.7.18 (default, Apr 20 2020)"));
        assert!(!is_known(""));
    }

    #[test]
    fn files_of_packages_are_not_the_programs_own() {
        assert!(is_foreign("/usr/lib/python3.11/ctypes/__init__.py"));
        assert!(is_foreign(
            "/v/lib/python3.11/site-packages/numba/cuda/driver.py"
        ));
        assert!(is_foreign("<frozen runpy>"));
        assert!(!is_foreign("/home/me/train.py"));
    }
}
