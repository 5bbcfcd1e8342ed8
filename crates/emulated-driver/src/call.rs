//! How a function of the driver is defined.

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::caller;
use crate::code::{self, Code, Outcome};
use crate::driver::late::Inside;
use crate::driver::{unsafe_calls, with};
use crate::guard;
use crate::report;
use crate::settings::Settings;
use crate::stderr::tell;

/// A function's name and address.
#[derive(Clone, Copy)]
pub(crate) struct Exported {
    pub(crate) name: &'static str,
    pub(crate) address: *const c_void,
}

// SAFETY: the address is that of a function, which every thread may call.
unsafe impl Send for Exported {}
// SAFETY: the address is that of a function, which every thread may call.
unsafe impl Sync for Exported {}

/// Defines functions of the driver under their own names, and the list `FUNCTIONS` of them. A body
/// is an [`Outcome`].
macro_rules! driver_api {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
            /// As NVIDIA's documentation of this name.
            ///
            /// # Safety
            ///
            /// The pointers among the arguments are valid as documented there.
            // SAFETY: the library is loaded where libcuda would be, so that no other function of
            // this name is.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, clippy::too_many_arguments)]
            pub(crate) unsafe extern "C" fn $name($($arg: $type),*) -> std::ffi::c_int {
                $crate::call::answer(stringify!($name), || {
                    #[allow(unused_unsafe)]
                    // SAFETY: the caller keeps the obligations of this function, which are those of
                    // everything that it does with its arguments.
                    unsafe { $body }
                })
            }
        )*

        /// The functions of this file.
        pub(crate) const FUNCTIONS: &[$crate::call::Exported] = &[
            $($crate::call::Exported {
                name: stringify!($name),
                address: $name as *const std::ffi::c_void,
            },)*
        ];
    };
}

/// The number that a function returns. A panic is a bug here, and an error there.
pub(crate) fn answer(name: &'static str, body: impl FnOnce() -> Outcome) -> c_int {
    caller::calls(name);
    let outcome = match caller::refusal(name) {
        Some(code) => Ok(Err(code)),
        None => catch_unwind(AssertUnwindSafe(|| {
            if guard::has_met() {
                with(|driver| {
                    driver.tell_host_accesses();
                    Ok(())
                })?;
            }
            unsafe_calls::check(name)?;
            let _inside = Settings::get().late.map(|_| Inside::enter(name));
            body()
        })),
    };
    let number = match outcome {
        Ok(Ok(())) => 0,
        Ok(Err(Code(number))) => number,
        Err(panic) => {
            let said = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied());
            report::bug(&format!("in {name}: {}", said.unwrap_or("a panic")));
            Code::UNKNOWN.0
        }
    };
    if Settings::get().trace {
        let result = code::name(number).unwrap_or(c"an unknown result");
        tell(format_args!("{name}: {}", result.to_string_lossy()));
    }
    number
}

/// Writes a result of a function.
///
/// # Safety
///
/// A pointer that is not null may be written.
pub(crate) unsafe fn put<T>(to: *mut T, value: T) -> Outcome {
    if to.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the caller promises it; programs may give pointers that are not aligned.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Writes a result of a function, unless the pointer is null: the caller need not want it.
///
/// # Safety
///
/// As [`put`].
pub(crate) unsafe fn put_if_wanted<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: the caller promises it; programs may give pointers that are not aligned.
        unsafe { to.write_unaligned(value) };
    }
}

/// Reads what a pointer points to.
///
/// # Safety
///
/// A pointer that is not null may be read, and holds a `T`.
pub(crate) unsafe fn get<T: Copy>(from: *const T) -> Outcome<T> {
    if from.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the caller promises it.
    Ok(unsafe { from.read_unaligned() })
}

/// A name that a program gives.
///
/// # Safety
///
/// A pointer that is not null points to a text that ends in a NUL.
pub(crate) unsafe fn text(from: *const std::ffi::c_char) -> Outcome<String> {
    if from.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the caller promises it.
    let text = unsafe { std::ffi::CStr::from_ptr(from) };
    Ok(text.to_string_lossy().into_owned())
}

/// Writes as many values as a caller has room for, and their number. Without room, the number
/// alone.
///
/// # Safety
///
/// `count` may be read and written. `to` is null, or has room for as many.
pub(crate) unsafe fn put_list<T: Copy + Default>(
    to: *mut T,
    count: *mut usize,
    all: &[T],
) -> Outcome {
    // SAFETY: the caller promises it.
    let room = unsafe { get(count) }?;
    if !to.is_null() {
        for (index, value) in all.iter().take(room).enumerate() {
            // SAFETY: the index is below the room.
            unsafe { to.add(index).write_unaligned(*value) };
        }
        for index in all.len()..room {
            // SAFETY: the index is below the room.
            unsafe { to.add(index).write_unaligned(T::default()) };
        }
    }
    // SAFETY: the caller promises it.
    unsafe { put(count, all.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a process of its own: settings are read once, and other tests of this program read them.
    #[test]
    fn a_panic_is_an_error_and_recorded() {
        const INSIDE: &str = "CALL_TEST_INSIDE";
        if std::env::var_os(INSIDE).is_some() {
            let result = answer("cuNothing", || panic!("nothing {}", 7));
            assert_eq!(result, Code::UNKNOWN.0);
            return;
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        let name = "call::tests::a_panic_is_an_error_and_recorded";
        let tried = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(INSIDE, "")
            .env("EMULATED_DRIVER_REPORT", file.path())
            .output()
            .unwrap();
        assert!(tried.status.success(), "{tried:?}");
        assert_eq!(
            std::fs::read_to_string(file.path()).unwrap(),
            "{\"record\":\"bug\",\"text\":\"in cuNothing: nothing 7\"}\n"
        );
    }
}
