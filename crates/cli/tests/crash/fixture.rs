//! Where a crash happens: a database, a directory to work in, a script, a session.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rooftree_protocol::{Event, Lane, SessionId};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_store::{
    Error, InboxItem, NewSessionRow, Pending, SqliteStore, Store, prelude::*, verify::VerifyReport,
};
use tempfile::TempDir;

/// How long anything may take before the test calls it stuck.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// What the model does with each task: it looks twice at once, leaves one line in a file, and says so.
const SCRIPT: &str = r#"
[[reply]]
on = "task [0-9]+"
delay = "@THINKING@"
text = "I look around."

[[reply.call]]
tool = "Read"
input = { file_path = "garden.txt" }

[[reply.call]]
tool = "Glob"
input = { pattern = "*.txt" }

[[reply]]
on = "task [0-9]+"
delay = "15ms"
text = "I leave a line."

[[reply.call]]
tool = "Bash"
input = { command = 'echo "{{ user.text | find("task ([0-9]+)") }} $$ $(date +%s%N)" >> effects; sleep @WORKING@' }

[[reply]]
on = "task [0-9]+"
delay = "15ms"
text = 'Task {{ user.text | find("task ([0-9]+)") }} is {{ results[0].outcome }}.'
"#;

/// How long the model thinks at first, and how long the tool works after its effect.
pub struct Pace {
    pub thinking: &'static str,
    pub working: &'static str,
}

pub const QUICK: Pace = Pace {
    thinking: "15ms",
    working: "0.02",
};

/// One session in a database of its own.
pub struct Scene {
    directory: TempDir,
    home: PathBuf,
    pub session: SessionId,
}

/// What the disk shows at one moment.
pub struct Sight {
    pub events: Vec<Event>,
    pub waiting: Vec<InboxItem>,
    pub report: VerifyReport,
}

impl Scene {
    pub fn new(pace: &Pace) -> Self {
        let directory = TempDir::new().unwrap();
        let home = directory.path().join("home");
        Self::with_home(directory, home, pace)
    }

    /// A scene whose database lies elsewhere than the rest.
    pub fn with_home(directory: TempDir, home: PathBuf, pace: &Pace) -> Self {
        let session = SessionId::from_entropy(SystemClock.entropy());
        let scene = Self {
            directory,
            home,
            session,
        };
        fs::create_dir_all(scene.work()).unwrap();
        fs::write(scene.work().join("garden.txt"), "an oak, a beech\n").unwrap();
        scene.write_script(
            &SCRIPT
                .replace("@THINKING@", pace.thinking)
                .replace("@WORKING@", pace.working),
        );
        scene.open_session();
        scene
    }

    pub fn write_script(&self, text: &str) {
        fs::write(self.script(), text).unwrap();
    }

    fn open_session(&self) {
        let store = SqliteStore::open(self.database()).unwrap();
        let row = NewSessionRow {
            id: self.session.clone(),
            agent: "lead".into(),
            name: None,
            model: Some(format!("scripted/{}", self.script().display())),
            cwd: self.work(),
            parent: None,
            connector_key: None,
            chat: None,
            account: Default::default(),
            audit: None,
            at: SystemClock.now(),
        };
        wait(SessionStore::open(&store, row)).unwrap();
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    pub fn database(&self) -> PathBuf {
        self.home.join("rooftree.db")
    }

    pub fn script(&self) -> PathBuf {
        self.directory.path().join("script.toml")
    }

    /// Where the tools work.
    pub fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    /// Where the workers note what they asked the model.
    pub fn notes(&self) -> PathBuf {
        self.directory.path().join("notes")
    }

    /// Where a poster keeps its own list.
    pub fn list(&self, poster: &str) -> PathBuf {
        self.directory.path().join(format!("{poster}.accepted"))
    }

    /// Lines of a file beside the database; none if it is not there.
    pub fn lines(&self, path: &Path) -> Vec<String> {
        fs::read_to_string(path)
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// One line per execution of the tool with an effect.
    pub fn effects(&self) -> Vec<String> {
        self.lines(&self.work().join("effects"))
    }

    /// Looks without writing, so that the next worker still finds the log a killed one left.
    pub fn look(&self) -> Sight {
        let store = SqliteStore::open_read_only(self.database()).unwrap();
        Sight {
            events: wait(store.events(&self.session, 0, 1_000_000)).unwrap(),
            waiting: wait(store.waiting(&self.session, Lane::Mail, 1_000_000)).unwrap(),
            report: wait(store.verify()).unwrap(),
        }
    }
}

/// Waits for a store's answer.
pub fn wait<T>(pending: Pending<T>) -> Result<T, Error> {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(pending)
}

/// Waits until something holds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < PATIENCE, "waited too long until {what}");
        thread::sleep(Duration::from_millis(2));
    }
}
