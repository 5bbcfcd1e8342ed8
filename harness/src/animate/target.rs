//! What `--out` names: an animated GIF, a picture of the last frame, or a folder of pictures.

use std::io::Write;
use std::path::Path;

use host::Progress;
use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder, ImageError};

use super::film::Film;
use super::{gif_file, palette};
use crate::failure::Failure;
use crate::output::{OutputFile, OutputFolder, not_written};
use crate::progress::Bar;
use crate::units::{bytes, count};

/// Where the pictures go. Nothing is seen there before they are complete.
#[derive(Debug)]
pub enum Target {
    /// All frames in one file.
    Gif(OutputFile),
    /// The last frame.
    Still(OutputFile),
    /// A file for each frame.
    Folder(OutputFolder),
}

impl Target {
    /// Prepares to write `path`, which `flag` named. Its ending tells what is meant.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] if it cannot be written, or ends in what is no picture.
    pub fn create(flag: &str, path: &Path) -> Result<Target, Failure> {
        let text = path.to_string_lossy();
        let extension = path
            .extension()
            .map(|extension| extension.to_string_lossy().to_lowercase());
        Ok(match extension.as_deref() {
            _ if text.ends_with('/') || path.is_dir() => {
                Target::Folder(OutputFolder::create(flag, path)?)
            }
            None => Target::Folder(OutputFolder::create(flag, path)?),
            Some("gif") => Target::Gif(OutputFile::create(flag, path)?),
            Some("png") => Target::Still(OutputFile::create(flag, path)?),
            Some(_) => {
                return Err(Failure::Input(format!(
                    "{flag} {text}: name a .gif, a .png, or a folder that ends in /"
                )));
            }
        })
    }

    /// Writes the film, and says what was written.
    ///
    /// # Errors
    ///
    /// [`Failure::Environment`], typically since the disk is full.
    pub fn write(self, film: &Film, fps: u16) -> Result<String, Failure> {
        let (width, height) = film.size();
        let frames = film.len();
        match self {
            Target::Gif(mut file) => {
                let bar = Bar::new("writing");
                gif_file::write(film, fps, file.writer(), |done| {
                    bar.update(done as u64, frames as u64);
                })
                .map_err(|error| not_written(file.target(), &error))?;
                let path = file.finish()?;
                let size = std::fs::metadata(&path).map_or(0, |data| data.len());
                Ok(format!(
                    "wrote {}: {width}x{height}, {}, {}",
                    path.display(),
                    count(frames, "frame"),
                    bytes(size)
                ))
            }
            Target::Still(mut file) => {
                if let Some(picture) = film.pictures().last() {
                    png(file.writer(), &picture, film.size())
                        .map_err(|error| not_written(file.target(), &error))?;
                }
                let path = file.finish()?;
                Ok(format!(
                    "wrote {}: {width}x{height}, the last of {}",
                    path.display(),
                    count(frames, "frame")
                ))
            }
            Target::Folder(folder) => {
                let bar = Bar::new("writing");
                let digits = frames.to_string().len().max(4);
                for (index, picture) in film.pictures().enumerate() {
                    let name = format!("{index:0digits$}.png");
                    let mut writer = folder.file(&name)?;
                    png(&mut writer, &picture, film.size())
                        .map_err(|error| not_written(&folder.target().join(&name), &error))?;
                    bar.update(index as u64 + 1, frames as u64);
                }
                let path = folder.finish()?;
                Ok(format!(
                    "wrote {}: {} of {width}x{height}",
                    path.display(),
                    count(frames, "PNG frame")
                ))
            }
        }
    }
}

fn png(
    writer: &mut impl Write,
    picture: &[u8],
    (width, height): (usize, usize),
) -> Result<(), ImageError> {
    let palette = palette::rgb();
    let pixels: Vec<u8> = picture
        .iter()
        .flat_map(|index| &palette[3 * usize::from(*index)..][..3])
        .copied()
        .collect();
    PngEncoder::new(&mut *writer).write_image(
        &pixels,
        width as u32,
        height as u32,
        ExtendedColorType::Rgb8,
    )?;
    writer.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::wave2d::Wave2d;

    fn film() -> Film {
        let mut film = Film::new(&Wave2d::new(20, 10, 1, "empty-box").unwrap(), 2).unwrap();
        film.push(&[0.0; 200]);
        film.push(&[1.0; 200]);
        film
    }

    fn first_pixel(path: &Path) -> [u8; 3] {
        let image = image::open(path).unwrap().to_rgb8();
        assert_eq!(image.dimensions(), (20, 10));
        image.get_pixel(0, 0).0
    }

    #[test]
    fn the_ending_tells_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let target = Target::create("--out", &folder.path().join(name)).unwrap();
            target.write(&film(), 25).unwrap()
        };
        assert!(write("a.GIF").contains("a.GIF: 20x10, 2 frames, "));
        assert!(write("a.png").ends_with("a.png: 20x10, the last of 2 frames"));
        assert!(write("frames/").ends_with("frames/: 2 PNG frames of 20x10"));
        assert!(write("more").ends_with("more: 2 PNG frames of 20x10"));

        let last = 3 * 2 * usize::from(palette::LEVELS);
        let strongest = &palette::rgb()[last..][..3];
        assert_eq!(first_pixel(&folder.path().join("a.png")), strongest);
        assert_eq!(
            first_pixel(&folder.path().join("frames/0001.png")),
            strongest
        );
        assert_ne!(
            first_pixel(&folder.path().join("frames/0000.png")),
            strongest
        );
    }

    #[test]
    fn other_endings_are_refused() {
        let failure = Target::create("--out", Path::new("wave.mp4")).unwrap_err();
        insta::assert_snapshot!(failure, @"--out wave.mp4: name a .gif, a .png, or a folder that ends in /");
    }
}
