//! Loads a text file for editing: validated, decoded, and encoded again with its original line ends and byte order
//! mark.

use std::io::Read;

use sha2::{Digest, Sha256};

use crate::{ToolContext, reach::FileTarget, resolved_path};

/// Files up to this size are taken into memory, and can be edited.
pub(crate) const WHOLE_BYTES: u64 = 10 * 1024 * 1024;

const BOM: &str = "\u{feff}";

/// A file whose content the session knows and may change.
pub(crate) struct TextFile {
    /// What is written.
    pub target: FileTarget,
    /// Without byte order mark, and with plain line ends if all ends were the same.
    pub text: String,
    has_bom: bool,
    is_crlf: bool,
}

impl TextFile {
    /// Opens a file the session has read and that has not changed since.
    pub fn open(context: &ToolContext, shown: &str) -> Result<Self, String> {
        let target = context.target(shown)?;
        let bytes = known_bytes(context, &target)?;
        let text = String::from_utf8(bytes).map_err(|_| {
            format!("{shown} is not valid UTF-8 text, so it cannot be edited; a Bash command can.")
        })?;
        let (text, has_bom) = match text.strip_prefix(BOM) {
            Some(rest) => (rest.to_owned(), true),
            None => (text, false),
        };
        let is_crlf =
            text.contains("\r\n") && text.matches('\n').count() == text.matches("\r\n").count();
        let text = if is_crlf {
            text.replace("\r\n", "\n")
        } else {
            text
        };
        Ok(Self {
            target,
            text,
            has_bom,
            is_crlf,
        })
    }

    /// What a model wrote, in the form `text` is in.
    pub fn fit(&self, written: &str) -> String {
        if self.is_crlf {
            written.replace("\r\n", "\n")
        } else {
            written.to_owned()
        }
    }

    /// The bytes to save for a new text: marks and line ends as they were.
    pub fn encode(&self, text: &str) -> Vec<u8> {
        let text = if self.is_crlf {
            text.replace('\n', "\r\n")
        } else {
            text.to_owned()
        };
        if self.has_bom {
            format!("{BOM}{text}").into_bytes()
        } else {
            text.into_bytes()
        }
    }
}

/// The content of a file the session has read, if it is still the same.
pub(crate) fn known_bytes(context: &ToolContext, target: &FileTarget) -> Result<Vec<u8>, String> {
    let (file, metadata) = target.open()?;
    let shown = &target.shown;
    if metadata.len() > WHOLE_BYTES {
        return Err(format!(
            "{shown} is too large to edit here ({}); a Bash command can.",
            resolved_path::size(metadata.len())
        ));
    }
    let Some(seen) = context.views.seen(&target.path) else {
        return Err(format!(
            "{shown} has not been read in this session. Read it first, then change it."
        ));
    };
    let mut bytes = Vec::new();
    file.take(WHOLE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| target.explain(&error, "read"))?;
    if hash(&bytes) != seen {
        return Err(format!(
            "{shown} has changed since it was read. Read it again, then change it."
        ));
    }
    Ok(bytes)
}

/// The name of a content.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
