//! Arrays from NumPy's `.npy` files.

use std::io::{self, BufReader, Read};
use std::path::Path;

use exit::CommandError;
use output_files::input::{open, unreadable};

/// Reads an array of numbers of 32 or 64 bits as `f32`, last axis contiguous, and its shape:
/// versions 1.0 to 3.0 of the
/// [format](https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html). `flag` named
/// the file.
///
/// # Errors
///
/// [`CommandError::Input`] for a file that cannot be read, is none of NumPy's, is cut short or too
/// long, or holds something else than little-endian `f32` or `f64` in C order, of other
/// than `axes` axes: with the file's name, and what to do.
pub fn read(flag: &str, path: &Path, axes: usize) -> Result<(Vec<u32>, Vec<f32>), CommandError> {
    let fail = |reason: String| CommandError::Input(format!("{flag} {}: {reason}", path.display()));
    let opened = open(path).and_then(|file| Ok((file.metadata()?, file)));
    let (bytes, file) = opened.map_err(|error| fail(unreadable(&error)))?;
    read_from(BufReader::new(file), bytes.len(), axes).map_err(fail)
}

/// Reads an array of NumPy's and its shape from any reader of `file_bytes` bytes.
fn read_from(
    mut from: impl Read,
    file_bytes: u64,
    axes: usize,
) -> Result<(Vec<u32>, Vec<f32>), String> {
    let no_npy = |_| "no .npy file: write one with numpy.save".to_owned();
    let mut head = [0; 8];
    from.read_exact(&mut head).map_err(no_npy)?;
    if &head[..6] != b"\x93NUMPY" {
        return Err(no_npy(io::Error::other("")));
    }
    // The length has two bytes in the first version, and four in those after it.
    let len_bytes = if head[6] == 1 { 2 } else { 4 };
    let mut len = [0; 4];
    from.read_exact(&mut len[..len_bytes]).map_err(no_npy)?;
    let len = u32::from_le_bytes(len);
    if len > 1 << 20 {
        return Err(format!("its header has {len} bytes: it is damaged"));
    }
    let mut header = vec![0; len as usize];
    from.read_exact(&mut header).map_err(no_npy)?;
    let header = String::from_utf8_lossy(&header);
    let descr = entry(&header, "descr").map(|text| text.trim_matches(['\'', '"']));
    let value_bytes: u64 = match descr {
        Some("<f4") => 4,
        Some("<f8") => 8,
        Some(big @ (">f4" | ">f8")) => {
            return Err(format!(
                "its values are big-endian (`{big}`): save it with .astype('<f4')"
            ));
        }
        Some(other) => {
            return Err(format!(
                "its values are of type `{other}`, neither f32 nor f64: save it with .astype('<f4')"
            ));
        }
        None => return Err("its header does not name a type: it is damaged".to_owned()),
    };
    match entry(&header, "fortran_order") {
        Some("False") => {}
        _ => {
            return Err(
                "it is in Fortran's order, the first axis contiguous: save numpy.ascontiguousarray of it"
                    .to_owned(),
            );
        }
    }
    let shape = entry(&header, "shape").unwrap_or_default();
    let texts: Vec<&str> = shape
        .trim_matches(['(', ')'])
        .split(',')
        .map(str::trim)
        .filter(|extent| !extent.is_empty())
        .collect();
    if texts.len() != axes {
        return Err(format!(
            "its shape is {shape}; an array of {axes} axes is needed"
        ));
    }
    let mut extents = Vec::new();
    let mut values: u64 = 1;
    for text in texts {
        let extent: u32 = text.parse().map_err(|_| {
            format!("its shape has the extent `{text}`: a number of points is needed")
        })?;
        values = values.saturating_mul(u64::from(extent));
        extents.push(extent);
    }
    let head_bytes = 8 + len_bytes as u64 + u64::from(len);
    let (needed, there) = (values.saturating_mul(value_bytes), file_bytes - head_bytes);
    if needed != there {
        return Err(format!(
            "its shape needs {needed} bytes of values, and it has {there}: it is cut short, or damaged"
        ));
    }
    let mut all: Vec<f32> = Vec::new();
    all.try_reserve_exact(values as usize)
        .map_err(|_| format!("not enough memory for its {values} values"))?;
    let mut buffer = vec![0; 1 << 16];
    let mut left = needed;
    while left > 0 {
        let bytes = &mut buffer[..left.min(1 << 16) as usize];
        from.read_exact(bytes).map_err(|error| error.to_string())?;
        left -= bytes.len() as u64;
        match value_bytes {
            4 => all.extend(
                bytes
                    .as_chunks()
                    .0
                    .iter()
                    .map(|value| f32::from_le_bytes(*value)),
            ),
            _ => all.extend(
                bytes
                    .as_chunks()
                    .0
                    .iter()
                    .map(|value| f64::from_le_bytes(*value) as f32),
            ),
        }
    }
    Ok((extents, all))
}

/// The value of a key in a header, which is a dictionary in Python's notation.
fn entry<'h>(header: &'h str, key: &str) -> Option<&'h str> {
    let start = header.find(&format!("'{key}'"))? + key.len() + 2;
    let value = header[start..].trim_start().strip_prefix(':')?.trim_start();
    let end = if value.starts_with('(') {
        value.find(')')? + 1
    } else {
        value.find([',', '}'])?
    };
    Some(value[..end].trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field_files::write_npy;

    fn file(header: &str, values: &[u8]) -> Vec<u8> {
        let len = (header.len() as u16).to_le_bytes();
        [b"\x93NUMPY\x01\x00", &len[..], header.as_bytes(), values].concat()
    }

    fn read(file: &[u8], axes: usize) -> Result<(Vec<u32>, Vec<f32>), String> {
        read_from(file, file.len() as u64, axes)
    }

    #[test]
    fn what_is_written_is_read() {
        let mut written = Vec::new();
        let values: Vec<f64> = (0..30_000).map(f64::from).collect();
        write_npy(&mut written, &[100, 30, 10], &values.clone().into()).unwrap();
        let (shape, got) = read(&written, 3).unwrap();
        assert_eq!(shape, [100, 30, 10]);
        assert!(
            got.iter()
                .zip(&values)
                .all(|(got, value)| f64::from(*got) == *value)
        );
        let mut singles = Vec::new();
        write_npy(&mut singles, &[2], &vec![1.5f32, -2.0].into()).unwrap();
        assert_eq!(read(&singles, 1), Ok((vec![2], vec![1.5, -2.0])));
    }

    #[test]
    fn what_numpy_writes_is_read() {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }   \n";
        let values = [1.0f32, 2.0].map(f32::to_le_bytes).concat();
        assert_eq!(
            read(&file(header, &values), 2),
            Ok((vec![1, 2], vec![1.0, 2.0]))
        );
        // Version 2.0 has a longer length.
        let len = (header.len() as u32).to_le_bytes();
        let second = [b"\x93NUMPY\x02\x00", &len[..], header.as_bytes(), &values].concat();
        assert_eq!(read(&second, 2), Ok((vec![1, 2], vec![1.0, 2.0])));
    }

    #[test]
    fn what_else_there_is_is_explained() {
        let refused = |descr: &str, order: &str, shape: &str| {
            let header =
                format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
            read(&file(&header, &[0; 32]), 3).unwrap_err()
        };
        insta::assert_snapshot!(refused("<f4", "False", "(2, 4)"), @"its shape is (2, 4); an array of 3 axes is needed");
        insta::assert_snapshot!(refused("<f4", "False", "(2, 4, -1)"), @"its shape has the extent `-1`: a number of points is needed");
        insta::assert_snapshot!(refused("<f4", "False", "(2, 4, 2)"), @"its shape needs 64 bytes of values, and it has 32: it is cut short, or damaged");
        insta::assert_snapshot!(refused("<f4", "True", "(2, 2, 2)"), @"it is in Fortran's order, the first axis contiguous: save numpy.ascontiguousarray of it");
        insta::assert_snapshot!(refused(">f8", "False", "(2, 2, 1)"), @"its values are big-endian (`>f8`): save it with .astype('<f4')");
        insta::assert_snapshot!(refused("<i4", "False", "(2, 2, 2)"), @"its values are of type `<i4`, neither f32 nor f64: save it with .astype('<f4')");
        insta::assert_snapshot!(read(b"P6 640 480", 3).unwrap_err(), @"no .npy file: write one with numpy.save");
        insta::assert_snapshot!(read(b"", 3).unwrap_err(), @"no .npy file: write one with numpy.save");
        let failure = super::read("--model", Path::new("no/such.npy"), 3).unwrap_err();
        insta::assert_snapshot!(failure, @"--model no/such.npy: there is no such file");
    }
}
