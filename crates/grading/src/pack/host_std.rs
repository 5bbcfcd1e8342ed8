//! `std`, as far as host code of submissions has it: what computes, and nothing that reaches
//! outside. A submission is compiled with this crate instead of the real one, so that no macro, no
//! alias and no other spelling names a file, a socket, a process or the environment: such a name
//! does not exist.
//!
//! It is compiled by itself, with the course's own crates; see `dependencies.rs`.

#![no_std]

extern crate std as real;

pub use real::{
    any, array, ascii, borrow, boxed, cell, char, clone, cmp, collections, convert, default, error,
    f32, f64, fmt, future, hash, hint, i8, i16, i32, i64, i128, isize, iter, marker, mem, num, ops,
    option, panic, pin, primitive, ptr, rc, result, slice, str, string, sync, u8, u16, u32, u64,
    u128, usize, vec,
};
// Without `include` and its like, `env` and `option_env`.
pub use real::{
    assert, assert_eq, assert_ne, cfg, column, compile_error, concat, dbg, debug_assert,
    debug_assert_eq, debug_assert_ne, eprint, eprintln, file, format, format_args, line, matches,
    module_path, print, println, stringify, thread_local, todo, unimplemented, unreachable, write,
    writeln,
};

/// A recorder that ends early is found out.
pub mod process {
    pub use real::process::{abort, exit};
}

pub mod prelude {
    pub mod rust_2024 {
        pub use crate::{
            assert, assert_eq, assert_ne, cfg, column, compile_error, concat, dbg, debug_assert,
            debug_assert_eq, debug_assert_ne, eprint, eprintln, file, format, format_args, line,
            matches, module_path, panic, print, println, stringify, thread_local, todo,
            unimplemented, unreachable, vec, write, writeln,
        };
        // The traits, types and functions of the real one.
        pub use real::prelude::rust_2024::{
            AsMut, AsRef, AsyncFn, AsyncFnMut, AsyncFnOnce, Box, Clone, Copy, Debug, Default,
            DoubleEndedIterator, Drop, Eq, Err, ExactSizeIterator, Extend, Fn, FnMut, FnOnce, From,
            FromIterator, Future, Hash, Into, IntoFuture, IntoIterator, Iterator, None, Ok, Option,
            Ord, PartialEq, PartialOrd, Result, Send, Sized, Some, String, Sync, ToOwned, ToString,
            TryFrom, TryInto, Unpin, Vec, align_of, align_of_val, derive, drop, size_of,
            size_of_val, test,
        };
    }

    pub use rust_2024 as v1;
}
