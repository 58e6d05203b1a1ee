//! Reads the bytes of a database: its file, with the pages of its log over it.

use std::{fs, path::Path};

use crate::{
    Error,
    sqlite::wal_file::{WalFile, big},
};

/// A database file that needs no log.
pub(super) struct DatabaseImage(Vec<u8>);

impl DatabaseImage {
    /// Puts the first `frames` of a log over the file. Pages that neither has are empty.
    pub(super) fn new(main: &[u8], log: Option<&WalFile>, frames: usize) -> Self {
        let mut bytes = main.to_vec();
        let page_size = match (log, big(main, 16) >> 16) {
            (Some(log), _) => log.page_size(),
            (None, 1) => 65_536,
            (None, size) => size as usize,
        };
        let mut pages = bytes
            .len()
            .div_ceil(page_size.max(1))
            .max(big(main, 28) as usize);
        for frame in log.into_iter().flat_map(|log| log.first(frames)) {
            let page = frame.page as usize;
            pages = pages.max(page).max(frame.size as usize);
            // A damaged frame may name any page.
            if page == 0 || page > bytes.len() / page_size + 1_000_000 {
                continue;
            }
            let start = (page - 1) * page_size;
            if bytes.len() < start + page_size {
                bytes.resize(start + page_size, 0);
            }
            if let Some(place) = bytes.get_mut(start..start + page_size) {
                place.copy_from_slice(frame.data);
            }
        }
        let pages = pages.min(bytes.len() / page_size.max(1) + 1_000_000);
        bytes.resize(pages.saturating_mul(page_size), 0);
        patch(
            &mut bytes,
            28,
            &u32::try_from(pages).unwrap_or(u32::MAX).to_be_bytes(),
        );
        let changed = big(&bytes, 24).to_be_bytes();
        patch(&mut bytes, 92, &changed);
        // Not in write-ahead mode: the log is in it already.
        patch(&mut bytes, 18, &[1, 1]);
        Self(bytes)
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), Error> {
        if self.0.len() < 512 {
            return Err(Error::Damaged("there is nothing that can be read".into()));
        }
        fs::write(path, &self.0)
            .map_err(|error| Error::Failed(format!("write {}: {error}", path.display())))
    }
}

fn patch(bytes: &mut [u8], at: usize, with: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + with.len()) {
        place.copy_from_slice(with);
    }
}
