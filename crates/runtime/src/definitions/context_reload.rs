//! Reloads project context (rules, skills, instructions) when files have changed, so that a new run begins with what
//! is on disk then.
//!
//! A run in progress keeps the context it began with, so that the provider's prompt cache stays valid. A check stats
//! the files and directories that counted, or would count if they were there: times and sizes. Trust is checked again
//! with every change.

use std::{
    fmt, fs,
    hash::{DefaultHasher, Hash, Hasher},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rooftree_protocol::Timestamp;

use super::{ProjectContext, ProjectTrust, SearchDirs, TrustRecheck};
use crate::clock::Clock;

/// How long the last check stays valid, in milliseconds: a check costs about as much as a turn's own work, and a
/// hundred children may start at once.
const FRESH: i64 = 100;
/// Files and directories that are looked at; changes of more are seen with the next change of these.
const MOST: usize = 2_000;
/// Granularity of file times: a file that changed within this time before it was read may change again without a new
/// timestamp.
const COARSE: Duration = Duration::from_millis(20);

/// Current project context of agents. A clone is the same.
#[derive(Clone, Default)]
pub struct ContextWatcher {
    current: Arc<RwLock<Arc<ProjectContext>>>,
    watch: Option<Arc<ContextWatch>>,
}

struct ContextWatch {
    places: SearchDirs,
    recheck: TrustRecheck,
    instruction_bytes: usize,
    clock: Arc<dyn Clock>,
    seen: Mutex<ContextStamp>,
    /// What people were told when the program started.
    known: Vec<String>,
}

/// The paths that were checked, with a hash of their times and sizes.
struct ContextStamp {
    at: Timestamp,
    paths: Vec<PathBuf>,
    stamp: u64,
    /// Whether a change after reading would show.
    is_settled: bool,
}

impl From<ProjectContext> for ContextWatcher {
    /// These, and never others.
    fn from(project_context: ProjectContext) -> Self {
        Self {
            current: Arc::new(RwLock::new(Arc::new(project_context))),
            watch: None,
        }
    }
}

impl ContextWatcher {
    /// Reads what there is around these places, and from then on whatever changes, at the earliest a tenth of a
    /// second after it was looked at.
    pub fn watching(
        places: SearchDirs,
        recheck: TrustRecheck,
        instruction_bytes: usize,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let since = SystemTime::now();
        let first = ProjectContext::read(&places, instruction_bytes);
        let seen = Mutex::new(ContextStamp {
            at: clock.now(),
            ..ContextStamp::of(&first, &places, &recheck, since)
        });
        // The program says at its start what of an untrusted project is not used; it is no news then.
        let known = first
            .remarks
            .iter()
            .cloned()
            .chain(untrusted(&places))
            .collect();
        let watch = ContextWatch {
            places,
            recheck,
            instruction_bytes,
            clock,
            seen,
            known,
        };
        Self {
            watch: Some(Arc::new(watch)),
            ..Self::from(first)
        }
    }

    /// The current context.
    pub fn now(&self) -> Arc<ProjectContext> {
        if self.watch.as_ref().is_some_and(|watch| watch.is_due()) {
            self.afresh()
        } else {
            self.current()
        }
    }

    /// The same without the cached check, for callers that need the current state.
    pub fn afresh(&self) -> Arc<ProjectContext> {
        if let Some(changed) = self.watch.as_ref().and_then(|watch| watch.changed()) {
            let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
            // The same `Arc` stays if nothing differs, so that callers can compare.
            if **current != changed {
                *current = Arc::new(changed);
            }
        }
        self.current()
    }

    /// The context as of the last check.
    pub fn current(&self) -> Arc<ProjectContext> {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl fmt::Debug for ContextWatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lookout")
            .field("current", &self.current())
            .finish_non_exhaustive()
    }
}

impl ContextWatch {
    fn is_due(&self) -> bool {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        self.clock.now().0 - seen.at.0 >= FRESH
    }

    /// The reloaded context, if files may have changed.
    fn changed(&self) -> Option<ProjectContext> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.at = self.clock.now();
        if seen.is_settled && seen.stamp == stamped(&seen.paths).0 {
            return None;
        }
        let since = SystemTime::now();
        let trust = self
            .recheck
            .ask
            .as_ref()
            .map_or(self.places.trust, |ask| ask());
        let places = self.places.clone().trusted(trust);
        let mut project_context = ProjectContext::read(&places, self.instruction_bytes);
        *seen = ContextStamp {
            at: seen.at,
            ..ContextStamp::of(&project_context, &places, &self.recheck, since)
        };
        project_context.remarks.extend(untrusted(&places));
        let is_new = |remark: &&String| !self.known.contains(remark);
        project_context.news = project_context
            .remarks
            .iter()
            .filter(is_new)
            .cloned()
            .collect();
        Some(project_context)
    }
}

/// Notice about files that are ignored because the project is not trusted as it is now.
fn untrusted(places: &SearchDirs) -> Option<String> {
    let found = if places.trust == ProjectTrust::Given {
        Vec::new()
    } else {
        ProjectContext::untrusted(places)
    };
    let root = places.root().unwrap_or(Path::new(""));
    let name = |path: &PathBuf| {
        path.strip_prefix(root)
            .unwrap_or(path)
            .display()
            .to_string()
    };
    let named: Vec<String> = found.iter().take(10).map(name).collect();
    let more = if found.len() > 10 { ", …" } else { "" };
    (!named.is_empty()).then(|| {
        let named = named.join(", ");
        format!("the project is not trusted as it is now, so {named}{more} is not used; rooftree trust changes that")
    })
}

impl ContextStamp {
    /// What was read, beginning at this time.
    fn of(
        project_context: &ProjectContext,
        places: &SearchDirs,
        recheck: &TrustRecheck,
        since: SystemTime,
    ) -> Self {
        let mut paths = places.project_context();
        paths.extend(project_context.instructions.files.iter().cloned());
        paths.extend(project_context.instructions.missing.iter().cloned());
        paths.extend(recheck.files.iter().cloned());
        paths.truncate(MOST);
        let (stamp, latest) = stamped(&paths);
        Self {
            at: Timestamp(0),
            paths,
            stamp,
            is_settled: latest + COARSE < since,
        }
    }
}

/// Something that changes when any of these does, and when the last of them did.
fn stamped(paths: &[PathBuf]) -> (u64, SystemTime) {
    let (mut hasher, mut latest) = (DefaultHasher::new(), UNIX_EPOCH);
    for path in paths {
        let facts = fs::metadata(path).ok();
        let modified = facts.as_ref().and_then(|facts| facts.modified().ok());
        latest = latest
            .max(modified.unwrap_or(UNIX_EPOCH))
            .max(facts.as_ref().map_or(UNIX_EPOCH, changed));
        let place = facts
            .as_ref()
            .map(|facts| (facts.ino(), facts.size(), facts.ctime(), facts.ctime_nsec()));
        (modified, place).hash(&mut hasher);
    }
    (hasher.finish(), latest)
}

/// The ctime of a file: setting its mtime back does not set this back.
fn changed(facts: &fs::Metadata) -> SystemTime {
    let seconds = u64::try_from(facts.ctime()).unwrap_or_default();
    UNIX_EPOCH
        + Duration::new(
            seconds,
            u32::try_from(facts.ctime_nsec()).unwrap_or_default(),
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;

    const HOUR: Duration = Duration::from_secs(3_600);

    /// A project whose instructions were changed so long after or before now, as far as its time tells.
    fn project(modified: SystemTime) -> (tempfile::TempDir, SearchDirs) {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("AGENTS.md");
        fs::write(&file, "Be kind.").unwrap();
        fs::File::options()
            .append(true)
            .open(&file)
            .unwrap()
            .set_modified(modified)
            .unwrap();
        let places = SearchDirs::around(place.path(), None, None).trusted(ProjectTrust::Given);
        (place, places)
    }

    #[test]
    fn what_changed_right_before_it_was_read_is_not_taken_to_stay() {
        let now = SystemTime::now();
        let (_place, places) = project(now - HOUR);
        let read = ProjectContext::read(&places, 1_000);
        let is_settled =
            |since| ContextStamp::of(&read, &places, &TrustRecheck::default(), since).is_settled;
        assert!(is_settled(SystemTime::now() + HOUR));
        assert!(
            !is_settled(now),
            "its time is an hour old, and it was written after that"
        );
        assert!(!is_settled(now - HOUR + COARSE));
    }

    #[test]
    fn it_is_read_again_although_nothing_shows_a_change() {
        let (_place, places) = project(SystemTime::now() + HOUR);
        let lookout = ContextWatcher::watching(
            places,
            TrustRecheck::default(),
            1_000,
            Arc::new(SystemClock),
        );
        let watch = lookout.watch.unwrap();
        assert!(watch.changed().is_some() && watch.changed().is_some());
    }

    #[test]
    fn what_was_not_trusted_from_the_start_is_no_news() {
        let (place, places) = project(SystemTime::now() + HOUR);
        let commands = place.path().join(".claude/commands");
        fs::create_dir_all(&commands).unwrap();
        fs::write(commands.join("fix.md"), "Fix it.").unwrap();
        let news = |places: SearchDirs| {
            let recheck = TrustRecheck {
                ask: Some(Arc::new(|| ProjectTrust::Missing)),
                ..TrustRecheck::default()
            };
            let lookout = ContextWatcher::watching(places, recheck, 1_000, Arc::new(SystemClock));
            lookout.watch.unwrap().changed().unwrap().news
        };
        let withheld = places.clone().trusted(ProjectTrust::Missing);
        assert_eq!(news(withheld), Vec::<String>::new());
        assert_eq!(news(places).len(), 1, "trust was withdrawn since");
    }
}
