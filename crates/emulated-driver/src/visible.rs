//! The devices that a program sees: `CUDA_VISIBLE_DEVICES`, as the CUDA programming guide has it
//! ("CUDA Environment Variables").
//!
//! A list of numbers or UUIDs, or of the first characters of a UUID that no other device has. The
//! program counts its devices in the order of the list. The list ends before the first name of no
//! device; a device that it names twice leaves none.

/// 16 bytes that tell devices apart, from the first on.
pub(crate) fn uuid(number: u32) -> [u8; 16] {
    let mut uuid = *b"0 ptx-emu device";
    uuid[0] += number as u8;
    uuid
}

/// The UUID as `nvidia-smi -L` shows it, and lists name it.
fn name(number: u32) -> String {
    let mut name = String::from("GPU-");
    for (index, byte) in uuid(number).iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            name.push('-');
        }
        name.push_str(&format!("{byte:02x}"));
    }
    name
}

/// The numbers of the devices that a list shows of `count`, and why it ends early, if that is worth
/// a line: an empty list and negative numbers hide devices on purpose.
pub(crate) fn visible(list: &str, count: u32) -> (Vec<u32>, Option<String>) {
    let mut numbers: Vec<u32> = Vec::new();
    if list.is_empty() || count == 0 {
        return (numbers, None);
    }
    for entry in list.split(',').map(str::trim) {
        match find(entry, count) {
            Ok(number) if numbers.contains(&number) => {
                let problem = format!("it names device {number} twice, and so shows none");
                return (Vec::new(), Some(problem));
            }
            Ok(number) => numbers.push(number),
            Err(problem) => return (numbers, problem),
        }
    }
    (numbers, None)
}

/// The device that an entry names, or why the list ends before it.
fn find(entry: &str, count: u32) -> Result<u32, Option<String>> {
    let there_are = match count {
        1 => "there is device 0 alone".to_owned(),
        _ => format!("there are 0 to {}", count - 1),
    };
    if let Ok(number) = entry.parse::<i64>() {
        return match u32::try_from(number) {
            Ok(number) if number < count => Ok(number),
            _ if number < 0 => Err(None),
            _ => Err(Some(format!(
                "it ends before {entry}, which is not a device: {there_are}"
            ))),
        };
    }
    let problem = if entry.starts_with("MIG-") {
        format!("it ends before {entry}: emulated devices have no parts (MIG); name a whole device")
    } else if entry.starts_with("GPU-") {
        let found: Vec<u32> = (0..count)
            .filter(|at| name(*at).starts_with(entry))
            .collect();
        match found[..] {
            [number] => return Ok(number),
            [] => format!(
                "it ends before {entry}, which is the UUID of no device: that of device 0 is {}",
                name(0)
            ),
            _ => format!(
                "it ends before {entry}, with which {} UUIDs begin: write more of it",
                found.len()
            ),
        }
    } else {
        format!("it ends before `{entry}`, which is neither a number nor a UUID: {there_are}")
    };
    Err(Some(problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(list: &str) -> Vec<u32> {
        visible(list, 3).0
    }

    fn problem(list: &str) -> String {
        visible(list, 3).1.unwrap_or_default()
    }

    #[test]
    fn a_list_chooses_devices_and_their_order() {
        assert_eq!(numbers("1"), [1]);
        assert_eq!(numbers("2,0"), [2, 0]);
        assert_eq!(numbers("0, 2 ,1"), [0, 2, 1]);
        assert_eq!(problem("2,1,0"), "");
    }

    #[test]
    fn a_list_ends_before_what_is_no_device() {
        // The guide's own example.
        assert_eq!(visible("0,2,-1,1", 3), (vec![0, 2], None));
        assert_eq!(visible("", 3), (vec![], None));
        assert_eq!(visible("-1", 3), (vec![], None));
        assert_eq!(numbers("0,9,1"), [0]);
        assert!(problem("0,9,1").contains("before 9, which is not a device: there are 0 to 2"));
        assert_eq!(numbers("abc"), [0; 0]);
        assert!(problem("1,abc").contains("neither a number nor a UUID"));
        assert_eq!(numbers("1,,2"), [1]);
        assert_eq!(numbers("1x,2"), [0; 0]);
        assert_eq!(numbers("4294967296"), [0; 0]);
        assert_eq!(numbers("99999999999999999999"), [0; 0]);
    }

    #[test]
    fn a_device_named_twice_leaves_none() {
        assert_eq!(numbers("1,1"), [0; 0]);
        assert_eq!(numbers(&format!("0,1,{}", name(0))), [0; 0]);
        assert!(problem("1,0,1").contains("device 1 twice"));
    }

    #[test]
    fn uuids_may_be_cut_where_they_are_alone() {
        assert_eq!(name(1), "GPU-31207074-782d-656d-7520-646576696365");
        assert_eq!(numbers(&format!("{},{}", name(2), name(0))), [2, 0]);
        assert_eq!(numbers("GPU-31"), [1]);
        assert_eq!(numbers("0,GPU-3"), [0]);
        assert!(problem("GPU-3").contains("with which 3 UUIDs begin"));
        assert!(problem("GPU-ff").contains("UUID of no device"));
    }

    #[test]
    fn parts_of_devices_are_refused_by_name() {
        let list = "0,MIG-GPU-31207074-782d-656d-7520-646576696365/1/2";
        assert_eq!(numbers(list), [0]);
        assert!(problem(list).contains("emulated devices have no parts (MIG)"));
    }
}
