//! Messages between ranks as bytes: a header of 24 bytes, little-endian, and the content.

use std::io::{self, Read, Write};

/// The meaning of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// A rank introduces itself to rank 0.
    Greeting = 0x6b6e_6102,
    /// Rank 0 knows it, and waits for others.
    Welcome,
    /// All have come and may begin; or, with text, why not.
    Verdict,
    /// The sender fails; or, from rank 0, a rank is lost. The text says why.
    Failed,
    /// The sender has ended as it should.
    Goodbye,
    /// Part of a barrier.
    Barrier,
    /// Part of a gather.
    Gather,
    /// Part of a broadcast.
    Broadcast,
    /// Bytes from device to device.
    Data,
}

impl Kind {
    const ALL: [Kind; 9] = [
        Kind::Greeting,
        Kind::Welcome,
        Kind::Verdict,
        Kind::Failed,
        Kind::Goodbye,
        Kind::Barrier,
        Kind::Gather,
        Kind::Broadcast,
        Kind::Data,
    ];
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its meaning.
    pub kind: Kind,
    /// The rank that receives it: rank 0 passes it on.
    pub rank: u32,
    /// The device that sent it, for [`Kind::Data`].
    pub from: u32,
    /// The device that receives it, for [`Kind::Data`].
    pub to: u32,
    /// The content.
    pub bytes: Vec<u8>,
}

impl Message {
    /// A message for `rank`.
    pub fn new(kind: Kind, rank: usize, bytes: impl Into<Vec<u8>>) -> Message {
        Message {
            kind,
            rank: rank as u32,
            from: 0,
            to: 0,
            bytes: bytes.into(),
        }
    }

    /// The content, as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Writes it in one go.
    pub fn write(&self, writer: &mut impl Write) -> io::Result<()> {
        let mut all = Vec::with_capacity(24 + self.bytes.len());
        for word in [self.kind as u32, self.rank, self.from, self.to] {
            all.extend(word.to_le_bytes());
        }
        all.extend((self.bytes.len() as u64).to_le_bytes());
        all.extend(&self.bytes);
        writer.write_all(&all)
    }

    /// Reads one that carries at most `limit` bytes.
    pub fn read(reader: &mut impl Read, limit: u64) -> io::Result<Message> {
        let mut header = [0; 24];
        reader.read_exact(&mut header)?;
        let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("4 bytes"));
        let len = u64::from_le_bytes(header[16..].try_into().expect("8 bytes"));
        let kind = Kind::ALL.into_iter().find(|kind| *kind as u32 == word(0));
        let (Some(kind), true) = (kind, len <= limit) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it does not speak as a rank of this program does",
            ));
        };
        // Grows as bytes come: a wrong length allocates nothing.
        let mut bytes = Vec::new();
        if reader.by_ref().take(len).read_to_end(&mut bytes)? as u64 != len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Message {
            kind,
            rank: word(4),
            from: word(8),
            to: word(12),
            bytes,
        })
    }
}
