//! The parts of device code that is linked: PTX out of texts, fat binaries, objects and libraries.
//!
//! Of CUDA's own library, `libcudadevrt`, nothing is taken: the emulator has the functions of its
//! that it can execute, and refuses the others by name.

use ptx::{LinkError, LinkPart};
use ptx_emu::{Provider, provider};

use crate::fat_binary::{self, FatBinary};
use crate::machine_code::Origin;
use crate::no_ptx::NoPtx;

/// The first bytes of an ELF file, and of a library (`ar`).
const ELF: &[u8] = b"\x7fELF";
const LIBRARY: &[u8] = b"!<arch>\n";

/// Parts in the order in which they were added.
#[derive(Default)]
pub(crate) struct Parts {
    texts: Vec<Text>,
    has_device_runtime: bool,
    /// Members of libraries that have no PTX.
    lacking: Vec<String>,
}

struct Text {
    name: String,
    text: String,
    on_demand: bool,
}

impl Parts {
    /// None yet of a program whose own linker has taken what else there was, CUDA's device runtime
    /// among it.
    pub(crate) fn of_program() -> Parts {
        Parts {
            has_device_runtime: true,
            ..Parts::default()
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.texts.len()
    }

    /// Adds the content of a file, of whatever kind.
    pub(crate) fn add(&mut self, name: &str, content: &[u8]) -> Result<(), NoPtx> {
        let is_library = content.starts_with(LIBRARY);
        if is_library && name.ends_with("libcudadevrt.a") {
            self.has_device_runtime = true;
            return Ok(());
        }
        if !is_library && !content.starts_with(ELF) {
            if content.starts_with(&fat_binary::MAGIC.to_le_bytes()) {
                return self.add_fat_binary(name, content);
            }
            return self.push(name, fat_binary::of_text(content), false);
        }
        let found = fat_binary::found_in(content);
        if found.is_empty() && !is_library {
            let origin = Origin::of(content.as_ptr().cast());
            return Err(NoPtx::MachineCode(Vec::new(), origin));
        }
        for binary in found {
            let member = match binary.name() {
                Some(member) if is_library => format!("{name}({member})"),
                Some(member) => member.to_owned(),
                None => name.to_owned(),
            };
            if binary.is_device_runtime() {
                self.has_device_runtime = true;
            } else if is_library && binary.ptx().is_err() {
                self.lacking.push(member);
            } else {
                self.push(&member, binary.ptx(), is_library)?;
            }
        }
        Ok(())
    }

    /// Adds a fat binary; `name` is for one that has none.
    pub(crate) fn add_fat_binary(&mut self, name: &str, content: &[u8]) -> Result<(), NoPtx> {
        let binary = FatBinary::read(content)?;
        if binary.is_device_runtime() {
            self.has_device_runtime = true;
            return Ok(());
        }
        self.push(binary.name().unwrap_or(name), binary.ptx(), false)
    }

    fn push(
        &mut self,
        name: &str,
        text: Result<String, NoPtx>,
        on_demand: bool,
    ) -> Result<(), NoPtx> {
        let name = name.to_owned();
        let text = text.map_err(|reason| NoPtx::Part(name.clone(), Box::new(reason)))?;
        self.texts.push(Text {
            name,
            text,
            on_demand,
        });
        Ok(())
    }

    /// Links them to one text.
    pub(crate) fn link(&self) -> Result<String, NoPtx> {
        let parts = self.texts.iter().map(|part| LinkPart {
            name: &part.name,
            text: &part.text,
            on_demand: part.on_demand,
        });
        let parts: Vec<LinkPart<'_>> = parts.collect();
        let is_provided = |name: &str| match provider(name) {
            Some(Provider::Driver) => true,
            Some(Provider::DeviceRuntime) => self.has_device_runtime,
            None => false,
        };
        ptx::link(&parts, is_provided).map_err(|error| NoPtx::Link(self.explained(&error)))
    }

    /// The error, and the way out of it.
    fn explained(&self, error: &LinkError) -> String {
        let mut told = error.to_string();
        let LinkError::Undefined { symbols } = error else {
            return told;
        };
        let is_runtime = |name: &str| provider(name) == Some(Provider::DeviceRuntime);
        if symbols.iter().any(|(symbol, _)| is_runtime(symbol)) {
            told += "\nCUDA's device runtime has it: link libcudadevrt.a too (nvcc -lcudadevrt)";
        }
        if !self.lacking.is_empty() {
            let lacking = self.lacking.join(", ");
            told += &format!("\nwithout PTX, and so not linked: {lacking}");
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fat_binary::{ELF as MACHINE_CODE, PTX, fat_binary};

    /// A text with this body.
    fn text(body: &str) -> String {
        format!(".version 8.0\n.target sm_80\n.address_size 64\n{body}\n")
    }

    /// The fat binary of a text.
    fn of_text(body: &str) -> Vec<u8> {
        fat_binary(&[(PTX, 80, 0, text(body).as_bytes(), 0)])
    }

    /// A file that begins so, and has these fat binaries in it.
    fn file(begin: &[u8], binaries: &[Vec<u8>]) -> Vec<u8> {
        let mut content = begin.to_vec();
        for binary in binaries {
            content.extend_from_slice(b"other things");
            content.extend_from_slice(binary);
        }
        content
    }

    #[test]
    fn parts_come_from_texts_objects_and_libraries() {
        let main = text(".extern .func f();\n.visible .entry k() { call.uni f; ret; }");
        let f = of_text(".extern .func g();\n.visible .func f() { call.uni g; ret; }");
        let (g, unused) = (
            of_text(".visible .func g() { ret; }"),
            of_text(".visible .entry u() { ret; }"),
        );
        let machine = fat_binary(&[(MACHINE_CODE, 90, 0, b"\x7fELF", 0)]);
        let mut parts = Parts::default();
        parts.add("main.ptx", main.as_bytes()).unwrap();
        parts.add("f.fatbin", &f).unwrap();
        let library = [unused.clone(), machine.clone()];
        parts.add("lib.a", &file(LIBRARY, &library)).unwrap();
        assert_eq!(
            parts.link().unwrap_err().to_string(),
            "undefined reference to `g` in `f.fatbin`\nwithout PTX, and so not linked: lib.a"
        );
        parts.add("g.o", &file(ELF, &[g])).unwrap();
        let linked = parts.link().unwrap();
        // Of a library only what is needed.
        assert_eq!(linked.matches(".entry").count(), 1, "{linked}");
        parts.add("u.o", &file(ELF, &[unused])).unwrap();
        assert_eq!(parts.link().unwrap().matches(".entry").count(), 2);
        let syncs = text(
            ".extern .func cudaCGSynchronize();\n.visible .entry s() { call.uni cudaCGSynchronize; ret; }",
        );
        parts.add("syncs.ptx", syncs.as_bytes()).unwrap();
        let hint =
            "link libcudadevrt.a too (nvcc -lcudadevrt)\nwithout PTX, and so not linked: lib.a";
        assert!(parts.link().unwrap_err().to_string().ends_with(hint));
        parts.add("/cuda/libcudadevrt.a", LIBRARY).unwrap();
        assert!(parts.link().is_ok());
        for (content, reason) in [
            (
                file(ELF, &[machine]),
                "its part `x`: it has machine code (SASS) for sm_90",
            ),
            (file(ELF, &[]), "it has machine code (SASS) and no PTX"),
            (
                b"hello, world".to_vec(),
                "its part `x`: it is not PTX and not a fat binary",
            ),
        ] {
            let told = parts.add("x", &content).unwrap_err().to_string();
            assert!(told.starts_with(reason), "{told}");
        }
    }
}
