//! The meaning of an element's bytes, and results of several elements.

use super::{Channel, Image, Sampler};
use crate::exact;

/// The bytes of an element: at most four channels of four.
pub(crate) type Bytes = [u8; 16];

/// The bits of one channel of an element, extended to 32; none of a channel that it does not have.
fn channel_bits(image: &Image, bytes: &Bytes, channel: usize) -> Option<u32> {
    let size = image.channel.bytes() as usize;
    let own = (channel < image.channels as usize).then(|| &bytes[channel * size..][..size])?;
    let bits = own
        .iter()
        .rev()
        .fold(0, |bits, &byte| bits << 8 | u32::from(byte));
    let shift = 32 - 8 * size as u32;
    Some(if image.channel.is_signed() {
        ((bits << shift) as i32 >> shift) as u32
    } else {
        bits
    })
}

/// True if a fetch gives integers.
pub(crate) fn gives_integers(image: &Image, sampler: &Sampler) -> bool {
    match image.channel {
        Channel::F16 | Channel::F32 => false,
        Channel::U32 | Channel::S32 => true,
        _ => sampler.keeps_integers,
    }
}

/// The channels of an element as integers. One that it does not have is 0, the fourth 1.
pub(crate) fn integers(image: &Image, bytes: &Bytes) -> [u32; 4] {
    std::array::from_fn(|channel| {
        let bits = channel_bits(image, bytes, channel);
        bits.unwrap_or(u32::from(channel == 3))
    })
}

/// The channels of an element as floats (CUDA Programming Guide, "Texture Functions": integers
/// are parts of their greatest value). One that it does not have is 0, the fourth 1.
pub(crate) fn floats(image: &Image, sampler: &Sampler, bytes: &Bytes) -> [f32; 4] {
    std::array::from_fn(|channel| {
        let Some(bits) = channel_bits(image, bytes, channel) else {
            return if channel == 3 { 1.0 } else { 0.0 };
        };
        match image.channel {
            Channel::U8 if sampler.is_srgb && channel < 3 => from_srgb(bits as f32 / 255.0),
            Channel::U8 => bits as f32 / 255.0,
            Channel::U16 => bits as f32 / 65535.0,
            Channel::S8 => signed_part(bits, 127.0),
            Channel::S16 => signed_part(bits, 32767.0),
            Channel::F16 => exact::half_to_single(bits as u16),
            Channel::F32 | Channel::U32 | Channel::S32 => f32::from_bits(bits),
        }
    })
}

/// The bytes of an element of these values, which are `f32` where its channels are floats, and
/// else integers of 32 bits. One that does not fit in its channel is the nearest that does: the
/// PTX ISA does not say.
pub(crate) fn of_values(image: &Image, values: [u32; 4]) -> Bytes {
    let size = image.channel.bytes() as usize;
    let mut bytes = Bytes::default();
    let own = bytes.chunks_exact_mut(size).take(image.channels as usize);
    for (to, value) in own.zip(values) {
        let signed = value as i32;
        let bits = match image.channel {
            Channel::U8 => value.min(u8::MAX.into()),
            Channel::U16 => value.min(u16::MAX.into()),
            Channel::S8 => signed.clamp(i8::MIN.into(), i8::MAX.into()) as u32,
            Channel::S16 => signed.clamp(i16::MIN.into(), i16::MAX.into()) as u32,
            Channel::F16 => exact::convert(
                value.into(),
                &exact::F32,
                &exact::F16,
                exact::Rounding::Nearest,
            ) as u32,
            Channel::U32 | Channel::S32 | Channel::F32 => value,
        };
        to.copy_from_slice(&bits.to_le_bytes()[..size]);
    }
    bytes
}

/// A signed integer as a part of the greatest; the least one counts as its successor.
fn signed_part(bits: u32, greatest: f32) -> f32 {
    let part = bits as i32 as f32 / greatest;
    if part < -1.0 { -1.0 } else { part }
}

/// The linear value of an sRGB one (IEC 61966-2-1).
fn from_srgb(value: f32) -> f32 {
    if value <= 0.04045 {
        value / 12.92
    } else {
        libm::powf((value + 0.055) / 1.055, 2.4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::ImageKind;

    fn image(channel: Channel, channels: u32) -> Image {
        Image {
            address: 0,
            kind: ImageKind::Plain,
            channel,
            channels,
            extent: [1; 3],
            pitch: 0,
            layer: 0,
        }
    }

    #[test]
    fn values_become_channels() {
        let of = |channel, values| of_values(&image(channel, 2), values);
        let both = |bytes: Bytes, size: usize| bytes[..2 * size].to_vec();
        let far = [300, (-200i32) as u32, 0, 0];
        assert_eq!(both(of(Channel::U8, far), 1), [255, 255]);
        assert_eq!(both(of(Channel::S8, far), 1), [127, 0x80]);
        assert_eq!(both(of(Channel::S16, far), 2), [0x2c, 1, 0x38, 0xff]);
        let floats = [1.0f32.to_bits(), (-2.5f32).to_bits(), 0, 0];
        assert_eq!(both(of(Channel::F16, floats), 2), [0, 0x3c, 0, 0xc1]);
        assert_eq!(
            both(of(Channel::F32, floats), 4)[4..],
            (-2.5f32).to_le_bytes()
        );
        assert_eq!(of(Channel::U8, [1, 2, 3, 4])[2..], [0; 14]);
    }

    #[test]
    fn integers_are_extended_and_lacking_channels_are_opaque_black() {
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&[0xff, 0x80]);
        assert_eq!(integers(&image(Channel::U8, 2), &bytes), [255, 128, 0, 1]);
        let [x, y, ..] = integers(&image(Channel::S8, 2), &bytes).map(|bits| bits as i32);
        assert_eq!((x, y), (-1, -128));
        assert_eq!(
            integers(&image(Channel::S16, 1), &bytes)[0] as i32,
            0x80ff - 0x10000
        );
    }

    #[test]
    fn integers_are_parts_of_their_greatest() {
        let sampler = Sampler::default();
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&[0xff, 0x80]);
        assert_eq!(
            floats(&image(Channel::U8, 1), &sampler, &bytes),
            [1.0, 0.0, 0.0, 1.0]
        );
        assert_eq!(floats(&image(Channel::S8, 2), &sampler, &bytes)[1], -1.0);
        assert!(!gives_integers(&image(Channel::U8, 1), &sampler));
        assert!(gives_integers(&image(Channel::S32, 1), &sampler));
    }
}
