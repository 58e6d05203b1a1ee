//! Files and pictures that arrive with a message: fetched from the platform, bounded, and stored as parts.

use rooftree_connectors::{Capabilities, Connector, InboundFile};
use rooftree_protocol::{Part, Principal};
use rooftree_runtime::{AttachedFile, Error, Handle};

/// Files of one message that are taken.
const MOST: usize = 10;
/// The largest file that is taken, whatever the platform gives.
const LARGEST: u64 = 20 << 20;

/// The parts of the files of a message. One that cannot be fetched is said in words, so that the agent knows of it.
pub(super) async fn parts(
    handle: &Handle,
    who: &Principal,
    connector: &dyn Connector,
    files: &[InboundFile],
) -> Result<Vec<Part>, Error> {
    let limit = largest(connector.capabilities());
    let mut parts = Vec::new();
    for file in files.iter().take(MOST) {
        let name = plain_name(&file.name);
        if file.size.is_some_and(|size| size > limit) {
            parts.push(not_taken(
                &name,
                &format!("it is larger than {limit} bytes"),
            ));
            continue;
        }
        match connector.download(file, limit).await {
            Ok(bytes) => {
                let file = AttachedFile { name, bytes };
                parts.push(handle.attachment(who, file).await?);
            }
            Err(error) => parts.push(not_taken(&name, &error.message)),
        }
    }
    if files.len() > MOST {
        let left = files.len() - MOST;
        parts.push(Part::text(format!(
            "[{left} more files were not taken: at most {MOST} of one message are]"
        )));
    }
    Ok(parts)
}

fn largest(capabilities: Capabilities) -> u64 {
    match capabilities.download {
        0 => LARGEST,
        most => most.min(LARGEST),
    }
}

fn not_taken(name: &str, why: &str) -> Part {
    Part::text(format!("[the file {name} was not taken: {why}]"))
}

/// A name without folders and control characters.
fn plain_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain: String = last
        .chars()
        .filter(|letter| !letter.is_control())
        .take(120)
        .collect();
    match plain.trim() {
        "" | "." | ".." => "file".to_owned(),
        plain => plain.to_owned(),
    }
}
