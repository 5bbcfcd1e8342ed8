//! The parts of device code that is linked: PTX out of texts, fat binaries, objects and libraries.
//!
//! Of CUDA's own library, `libcudadevrt`, nothing is taken: the emulator has the functions of its
//! that it can execute, and refuses the others by name.

use ptx::{LinkError, LinkPart};
use ptx_emu::{Provider, provider};

use crate::fat_binary::{self, FatBinary};
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
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.texts.len()
    }

    /// Adds the content of a file, of whatever kind.
    pub(crate) fn add(&mut self, name: &str, content: &[u8]) -> Result<(), NoPtx> {
        let is_library = content.starts_with(LIBRARY);
        if !is_library && !content.starts_with(ELF) {
            if content.starts_with(&fat_binary::MAGIC.to_le_bytes()) {
                return self.add_fat_binary(name, content);
            }
            return self.push(name, fat_binary::of_text(content), false);
        }
        let found = fat_binary::found_in(content);
        if found.is_empty() && !is_library {
            return Err(NoPtx::MachineCode(Vec::new()));
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
