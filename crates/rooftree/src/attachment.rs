//! Attachments of a question: a file of the program's machine, or bytes with a name.

use std::{fs, path::PathBuf};

use rooftree_protocol::{ErrorCode, Limits, Part, Problem};
use rooftree_runtime::{AttachedFile, Handle};

use crate::{
    error::{Error, Result},
    principal::owner,
};

/// Something that is sent with a message: a picture, a text, any file.
///
/// ```
/// use rooftree::FileAttachment;
///
/// let from_disk = FileAttachment::file("error.log");
/// let from_memory = FileAttachment::bytes("chart.png", vec![0x89, b'P', b'N', b'G']);
/// ```
#[derive(Clone, Debug)]
pub struct FileAttachment {
    name: String,
    content: AttachmentContent,
}

#[derive(Clone, Debug)]
enum AttachmentContent {
    File(PathBuf),
    Bytes(Vec<u8>),
}

impl FileAttachment {
    /// A file. It is read when the message is sent.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self {
            name: path.display().to_string(),
            content: AttachmentContent::File(path),
        }
    }

    /// Bytes under a name. What they are, a picture or a text, is told from the bytes.
    pub fn bytes(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            name: name.into(),
            content: AttachmentContent::Bytes(bytes.into()),
        }
    }

    /// The part of the message.
    pub(crate) async fn part(self, handle: &Handle) -> Result<Part> {
        let refused = |why: String| {
            let problem = Problem::new(
                ErrorCode::InvalidArguments,
                format!("cannot attach {}", self.name),
            );
            Error::from(problem.cause(why))
        };
        let bytes = match self.content {
            AttachmentContent::File(path) => {
                fs::read(path).map_err(|error| refused(error.to_string()))?
            }
            AttachmentContent::Bytes(bytes) => bytes,
        };
        let limit = Limits::default().attachment_bytes;
        if bytes.len() as u64 > limit {
            let why = format!("it has {} bytes, and {limit} are allowed", bytes.len());
            return Err(refused(why));
        }
        let name = self.name;
        let file = AttachedFile { name, bytes };
        Ok(handle.attachment(&owner(), file).await?)
    }
}

impl From<PathBuf> for FileAttachment {
    fn from(path: PathBuf) -> Self {
        Self::file(path)
    }
}

impl From<&str> for FileAttachment {
    fn from(path: &str) -> Self {
        Self::file(path)
    }
}

/// The parts of a message: its text, then what is attached.
pub(crate) async fn parts(
    handle: &Handle,
    text: &str,
    attachments: Vec<FileAttachment>,
) -> Result<Vec<Part>> {
    let mut parts = vec![Part::text(text)];
    for attachment in attachments {
        parts.push(attachment.part(handle).await?);
    }
    Ok(parts)
}
