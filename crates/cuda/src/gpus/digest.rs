//! Digests of what buffers hold, computed where they are: a result that is known need not cross the
//! bus to be known again.

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

use super::driver::call;
use super::driver::stream::StreamRef;
use super::memory::Memory;
use super::module::LoadedModule;
use device::{DeviceInfo, DriverError, Module};
use plan::LaunchConfig;

/// Threads of a block.
const BLOCK: u32 = 256;
/// Enough blocks to fill any GPU; each thread takes more words in turn.
const BLOCKS: u32 = 2048;
/// Bytes of a word.
const WORD: usize = 4;

static MODULE: Module = Module::from_static("digest", include_str!("digest.ptx"));

/// The key of this process: a kernel cannot know it.
static KEY: OnceLock<u64> = OnceLock::new();

/// Two sums of 64 bits over all words of a buffer, under this process's key. Different buffers have
/// one digest with a probability of 2^-64 or less.
pub type Digest = [u64; 2];

/// The kernel and its sums.
#[derive(Debug)]
pub struct Digesting {
    module: Arc<LoadedModule>,
    sums: Memory,
}

impl Digesting {
    /// Loads the kernel; `None` where the driver or the GPU does not know its instructions. The
    /// GPU's context is current.
    pub fn new(info: &DeviceInfo) -> Result<Option<Digesting>, DriverError> {
        let Ok(module) = LoadedModule::new(&MODULE, info) else {
            return Ok(None);
        };
        Ok(Some(Digesting {
            module: Arc::new(module),
            sums: Memory::new(size_of::<Digest>(), None)?,
        }))
    }

    /// The digest of a buffer of the current context's device, whose bytes are whole words. Waits.
    pub fn of(&self, memory: &Memory, stream: StreamRef<'_>) -> Result<Digest, DriverError> {
        self.sums.fill(0, stream)?;
        let mut address = memory.address();
        let mut count = (memory.bytes() / WORD) as u64;
        let mut key = *KEY.get_or_init(|| fastrand::u64(..));
        let mut sums = self.sums.address();
        let blocks = count.div_ceil(u64::from(BLOCK)).clamp(1, u64::from(BLOCKS));
        let config = LaunchConfig::new(blocks as u32, BLOCK);
        let params = [
            &raw mut address,
            &raw mut count,
            &raw mut key,
            &raw mut sums,
        ]
        .map(|param| param.cast::<c_void>());
        let kernel = self.module.kernel("digest")?;
        // SAFETY: the kernel has these four parameters, of 8 bytes each. It reads this number of
        // words of `memory`, and adds to two numbers in `sums`. Both live until the stream has
        // finished: this function waits.
        unsafe { call::launch(kernel.raw(), &config, stream, &params) }?;
        stream.synchronize()?;
        let mut digest = [0; 2 * 8];
        self.sums.read(0, &mut digest)?;
        let half = |at: usize| u64::from_le_bytes(digest[at..at + 8].try_into().expect("8 bytes"));
        Ok([half(0), half(8)])
    }
}

/// Whether a buffer of this number of bytes has a digest.
pub fn is_whole_words(bytes: usize) -> bool {
    bytes.is_multiple_of(WORD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::{Device, EmulatedDevice, HostBuffer};
    use plan::{Element, Plan, args};

    /// The kernel's sums over these words, by the emulated device, with this number of blocks.
    fn sums(words: &[u32], key: u64, blocks: u32) -> HostBuffer {
        let mut plan = Plan::new("digest");
        let from = plan.buffer("words", Element::U32, words.len());
        let to = plan.buffer("sums", Element::U64, 2);
        plan.fill(to, 0).unwrap();
        let config = LaunchConfig::new(blocks, 64);
        let args = args![from, words.len() as u64, key, to];
        plan.launch("digest", config, args).unwrap();
        plan.output("sums", to);
        let device = EmulatedDevice::default();
        let mut session = device.prepare(&MODULE, &plan).unwrap();
        session.write(from, &words.to_vec().into()).unwrap();
        session.run().unwrap();
        session.read(to).unwrap()
    }

    /// The sums of these words, computed on the host as the comment of the kernel says.
    fn expected(words: &[u32], key: u64) -> HostBuffer {
        const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
        const ONE: u64 = 0xBF58_476D_1CE4_E5B9;
        const TWO: u64 = 0x94D0_49BB_1331_11EB;
        let mut sums = [0_u64; 2];
        for (place, word) in (0_u64..).zip(words) {
            let mut x = place.wrapping_mul(GOLDEN).wrapping_add(key);
            x = (x ^ (x >> 30)).wrapping_mul(ONE);
            x = (x ^ (x >> 27) ^ u64::from(*word)).wrapping_mul(TWO);
            x = (x ^ (x >> 31)).wrapping_mul(ONE);
            sums[0] = sums[0].wrapping_add(x);
            sums[1] = sums[1].wrapping_add((x ^ (x >> 29)).wrapping_mul(GOLDEN));
        }
        sums.to_vec().into()
    }

    #[test]
    fn every_bit_and_every_place_counts() {
        let words: Vec<u32> = (0..1000_u32).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
        let of = |some: &[u32]| sums(some, 7, 3);
        let whole = of(&words);
        assert_eq!(whole, expected(&words, 7));
        // The number of blocks does not count, and so not the order of their sums.
        assert_eq!(sums(&words, 7, 16), whole);
        assert_ne!(sums(&words, 8, 3), whole);
        for (at, bit) in [(0, 0), (0, 31), (499, 7), (999, 31)] {
            let mut other = words.clone();
            other[at] ^= 1 << bit;
            assert_ne!(of(&other), whole, "bit {bit} of word {at}");
        }
        let mut other = words.clone();
        other.swap(3, 700);
        assert_ne!(of(&other), whole);
    }
}
