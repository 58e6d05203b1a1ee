//! Groups that are refused, a full file, promises that differ.

mod failed_sync;

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

use super::*;
use crate::sqlite::connect;

/// A disk that keeps the log as a function says, of a database that is opened anew in the plain way.
struct SimulatedDisk<F> {
    sync: F,
    database: PathBuf,
    reopened: AtomicUsize,
    failed: AtomicUsize,
}

impl<F: Fn() -> io::Result<()> + Send + Sync> WriterFiles for SimulatedDisk<F> {
    fn sync(&self) -> io::Result<()> {
        (self.sync)()
    }

    fn failed(&self) {
        self.failed.fetch_add(1, Ordering::SeqCst);
    }

    fn reopen(&self) -> Result<Connection, Error> {
        self.reopened.fetch_add(1, Ordering::SeqCst);
        connect::writer(&self.database)
    }
}

fn simulated<F: Fn() -> io::Result<()> + Send + Sync>(
    database: &Path,
    sync: F,
) -> Arc<SimulatedDisk<F>> {
    Arc::new(SimulatedDisk {
        sync,
        database: database.to_owned(),
        reopened: 0.into(),
        failed: 0.into(),
    })
}

fn note(connection: &Connection, text: &str) -> Result<usize, Error> {
    Ok(connection.execute(
        "INSERT INTO blob (id, bytes) VALUES (hex(randomblob(8)), ?1)",
        [text.as_bytes()],
    )?)
}

fn count(connection: &Connection) -> i64 {
    connection
        .query_row("SELECT count(*) FROM blob", [], |row| row.get(0))
        .unwrap()
}

/// A connection whose file may grow by this many pages and no more.
fn nearly_full(directory: &tempfile::TempDir, pages: i64) -> Connection {
    let connection = connect::writer(&directory.path().join("rooftree.db")).unwrap();
    let used: i64 = connection
        .query_row("PRAGMA page_count", [], |row| row.get(0))
        .unwrap();
    let limit = format!("PRAGMA max_page_count = {}", used + pages);
    connection.query_row(&limit, [], |_| Ok(())).unwrap();
    connection
}

/// A disk that notes in which order the log is synced and moved into the database.
struct NotingDisk {
    begins: AtomicBool,
    done: Mutex<Vec<&'static str>>,
}

impl NotingDisk {
    fn begun() -> Arc<Self> {
        Arc::new(Self {
            begins: AtomicBool::new(true),
            done: Mutex::default(),
        })
    }

    fn note(&self, what: &'static str) {
        self.done.lock().unwrap().push(what);
    }
}

impl WriterFiles for NotingDisk {
    fn sync(&self) -> io::Result<()> {
        self.note("sync");
        Ok(())
    }

    fn reopen(&self) -> Result<Connection, Error> {
        unreachable!("no sync fails")
    }

    fn is_begin_of_use(&self) -> bool {
        self.begins.swap(false, Ordering::SeqCst)
    }

    fn checkpoint(&self) {
        self.note("checkpoint");
    }
}

#[test]
fn p_5_a_log_is_begun_before_the_first_write_if_writes_are_announced() {
    let directory = tempfile::TempDir::new().unwrap();
    let cases: [(bool, bool, &[&str]); 4] = [
        (false, false, &[]),
        (true, false, &["checkpoint"]),
        (false, true, &["sync", "checkpoint"]),
        // Either may come first, and the log is begun once.
        (true, true, &["checkpoint", "sync"]),
    ];
    for (is_announced, is_written, expected) in cases {
        let path = directory
            .path()
            .join(format!("{is_announced}-{is_written}.db"));
        let connection = connect::writer(&path).unwrap();
        let files = NotingDisk::begun();
        let writer =
            Writer::start(connection, Arc::new(ChangeNotifier::new()), files.clone()).unwrap();
        let queue = writer.queue().unwrap().clone();
        if is_announced {
            queue.prepare();
        }
        if is_written {
            let write = |connection: &Connection| note(connection, "said");
            queue.write(write).wait().unwrap();
        }
        drop((queue, writer));
        let mut done = files.done.lock().unwrap().clone();
        if is_announced {
            done.sort_unstable();
        }
        assert_eq!(done, expected, "{is_announced} {is_written}");
    }
}

type PendingCounts = Vec<Pending<usize>>;

fn queued(texts: Vec<String>) -> (WriterShared, PendingCounts) {
    let (queue, desk) = with_disk(|| Ok(()));
    let write = |text: String| queue.write(move |connection: &Connection| note(connection, &text));
    (desk, texts.into_iter().map(write).collect())
}

/// A writer's queue, and a disk that keeps things as this says.
fn with_disk(
    sync: impl Fn() -> io::Result<()> + Send + Sync + 'static,
) -> (WriterHandle, WriterShared) {
    let (entry, exit) = write_queue();
    let disk = DiskSync::new(simulated(Path::new("nowhere"), sync), entry.nudge());
    (
        WriterHandle(entry),
        WriterShared {
            exit,
            disk,
            changes: Arc::new(ChangeNotifier::new()),
            prepares: AtomicBool::new(false),
        },
    )
}

fn is_answered<T>(pending: &mut Pending<T>) -> bool {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    std::future::Future::poll(std::pin::Pin::new(pending), &mut context).is_ready()
}

fn commit_all(connection: &Connection, desk: WriterShared) {
    while desk.exit.begin(Some(Duration::ZERO)).is_ok() {
        let owed = write(connection, &desk);
        desk.exit.end();
        owed.into_iter()
            .for_each(|owed| desk.disk.sync_and_ack(owed));
    }
}

#[test]
fn what_does_not_fit_is_refused_alone_and_its_neighbours_are_kept() {
    let directory = tempfile::TempDir::new().unwrap();
    let connection = nearly_full(&directory, 20);
    let texts = [
        "small".to_owned(),
        "x".repeat(1_000_000),
        "small too".to_owned(),
    ];
    let (desk, answers) = queued(texts.to_vec());
    commit_all(&connection, desk);
    let answers: Vec<_> = answers.into_iter().map(Pending::wait).collect();
    assert!(
        matches!(answers.as_slice(), [Ok(1), Err(Error::Full(_)), Ok(1)]),
        "{answers:?}"
    );
    assert_eq!(count(&connection), 2);
    assert!(connection.is_autocommit());
}

#[test]
fn a_full_file_accepts_nothing_it_cannot_keep_and_goes_on_when_there_is_room() {
    let directory = tempfile::TempDir::new().unwrap();
    let connection = nearly_full(&directory, 30);
    let mut accepted = 0;
    loop {
        let (desk, answers) = queued(vec!["x".repeat(20_000); 3]);
        commit_all(&connection, desk);
        let answers: Vec<_> = answers.into_iter().map(Pending::wait).collect();
        accepted += answers.iter().filter(|answer| answer.is_ok()).count();
        if let Some(error) = answers.iter().find_map(|answer| answer.as_ref().err()) {
            assert!(matches!(error, Error::Full(_)), "{error:?}");
            break;
        }
    }
    assert!(accepted > 0);
    assert_eq!(usize::try_from(count(&connection)).unwrap(), accepted);
    connection
        .query_row("PRAGMA max_page_count = 100000", [], |_| Ok(()))
        .unwrap();
    let (desk, answers) = queued(vec!["x".repeat(20_000)]);
    commit_all(&connection, desk);
    assert!(answers.into_iter().all(|answer| answer.wait().is_ok()));
}

#[test]
fn nobody_is_answered_before_the_commit() {
    let directory = tempfile::TempDir::new().unwrap();
    let connection = connect::writer(&directory.path().join("rooftree.db")).unwrap();
    let (desk, mut answers) = queued(vec!["one".to_owned()]);
    let mut group = vec![
        WriteBacklog {
            desk: &desk,
            at_hand: VecDeque::new(),
        }
        .next_queued()
        .unwrap(),
    ];
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    run_group(&connection, &mut group, |_, _| None).unwrap();
    assert!(!is_answered(&mut answers[0]));
    connection.execute_batch("COMMIT").unwrap();
    desk.disk
        .sync_and_ack(desk.answer(desk.disk.ticket(), group, &Ok(RowCounts::default())));
    assert!(answers.remove(0).wait().is_ok());
}

#[test]
fn what_is_promised_to_outlast_a_power_failure_waits_for_the_disk_and_nothing_else_does() {
    let directory = tempfile::TempDir::new().unwrap();
    let connection = connect::writer(&directory.path().join("rooftree.db")).unwrap();
    let (queue, desk) = with_disk(|| Ok(()));
    let note = |promise| queue.write_for(promise, |connection: &Connection| note(connection, "x"));
    let (mut kept, seen) = (note(Durability::Disk), note(Durability::Sight));
    let owed = write(&connection, &desk).unwrap();
    assert!(seen.wait().is_ok());
    assert!(!is_answered(&mut kept), "nobody has asked the disk");
    assert_eq!(count(&connection), 2, "both are seen by everybody");
    let mut settled = desk.disk.settled();
    // An fsync is pending. A write that only needs to be visible does not wait for it.
    let seen = note(Durability::Sight);
    desk.disk.sync_and_ack(write(&connection, &desk).unwrap());
    assert!(seen.wait().is_ok());
    assert!(!is_answered(&mut kept) && !is_answered(&mut settled));
    desk.disk.sync_and_ack(owed);
    assert!(kept.wait().is_ok());
    assert!(settled.wait().is_ok());
    assert!(
        is_answered(&mut desk.disk.settled()),
        "there is nothing to wait for"
    );
}

#[test]
fn what_the_disk_refuses_is_not_promised() {
    let directory = tempfile::TempDir::new().unwrap();
    let connection = connect::writer(&directory.path().join("rooftree.db")).unwrap();
    let (queue, desk) = with_disk(|| Err(io::Error::other("it is worn out")));
    let kept = queue.write(|connection: &Connection| note(connection, "x"));
    commit_all(&connection, desk);
    let refused = kept.wait().unwrap_err();
    assert!(refused.to_string().contains("worn out"), "{refused}");
}

#[test]
fn what_comes_while_the_disk_is_at_work_shares_one_commit() {
    let directory = tempfile::TempDir::new().unwrap();
    let connection = connect::writer(&directory.path().join("rooftree.db")).unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let (queue, desk) = with_disk(move || {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok(())
    });
    let desk = Arc::new(desk);
    let note = move || queue.write(|connection: &Connection| note(connection, "x"));
    let first = note();
    let owed = write(&connection, &desk).unwrap();
    let second = note();
    let others = thread::spawn({
        let desk = Arc::clone(&desk);
        move || {
            let third = note();
            desk.disk.sync_and_ack(owed);
            [first, second, third].map(Pending::wait)
        }
    });
    desk.disk.sync_and_ack(write(&connection, &desk).unwrap());
    assert!(others.join().unwrap().iter().all(Result::is_ok));
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[test]
fn what_a_full_transaction_leaves_over_comes_next_and_in_order() {
    let directory = tempfile::TempDir::new().unwrap();
    let connection = connect::writer(&directory.path().join("rooftree.db")).unwrap();
    let count_of = TOGETHER + 3;
    let (desk, answers) = queued((0..count_of).map(|number| format!("{number:04}")).collect());
    commit_all(&connection, desk);
    assert!(
        answers
            .into_iter()
            .map(Pending::wait)
            .all(|answer| answer.is_ok())
    );
    let mut statement = connection
        .prepare("SELECT CAST(bytes AS TEXT) FROM blob ORDER BY rowid")
        .unwrap();
    let kept: Vec<String> = statement
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(
        kept,
        (0..count_of)
            .map(|number| format!("{number:04}"))
            .collect::<Vec<_>>()
    );
}

/// A disk that keeps what was written to the log when it was asked, once it has answered, and not a byte more.
#[derive(Default)]
struct LossyDisk {
    kept: AtomicU64,
}

/// What is left of a database after a power failure: all but what the disk did not keep of its log.
fn after_a_power_failure(database: &Path, disk: &LossyDisk) -> (tempfile::TempDir, Connection) {
    let kept = disk.kept.load(Ordering::SeqCst);
    let directory = tempfile::TempDir::new().unwrap();
    let copy = directory.path().join("rooftree.db");
    fs::copy(database, &copy).unwrap();
    let log = File::open(connect::log_of(database)).unwrap();
    io::copy(
        &mut log.take(kept),
        &mut File::create(connect::log_of(&copy)).unwrap(),
    )
    .unwrap();
    let connection = connect::writer(&copy).unwrap();
    (directory, connection)
}

/// Several write at once while the power fails again and again. Says how many answered writes were lost.
fn lost_by_power_failures(promise: Durability) -> usize {
    let directory = tempfile::TempDir::new().unwrap();
    let database = directory.path().join("rooftree.db");
    let connection = connect::writer(&database).unwrap();
    let (disk, log) = (Arc::new(LossyDisk::default()), connect::log_of(&database));
    let slow = Arc::clone(&disk);
    let sync = move || {
        let written = fs::metadata(&log)?.len();
        thread::sleep(Duration::from_millis(2));
        slow.kept.fetch_max(written, Ordering::SeqCst);
        Ok(())
    };
    let files = simulated(&database, sync);
    let writer = Writer::start(connection, Arc::new(ChangeNotifier::new()), files).unwrap();
    let answered = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let post = |poster: usize| {
            let queue = writer.queue().unwrap().clone();
            let answered = &answered;
            scope.spawn(move || {
                for number in 0..20 {
                    let text = format!("{poster}-{number}");
                    let words = text.clone();
                    queue
                        .write_for(promise, move |connection: &Connection| {
                            note(connection, &words)
                        })
                        .wait()
                        .unwrap();
                    answered.lock().unwrap().push(text);
                }
            })
        };
        let posters: Vec<_> = (0..4).map(post).collect();
        let (mut lost, mut is_over) = (0, false);
        while !is_over {
            is_over = posters.iter().all(thread::ScopedJoinHandle::is_finished);
            let promised = answered.lock().unwrap().clone();
            let (_left, connection) = after_a_power_failure(&database, &disk);
            let is_there = |text: &String| {
                let known = "SELECT EXISTS (SELECT 1 FROM blob WHERE bytes = ?1)";
                connection
                    .query_row(known, [text.as_bytes()], |row| row.get::<_, bool>(0))
                    .unwrap()
            };
            lost += promised.iter().filter(|text| !is_there(text)).count();
        }
        lost
    })
}

#[test]
fn a_power_failure_takes_nothing_that_was_promised() {
    assert_eq!(lost_by_power_failures(Durability::Disk), 0);
    assert!(
        lost_by_power_failures(Durability::Sight) > 0,
        "this test would not notice a loss"
    );
}
