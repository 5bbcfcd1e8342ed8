//! Films as files: an animated GIF, a PNG of the last frame, or a folder with a PNG of each.

pub mod film;
mod palette;

use std::io::Write;
use std::path::Path;

use gif::{DisposalMethod, EncodingError, Frame, Repeat};
use terminal::progress::Progress;

use exit::CommandError;
use film::Film;
use output_files::{GrowingFolder, OutputFile};
use terminal::progress::Bar;
use units::{bytes, count};

/// Where the pictures go. Each appears when it is complete.
#[derive(Debug)]
enum Target {
    /// All frames in one file.
    Gif(OutputFile),
    /// The last frame.
    Still(OutputFile),
    /// A file for each frame.
    Folder(GrowingFolder),
}

/// Frames, and the file or folder that they go to.
pub struct Animation {
    /// The frames.
    pub film: Film,
    target: Target,
    /// Frames in a second of a GIF.
    fps: u16,
}

impl Animation {
    /// Prepares to write `path`, which `flag` named. Its ending says what is wanted.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] if it cannot be written, or has another ending.
    pub fn create(
        flag: &str,
        path: &Path,
        fps: u16,
        film: Film,
    ) -> Result<Animation, CommandError> {
        let text = path.to_string_lossy();
        let extension = path
            .extension()
            .map(|extension| extension.to_string_lossy().to_lowercase());
        let is_folder = text.ends_with('/') || path.is_dir();
        let target = match extension.as_deref() {
            Some("gif") if !is_folder => Target::Gif(OutputFile::create(flag, path)?),
            Some("png") if !is_folder => Target::Still(OutputFile::create(flag, path)?),
            Some(_) if !is_folder => {
                return Err(CommandError::Input(format!(
                    "{flag} {text}: name a .gif, a .png, or a folder that ends in /"
                )));
            }
            _ => Target::Folder(GrowingFolder::create(flag, path)?),
        };
        Ok(Animation { film, target, fps })
    }

    /// Writes the frames, and says what was written.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`], typically since the disk is full.
    pub fn finish(self) -> Result<String, CommandError> {
        let film = self.film;
        let (width, height) = film.size();
        let frames = film.len();
        let bar = Bar::new("writing");
        match self.target {
            Target::Gif(mut file) => {
                write_gif(&film, self.fps, file.writer(), &bar)
                    .map_err(|error| CommandError::not_written(file.target(), &error))?;
                let path = file.finish()?;
                let size = std::fs::metadata(&path).map_or(0, |data| data.len());
                Ok(format!(
                    "{}: {width}x{height}, {}, {}",
                    path.display(),
                    count(frames, "frame"),
                    bytes(size)
                ))
            }
            Target::Still(mut file) => {
                if let Some(picture) = film.pictures().last() {
                    write_png(file.writer(), &picture, film.size())
                        .map_err(|error| CommandError::not_written(file.target(), &error))?;
                }
                Ok(format!(
                    "{}: {width}x{height}, the last of {}",
                    file.finish()?.display(),
                    count(frames, "frame")
                ))
            }
            Target::Folder(folder) => {
                let digits = frames.to_string().len().max(4);
                for (index, picture) in film.pictures().enumerate() {
                    let name = format!("{index:0digits$}.png");
                    let mut file = folder.file(&name)?;
                    write_png(file.writer(), &picture, film.size())
                        .map_err(|error| CommandError::not_written(file.target(), &error))?;
                    file.finish()?;
                    bar.update(index as u64 + 1, frames as u64);
                }
                Ok(format!(
                    "{}: {} of {width}x{height}",
                    folder.target().display(),
                    count(frames, "PNG frame")
                ))
            }
        }
    }
}

/// Writes a picture: indices into [`palette::rgb`].
///
/// # Errors
///
/// The writer's.
pub fn write_png(
    writer: &mut impl Write,
    picture: &[u8],
    (width, height): (usize, usize),
) -> Result<(), png::EncodingError> {
    let mut encoder = png::Encoder::new(&mut *writer, width as u32, height as u32);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_palette(palette::rgb());
    let mut file = encoder.write_header()?;
    file.write_image_data(picture)?;
    file.finish()?;
    Ok(writer.flush()?)
}

/// Writes the film as an endless GIF: one palette for all frames, and of each frame only what
/// changed.
fn write_gif(
    film: &Film,
    fps: u16,
    writer: impl Write,
    progress: &dyn Progress,
) -> Result<(), EncodingError> {
    let (width, height) = film.size();
    // No side has more than 800 pixels.
    let (width, height) = (width as u16, height as u16);
    let mut encoder = gif::Encoder::new(writer, width, height, &palette::rgb())?;
    encoder.set_repeat(Repeat::Infinite)?;
    let mut last: Vec<u8> = Vec::new();
    for (index, picture) in film.pictures().enumerate() {
        let mut pixels = picture.clone();
        for (pixel, shown) in pixels.iter_mut().zip(&last) {
            if pixel == shown {
                *pixel = palette::UNCHANGED;
            }
        }
        encoder.write_frame(&Frame {
            // In hundredths of a second.
            delay: (100 + fps / 2) / fps,
            dispose: DisposalMethod::Keep,
            transparent: Some(palette::UNCHANGED),
            width,
            height,
            buffer: pixels.into(),
            ..Frame::default()
        })?;
        last = picture;
        progress.update(index as u64 + 1, film.len() as u64);
    }
    // The end mark, whose failure would be lost if it were left to `drop`.
    encoder.into_inner()?.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use terminal::progress::NoProgress;

    fn film() -> Film {
        Film::new([20, 10], |_, _| false, 2).unwrap()
    }

    fn create(path: &Path) -> Result<Animation, CommandError> {
        Animation::create("--out", path, 25, film())
    }

    fn first_pixel(path: &Path) -> u8 {
        let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
        let mut reader = png::Decoder::new(file).read_info().unwrap();
        let info = reader.info();
        assert_eq!(info.size(), (20, 10));
        assert_eq!(info.palette.as_deref(), Some(&palette::rgb()[..]));
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        pixels[0]
    }

    #[test]
    fn the_ending_tells_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let mut animation = create(&folder.path().join(name)).unwrap();
            for value in [0.0, 1.0] {
                animation.film.push(&[value; 200]);
            }
            animation.finish().unwrap()
        };
        assert!(write("a.GIF").contains("a.GIF: 20x10, 2 frames, "));
        assert!(write("a.png").ends_with("a.png: 20x10, the last of 2 frames"));
        assert!(write("frames/").ends_with("frames/: 2 PNG frames of 20x10"));
        assert!(write("more").ends_with("more: 2 PNG frames of 20x10"));

        let strongest = 2 * palette::LEVELS;
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
        let failure = create(Path::new("wave.mp4")).err().unwrap();
        insta::assert_snapshot!(failure, @"--out wave.mp4: name a .gif, a .png, or a folder that ends in /");
    }

    #[test]
    fn a_gif_is_read_back_as_it_was_written() {
        let mut film = Film::new([50, 30], |x, _| x == 7, 3).unwrap();
        for frame in 0..3 {
            let field: Vec<f32> = (0..1500)
                .map(|cell| ((cell / 7 + frame) as f32).sin())
                .collect();
            film.push(&field);
        }
        let mut bytes = Vec::new();
        write_gif(&film, 25, &mut bytes, &NoProgress).unwrap();

        let mut decoder = gif::DecodeOptions::new();
        decoder.set_color_output(gif::ColorOutput::Indexed);
        let mut decoder = decoder.read_info(bytes.as_slice()).unwrap();
        assert_eq!((decoder.width(), decoder.height()), (50, 30));
        assert_eq!(
            decoder.global_palette().unwrap()[..3 * palette::COLOURS],
            palette::rgb()
        );
        let mut canvas = vec![0; 1500];
        let mut frames = 0;
        for picture in film.pictures() {
            let frame = decoder.read_next_frame().unwrap().unwrap();
            assert_eq!(frame.delay, 4);
            for (pixel, new) in canvas.iter_mut().zip(frame.buffer.iter()) {
                if Some(*new) != frame.transparent {
                    *pixel = *new;
                }
            }
            assert_eq!(canvas, picture);
            frames += 1;
        }
        assert_eq!(frames, 3);
        assert!(decoder.read_next_frame().unwrap().is_none());
    }
}
