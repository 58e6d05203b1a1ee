//! Groups that are refused, a full file, promises that differ.

use super::*;

fn note(connection: &Connection, text: &str) -> Result<usize, Error> {
    Ok(connection
        .execute("INSERT INTO blob (id, bytes) VALUES (hex(randomblob(8)), ?1)", [text.as_bytes()])?)
}

fn count(connection: &Connection) -> i64 {
    connection.query_row("SELECT count(*) FROM blob", [], |row| row.get(0)).unwrap()
}

/// A connection whose file may grow by this many pages and no more.
fn nearly_full(directory: &tempfile::TempDir, pages: i64) -> Connection {
    let connection = connect::writer(&directory.path().join("rooftree.db")).unwrap();
    let used: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    let limit = format!("PRAGMA max_page_count = {}", used + pages);
    connection.query_row(&limit, [], |_| Ok(())).unwrap();
    connection
}

type Answers = Vec<Pending<usize>>;

fn queued(texts: Vec<String>) -> (Waiting, Answers) {
    let (entry, exit) = line();
    let queue = Queue(entry);
    let write = |text: String| queue.write(move |connection: &Connection| note(connection, &text));
    (Waiting::new(exit), texts.into_iter().map(write).collect())
}

fn commit_all(connection: &Connection, mut waiting: Waiting) {
    let first = waiting.by_now().unwrap();
    commit_group(connection, first, &mut waiting);
}

#[test]
fn what_does_not_fit_is_refused_alone_and_its_neighbours_are_kept() {
    let directory = tempfile::TempDir::new().unwrap();
    let connection = nearly_full(&directory, 20);
    let texts = ["small".to_owned(), "x".repeat(1_000_000), "small too".to_owned()];
    let (waiting, answers) = queued(texts.to_vec());
    commit_all(&connection, waiting);
    let answers: Vec<_> = answers.into_iter().map(Pending::wait).collect();
    assert!(matches!(answers.as_slice(), [Ok(1), Err(Error::Full(_)), Ok(1)]), "{answers:?}");
    assert_eq!(count(&connection), 2);
    assert!(connection.is_autocommit());
}

#[test]
fn a_full_file_accepts_nothing_it_cannot_keep_and_goes_on_when_there_is_room() {
    let directory = tempfile::TempDir::new().unwrap();
    let connection = nearly_full(&directory, 30);
    let mut accepted = 0;
    loop {
        let (waiting, answers) = queued(vec!["x".repeat(20_000); 3]);
        commit_all(&connection, waiting);
        let answers: Vec<_> = answers.into_iter().map(Pending::wait).collect();
        accepted += answers.iter().filter(|answer| answer.is_ok()).count();
        if let Some(error) = answers.iter().find_map(|answer| answer.as_ref().err()) {
            assert!(matches!(error, Error::Full(_)), "{error:?}");
            break;
        }
    }
    assert!(accepted > 0);
    assert_eq!(usize::try_from(count(&connection)).unwrap(), accepted);
    connection.query_row("PRAGMA max_page_count = 100000", [], |_| Ok(())).unwrap();
    let (waiting, answers) = queued(vec!["x".repeat(20_000)]);
    commit_all(&connection, waiting);
    assert!(answers.into_iter().all(|answer| answer.wait().is_ok()));
}

#[test]
fn nobody_is_answered_before_the_commit() {
    let directory = tempfile::TempDir::new().unwrap();
    let connection = connect::writer(&directory.path().join("rooftree.db")).unwrap();
    let (mut waiting, mut answers) = queued(vec!["one".to_owned()]);
    let mut group = vec![waiting.by_now().unwrap()];
    let asked = &mut answers[0];
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    together(&connection, &mut group, |_| None).unwrap();
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(std::future::Future::poll(std::pin::Pin::new(asked), &mut context).is_pending());
    connection.execute_batch("COMMIT").unwrap();
    group.into_iter().for_each(|operation| operation.answer(Ok(())));
    assert!(answers.remove(0).wait().is_ok());
}

#[test]
fn what_promises_more_does_not_join_a_commit_that_promises_less() {
    let (entry, exit) = line();
    let queue = Queue(entry);
    let write = |promise| queue.write_for(promise, |connection: &Connection| note(connection, "x")).later();
    [Promise::Sight, Promise::Disk, Promise::Sight].into_iter().for_each(write);
    let mut waiting = Waiting::new(exit);
    let promise = |operation: Option<Box<dyn Operation>>| operation.map(|operation| operation.promise());
    assert_eq!(promise(waiting.company(Promise::Sight, 1)), Some(Promise::Sight));
    assert_eq!(promise(waiting.company(Promise::Sight, 1)), None);
    assert_eq!(promise(waiting.company(Promise::Disk, 1)), Some(Promise::Disk), "it is not lost");
    assert_eq!(promise(waiting.company(Promise::Disk, 1)), Some(Promise::Sight));
}
