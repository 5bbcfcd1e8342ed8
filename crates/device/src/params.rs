//! The arguments of launches as the bytes of the kernels' parameters.

use plan::{Arg, BufferId, Plan, View};

/// Parameter values in words of 8 bytes.
#[derive(Debug, Default)]
pub struct Params {
    /// Every value begins at a word of its own.
    pub values: Vec<u64>,
    /// For each parameter, the position of its first word in `values`.
    pub starts: Vec<usize>,
}

impl Params {
    /// Adds an argument: one parameter, or two if it is a slice. `address` gives each buffer's
    /// address in device memory.
    pub fn push(&mut self, arg: &Arg, plan: &Plan, address: impl Fn(BufferId) -> u64) {
        let buffer = |id: BufferId| &plan.buffers()[id.index()];
        match *arg {
            Arg::Buffer(id) => self.word(address(id)),
            Arg::Slice(id) => {
                self.word(address(id));
                self.word(buffer(id).len);
            }
            Arg::SliceAt { id, offset, len } => {
                self.word(address(id) + offset * buffer(id).element.size() as u64);
                self.word(len);
            }
            Arg::BufferAt { id, offset } | Arg::BufferRange { id, offset, .. } => {
                self.word(address(id) + offset * buffer(id).element.size() as u64);
            }
            Arg::Within { id, view, .. } => {
                self.word(address(id));
                if view == View::Slice {
                    self.word(buffer(id).len);
                }
            }
            // The low bytes of a word are the value's: CUDA hosts are little-endian.
            Arg::U8(value) => self.word(value.into()),
            Arg::U32(value) => self.word(value.into()),
            Arg::I32(value) => self.word(value as u32 as u64),
            Arg::U64(value) => self.word(value),
            Arg::I64(value) => self.word(value as u64),
            Arg::F32(value) => self.word(value.to_bits().into()),
            Arg::F64(value) => self.word(value.to_bits()),
            Arg::Bytes(ref bytes) => {
                self.starts.push(self.values.len());
                for chunk in bytes.chunks(8) {
                    let mut word = [0; 8];
                    word[..chunk.len()].copy_from_slice(chunk);
                    self.values.push(u64::from_ne_bytes(word));
                }
            }
        }
    }

    fn word(&mut self, value: u64) {
        self.starts.push(self.values.len());
        self.values.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Element;
    use plan::args;

    #[test]
    fn arguments_are_laid_out_in_order() {
        let mut plan = Plan::new("p");
        let u = plan.buffer("u", Element::F32, 10);
        let v = plan.buffer("v", Element::F64, 20);
        let args = args![
            v,
            u.slice(),
            v.at(3),
            v.slice_at(3, 5),
            v.within(View::Slice, 3, 5),
            v.within(View::Read, 3, 5),
            -1i32,
            1.0f32,
            vec![1u8, 2, 3, 4, 5, 6, 7, 8, 9],
            7u8
        ];
        let mut params = Params::default();
        for arg in &args {
            params.push(arg, &plan, |id| 0x1000 * (1 + id.index() as u64));
        }
        let expected = [
            0x2000,
            0x1000,
            10,
            0x2000 + 24,
            0x2000 + 24,
            5,
            0x2000,
            20,
            0x2000,
            0xffff_ffff,
            0x3f80_0000,
            0x0807_0605_0403_0201,
            9,
            7,
        ];
        assert_eq!(params.values, expected);
        assert_eq!(params.starts, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13]);
    }
}
