//! Panics of kernels on a GPU.
//!
//! The driver says of a trap that there was one, and not where. So two more things are said: which
//! kernels of the plan can trap, by their PTX, with the lines; and of a module whose panics have
//! messages (`cuda_builder`'s `Panics::Message`), the message of the first panic. The kernel writes
//! it to memory of the host's, which outlives the context that the trap destroys.

use std::ffi::CStr;
use std::fmt;

use cust::memory::LockedBuffer;
use cust::sys::{CUdeviceptr, CUmodule};
use ptx_emu::{CodePosition, Executable, SourcePosition};

use super::driver::{call, check};
use device::DriverError;

/// The variable of such a module that holds the address of a [`Mailbox`], as `cuda_std` names it.
const VARIABLE: &CStr = c"__cuda_std_panic";

// The layout of the memory, in words of 32 bits, as `cuda_std::panic` has it.
const STATE: usize = 0;
const TEXT_BYTES: usize = 1;
const LINE: usize = 2;
const BLOCK: usize = 3;
const THREAD: usize = 6;
const TEXT: usize = 9;

/// Room for the name of the file and the message. The kernel cuts longer ones.
const TEXT_WORDS: usize = 150;

/// The state once all is written.
const WRITTEN: u32 = 2;

/// Memory of the host's that a module's first panic is written to.
#[derive(Debug)]
pub struct Mailbox(LockedBuffer<u32>);

impl Mailbox {
    /// Gives the module of this PTX a mailbox; `None` if its panics have no messages. The module's
    /// context is current.
    ///
    /// # Safety
    ///
    /// The module is loaded, and its kernels run no longer than the mailbox lives.
    pub unsafe fn new(module: CUmodule, ptx: &str) -> Result<Option<Mailbox>, DriverError> {
        // A driver call that fails would be an error to compute-sanitizer.
        if !VARIABLE.to_str().is_ok_and(|name| ptx.contains(name)) {
            return Ok(None);
        }
        // SAFETY: the caller's.
        let variable = unsafe { call::module_variable(module, VARIABLE) }?;
        // The author of the module may have given another variable this name.
        let Some((variable, _)) = variable.filter(|(_, bytes)| *bytes == size_of::<u64>()) else {
            return Ok(None);
        };
        let memory = LockedBuffer::new(&0, TEXT + TEXT_WORDS);
        let mut memory = check("cuMemAllocHost", memory)?;
        memory[TEXT_BYTES] = 4 * TEXT_WORDS as u32;
        // Page-locked memory has the same address on host and device.
        let address = memory.as_ptr() as CUdeviceptr;
        // SAFETY: the variable has as many bytes, and no kernel of the module runs yet.
        unsafe { call::write(variable, &address.to_le_bytes()) }?;
        Ok(Some(Mailbox(memory)))
    }

    /// The first panic, if there was one. Nothing runs on the device.
    pub fn panic(&self) -> Option<Panic> {
        // SAFETY: `at` is less than the number of words, and they live as long as `self`. The
        // device writes them no more, but the compiler must not know what they were before.
        let word = |at: usize| unsafe { self.0.as_ptr().add(at).read_volatile() };
        let words = |at: usize| [word(at), word(at + 1), word(at + 2)];
        let text: Vec<u8> = (TEXT..self.0.len())
            .flat_map(|at| word(at).to_le_bytes())
            .collect();
        let mut texts = text.split(|byte| *byte == 0).map(|text| {
            // A terminal obeys some characters.
            String::from_utf8_lossy(text).replace(char::is_control, " ")
        });
        let mut next = || texts.next().unwrap_or_default();
        (word(STATE) == WRITTEN).then(|| Panic {
            file: next(),
            message: next(),
            line: word(LINE),
            block: words(BLOCK),
            thread: words(THREAD),
        })
    }
}

/// A panic of a kernel with its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panic {
    pub message: String,
    pub file: String,
    pub line: u32,
    pub block: [u32; 3],
    pub thread: [u32; 3],
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        let Panic {
            message,
            file,
            line,
            ..
        } = self;
        write!(
            f,
            "it panicked at {file}:{line}: {message}; block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz})"
        )
    }
}

impl Panic {
    /// Those of the kernels that have code of the panic's line: in their own body or, if it is in
    /// none, in functions that they call. Formatting calls any function, as far as PTX tells.
    pub fn kernels<'k, 'e>(
        &self,
        executable: &'e Executable,
        kernels: &'k [String],
    ) -> Vec<&'k str> {
        // The file's name may be absolute here and relative there.
        let is_here = |at: &SourcePosition| {
            let (a, b) = (&*at.file, &*self.file);
            at.line == self.line && (a.ends_with(b) || b.ends_with(a))
        };
        let has_line = |at: &&CodePosition| {
            let CodePosition {
                source,
                called_at,
                near,
                ..
            } = at;
            [source, called_at, near].into_iter().flatten().any(is_here)
        };
        let with_line = |of_kernel: &dyn Fn(&str) -> Vec<&'e CodePosition>| -> Vec<&'k str> {
            let kernels = kernels.iter().map(String::as_str);
            let have_it = kernels.filter(|kernel| of_kernel(kernel).iter().any(has_line));
            have_it.collect()
        };
        let own = with_line(&|kernel| body(executable, kernel));
        if own.is_empty() {
            with_line(&|kernel| executable.positions(kernel))
        } else {
            own
        }
    }
}

/// The positions of a kernel's own instructions.
fn body<'e>(executable: &'e Executable, kernel: &str) -> Vec<&'e CodePosition> {
    let program = executable.program();
    let start = program.kernel(kernel).map_or(0, |kernel| kernel.pos.line);
    let after = program.lines().skip(start as usize);
    let end = start + after.take_while(|line| !line.starts_with('}')).count() as u32;
    let mut positions = executable.positions(kernel);
    positions.retain(|at| (start..=end).contains(&at.ptx_line));
    positions
}

/// Each of the kernels that can trap, and the lines where, as a text: "`pick` at kernels.rs:7".
pub fn traps(executable: &Executable, kernels: &[String]) -> Vec<String> {
    let lines: Vec<&str> = executable.program().lines().collect();
    let is_trap = |at: &&&CodePosition| {
        let text = lines.get((at.ptx_line as usize).wrapping_sub(1));
        text.is_some_and(|text| text.contains("trap;") || text.contains("__assertfail"))
    };
    let all = kernels.iter().filter_map(|kernel| {
        let positions = executable.positions(kernel);
        let mut traps = positions.iter().filter(is_trap).peekable();
        traps.peek()?;
        let place = |at: &&CodePosition| {
            at.source
                .as_ref()
                .or(at.near.as_ref())
                .map(ToString::to_string)
        };
        let mut places: Vec<String> = traps.filter_map(place).collect();
        places.sort();
        places.dedup();
        Some(match &places[..] {
            [] => format!("`{kernel}`"),
            places => format!("`{kernel}` at {}", places.join(" or ")),
        })
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
        .func (.param .b32 r) helper(.param .b32 a)\n{\n\t.loc 1 30 3\n\ttrap;\n\tret;\n}\n\
        .visible .entry calm()\n{\n\t.loc 1 5 3\n\tret;\n}\n\
        .visible .entry pick(.param .u32 n)\n{\n\t.reg .pred %p<2>;\n\t.reg .b32 %r<2>;\n\
        \tld.param.b32 %r1, [n];\n\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 bra $over;\n\t.loc 1 12 5\n\ttrap;\n\
        $over:\n\t.loc 1 13 5\n\tret;\n}\n\
        \t.file 1 \"src/lib.rs\"\n";

    #[test]
    fn kernels_that_can_trap_are_named_with_their_lines() {
        let executable = Executable::parse(TEXT).unwrap();
        let kernels = ["calm".to_owned(), "pick".to_owned()];
        assert_eq!(traps(&executable, &kernels), ["`pick` at src/lib.rs:12"]);
        let panic = |line| Panic {
            message: "index out of bounds".to_owned(),
            file: "/home/me/k/src/lib.rs".to_owned(),
            line,
            block: [0, 1, 0],
            thread: [9, 0, 0],
        };
        assert_eq!(panic(13).kernels(&executable, &kernels), ["pick"]);
        assert_eq!(panic(14).kernels(&executable, &kernels), [""; 0]);
        assert_eq!(
            panic(13).to_string(),
            "it panicked at /home/me/k/src/lib.rs:13: index out of bounds; block (0, 1, 0), thread (9, 0, 0)"
        );
    }
}
