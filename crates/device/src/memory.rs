//! How much memory the host can still give.
//!
//! Linux promises more than it has, and kills the process that then uses it: asking first turns
//! that into an error.
//!
//! Read from `/proc` and `/sys` here, because the `sysinfo` crate knows only the root control
//! group, and counts the pages of files as used.

/// Smaller allocations are not checked: asking would take longer than it is worth.
const WORTH_ASKING_BYTES: u128 = 64 << 20;

/// Whether this number of bytes is available, as far as the system says.
pub(crate) fn has_room(bytes: u128) -> bool {
    bytes < WORTH_ASKING_BYTES
        || available_bytes().is_none_or(|available| bytes <= available.into())
}

/// Bytes that can be used without another program losing any: those of the machine, or fewer if the
/// process's control group is allowed fewer. `None` where the system does not say.
pub fn available_bytes() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| field_kib(&text, "MemAvailable:"));
    let of_group = || {
        let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
        let read =
            |file: &str| std::fs::read_to_string(format!("/sys/fs/cgroup{path}/{file}")).ok();
        let most: u64 = read("memory.max")?.trim().parse().ok()?;
        let used: u64 = read("memory.current")?.trim().parse().ok()?;
        // Pages of files are given back when asked for.
        let stat = read("memory.stat")?;
        let files = ["inactive_file", "active_file"].map(|name| field(&stat, name).unwrap_or(0));
        Some(most.saturating_sub(used.saturating_sub(files.iter().sum())))
    };
    match (machine, of_group()) {
        (Some(machine), Some(group)) => Some(machine.min(group)),
        (one, other) => one.or(other),
    }
}

/// Asks for pages of megabytes for the room of a large vector: a gigabyte is then touched in some
/// hundred steps instead of a quarter of a million. A system without such pages ignores it.
#[cfg(target_os = "linux")]
pub(crate) fn prefer_large_pages<T>(values: &Vec<T>) {
    use rustix::mm::{Advice, madvise};

    const PAGE: usize = 2 << 20;
    let bytes = values.capacity() * size_of::<T>();
    if (bytes as u128) < WORTH_ASKING_BYTES {
        return;
    }
    // Whole pages alone: others may have the rest.
    let first = values.as_ptr().cast::<u8>();
    let before = first.align_offset(PAGE);
    let len = (bytes - before) / PAGE * PAGE;
    // SAFETY: the range lies within the vector's room, and the advice changes nothing that a
    // program sees of it.
    let _ = unsafe {
        madvise(
            first.add(before).cast_mut().cast(),
            len,
            Advice::LinuxHugepage,
        )
    };
}

/// Elsewhere there is nothing to ask.
#[cfg(not(target_os = "linux"))]
pub(crate) fn prefer_large_pages<T>(_: &Vec<T>) {}

/// The number after `name` at the start of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text
        .lines()
        .find(|line| line.split_whitespace().next() == Some(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn field_kib(text: &str, name: &str) -> Option<u64> {
    field(text, name)?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_name() {
        let text = "MemTotal:  24120504 kB\nMemAvailable:   21 kB\nactive_file 7\n";
        assert_eq!(field_kib(text, "MemAvailable:"), Some(21 * 1024));
        assert_eq!(field(text, "active_file"), Some(7));
        assert_eq!(field(text, "inactive_file"), None);
        assert_eq!(
            field_kib("MemAvailable: 18446744073709551615 kB", "MemAvailable:"),
            None
        );
    }

    #[test]
    fn there_is_some_memory_and_not_all() {
        assert!(has_room(1));
        if let Some(available) = available_bytes() {
            assert!(available > 1 << 20);
            assert!(!has_room(u128::from(u64::MAX)));
        }
    }
}
