//! Reads the body of a response with a size limit, before and after decompression.
//!
//! Nothing an answer says about its own length is believed. A packed body goes through the
//! decoder piece by piece into a sink that refuses what is too much, so a few bytes that unpack to
//! gigabytes cost no more memory than the limit.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;
use reqwest::{Response, header::CONTENT_ENCODING};

use super::{WebBounds, exchange::words, guard::WebError};

/// Below this many bytes the compression ratio is not checked: short texts compress well and do no harm.
const HARMLESS: usize = 256 * 1024;

/// Reads all of it.
pub(crate) async fn read(mut response: Response, bounds: &WebBounds) -> Result<Vec<u8>, WebError> {
    let mut reader = BodyReader::new(packing(&response)?, bounds);
    if response
        .content_length()
        .is_some_and(|length| length > bounds.wire_bytes as u64)
    {
        return Err(reader.too_long());
    }
    loop {
        let piece = response.chunk().await.map_err(|error| {
            WebError::failed(format!(
                "The answer broke off: {}.",
                words(&error.without_url())
            ))
        })?;
        match piece {
            Some(piece) => reader.take(&piece)?,
            None => return reader.finish(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ContentEncoding {
    None,
    Gzip,
}

fn packing(response: &Response) -> Result<ContentEncoding, WebError> {
    let named = response
        .headers()
        .get(CONTENT_ENCODING)
        .and_then(|value| value.to_str().ok());
    match named
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase()
        .as_str()
    {
        "" | "identity" => Ok(ContentEncoding::None),
        "gzip" | "x-gzip" => Ok(ContentEncoding::Gzip),
        other => Err(WebError::failed(format!(
            "The answer is packed with `{}`, which was not requested.",
            other.chars().take(20).collect::<String>()
        ))),
    }
}

struct BodyReader {
    wire: usize,
    limit: usize,
    sink: BodyDecoder,
}

enum BodyDecoder {
    Plain(BoundedBuffer),
    Gzip(Box<MultiGzDecoder<BoundedBuffer>>),
}

impl BodyReader {
    fn new(packing: ContentEncoding, bounds: &WebBounds) -> Self {
        let bounded = BoundedBuffer {
            bytes: Vec::new(),
            limit: bounds.unpacked_bytes,
            ratio: bounds.unpacked_ratio,
            wire: 0,
        };
        let sink = match packing {
            ContentEncoding::None => BodyDecoder::Plain(bounded),
            ContentEncoding::Gzip => BodyDecoder::Gzip(Box::new(MultiGzDecoder::new(bounded))),
        };
        Self {
            wire: 0,
            limit: bounds.wire_bytes,
            sink,
        }
    }

    fn take(&mut self, piece: &[u8]) -> Result<(), WebError> {
        self.wire = self.wire.saturating_add(piece.len());
        if self.wire > self.limit {
            return Err(self.too_long());
        }
        let taken = match &mut self.sink {
            BodyDecoder::Plain(bounded) => bounded.write_all(piece),
            BodyDecoder::Gzip(decoder) => {
                decoder.get_mut().wire = self.wire;
                decoder.write_all(piece)
            }
        };
        taken.map_err(unreadable)
    }

    fn finish(self) -> Result<Vec<u8>, WebError> {
        match self.sink {
            BodyDecoder::Plain(bounded) => Ok(bounded.bytes),
            // Servers send no body at all for some answers, and still call it packed.
            BodyDecoder::Gzip(_) if self.wire == 0 => Ok(Vec::new()),
            BodyDecoder::Gzip(decoder) => decoder
                .finish()
                .map(|bounded| bounded.bytes)
                .map_err(unreadable),
        }
    }

    fn too_long(&self) -> WebError {
        WebError::failed(format!(
            "The answer is longer than {} bytes; ask for a part of it.",
            self.limit
        ))
    }
}

/// Takes bytes until it is too much.
struct BoundedBuffer {
    bytes: Vec<u8>,
    limit: usize,
    ratio: usize,
    /// Bytes that came over the wire so far.
    wire: usize,
}

impl Write for BoundedBuffer {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let length = self.bytes.len().saturating_add(piece.len());
        if length > self.limit {
            return Err(io::Error::other(format!(
                "it unpacks to more than {} bytes",
                self.limit
            )));
        }
        if self.wire > 0 && length > HARMLESS.max(self.wire.saturating_mul(self.ratio)) {
            return Err(io::Error::other(format!(
                "it unpacks to more than {} times its length",
                self.ratio
            )));
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn unreadable(error: io::Error) -> WebError {
    WebError::failed(format!("The answer cannot be read: {error}."))
}

#[cfg(test)]
mod tests {
    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn unpacked(packed: &[u8], bounds: &WebBounds) -> Result<usize, WebError> {
        let mut reader = BodyReader::new(ContentEncoding::Gzip, bounds);
        packed
            .chunks(1000)
            .try_for_each(|piece| reader.take(piece))?;
        reader.finish().map(|bytes| bytes.len())
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_unpacks_to_too_much_is_refused() {
        let bounds = WebBounds::default();
        assert_eq!(unpacked(&packed(b"short"), &bounds), Ok(5));
        assert_eq!(unpacked(&packed(&[b'a'; HARMLESS]), &bounds), Ok(HARMLESS));
        let refusal = unpacked(&packed(&vec![0; 5_000_000]), &bounds).unwrap_err();
        assert!(refusal.to_string().contains("100 times"), "{refusal}");
        let loose = WebBounds {
            unpacked_ratio: usize::MAX,
            ..bounds
        };
        let refusal = unpacked(&packed(&vec![0; 10_000_001]), &loose).unwrap_err();
        assert!(
            refusal.to_string().contains("more than 10000000 bytes"),
            "{refusal}"
        );
        assert!(unpacked(b"no gzip at all", &bounds).is_err());
    }
}
