//! Random inputs: the bits of each element of an array, and numbers that are uniform in [-1, 1).

use std::collections::BTreeMap;

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use kernels_gpu::random;
use rayon::prelude::*;

use device::buffer::{BufferError, Scalar};
use lab::{CaseError, Seed, Values};

use crate::fill::{TASK, filled, zeros};

/// Places of an array whose bits are not those of its stream.
const FRESH: usize = 300;

/// The random bits of an element.
pub(crate) trait Bits: Copy + Send + Sync {
    /// How many bytes of a stream an element takes.
    const BYTES: usize;
    /// From as many bytes.
    fn from_bytes(bytes: &[u8]) -> Self;
}

impl Bits for u32 {
    const BYTES: usize = 4;
    fn from_bytes(bytes: &[u8]) -> u32 {
        u32::from_le_bytes(bytes.try_into().expect("4 bytes"))
    }
}

impl Bits for u64 {
    const BYTES: usize = 8;
    fn from_bytes(bytes: &[u8]) -> u64 {
        u64::from_le_bytes(bytes.try_into().expect("8 bytes"))
    }
}

/// The bits of an array's elements, from a key: those of a cryptographic stream, and in some places
/// those of a second one. Which places they are, and what is there, follows from another key: who
/// computes the whole stream has wrong elements still.
pub(crate) struct Stream<B> {
    key: [u8; 32],
    array: u32,
    fresh: BTreeMap<usize, B>,
}

impl<B: Bits> Stream<B> {
    /// The stream of the array of this number, which has `len` elements.
    pub(crate) fn new(key: [u8; 32], array: u32, len: usize) -> Stream<B> {
        let mut root = ChaCha8Rng::from_seed(key);
        let [mut first, mut second] = [[0; 32]; 2];
        root.fill_bytes(&mut first);
        root.fill_bytes(&mut second);
        let mut second = bits_of(second, array);
        let places = FRESH.min(len);
        let fresh = (0..places).map(|_| {
            // The remainder prefers no place by more than 1 in 2^32.
            let place = (second.next_u64() % len as u64) as usize;
            let mut bytes = [0; 8];
            second.fill_bytes(&mut bytes);
            (place, B::from_bytes(&bytes[..B::BYTES]))
        });
        Stream {
            key: first,
            array,
            fresh: fresh.collect(),
        }
    }

    /// Elements from number `first` on.
    pub(crate) fn fill_from<T>(
        &self,
        first: usize,
        values: &mut [T],
        element: impl Fn(B) -> T + Sync,
    ) {
        /// Elements at a time.
        const PART: usize = 1 << 9;
        let mut stream = bits_of(self.key, self.array);
        stream.set_word_pos((first * B::BYTES / 4) as u128);
        let mut bytes = [0; 8 * PART];
        for part in values.chunks_mut(PART) {
            let bytes = &mut bytes[..part.len() * B::BYTES];
            stream.fill_bytes(bytes);
            for (value, own) in part.iter_mut().zip(bytes.chunks_exact(B::BYTES)) {
                *value = element(B::from_bytes(own));
            }
        }
        for (place, bits) in self.fresh.range(first..first + values.len()) {
            values[place - first] = element(*bits);
        }
    }

    /// All elements, on all cores.
    pub(crate) fn fill<T: Send>(&self, values: &mut [T], element: impl Fn(B) -> T + Sync) {
        let parts = values.par_chunks_mut(TASK).enumerate();
        parts.for_each(|(number, part)| self.fill_from(number * TASK, part, &element));
    }
}

/// A stream of bits for the array of this number.
fn bits_of(key: [u8; 32], array: u32) -> ChaCha8Rng {
    let mut stream = ChaCha8Rng::from_seed(key);
    stream.set_stream(array.into());
    stream
}

/// An array of elements from their bits. With a key they are those of its [`Stream`]; with a
/// number, `hashed` has the bits of an element.
///
/// # Errors
///
/// [`BufferError::OutOfMemory`].
pub(crate) fn array<T: Scalar + Send>(
    seed: Seed,
    number: u32,
    len: usize,
    hashed: impl Fn(u64, u32) -> u32 + Sync + Send,
    element: impl Fn(u32) -> T + Sync + Send,
) -> Result<Vec<T>, BufferError> {
    match seed {
        Seed::Number(seed) => filled(len, |i| element(hashed(seed, i as u32))),
        Seed::Key(key) => {
            let mut values = zeros(len)?;
            Stream::new(key, number, len).fill(&mut values, element);
            Ok(values)
        }
    }
}

/// Numbers in [-1, 1), independent of each other, for the elements of an array.
pub(crate) enum Uniform {
    /// By a quick hash.
    Hashed {
        /// They follow from it.
        seed: u64,
        /// The array's number.
        array: u32,
    },
    /// From a key.
    Keyed(Stream<u32>),
}

impl Uniform {
    /// Those of the array of this number, which has `len` elements.
    pub(crate) fn new(seed: Seed, array: u32, len: usize) -> Uniform {
        match seed {
            Seed::Number(seed) => Uniform::Hashed { seed, array },
            Seed::Key(key) => Uniform::Keyed(Stream::new(key, array, len)),
        }
    }

    /// Those of `len` elements from number `first` on.
    pub(crate) fn from(&self, first: usize, len: usize) -> Vec<f32> {
        match self {
            Uniform::Hashed { seed, array } => {
                let numbers = first..first + len;
                numbers.map(|i| hashed(*seed, *array, i)).collect()
            }
            Uniform::Keyed(stream) => {
                let mut values = vec![0.0; len];
                stream.fill_from(first, &mut values, uniform_f32);
                values
            }
        }
    }

    /// Factors above 7/8 and at most 1, for `len` elements from number `first` on. A table that
    /// follows from parameters is multiplied by them, so that it must be read.
    pub(crate) fn factors(&self, first: usize, len: usize) -> Vec<f64> {
        let numbers = self.from(first, len).into_iter();
        let factors = numbers.map(|number| 1.0 - f64::from(number + 1.0) / 16.0);
        factors.collect()
    }
}

/// The power of two that random inputs are multiplied by: all of them, if it is below 0, or a few
/// otherwise, and as few by its inverse. Schemes are linear, so a right program has as many right
/// digits with fields of 1e-18 as with those of 1; one that clamps, or takes what is small for
/// zero, has not. Were all values huge, no sum would show what a source or a wall adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Scale(i32);

impl Scale {
    /// That of a case's parameters.
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] for one that is out of range.
    pub(crate) fn of_case(values: &Values<'_>) -> Result<Scale, CaseError> {
        values.scale().map(Scale)
    }

    /// Scales the random inputs of an array of `len` elements.
    #[inline(always)]
    pub(crate) fn among<T: Scaled>(self, len: usize) -> impl Fn(T) -> T + Copy + Send + Sync {
        /// One of this many is huge, and one tiny.
        const SELDOM: u32 = 1024;
        /// Of a small array, about as many are.
        const SOME: u32 = 8;
        let every = (len as u32 / SOME).clamp(2, SELDOM);
        move |value| match self.0 {
            0 => value,
            scale if scale < 0 => value.times_power(scale),
            scale => match value.number() % every {
                0 => value.times_power(scale),
                1 => value.times_power(-scale),
                _ => value,
            },
        }
    }
}

impl std::fmt::Display for Scale {
    /// As the end of a case's text: `, scale 20`, or nothing.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            0 => Ok(()),
            scale => write!(f, ", scale {scale}"),
        }
    }
}

/// A real number.
pub(crate) trait Scaled: Copy {
    /// A number that follows from all of its bits.
    fn number(self) -> u32;
    /// The product by a power of two, which is exact while it is not subnormal.
    fn times_power(self, power: i32) -> Self;
}

impl Scaled for f32 {
    #[inline(always)]
    fn number(self) -> u32 {
        random::value(self.to_bits(), 0)
    }

    #[inline(always)]
    fn times_power(self, power: i32) -> f32 {
        self * f32::powi(2.0, power)
    }
}

impl Scaled for f64 {
    #[inline(always)]
    fn number(self) -> u32 {
        let bits = self.to_bits();
        random::value(bits as u32, (bits >> 32) as u32)
    }

    #[inline(always)]
    fn times_power(self, power: i32) -> f64 {
        self * f64::powi(2.0, power)
    }
}

/// A pseudo-random number in [-1, 1) for an element of an array.
#[inline(always)]
fn hashed(seed: u64, array: u32, element: usize) -> f32 {
    const ODD: u32 = 0x9e37_79b9;
    let low = random::value(seed as u32, ODD.wrapping_mul(array));
    let key = random::value(low, (seed >> 32) as u32);
    // Without the product, two keys would give the same values in another order.
    uniform_f32(random::value(ODD.wrapping_mul(element as u32), key))
}

/// A number in [-1, 1), a multiple of 2^-23.
#[inline(always)]
pub(crate) fn uniform_f32(bits: u32) -> f32 {
    (bits >> 8) as f32 * (1.0 / 8_388_608.0) - 1.0
}

/// A number in [0, 1), a multiple of 2^-53.
#[inline(always)]
pub(crate) fn unit_f64(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 32] = [7; 32];

    fn all(key: [u8; 32], array: u32, len: usize) -> Vec<u32> {
        let mut values = vec![0; len];
        Stream::new(key, array, len).fill(&mut values, |bits: u32| bits);
        values
    }

    #[test]
    fn an_array_is_the_same_in_whatever_parts_it_is_filled() {
        const LEN: usize = 2 * TASK + 1000;
        let whole = all(KEY, 3, LEN);
        let stream = Stream::new(KEY, 3, LEN);
        for (first, len) in [(0, 5), (1, 600), (TASK - 3, 7), (LEN - 1, 1)] {
            let mut part = vec![0; len];
            stream.fill_from(first, &mut part, |bits: u32| bits);
            assert_eq!(part, whole[first..first + len], "{first}");
        }
    }

    #[test]
    fn other_keys_and_arrays_have_other_elements() {
        let one = all(KEY, 0, 1000);
        for other in [all(KEY, 1, 1000), all([8; 32], 0, 1000)] {
            let equal = one.iter().zip(&other).filter(|(one, other)| one == other);
            assert!(equal.count() < 3);
        }
    }

    #[test]
    fn a_few_hundred_elements_are_not_of_the_stream() {
        const LEN: usize = 100_000;
        let mut stream = Stream::new(KEY, 0, LEN);
        let with = all(KEY, 0, LEN);
        let fresh = std::mem::take(&mut stream.fresh);
        let mut without = vec![0; LEN];
        stream.fill(&mut without, |bits: u32| bits);
        let differ = with
            .iter()
            .zip(&without)
            .filter(|(one, other)| one != other)
            .count();
        assert_eq!(differ, fresh.len());
        assert!((FRESH - 5..=FRESH).contains(&differ), "{differ}");
    }

    #[test]
    fn scaled_inputs_are_tiny_or_a_few_are_huge() {
        let values = Uniform::new(Seed::Key(KEY), 2, 10_000).from(0, 10_000);
        let scaled = |scale, len: usize| {
            let among = Scale(scale).among(len);
            let own = values[..len].iter().map(|value| among(*value).abs());
            own.collect::<Vec<f32>>()
        };
        let count = |of: &[f32], is: fn(f32) -> bool| -> usize {
            of.iter().filter(|value| is(**value)).count()
        };
        assert_eq!(count(&scaled(-40, 10_000), |value| value > 1e-12), 0);
        for len in [100, 10_000] {
            let some = scaled(40, len);
            let (huge, tiny) = (
                count(&some, |value| value > 1e6),
                count(&some, |value| value < 1e-9),
            );
            assert!(
                (3..30).contains(&huge) && (3..30).contains(&tiny),
                "{huge} {tiny}"
            );
        }
        assert_eq!(
            scaled(0, 10_000),
            values.iter().map(|value| value.abs()).collect::<Vec<_>>()
        );
    }

    #[test]
    fn numbers_are_uniform() {
        for seed in [Seed::Number(5), Seed::Key(KEY)] {
            let values = Uniform::new(seed, 2, 10_000).from(0, 10_000);
            assert!(values.iter().all(|value| (-1.0..1.0).contains(value)));
            let mean = values.iter().sum::<f32>() / 10_000.0;
            assert!(mean.abs() < 0.03, "{mean}");
        }
        assert!(unit_f64(u64::MAX) < 1.0 && unit_f64(0) == 0.0);
    }
}
