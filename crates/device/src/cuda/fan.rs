//! Streams on which independent commands run at once: they begin when the main stream gets to the group, and the main stream
//! goes on when all of them have finished. Both hold in a capture too, which makes branches of a graph of them.

use crate::device_error::DriverError;
use crate::driver::stream::{Event, SideStream, StreamRef};

/// The most streams beside the main one. A GPU runs up to 128 kernels at once, but few fit it that are worth launching.
const MOST: usize = 7;

/// Streams beside the main one; none by default.
#[derive(Debug, Default)]
pub struct Fan {
    lanes: Vec<Lane>,
    /// The main stream has got to the group.
    fork: Option<Event>,
}

#[derive(Debug)]
struct Lane {
    stream: SideStream,
    /// Its commands of the group have finished.
    done: Event,
}

impl Fan {
    /// Streams for groups of up to so many commands. The context is current.
    pub fn new(commands: usize) -> Result<Fan, DriverError> {
        if commands < 2 {
            return Ok(Fan::default());
        }
        let lanes = (1..commands).take(MOST).map(|_| {
            Ok(Lane {
                stream: SideStream::new(false)?,
                done: Event::new()?,
            })
        });
        Ok(Fan {
            lanes: lanes.collect::<Result<_, DriverError>>()?,
            fork: Some(Event::new()?),
        })
    }

    /// The streams that a group of so many commands runs on, the main one first: they wait until it gets there.
    pub fn fork<'s>(
        &'s self,
        main: StreamRef<'s>,
        commands: usize,
    ) -> Result<Vec<StreamRef<'s>>, DriverError> {
        let mut streams = vec![main];
        let Some(fork) = self.fork.as_ref().filter(|_| commands > 1) else {
            return Ok(streams);
        };
        fork.record(main)?;
        for lane in self.lanes.iter().take(commands - 1) {
            lane.stream.get().wait(fork)?;
            streams.push(lane.stream.get());
        }
        Ok(streams)
    }

    /// Makes the main stream, the first of those that [`Fan::fork`] gave, wait for the others.
    pub fn join(&self, streams: &[StreamRef<'_>]) -> Result<(), DriverError> {
        for (&stream, lane) in streams[1..].iter().zip(&self.lanes) {
            lane.done.record(stream)?;
            streams[0].wait(&lane.done)?;
        }
        Ok(())
    }
}
