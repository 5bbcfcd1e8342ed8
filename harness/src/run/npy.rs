//! NumPy's file format, version 1.0: a header in Python's notation, then the values.
//!
//! Format: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

use std::io::{self, Write};

/// Writes `values` as an array of this shape, last axis contiguous.
///
/// # Errors
///
/// What the writer answers.
///
/// # Panics
///
/// If there are more or fewer values than the shape has.
pub fn write(writer: &mut impl Write, shape: &[usize], values: &[f64]) -> io::Result<()> {
    assert_eq!(
        shape.iter().product::<usize>(),
        values.len(),
        "another shape"
    );
    let extents: Vec<String> = shape.iter().map(|extent| format!("{extent}, ")).collect();
    let description = format!(
        "{{'descr': '<f8', 'fortran_order': False, 'shape': ({}), }}",
        extents.concat().trim_end()
    );
    // Magic, version and length take 10 bytes; the values begin at a multiple of 64, after a line break.
    let end = (10 + description.len() + 1).next_multiple_of(64);
    let header = format!("{description:<width$}\n", width = end - 11);
    let len = u16::try_from(header.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    writer.write_all(b"\x93NUMPY\x01\x00")?;
    writer.write_all(&len.to_le_bytes())?;
    writer.write_all(header.as_bytes())?;
    for value in values {
        writer.write_all(&value.to_le_bytes())?;
    }
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_and_values() {
        let values = [1.0, -0.5, f64::MAX, 0.0, 1e-300, 2.0];
        let mut file = Vec::new();
        write(&mut file, &[1, 2, 3], &values).unwrap();
        assert_eq!(&file[..8], b"\x93NUMPY\x01\x00");
        let len = usize::from(u16::from_le_bytes([file[8], file[9]]));
        assert_eq!((10 + len) % 64, 0);
        let (header, data) = file[10..].split_at(len);
        insta::assert_snapshot!(
            std::str::from_utf8(header).unwrap().trim_end(),
            @"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 3,), }"
        );
        assert_eq!(header.last(), Some(&b'\n'));
        let read: Vec<f64> = data
            .chunks_exact(8)
            .map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap()))
            .collect();
        assert_eq!(read, values);
    }

    #[test]
    #[should_panic(expected = "another shape")]
    fn every_value_has_its_place() {
        let _ = write(&mut Vec::new(), &[2, 2], &[0.0; 3]);
    }
}
