//! Fields as files: NumPy's `.npy`; VTK's `.vti`, and a `.pvd` for a series of these.
//!
//! All are written by hand, row by row: the crates that write them would first copy a field of tens
//! of gigabytes, and bring parsers for the formats' other halves.

use std::io::{self, Write};
use std::path::Path;

use clap::ValueEnum;
use device::{HostBuffer, NamedBuffers};
use lab::{LabCase, Lattice, View};
use plan::Element;

use exit::CommandError;
use output_files::{GrowingFolder, OutputFile};
use terminal::progress::Bar;
use units::count;

/// The name of the element type in NumPy and in VTK.
fn type_names(element: Element) -> [&'static str; 2] {
    match element {
        Element::F32 => ["<f4", "Float32"],
        Element::F64 => ["<f8", "Float64"],
        Element::U32 => ["<u4", "UInt32"],
        Element::I32 => ["<i4", "Int32"],
        Element::U64 => ["<u8", "UInt64"],
        Element::I64 => ["<i8", "Int64"],
        Element::U8 => ["|u1", "UInt8"],
    }
}

/// How a field is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FieldFormat {
    /// VTK image data, for ParaView
    Vti,
    /// NumPy: an array whose last axis is x
    Npy,
}

impl FieldFormat {
    /// The end of its files' names, after the dot.
    pub fn extension(self) -> &'static str {
        match self {
            FieldFormat::Vti => "vti",
            FieldFormat::Npy => "npy",
        }
    }
}

/// Writes `values` as a NumPy array of this shape, last axis contiguous: version 1.0 of the
/// [format](https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html), a header in
/// Python's notation and then the values.
///
/// # Errors
///
/// The writer's error.
///
/// # Panics
///
/// If there are more or fewer values than the shape has.
pub fn write_npy(writer: &mut impl Write, shape: &[usize], values: &HostBuffer) -> io::Result<()> {
    let len: usize = shape.iter().product();
    assert_eq!(len, values.len(), "another shape");
    write_npy_header(writer, shape, values.element())?;
    writer.write_all(values.bytes())?;
    writer.flush()
}

fn write_npy_header(writer: &mut impl Write, shape: &[usize], element: Element) -> io::Result<()> {
    let extents: Vec<String> = shape.iter().map(|extent| format!("{extent}, ")).collect();
    let description = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
        type_names(element)[0],
        extents.concat().trim_end()
    );
    // Magic, version and length take 10 bytes; the values begin at a multiple of 64, after a line
    // break.
    let end = (10 + description.len() + 1).next_multiple_of(64);
    let header = format!("{description:<width$}\n", width = end - 11);
    let len = u16::try_from(header.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    writer.write_all(b"\x93NUMPY\x01\x00")?;
    writer.write_all(&len.to_le_bytes())?;
    writer.write_all(header.as_bytes())
}

/// Files of a field on a grid.
pub trait WriteField {
    /// Writes the values at the points, x running fastest.
    ///
    /// # Errors
    ///
    /// The writer's error.
    ///
    /// # Panics
    ///
    /// If `values` has fewer elements than the grid has points.
    fn write(
        &self,
        format: FieldFormat,
        writer: &mut impl Write,
        values: &HostBuffer,
    ) -> io::Result<()>;
}

impl WriteField for Lattice {
    fn write(
        &self,
        format: FieldFormat,
        writer: &mut impl Write,
        values: &HostBuffer,
    ) -> io::Result<()> {
        match format {
            FieldFormat::Vti => write_vti(self, writer, values),
            FieldFormat::Npy => {
                // Fewer dimensions give fewer axes.
                let extents = self.axes.map(|(points, _)| points as usize);
                let axes = extents.iter().rposition(|points| *points > 1).unwrap_or(0);
                let shape: Vec<usize> = extents[..=axes].iter().rev().copied().collect();
                write_npy_header(writer, &shape, values.element())?;
                write_points(self, writer, values)?;
                writer.flush()
            }
        }
    }
}

/// Image data:
/// [`.vti`](https://docs.vtk.org/en/latest/vtk_file_formats/vtkxml_file_format.html), with the
/// values appended in binary.
fn write_vti(lattice: &Lattice, writer: &mut impl Write, values: &HostBuffer) -> io::Result<()> {
    let extent = lattice
        .axes
        .map(|(points, _)| format!("0 {}", points - 1))
        .join(" ");
    let triple = |three: [f64; 3]| three.map(|value| value.to_string()).join(" ");
    let (name, origin, spacing) = (
        lattice.name,
        triple(lattice.origin),
        triple(lattice.spacing),
    );
    let vtk_type = type_names(values.element())[1];
    write!(
        writer,
        r#"<?xml version="1.0"?>
<VTKFile type="ImageData" version="1.0" byte_order="LittleEndian" header_type="UInt64">
  <ImageData WholeExtent="{extent}" Origin="{origin}" Spacing="{spacing}">
    <Piece Extent="{extent}">
      <PointData Scalars="{name}">
        <DataArray type="{vtk_type}" Name="{name}" format="appended" offset="0"/>
      </PointData>
    </Piece>
  </ImageData>
  <AppendedData encoding="raw">
_"#
    )?;
    let points = lattice.axes.map(|(points, _)| u64::from(points));
    let bytes = values.element().size() as u64 * points.iter().product::<u64>();
    writer.write_all(&bytes.to_le_bytes())?;
    write_points(lattice, writer, values)?;
    writer.write_all(b"\n  </AppendedData>\n</VTKFile>\n")?;
    writer.flush()
}

fn write_points(lattice: &Lattice, writer: &mut impl Write, values: &HostBuffer) -> io::Result<()> {
    let size = values.element().size();
    let [(n_x, to_x), (n_y, to_y), (n_z, to_z)] = lattice
        .axes
        .map(|(points, stride)| (points as usize, stride));
    let mut row = vec![0; size * n_x];
    for z in 0..n_z {
        for y in 0..n_y {
            for (x, value) in row.chunks_exact_mut(size).enumerate() {
                let first = size * (lattice.first + x * to_x + y * to_y + z * to_z);
                value.copy_from_slice(&values.bytes()[first..][..size]);
            }
            writer.write_all(&row)?;
        }
    }
    Ok(())
}

/// A folder with a file of each recorded field, and beside `.vti` files a `.pvd` that names them
/// with their times. From the first field on, it can be looked at.
pub struct FieldSeries {
    folder: GrowingFolder,
    lattice: Lattice,
    format: FieldFormat,
    /// The name of the `.pvd`, without the ending.
    name: &'static str,
    /// In the problem's unit of time.
    timestep: f64,
    /// Times, and names.
    files: Vec<(f64, String)>,
}

/// The view of a case that is drawn.
pub fn view(case: &dyn LabCase) -> Result<View, CommandError> {
    let view = case.view();
    view.ok_or_else(|| CommandError::Bug(format!("nothing to see of {case}")))
}

impl FieldSeries {
    /// [`FieldSeries::create`] for the field that is seen of a case.
    ///
    /// # Errors
    ///
    /// As [`FieldSeries::create`]; [`CommandError::Bug`] for a case without a view.
    pub fn of(
        case: &dyn LabCase,
        folder: &Path,
        name: &'static str,
        format: FieldFormat,
    ) -> Result<FieldSeries, CommandError> {
        let View {
            lattice, timestep, ..
        } = view(case)?;
        FieldSeries::create(folder, name, lattice, format, timestep)
    }

    /// Prepares the folder, which `--out` named. From field to field, time advances by `timestep` a
    /// step, in seconds where the problem has a unit.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] if it cannot be written, is not empty, or another run has it.
    pub fn create(
        folder: &Path,
        name: &'static str,
        lattice: Lattice,
        format: FieldFormat,
        timestep: f64,
    ) -> Result<FieldSeries, CommandError> {
        if let Some(above) = folder.parent() {
            super::flags::create_folder(above)?;
        }
        Ok(FieldSeries {
            folder: GrowingFolder::create("--out", folder)?,
            lattice,
            format,
            name,
            timestep,
            files: Vec::new(),
        })
    }

    /// Writes the fields after `step` timesteps.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`], typically since the disk is full.
    pub fn record(&mut self, step: u32, fields: &NamedBuffers) -> Result<(), CommandError> {
        let file = format!(
            "{}-{step:06}.{}",
            self.lattice.name,
            self.format.extension()
        );
        let _bar = Bar::spinner(format!("writing {file}"));
        let values = device::check::find(fields, self.lattice.name)
            .ok_or_else(|| CommandError::Bug(format!("no field for {file}")))?;
        let field = self.folder.file(&file)?;
        written(field, |writer| {
            self.lattice.write(self.format, writer, values)
        })?;
        self.files.push((f64::from(step) * self.timestep, file));
        match self.format {
            FieldFormat::Vti => written(self.folder.file(&self.list())?, |writer| {
                write_pvd(writer, &self.files)
            }),
            FieldFormat::Npy => Ok(()),
        }
    }

    /// Whether no field is recorded yet.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Says what the files are.
    pub fn finish(self) -> String {
        let fields = count(self.files.len(), "field");
        let folder = self.folder.target();
        match self.format {
            FieldFormat::Vti => format!("{} and {fields}", folder.join(self.list()).display()),
            FieldFormat::Npy => format!("{}: {fields}", folder.display()),
        }
    }

    /// The name of the `.pvd`.
    fn list(&self) -> String {
        format!("{}.pvd", self.name)
    }
}

/// Writes a file and gives it its name.
fn written(
    mut file: OutputFile,
    write: impl FnOnce(&mut &mut dyn Write) -> io::Result<()>,
) -> Result<(), CommandError> {
    let mut writer: &mut dyn Write = file.writer();
    write(&mut writer).map_err(|error| CommandError::not_written(file.target(), &error))?;
    file.finish()?;
    Ok(())
}

/// Writes the list of files beside it, each with its time.
fn write_pvd(writer: &mut impl Write, files: &[(f64, String)]) -> io::Result<()> {
    let entry = |(time, file): &(f64, String)| {
        format!("    <DataSet timestep=\"{time}\" part=\"0\" file=\"{file}\"/>\n")
    };
    write!(
        writer,
        r#"<?xml version="1.0"?>
<VTKFile type="Collection" version="0.1" byte_order="LittleEndian">
  <Collection>
{}  </Collection>
</VTKFile>
"#,
        files.iter().map(entry).collect::<String>()
    )?;
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn npy_has_a_header_and_values() {
        let values = vec![1.0, -0.5, f64::MAX, 0.0, 1e-300, 2.0];
        let mut file = Vec::new();
        write_npy(&mut file, &[1, 2, 3], &values.clone().into()).unwrap();
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
        let _ = write_npy(&mut Vec::new(), &[2, 2], &vec![0.0; 3].into());
    }

    #[test]
    fn vti_has_a_structure_and_values() {
        // y is contiguous, then z, then x.
        let lattice = Lattice {
            name: "u",
            first: 1,
            axes: [(3, 8), (2, 1), (4, 2)],
            origin: [-1.0, 0.0, 2.5],
            spacing: [0.5, 10.0, 1e-3],
        };
        let value = |x: usize, y: usize, z: usize| (100 * z + 10 * y + x) as f32 + 0.5;
        let values = (0..24).map(|index| value(index / 8, index % 2, index / 2 % 4));
        let values = [-1.0].into_iter().chain(values);
        let mut file = Vec::new();
        let values: Vec<f32> = values.collect();
        lattice
            .write(FieldFormat::Vti, &mut file, &values.clone().into())
            .unwrap();
        let start = file.windows(2).position(|pair| pair == b"\n_").unwrap() + 2;
        insta::assert_snapshot!(std::str::from_utf8(&file[..start]).unwrap(), @r#"
        <?xml version="1.0"?>
        <VTKFile type="ImageData" version="1.0" byte_order="LittleEndian" header_type="UInt64">
          <ImageData WholeExtent="0 2 0 1 0 3" Origin="-1 0 2.5" Spacing="0.5 10 0.001">
            <Piece Extent="0 2 0 1 0 3">
              <PointData Scalars="u">
                <DataArray type="Float32" Name="u" format="appended" offset="0"/>
              </PointData>
            </Piece>
          </ImageData>
          <AppendedData encoding="raw">
        _
        "#);
        let (len, data) = file[start..].split_at(8);
        assert_eq!(len, u64::to_le_bytes(4 * 24));
        let (data, end) = data.split_at(4 * 24);
        for (index, bytes) in data.chunks_exact(4).enumerate() {
            let (x, y, z) = (index % 3, index / 3 % 2, index / 6);
            assert_eq!(bytes, value(x, y, z).to_le_bytes());
        }
        assert_eq!(end, b"\n  </AppendedData>\n</VTKFile>\n");

        let mut npy_file = Vec::new();
        lattice
            .write(FieldFormat::Npy, &mut npy_file, &values.into())
            .unwrap();
        let header = String::from_utf8_lossy(&npy_file);
        assert!(header.contains("'shape': (4, 2, 3,)"), "{header}");
        assert_eq!(npy_file[npy_file.len() - data.len()..], *data);
    }

    #[test]
    fn lattices_follow_the_axes() {
        let case = host::wave3d::Wave3d::new([5, 6, 7], 1).unwrap();
        let lattice = Lattice::new("u", case.axes("u"), 0.0, 10.0);
        assert_eq!(lattice.axes, [(5, 42), (6, 7), (7, 1)]);
        let plane = host::wave2d::Wave2d::new(5, 6, 1, "empty-box").unwrap();
        let plane_lattice = Lattice::new("u1", plane.axes("u1"), 0.0, 1.0);
        assert_eq!(plane_lattice.axes, [(5, 1), (6, 5), (1, 30)]);
    }

    #[test]
    fn a_pvd_lists_files_with_times() {
        let files = [(0.2, "u-100.vti".to_owned()), (0.4, "u-200.vti".to_owned())];
        let mut file = Vec::new();
        write_pvd(&mut file, &files).unwrap();
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
