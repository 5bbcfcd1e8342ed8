//! Objects of the program that graphs keep.

use std::ffi::c_uint;

use crate::call::put;
use crate::code::{Code, Outcome};
use crate::driver::{Driver, with};
use crate::objects::user_object::{Destructor, References, UserObject};
use crate::objects::{Handle, HostFunction};

/// The one flag that there is: nothing waits for the destructor. It must be given.
const NO_DESTRUCTOR_SYNC: c_uint = 1;
/// The caller's references become the graph's.
const MOVE: c_uint = 1;

/// A number of references, which the API has from 1 to `INT_MAX`.
fn counted(count: c_uint) -> Outcome<u32> {
    if (1..=i32::MAX as u32).contains(&count) {
        Ok(count)
    } else {
        Err(Code::INVALID_VALUE)
    }
}

/// Changes how many references the program itself has.
fn change(driver: &mut Driver, object: Handle, count: impl FnOnce(u32) -> Option<u32>) -> Outcome {
    let known = { driver.user_objects.get_mut(&object) }.ok_or(Code::INVALID_VALUE)?;
    let new = count(known.count);
    if known.set_count(new) {
        Ok(())
    } else {
        Err(Code::INVALID_VALUE)
    }
}

fn create(
    function: Option<HostFunction>,
    data: usize,
    count: c_uint,
    flags: c_uint,
) -> Outcome<Handle> {
    let count = counted(count)?;
    let Some(function) = function.filter(|_| flags == NO_DESTRUCTOR_SYNC) else {
        return Err(Code::INVALID_VALUE);
    };
    with(|driver| {
        driver
            .user_objects
            .retain(|_, known| known.destructor().is_some());
        let handle = driver.new_handle();
        let object = UserObject::new(Destructor { function, data }, count);
        driver.user_objects.insert(handle, object);
        Ok(handle)
    })
}

fn keep(graph: Handle, object: Handle, count: c_uint, flags: c_uint) -> Outcome {
    let count = counted(count)?;
    if flags & !MOVE != 0 {
        return Err(Code::INVALID_VALUE);
    }
    with(|driver| {
        driver.graph(graph)?;
        let known = { driver.user_objects.get(&object) }.ok_or(Code::INVALID_VALUE)?;
        let destructor = known.destructor().ok_or(Code::INVALID_VALUE)?;
        if flags == MOVE {
            change(driver, object, |own| own.checked_sub(count))?;
        }
        let kept = &mut driver.graph(graph)?.objects;
        match kept.iter_mut().find(|kept| kept.object == object) {
            Some(kept) => kept.count = kept.count.saturating_add(count),
            None => kept.push(References {
                object,
                count,
                destructor,
            }),
        }
        Ok(())
    })
}

fn let_go(graph: Handle, object: Handle, count: c_uint) -> Outcome {
    let count = counted(count)?;
    with(|driver| {
        let kept = &mut driver.graph(graph)?.objects;
        let at = kept
            .iter()
            .position(|kept| kept.object == object && kept.count >= count);
        let at = at.ok_or(Code::INVALID_VALUE)?;
        kept[at].count -= count;
        if kept[at].count == 0 {
            kept.remove(at);
        }
        Ok(())
    })
}

driver_api! {
    fn cuUserObjectCreate(to: *mut Handle, data: usize, function: Option<HostFunction>, count: c_uint, flags: c_uint) {
        if to.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        put(to, create(function, data, count, flags)?)
    }
    fn cuUserObjectRetain(object: Handle, count: c_uint) {
        let more = counted(count)?;
        with(|driver| change(driver, object, |own| own.checked_add(more)))
    }
    fn cuUserObjectRelease(object: Handle, count: c_uint) {
        let less = counted(count)?;
        with(|driver| change(driver, object, |own| own.checked_sub(less)))
    }
    fn cuGraphRetainUserObject(graph: Handle, object: Handle, count: c_uint, flags: c_uint) { keep(graph, object, count, flags) }
    fn cuGraphReleaseUserObject(graph: Handle, object: Handle, count: c_uint) { let_go(graph, object, count) }
}
