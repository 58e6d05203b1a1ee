//! The same question about the same files has the same answer, if whoever answers only looks.
//!
//! Invariant: an answer is given again only if every file and directory below the working
//! directory is what it was, by number, size and times, and nothing changed while it was found.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rooftree_protocol::{
    BlobId, Mandate,
    event::{RunEnd, RunMode, TaskNote},
};
use rooftree_store::blob_id;

use super::{
    Asked,
    inherit::Asking,
    request::{Strategy, Surface},
};
use crate::{answers::Kept, caller::Caller};

/// Tools whose results follow from the files below the working directory and from nothing else.
const LOOKING: [&str; 6] = ["Read", "Grep", "Glob", "List", "SemanticSearch", "TodoWrite"];

/// Entries beyond which looking whether something changed takes too long.
const MOST_ENTRIES: usize = 50_000;

/// How coarse the times of files may be.
const COARSE: Duration = Duration::from_millis(20);

/// A question whose answer may be kept.
pub(super) struct Question {
    text: String,
    directory: PathBuf,
    since: SystemTime,
}

impl Question {
    /// The question, if nothing but files decides what its answer is.
    pub(super) fn of(caller: &Caller, asking: &Asking<'_>, mandate: &Mandate) -> Option<Self> {
        let request = asking.request;
        let is_plain = request.strategy == Strategy::New
            && !request.background
            && !matches!(request.surface, Surface::AgentsMessage | Surface::Verifier)
            && mandate.mode != RunMode::Fork;
        let only_looks = mandate.tools.iter().all(|tool| LOOKING.contains(&tool.as_str()));
        if !is_plain || !only_looks || mandate.tools.is_empty() {
            return None;
        }
        let kit = caller.world.kit(&asking.definition.name, Some(mandate)).ok()?;
        let prompt =
            crate::agent::prompt::system(&caller.world, &kit, &caller.surroundings, &caller.session.cwd);
        let Mandate { model, tools, permission_mode, allow, ask, deny, skills, max_turns, .. } = mandate;
        let text = format!(
            "{}\0{}\0{model:?}\0{tools:?}\0{permission_mode:?}\0{allow:?}\0{ask:?}\0{deny:?}\0{skills:?}\0{max_turns:?}",
            prompt.text,
            request.words()
        );
        Some(Self { text, directory: caller.session.cwd.clone(), since: SystemTime::now() })
    }

    /// The answer, if it is known and still holds.
    pub(super) async fn known(&self, caller: &Caller) -> Option<(TaskNote, Arc<RunEnd>)> {
        let kept = caller.world.answers.find(&self.text)?;
        let files = state_of(self.directory.clone()).await?.name;
        (files == kept.files).then_some((TaskNote { cached: true, share: None, ..kept.note }, kept.end))
    }

    /// Keeps an answer for the next time. Costs whoever asked no time.
    pub(super) fn keep(self, caller: &Caller, asked: &Asked, end: &Arc<RunEnd>) {
        let inside = |path: &PathBuf| path.starts_with(&self.directory);
        if !end.is_success() || !end.explored.iter().all(inside) {
            return;
        }
        let (world, note, end) = (caller.world.clone(), asked.note(), end.clone());
        world.crew.clone().spawn(async move {
            let Some(state) = state_of(self.directory).await else { return };
            // What changed while it looked may have been seen in either state.
            if state.latest + COARSE < self.since {
                world.answers.keep(self.text, Kept { files: state.name, note, end });
            }
        });
    }
}

/// What all files below a directory amount to.
struct State {
    name: BlobId,
    /// When something last changed.
    latest: SystemTime,
}

async fn state_of(directory: PathBuf) -> Option<State> {
    tokio::task::spawn_blocking(move || state(&directory)).await.ok().flatten()
}

/// None if there are too many files, or some cannot be looked at.
fn state(directory: &Path) -> Option<State> {
    let (mut words, mut latest, mut entries) = (Vec::new(), UNIX_EPOCH, 0);
    let mut open = vec![directory.to_path_buf()];
    while let Some(path) = open.pop() {
        let about = fs::symlink_metadata(&path).ok()?;
        entries += 1;
        if entries > MOST_ENTRIES {
            return None;
        }
        latest = latest.max(about.modified().ok()?).max(changed_at(&about));
        words.extend_from_slice(path.as_os_str().as_encoded_bytes());
        for number in [about.ino(), about.size(), about.mtime() as u64, about.mtime_nsec() as u64] {
            words.extend_from_slice(&number.to_le_bytes());
        }
        words.extend_from_slice(&about.ctime().to_le_bytes());
        words.extend_from_slice(&about.ctime_nsec().to_le_bytes());
        // A link may lead anywhere; what is behind it is not looked at, and so nothing is kept.
        if about.is_symlink() {
            return None;
        }
        if about.is_dir() && path.file_name().is_none_or(|name| name != ".git") {
            let mut below: Vec<PathBuf> =
                fs::read_dir(&path).ok()?.map(|entry| Some(entry.ok()?.path())).collect::<Option<_>>()?;
            below.sort_unstable();
            open.append(&mut below);
        }
    }
    Some(State { name: blob_id(&words), latest })
}

fn changed_at(about: &fs::Metadata) -> SystemTime {
    let seconds = Duration::from_secs(u64::try_from(about.ctime()).unwrap_or_default());
    UNIX_EPOCH + seconds + Duration::from_nanos(u64::try_from(about.ctime_nsec()).unwrap_or_default())
}
