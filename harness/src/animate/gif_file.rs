//! Films as animated GIF: one palette for all frames, and only what changed from frame to frame.

use std::io::Write;

use gif::{DisposalMethod, Encoder, EncodingError, Frame, Repeat};

use super::film::Film;
use super::palette;

/// Writes the film, to be repeated for ever. `done` is told how many frames are written.
///
/// # Errors
///
/// What the writer answers.
pub fn write(
    film: &Film,
    fps: u16,
    writer: impl Write,
    done: impl Fn(usize),
) -> Result<(), EncodingError> {
    let (width, height) = film.size();
    // No side has more than 800 pixels.
    let mut encoder = Encoder::new(writer, width as u16, height as u16, &palette::rgb())?;
    encoder.set_repeat(Repeat::Infinite)?;
    let mut last: Option<Vec<u8>> = None;
    for (index, picture) in film.pictures().enumerate() {
        let pixels = match &last {
            None => picture.clone(),
            Some(last) => changes(last, &picture),
        };
        encoder.write_frame(&Frame {
            // In hundredths of a second.
            delay: (100 + fps / 2) / fps,
            dispose: DisposalMethod::Keep,
            transparent: Some(palette::UNCHANGED),
            width: width as u16,
            height: height as u16,
            buffer: pixels.into(),
            ..Frame::default()
        })?;
        last = Some(picture);
        done(index + 1);
    }
    // The end mark, whose failure would be lost if it were left to `drop`.
    encoder.into_inner()?.flush()?;
    Ok(())
}

fn changes(last: &[u8], next: &[u8]) -> Vec<u8> {
    let pixels = last.iter().zip(next);
    pixels
        .map(|(last, next)| {
            if last == next {
                palette::UNCHANGED
            } else {
                *next
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::wave2d::Wave2d;

    #[test]
    fn what_is_read_back_is_what_was_written() {
        let mut film = Film::new(&Wave2d::new(50, 30, 1, "double-slit").unwrap(), 3).unwrap();
        for frame in 0..3 {
            let field: Vec<f32> = (0..1500)
                .map(|cell| ((cell / 7 + frame) as f32).sin())
                .collect();
            film.push(&field);
        }
        let mut bytes = Vec::new();
        write(&film, 25, &mut bytes, |_| ()).unwrap();

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
