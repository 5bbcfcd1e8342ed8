//! Takes the PTX out of what a program loads: a text, or a fat binary. Executables hold the address
//! of one in a wrapper.

use std::ffi::{CStr, c_void};

use crate::fat_binary::{FatBinary, MAGIC, of_text};
use crate::machine_code::Origin;
use crate::no_ptx::NoPtx;
use crate::parts::Parts;

/// `__fatBinC_Wrapper_t`.
const WRAPPER: u32 = 0x4662_43b1;
/// The beginning of a file of machine code.
const ELF_FILE: u32 = 0x464c_457f;
/// The line between the texts of a module that a program has linked (`text.rs` of crate
/// `emulated-compilers`).
const NEXT: &str = "\n// emulate: the next text of the module\n";

/// The PTX of an image.
///
/// # Safety
///
/// `image` points to a text that ends in a NUL, a fat binary, its wrapper, or an ELF file.
pub(crate) unsafe fn ptx(image: *const c_void) -> Result<String, NoPtx> {
    // SAFETY: every kind of image has at least four bytes, or ends in a NUL before.
    let magic = unsafe { magic(image.cast()) };
    match magic {
        Some(WRAPPER) => {
            // SAFETY: a wrapper has these fields.
            let (version, data, linked) = unsafe {
                let fields = image.cast::<u32>();
                let pointers = image.cast::<u8>().add(8).cast::<*const c_void>();
                let pointer = |index| pointers.add(index).read_unaligned();
                (fields.add(1).read_unaligned(), pointer(0), pointer(1))
            };
            match version {
                // SAFETY: the wrapper points to a fat binary.
                1 => unsafe { ptx(data) },
                // SAFETY: the wrapper points to the addresses of those that are linked.
                _ => unsafe { linked_ptx(linked.cast()) },
            }
        }
        // SAFETY: it is a fat binary.
        Some(MAGIC) => FatBinary::read(unsafe { whole(image.cast()) })?.ptx(),
        Some(ELF_FILE) => Err(NoPtx::MachineCode(Vec::new(), Origin::of(image))),
        _ => {
            // SAFETY: what is none of these is a text.
            let text = unsafe { CStr::from_ptr(image.cast()) };
            of_texts(text.to_bytes())
        }
    }
}

/// The bytes of a fat binary.
///
/// # Safety
///
/// There is one.
unsafe fn whole<'a>(start: *const u8) -> &'a [u8] {
    // SAFETY: a fat binary's header tells its size.
    unsafe {
        let header = start.add(6).cast::<u16>().read_unaligned();
        let rest = start.add(8).cast::<u64>().read_unaligned();
        std::slice::from_raw_parts(start, header as usize + rest as usize)
    }
}

/// The PTX of a program of `nvcc -rdc=true`: it has the fat binary of each of its source files, and
/// of the libraries' that it links, beside one of the linked machine code.
///
/// # Safety
///
/// They are addresses of fat binaries, and a null at the end; or there are none.
unsafe fn linked_ptx(mut addresses: *const *const u8) -> Result<String, NoPtx> {
    let mut parts = Parts::default();
    while !addresses.is_null() {
        // SAFETY: the last is null.
        let address = unsafe { addresses.read_unaligned() };
        if address.is_null() {
            break;
        }
        let name = format!("number {}", parts.count() + 1);
        // SAFETY: each is the address of a fat binary.
        parts.add_fat_binary(&name, unsafe { whole(address) })?;
        // SAFETY: this one was not the last.
        addresses = unsafe { addresses.add(1) };
    }
    parts.link()
}

/// The PTX of the content of a file.
pub(crate) fn of_file(content: &[u8]) -> Result<String, NoPtx> {
    match content
        .first_chunk()
        .map(|magic| u32::from_le_bytes(*magic))
    {
        Some(MAGIC) => FatBinary::read(content)?.ptx(),
        Some(ELF_FILE) => Err(NoPtx::MachineCode(
            Vec::new(),
            Origin::of(content.as_ptr().cast()),
        )),
        _ => of_texts(content),
    }
}

/// The PTX of a text, or of several that are to be linked.
fn of_texts(bytes: &[u8]) -> Result<String, NoPtx> {
    let text = of_text(bytes)?;
    if !text.contains(NEXT) {
        return Ok(text);
    }
    let mut parts = Parts::of_program();
    for part in text.split(NEXT) {
        let name = format!("number {}", parts.count() + 1);
        parts.add(&name, part.as_bytes())?;
    }
    parts.link()
}

/// The first four bytes; `None` if the text ends before.
///
/// # Safety
///
/// As [`ptx()`].
unsafe fn magic(image: *const u8) -> Option<u32> {
    let mut bytes = [0; 4];
    for (index, byte) in bytes.iter_mut().enumerate() {
        // SAFETY: no byte before was a NUL that ends a text. Of binary images, no magic number has
        // a NUL among its bytes.
        *byte = unsafe { image.add(index).read() };
        if *byte == 0 {
            return None;
        }
    }
    Some(u32::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fat_binary::{ELF, LZ4, PTX, ZSTD, fat_binary};

    const TEXT: &str = ".version 8.0\n.target sm_80\n";

    fn of(image: &[u8]) -> Result<String, NoPtx> {
        // SAFETY: the tests make images of these kinds.
        unsafe { ptx(image.as_ptr().cast()) }
    }

    #[test]
    fn texts_and_fat_binaries_and_wrappers() {
        assert_eq!(of(b".version 8.0\n.target sm_80\n\0").unwrap(), TEXT);
        let binary = fat_binary(&[
            (ELF, 80, 0, b"\x7fELF", 0),
            (PTX, 80, 0, TEXT.as_bytes(), 0),
        ]);
        assert_eq!(of(&binary).unwrap(), TEXT);
        assert_eq!(of_file(&binary).unwrap(), TEXT);
        let mut wrapper = WRAPPER.to_le_bytes().to_vec();
        wrapper.extend_from_slice(&1u32.to_le_bytes());
        wrapper.extend_from_slice(&(binary.as_ptr() as u64).to_le_bytes());
        wrapper.extend_from_slice(&[0; 8]);
        assert_eq!(of(&wrapper).unwrap(), TEXT);
    }

    #[test]
    fn the_newest_text_for_the_device_is_taken() {
        let text = |sm: u32| format!(".version 8.0\n.target sm_{sm}\n");
        let texts = [70, 90, 100].map(text);
        let entries = |chosen: &[usize]| -> Vec<u8> {
            let entries: Vec<_> = chosen
                .iter()
                .map(|&index| (PTX, [70, 90, 100][index], 0, texts[index].as_bytes(), 0))
                .collect();
            fat_binary(&entries)
        };
        assert_eq!(of(&entries(&[2, 0, 1])).unwrap(), texts[1]);
        assert_eq!(of(&entries(&[0, 2])).unwrap(), texts[0]);
        assert_eq!(of(&entries(&[2])).unwrap(), texts[2]);
    }

    #[test]
    fn several_texts_are_linked() {
        let joined =
            format!("{TEXT}{NEXT}.version 8.3\n.target sm_90\n.visible .func f() {{ ret; }}\0");
        let linked = of(joined.as_bytes()).unwrap();
        assert!(linked.starts_with(".version 8.3"), "{linked}");
        assert!(linked.contains(".target sm_90\n"), "{linked}");
        assert_eq!(linked.matches(".version").count(), 1, "{linked}");
    }

    #[test]
    fn compressed_texts() {
        let long = TEXT.to_owned() + &"// the same comment\n".repeat(100);
        let packed = lz4_flex::block::compress(long.as_bytes());
        let binary = fat_binary(&[(PTX, 80, LZ4, &packed, long.len())]);
        assert_eq!(of(&binary).unwrap(), long);
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        let smaller = ruzstd::encoding::compress_to_vec(long.as_bytes(), level);
        let of_zstd = fat_binary(&[(PTX, 80, ZSTD, &smaller, long.len())]);
        assert_eq!(of(&of_zstd).unwrap(), long);
        let corrupt = fat_binary(&[(PTX, 80, ZSTD, b"not zstd", 100)]);
        assert!(matches!(of(&corrupt), Err(NoPtx::Corrupt(_))));
    }

    #[test]
    fn what_has_no_ptx_says_so() {
        let binary = fat_binary(&[(ELF, 80, 0, b"\x7fELF", 0), (ELF, 90, 0, b"\x7fELF", 0)]);
        assert_eq!(
            of(&binary).unwrap_err().to_string(),
            "it has machine code (SASS) for sm_80, sm_90 and no PTX, which the emulator runs; compile with PTX in it, for example by `nvcc -gencode arch=compute_90,code=compute_90`"
        );
        assert_eq!(
            of(b"\x7fELF\0").unwrap_err(),
            NoPtx::MachineCode(Vec::new(), Origin::default())
        );
        assert_eq!(
            of(b"hello, world\0").unwrap_err().to_string(),
            "it is not PTX and not a fat binary: it begins with \"hello, world\""
        );
        assert!(matches!(of(b"\0"), Err(NoPtx::Unknown(_))));
    }

    /// The wrapper of a program of `nvcc -rdc=true` that has these fat binaries.
    fn of_linked(parts: &[Vec<u8>]) -> Result<String, NoPtx> {
        let mut addresses: Vec<u64> = parts.iter().map(|part| part.as_ptr() as u64).collect();
        addresses.push(0);
        let machine_code = fat_binary(&[(ELF, 90, 0, b"\x7fELF", 0)]);
        let mut wrapper = WRAPPER.to_le_bytes().to_vec();
        wrapper.extend_from_slice(&2u32.to_le_bytes());
        wrapper.extend_from_slice(&(machine_code.as_ptr() as u64).to_le_bytes());
        wrapper.extend_from_slice(&(addresses.as_ptr() as u64).to_le_bytes());
        of(&wrapper)
    }

    #[test]
    fn the_parts_of_a_program_are_linked() {
        let part = |body: &str| {
            let text = format!("{TEXT}{body}\n");
            fat_binary(&[
                (ELF, 80, 0, b"\x7fELF", 0),
                (PTX, 80, 0, text.as_bytes(), 0),
            ])
        };
        let uses = "call.uni f; ret; }";
        let main = part(&format!(
            ".extern .func f();\n.visible .entry k() {{ {uses}"
        ));
        let other = part(".visible .func f() { ret; }");
        let machine = fat_binary(&[(ELF, 90, 0, b"\x7fELF", 0)]);
        let intermediate = fat_binary(&[(8, 90, 0, b"BC", 0)]);
        let runtime = b"\x7fELF __CNPRT_VERSION_NUMBER__";
        let runtime = fat_binary(&[(ELF, 90, 0, runtime, 0)]);
        let said = |parts: &[&Vec<u8>]| {
            let parts: Vec<_> = parts.iter().map(|one| (*one).clone()).collect();
            of_linked(&parts).map_err(|reason| reason.to_string())
        };
        let linked = said(&[&main, &other, &runtime]).unwrap();
        assert!(linked.contains(uses) && linked.matches(".version").count() == 1);
        assert_eq!(
            said(&[&main]).unwrap_err(),
            "undefined reference to `f` in `number 1`"
        );
        let lacking = |reason: &str| {
            format!(
                "its part `number 2`: {reason}, which the emulator runs; compile with PTX in it"
            )
        };
        for (second, reason) in [
            (&machine, "it has machine code (SASS) for sm_90 and no PTX"),
            (
                &intermediate,
                "it has code for link-time optimisation and no PTX",
            ),
        ] {
            let told = said(&[&main, second]).unwrap_err();
            assert!(told.starts_with(&lacking(reason)), "{told}");
        }
        let syncs = part(
            ".extern .func cudaCGSynchronize();\n.visible .entry k() { call.uni cudaCGSynchronize; ret; }",
        );
        assert!(said(&[&syncs, &runtime]).is_ok());
        let told = said(&[&syncs]).unwrap_err();
        assert!(
            told.ends_with("link libcudadevrt.a too (nvcc -lcudadevrt)"),
            "{told}"
        );
    }
}
