//! The linker: device code of several texts.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};

use common::{Handle, allocate, arg, context, function, launch, read};

const PTX: c_int = 1;
const INVALID_IMAGE: c_int = 200;
const NO_BINARY_FOR_GPU: c_int = 209;
const FILE_NOT_FOUND: c_int = 301;
const HEADER: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";
/// Stores `value() + 1` in a word.
const STORES: &str = "
.extern .func (.param .b32 r) value();
.global .u32 one = 1;
.visible .entry store(.param .u64 out) {
    .reg .b32 %r<3>;
    .reg .b64 %out;
    .param .b32 r;
    call.uni (r), value;
    ld.param.b32 %r1, [r];
    ld.global.u32 %r2, [one];
    add.u32 %r1, %r1, %r2;
    ld.param.u64 %out, [out];
    st.global.u32 [%out], %r1;
    ret;
}";
const VALUE: &str = "
.global .u32 one = 41;
.visible .func (.param .b32 r) value() {
    .reg .b32 %r;
    ld.global.u32 %r, [one];
    st.param.b32 [r], %r;
    ret;
}";

/// A link with buffers for what the linker says.
struct Link {
    handle: Handle,
    errors: Vec<u8>,
    /// The bytes of each buffer, and the address of that for errors.
    values: Vec<*mut c_void>,
}

fn new_link(room: usize) -> Link {
    context();
    let mut link = Link {
        handle: 0,
        errors: vec![7u8; room + 1],
        values: Vec::new(),
    };
    let errors = link.errors.as_mut_ptr().cast();
    link.values = vec![room as *mut c_void, errors];
    // The size of the buffer for errors, and the buffer.
    let options = [6 as c_uint, 5];
    let values = link.values.as_mut_ptr();
    let made = cu!(cuLinkCreate_v2(2 => c_uint, options.as_ptr() => *const c_uint, values => *mut *mut c_void,
        &mut link.handle => *mut Handle));
    assert_eq!(made, 0);
    link
}

impl Link {
    fn add(&self, name: &str, text: &str) -> c_int {
        let name = CString::new(name).unwrap();
        cu!(cuLinkAddData_v2(self.handle => Handle, PTX => c_int, text.as_ptr() => *const u8, text.len() => usize,
            name.as_ptr() => *const c_char, 0 => c_uint, std::ptr::null() => *const c_uint, std::ptr::null_mut() => *mut *mut c_void))
    }

    /// The linked image.
    fn complete(&self) -> Result<*const c_void, c_int> {
        let (mut image, mut bytes) = (std::ptr::null::<c_void>(), 0usize);
        match cu!(cuLinkComplete(self.handle => Handle, &mut image => *mut *const c_void, &mut bytes => *mut usize))
        {
            0 => {
                assert_eq!(unsafe_text(image).len() + 1, bytes);
                Ok(image)
            }
            error => Err(error),
        }
    }

    /// The text in the buffer for errors, and the size that the linker states.
    fn said(&self) -> (String, usize) {
        let text = CStr::from_bytes_until_nul(&self.errors).unwrap();
        (text.to_str().unwrap().to_owned(), self.values[0] as usize)
    }
}

fn unsafe_text<'a>(image: *const c_void) -> &'a str {
    // SAFETY: the linker gives a text that ends in a NUL.
    unsafe { CStr::from_ptr(image.cast()) }.to_str().unwrap()
}

#[test]
fn several_texts_are_one_module() {
    let link = new_link(64);
    let (stores, value) = (format!("{HEADER}{STORES}\0"), format!("{HEADER}{VALUE}"));
    assert_eq!(
        (link.add("stores", &stores), link.add("value", &value)),
        (0, 0)
    );
    let image = link.complete().unwrap();
    assert_eq!(link.said(), (String::new(), 0));
    let mut module = 0;
    assert_eq!(
        cu!(cuModuleLoadData(&mut module => *mut Handle, image => *const c_void)),
        0
    );
    let out = allocate(4);
    assert_eq!(launch(function(module, "store"), 1, 0, &[arg(&out)]), 0);
    assert_eq!(read(out, 1), [42]);
    assert_eq!(cu!(cuLinkDestroy(link.handle => Handle)), 0);
}

#[test]
fn errors_are_written_where_the_program_wants_them() {
    let stores = format!("{HEADER}{STORES}");
    let link = new_link(200);
    assert_eq!(link.add("stores.ptx", &stores), 0);
    assert_eq!(link.complete(), Err(NO_BINARY_FOR_GPU));
    let said = "error   : undefined reference to `value` in `stores.ptx`";
    assert_eq!(link.said(), (said.to_owned(), said.len()));
    // The rest of the symbols may still come.
    assert_eq!(link.add("value.ptx", &format!("{HEADER}{VALUE}")), 0);
    assert!(link.complete().is_ok());
    assert_eq!(link.said().1, 0);
    assert_eq!(link.add("stores.ptx", &stores), 0);
    assert_eq!(link.complete(), Err(NO_BINARY_FOR_GPU));
    assert!(
        link.said()
            .0
            .starts_with("error   : multiple definition of `store`")
    );
    assert_eq!(link.add("x", "hello, world"), INVALID_IMAGE);
    let missing = cu!(cuLinkAddFile_v2(link.handle => Handle, PTX => c_int, c"/no/such/file".as_ptr() => *const c_char,
        0 => c_uint, std::ptr::null() => *const c_uint, std::ptr::null_mut() => *mut *mut c_void));
    assert_eq!(missing, FILE_NOT_FOUND);
    // A small buffer has a part.
    let small = new_link(8);
    assert_eq!(
        (small.add("stores", &stores), small.complete()),
        (0, Err(NO_BINARY_FOR_GPU))
    );
    assert_eq!(small.said(), ("error  ".to_owned(), 7));
    assert_eq!(small.errors[8], 7);
}
