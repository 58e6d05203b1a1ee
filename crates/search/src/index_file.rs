//! Serializes an index as a cache file: written atomically, and read only if its checksum is valid.
//!
//! The file is only a cache. A corrupt file, another version or another root counts as a missing file. Two processes
//! write one after the other; the last one wins.

use std::{
    ffi::OsStr,
    fs, io,
    io::Write,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use rooftree_stdx::atomic_file::AtomicFile;
use sha2::{Digest, Sha256};

use super::{
    definition::ChunkKind,
    file_source::FileSource,
    index::SearchIndex,
    indexed_file::{ContentHash, IndexedChunk, IndexedFile, IndexedFileStamp, hash},
};

/// Changes whenever an old file would be understood wrongly: also when words are split, stemmed or
/// weighed differently, or files cut differently.
const FORMAT: &[u8] = b"rooftree search index 1\n";

/// Path of the index file of a root.
pub(super) fn place(directory: &Path, root: &Path, ending: &str) -> PathBuf {
    let digest = Sha256::digest(root.as_os_str().as_bytes());
    let name: String = digest
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    directory.join(format!("{name}.{ending}"))
}

/// Reads an index; none if there is none that can be used.
pub(super) fn load(place: &Path, root: &Path, source: FileSource) -> Option<SearchIndex> {
    let bytes = fs::read(place).ok()?;
    decode(checked(&bytes)?, root, source)
}

/// Writes an index.
pub(super) fn save(place: &Path, index: &SearchIndex) -> io::Result<()> {
    replace(place, encode(index))
}

/// Puts bytes, with their hash behind them, in the place of a file. Readable for the owner only.
pub(super) fn replace(place: &Path, mut bytes: Vec<u8>) -> io::Result<()> {
    let directory = place.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let sum = hash(&bytes);
    bytes.extend_from_slice(&sum);
    let mut file = AtomicFile::private(place)?;
    file.write_all(&bytes)?;
    file.commit_without_fsync()
}

/// Bytes without the hash behind them, if it is theirs.
pub(super) fn checked(bytes: &[u8]) -> Option<&[u8]> {
    let (bytes, sum) =
        bytes.split_at_checked(bytes.len().checked_sub(size_of::<ContentHash>())?)?;
    (hash(bytes) == sum).then_some(bytes)
}

fn encode(index: &SearchIndex) -> Vec<u8> {
    let mut writer = IndexWriter(FORMAT.to_vec());
    writer.bytes(index.root.as_os_str().as_bytes());
    writer.number(index.files.len() as u64);
    for entry in &index.files {
        writer.bytes(entry.path.as_os_str().as_bytes());
        writer.number(entry.stamp.bytes);
        writer.number(entry.stamp.changed.cast_unsigned());
        writer.0.extend_from_slice(&entry.hash);
        writer.number(entry.pieces.len() as u64);
        for IndexedChunk {
            first,
            last,
            kind,
            is_test,
            words,
            key,
        } in &entry.pieces
        {
            writer.small(*first);
            writer.small(*last);
            writer.small(*kind as u32);
            writer.small(u32::from(*is_test));
            writer.small(u32::from(*words));
            writer.number(*key);
        }
        for numbers in [&entry.path_terms, &entry.terms, &entry.ends] {
            writer.number(numbers.len() as u64);
            numbers.iter().for_each(|number| writer.small(*number));
        }
        writer.bytes(&entry.postings);
    }
    writer.0
}

fn decode(bytes: &[u8], root: &Path, source: FileSource) -> Option<SearchIndex> {
    let mut reader = IndexReader(bytes.strip_prefix(FORMAT)?);
    if reader.bytes()? != root.as_os_str().as_bytes() {
        return None;
    }
    let count = reader.number()?;
    let files = (0..count)
        .map(|_| entry(&mut reader).map(Arc::new))
        .collect::<Option<_>>()?;
    Some(SearchIndex {
        files,
        ..SearchIndex::empty(root, source)
    })
}

fn entry(reader: &mut IndexReader<'_>) -> Option<IndexedFile> {
    Some(IndexedFile {
        path: PathBuf::from(OsStr::from_bytes(reader.bytes()?)),
        stamp: IndexedFileStamp {
            bytes: reader.number()?,
            changed: reader.number()?.cast_signed(),
        },
        hash: reader.take(size_of::<ContentHash>())?.try_into().ok()?,
        pieces: {
            let count = reader.number()?;
            (0..count).map(|_| piece(reader)).collect::<Option<_>>()?
        },
        path_terms: reader.numbers()?,
        terms: reader.numbers()?,
        ends: reader.numbers()?,
        postings: reader.bytes()?.to_vec(),
    })
}

fn piece(reader: &mut IndexReader<'_>) -> Option<IndexedChunk> {
    let (first, last) = (reader.small()?, reader.small()?);
    let kind = reader.small()?;
    let kind = ChunkKind::ALL
        .into_iter()
        .find(|known| *known as u32 == kind)?;
    let is_test = reader.small()? == 1;
    Some(IndexedChunk {
        first,
        last,
        kind,
        is_test,
        words: reader.small()?.try_into().ok()?,
        key: reader.number()?,
    })
}

struct IndexWriter(Vec<u8>);

impl IndexWriter {
    fn small(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }
}

struct IndexReader<'a>(&'a [u8]);

impl<'a> IndexReader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn small(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.number()?;
        self.take(count.try_into().ok()?)
    }

    fn numbers(&mut self) -> Option<Vec<u32>> {
        let count = usize::try_from(self.number()?).ok()?;
        let bytes = self.take(count.checked_mul(4)?)?;
        Some(
            bytes
                .chunks_exact(4)
                .filter_map(|four| Some(u32::from_le_bytes(four.try_into().ok()?)))
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index() -> SearchIndex {
        let stamp = IndexedFileStamp {
            bytes: 5,
            changed: -7,
        };
        let files = ["a.rs", "b/c.md"].map(|path| {
            Arc::new(IndexedFile::new(
                path.into(),
                stamp,
                b"# Retry\nfn retry_after() {}\n\nlet x = 1;\n",
            ))
        });
        SearchIndex {
            files: files.into(),
            ..SearchIndex::empty(Path::new("/r"), FileSource::PLAIN)
        }
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let file = place(directory.path(), Path::new("/r"), "index");
        save(&file, &index()).unwrap();
        assert_eq!(
            load(&file, Path::new("/r"), FileSource::PLAIN)
                .unwrap()
                .files,
            index().files
        );
        assert!(load(&file, Path::new("/other"), FileSource::PLAIN).is_none());
        assert_eq!(
            fs::read_dir(directory.path()).unwrap().count(),
            1,
            "nothing is left beside it"
        );
    }

    #[test]
    fn any_other_byte_makes_it_no_index() {
        let directory = tempfile::tempdir().unwrap();
        let file = place(directory.path(), Path::new("/r"), "index");
        save(&file, &index()).unwrap();
        let good = fs::read(&file).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&file, &bad).unwrap();
            assert!(
                load(&file, Path::new("/r"), FileSource::PLAIN).is_none(),
                "byte {at}"
            );
            assert!(
                decode(&bad, Path::new("/r"), FileSource::PLAIN)
                    .is_none_or(|index| index.files.len() < 99),
                "no panic"
            );
            fs::write(&file, &good[..at]).unwrap();
            assert!(
                load(&file, Path::new("/r"), FileSource::PLAIN).is_none(),
                "cut at {at}"
            );
        }
    }
}
