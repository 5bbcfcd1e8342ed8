//! VTK's XML formats: image data (`.vti`) with the values appended in binary, and series of files (`.pvd`).
//!
//! Format: <https://docs.vtk.org/en/latest/vtk_file_formats/vtkxml_file_format.html>.

use std::io::{self, Write};

/// A field on a regular grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Image<'n> {
    /// What the values are called.
    pub name: &'n str,
    /// Points along x, y, z.
    pub points: [u32; 3],
    /// Where the first point is.
    pub origin: [f64; 3],
    /// From point to point.
    pub spacing: [f64; 3],
}

impl Image<'_> {
    /// Writes the image; `value` is asked for every point (x, y, z), x running fastest.
    ///
    /// # Errors
    ///
    /// What the writer answers.
    pub fn write(
        &self,
        writer: &mut impl Write,
        value: impl Fn(usize, usize, usize) -> f64,
    ) -> io::Result<()> {
        let extent = self
            .points
            .map(|points| format!("0 {}", points.saturating_sub(1)))
            .join(" ");
        let triple = |values: [f64; 3]| values.map(|value| value.to_string()).join(" ");
        let (name, origin, spacing) = (self.name, triple(self.origin), triple(self.spacing));
        write!(
            writer,
            r#"<?xml version="1.0"?>
<VTKFile type="ImageData" version="1.0" byte_order="LittleEndian" header_type="UInt64">
  <ImageData WholeExtent="{extent}" Origin="{origin}" Spacing="{spacing}">
    <Piece Extent="{extent}">
      <PointData Scalars="{name}">
        <DataArray type="Float64" Name="{name}" format="appended" offset="0"/>
      </PointData>
    </Piece>
  </ImageData>
  <AppendedData encoding="raw">
_"#
        )?;
        let bytes: u64 = 8 * self
            .points
            .iter()
            .map(|&points| u64::from(points))
            .product::<u64>();
        writer.write_all(&bytes.to_le_bytes())?;
        let [n_x, n_y, n_z] = self.points.map(|points| points as usize);
        let mut row = vec![0; 8 * n_x];
        for z in 0..n_z {
            for y in 0..n_y {
                for (x, bytes) in row.chunks_exact_mut(8).enumerate() {
                    bytes.copy_from_slice(&value(x, y, z).to_le_bytes());
                }
                writer.write_all(&row)?;
            }
        }
        writer.write_all(b"\n  </AppendedData>\n</VTKFile>\n")?;
        writer.flush()
    }
}

/// Writes a series: files beside it, each with the time it shows.
///
/// # Errors
///
/// What the writer answers.
pub fn write_series(writer: &mut impl Write, files: &[(f64, String)]) -> io::Result<()> {
    writeln!(writer, r#"<?xml version="1.0"?>"#)?;
    writeln!(
        writer,
        r#"<VTKFile type="Collection" version="0.1" byte_order="LittleEndian">"#
    )?;
    writeln!(writer, "  <Collection>")?;
    for (time, file) in files {
        writeln!(
            writer,
            r#"    <DataSet timestep="{time}" part="0" file="{file}"/>"#
        )?;
    }
    writeln!(writer, "  </Collection>\n</VTKFile>")?;
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structure_and_values() {
        let image = Image {
            name: "u",
            points: [3, 2, 4],
            origin: [-1.0, 0.0, 2.5],
            spacing: [0.5, 10.0, 1e-3],
        };
        let mut file = Vec::new();
        image
            .write(&mut file, |x, y, z| (100 * z + 10 * y + x) as f64 + 0.5)
            .unwrap();
        let start = file.windows(2).position(|pair| pair == b"\n_").unwrap() + 2;
        insta::assert_snapshot!(std::str::from_utf8(&file[..start]).unwrap(), @r#"
        <?xml version="1.0"?>
        <VTKFile type="ImageData" version="1.0" byte_order="LittleEndian" header_type="UInt64">
          <ImageData WholeExtent="0 2 0 1 0 3" Origin="-1 0 2.5" Spacing="0.5 10 0.001">
            <Piece Extent="0 2 0 1 0 3">
              <PointData Scalars="u">
                <DataArray type="Float64" Name="u" format="appended" offset="0"/>
              </PointData>
            </Piece>
          </ImageData>
          <AppendedData encoding="raw">
        _
        "#);
        let word = |index: usize| -> [u8; 8] { file[start + 8 * index..][..8].try_into().unwrap() };
        assert_eq!(u64::from_le_bytes(word(0)), 8 * 3 * 2 * 4);
        for z in 0..4 {
            for y in 0..2 {
                for x in 0..3 {
                    let value = f64::from_le_bytes(word(1 + (z * 2 + y) * 3 + x));
                    assert_eq!(value, (100 * z + 10 * y + x) as f64 + 0.5);
                }
            }
        }
        let end = &file[start + 8 * (1 + 3 * 2 * 4)..];
        assert_eq!(end, b"\n  </AppendedData>\n</VTKFile>\n");
    }

    #[test]
    fn a_series() {
        let files = [(0.2, "u-100.vti".to_owned()), (0.4, "u-200.vti".to_owned())];
        let mut file = Vec::new();
        write_series(&mut file, &files).unwrap();
        insta::assert_snapshot!(String::from_utf8(file).unwrap(), @r#"
        <?xml version="1.0"?>
        <VTKFile type="Collection" version="0.1" byte_order="LittleEndian">
          <Collection>
            <DataSet timestep="0.2" part="0" file="u-100.vti"/>
            <DataSet timestep="0.4" part="0" file="u-200.vti"/>
          </Collection>
        </VTKFile>
        "#);
    }
}
