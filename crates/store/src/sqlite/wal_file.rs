//! Reads a write-ahead log without SQLite: which frames are valid, where it is damaged, which pages it holds.
//!
//! SQLite stops at the first frame whose checksum is wrong and says nothing. Here the frames behind it are looked at
//! too: a log that goes on after a damaged frame has lost something. The format is that of
//! <https://www.sqlite.org/fileformat2.html#walformat>; all numbers are big-endian.

use std::{fs, io, path::Path};

const HEADER: usize = 32;
const FRAME: usize = 24;
/// The checksums of a log that has this number read words as little-endian; with the last bit set, as big-endian.
const MAGIC: u32 = 0x377f_0682;

/// What a log holds.
pub(crate) struct WalFile {
    bytes: Vec<u8>,
    page_size: usize,
    /// Frames up to the last commit whose checksums are right: what SQLite reads.
    pub(crate) valid: usize,
    /// The first frame with a wrong checksum, counted from 1, if the log goes on behind it up to a later commit.
    pub(crate) damaged: Option<usize>,
    /// All frames that belong to this log, the unreadable ones included.
    pub(crate) frames: usize,
}

/// One page in a log.
pub(crate) struct WalFrame<'a> {
    pub(crate) page: u32,
    /// The size of the database in pages after this commit; 0 if it is not the last frame of one.
    pub(crate) size: u32,
    pub(crate) data: &'a [u8],
}

/// Running checksum over 8-byte steps.
struct WalChecksum {
    is_big: bool,
    first: u32,
    second: u32,
}

impl WalChecksum {
    fn add(&mut self, bytes: &[u8]) {
        for pair in bytes.chunks_exact(8) {
            let word = |at| {
                if self.is_big {
                    big(pair, at)
                } else {
                    big(pair, at).swap_bytes()
                }
            };
            self.first = self.first.wrapping_add(word(0)).wrapping_add(self.second);
            self.second = self.second.wrapping_add(word(4)).wrapping_add(self.first);
        }
    }

    fn is(&self, bytes: &[u8], at: usize) -> bool {
        (self.first, self.second) == (big(bytes, at), big(bytes, at + 4))
    }
}

/// Four bytes as a number; 0 behind the end.
pub(crate) fn big(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..at + 4)
        .and_then(|four| four.try_into().ok())
        .map_or(0, u32::from_be_bytes)
}

impl WalFile {
    /// Reads the log at this path; none if there is none, or nothing in it that is one.
    pub(crate) fn read(path: &Path) -> io::Result<Option<Self>> {
        match fs::read(path) {
            Ok(bytes) => Ok(Self::parse(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn parse(bytes: Vec<u8>) -> Option<Self> {
        let page_size = usize::try_from(big(&bytes, 8))
            .ok()
            .filter(|size| size.is_power_of_two())?;
        if bytes.len() <= HEADER || big(&bytes, 0) & !1 != MAGIC {
            return None;
        }
        let mut log = Self {
            bytes,
            page_size,
            valid: 0,
            damaged: None,
            frames: 0,
        };
        log.walk();
        Some(log)
    }

    fn walk(&mut self) {
        let mut sum = WalChecksum {
            is_big: big(&self.bytes, 0) & 1 == 1,
            first: 0,
            second: 0,
        };
        sum.add(self.bytes.get(..24).unwrap_or_default());
        let (mut valid, mut frames) = (0, 0);
        let mut wrong = (!sum.is(&self.bytes, 24)).then_some(1);
        let mut damaged = None;
        for (place, header) in self.headers().enumerate() {
            // Frames of an earlier log, which this one has not overwritten yet, have another salt.
            if header.get(8..16) != self.bytes.get(16..24) {
                break;
            }
            frames = place + 1;
            sum.add(header.get(..8).unwrap_or_default());
            sum.add(header.get(FRAME..).unwrap_or_default());
            let is_commit = big(header, 4) != 0;
            if wrong.is_none() && !sum.is(header, 16) {
                wrong = Some(frames);
            }
            match wrong {
                None if is_commit => valid = frames,
                Some(first) if is_commit && frames > first => damaged = Some(first),
                _ => {}
            }
        }
        (self.valid, self.damaged, self.frames) = (valid, damaged, frames);
    }

    /// Whole frames, each with its page.
    fn headers(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes
            .get(HEADER..)
            .unwrap_or_default()
            .chunks_exact(FRAME + self.page_size)
    }

    /// The first `count` frames, in order.
    pub(crate) fn first(&self, count: usize) -> impl Iterator<Item = WalFrame<'_>> {
        self.headers().take(count).map(|frame| WalFrame {
            page: big(frame, 0),
            size: big(frame, 4),
            data: frame.get(FRAME..).unwrap_or_default(),
        })
    }

    /// The size of its pages in bytes.
    pub(crate) fn page_size(&self) -> usize {
        self.page_size
    }
}
