//! Stores the content of files before a call changes them (pre-images), so that its changes can be undone.
//!
//! Pre-images are part of the commit that records the intent of the call, which is fsynced before the call runs: a
//! process that dies at any later moment leaves what an undo needs. A file that holds a secret is not stored, because
//! its redacted form could not be restored.

use rooftree_protocol::{
    ToolKind,
    file_undo::{FilePreimage, PriorContent},
};
use rooftree_store::blob_id;
use rooftree_tools::{FileBefore, PlannedFileChange};
use tokio_util::sync::CancellationToken;

use super::{
    AgentActor,
    call::{PreparedCall, context},
};
use crate::{SecretRedactor, post_turn::PostTurn};

/// The pre-images of some calls, and the bytes to store with them.
#[derive(Default)]
pub(super) struct StoredPreimages {
    /// For each call, in order.
    pub(super) of_calls: Vec<Vec<FilePreimage>>,
    pub(super) blobs: Vec<Vec<u8>>,
}

/// Reads the files that these calls are about to change.
pub(super) async fn read(agent: &AgentActor, calls: &[PreparedCall]) -> StoredPreimages {
    let mut stored = StoredPreimages::default();
    for one in calls {
        let mut files = Vec::new();
        for change in planned(agent, one).await {
            let (file, bytes) = preimage(change, agent.context.secrets());
            files.push(file);
            stored.blobs.extend(bytes);
        }
        stored.of_calls.push(files);
    }
    stored
}

async fn planned(agent: &AgentActor, one: &PreparedCall) -> Vec<PlannedFileChange> {
    if !matches!(one.tool.kind(), ToolKind::Edit | ToolKind::Delete) {
        return Vec::new();
    }
    let context = context(agent, one, CancellationToken::new(), PostTurn::default());
    let (tool, input) = (one.tool.clone(), one.input.clone());
    let planned = tokio::task::spawn_blocking(move || tool.file_changes(&input, &context)).await;
    // A tool that panics here panics again when it runs, and that is recorded as its result.
    planned.unwrap_or_default()
}

fn preimage(
    change: PlannedFileChange,
    secrets: &SecretRedactor,
) -> (FilePreimage, Option<Vec<u8>>) {
    let (was, bytes) = match change.before {
        FileBefore::Absent => (PriorContent::Absent, None),
        FileBefore::NotKept(because) => (PriorContent::NotStored { because }, None),
        FileBefore::Content { bytes, .. } if secrets.clean_bytes(&bytes).is_some() => {
            let because = "it holds a secret, which is not stored".to_owned();
            (PriorContent::NotStored { because }, None)
        }
        FileBefore::Content { bytes, mode } => {
            let blob = blob_id(&bytes);
            let hash = rooftree_tools::content_hash(&bytes);
            (PriorContent::Stored { blob, hash, mode }, Some(bytes))
        }
    };
    let file = FilePreimage {
        path: change.path,
        was,
        becomes: change.after,
    };
    (file, bytes)
}
