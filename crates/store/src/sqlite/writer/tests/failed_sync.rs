//! A sync of the log that fails: who is told, and what is done before the next one.

use super::*;

/// A disk whose `failing`th sync fails, and how often it was asked.
fn failing_at(failing: usize) -> (Arc<AtomicUsize>, impl Fn() -> io::Result<()> + Send + Sync) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let sync = move || match counted.fetch_add(1, Ordering::SeqCst) + 1 {
        number if number == failing => Err(io::Error::other("it is worn out")),
        _ => Ok(()),
    };
    (asked, sync)
}

#[test]
fn s_b12_a_log_that_failed_to_sync_is_never_synced_again_and_all_that_is_on_it_is_refused() {
    let directory = tempfile::TempDir::new().unwrap();
    let connection = connect::writer(&directory.path().join("rooftree.db")).unwrap();
    let (asked, sync) = failing_at(1);
    let (queue, desk) = with_disk(sync);
    let note = || queue.write(|connection: &Connection| note(connection, "x"));
    let first = note();
    let owed_first = write(&connection, &desk).unwrap();
    let second = note();
    let settled = desk.disk.settled();
    // Committed on the same log while the first one waits: a second sync would say that all is well.
    let owed_second = thread::scope(|scope| {
        let writing = scope.spawn(|| write(&connection_of(&directory), &desk).unwrap());
        desk.disk.sync_and_ack(owed_first);
        writing.join().unwrap()
    });
    assert!(first.wait().unwrap_err().to_string().contains("worn out"));
    assert!(settled.wait().is_err(), "whoever waits for all is told too");
    desk.disk.sync_and_ack(owed_second);
    assert!(second.wait().unwrap_err().to_string().contains("worn out"));
    assert_eq!(
        asked.load(Ordering::SeqCst),
        1,
        "the same log is not synced again"
    );
    assert!(desk.disk.is_broken());
    let on_old_log = note();
    let owed = write(&connection, &desk).unwrap();
    desk.disk.note_log_rewritten();
    desk.disk.sync_and_ack(owed);
    assert!(
        on_old_log.wait().is_err(),
        "what the old log holds is not promised by the new one"
    );
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    let on_new_log = note();
    desk.disk.sync_and_ack(write(&connection, &desk).unwrap());
    assert!(on_new_log.wait().is_ok());
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

fn connection_of(directory: &tempfile::TempDir) -> Connection {
    connect::writer(&directory.path().join("rooftree.db")).unwrap()
}

#[test]
fn s_b12_the_writer_opens_the_database_anew_after_a_failed_sync_and_goes_on() {
    let directory = tempfile::TempDir::new().unwrap();
    let database = directory.path().join("rooftree.db");
    let (asked, sync) = failing_at(2);
    let files = simulated(&database, sync);
    let connection = connect::writer(&database).unwrap();
    let writer = Writer::start(connection, Arc::new(ChangeNotifier::new()), files.clone()).unwrap();
    let note = || {
        writer
            .queue()
            .unwrap()
            .write(|connection: &Connection| note(connection, "x"))
            .wait()
    };
    assert!(note().is_ok());
    assert!(note().unwrap_err().to_string().contains("worn out"));
    assert!(note().is_ok() && note().is_ok());
    drop(writer);
    assert_eq!(files.reopened.load(Ordering::SeqCst), 1);
    assert_eq!(files.failed.load(Ordering::SeqCst), 1);
    assert_eq!(asked.load(Ordering::SeqCst), 4);
    assert_eq!(count(&connection_of(&directory)), 4);
}

#[test]
fn s_b12_one_sync_runs_at_a_time() {
    let directory = tempfile::TempDir::new().unwrap();
    let database = directory.path().join("rooftree.db");
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (at_once, highest) = (Arc::clone(&running), Arc::clone(&most));
    let sync = move || {
        highest.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(1));
        at_once.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    };
    let (_queue, desk) = with_disk(sync);
    let connection = Mutex::new(connect::writer(&database).unwrap());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    let (answer, pending) = Pending::new();
                    let group: Vec<Box<dyn WriteOperation>> = vec![operation::noted(answer)];
                    let owed = {
                        let _one = connection.lock().unwrap();
                        desk.answer(desk.disk.ticket(), group, &Ok(RowCounts::default()))
                    };
                    desk.disk.sync_and_ack(owed);
                    pending.wait().unwrap();
                }
            });
        }
    });
    assert_eq!(most.load(Ordering::SeqCst), 1);
}

#[test]
fn s_b12_a_log_that_failed_is_written_into_a_new_file() {
    use std::os::unix::fs::MetadataExt;

    use crate::sqlite::{
        database_guard::DatabaseGuard, reader_pool::ReaderPool, writer::files::DatabaseFiles,
    };
    let directory = tempfile::TempDir::new().unwrap();
    let database = directory.path().join("rooftree.db");
    let log = || fs::metadata(connect::log_of(&database)).unwrap().ino();
    let gate = DatabaseGuard::open_for_write(&database).unwrap();
    let connection = connect::writer(&database).unwrap();
    gate.share().unwrap();
    let readers = Arc::new(ReaderPool::new(&database));
    let files = DatabaseFiles::new(&database, gate, Arc::clone(&readers));
    note(&connection, "before").unwrap();
    files.sync().unwrap();
    assert_eq!(
        readers
            .read(|connection| Ok(count(connection)))
            .wait()
            .unwrap(),
        1
    );
    let old = log();
    files.failed();
    let mut pen = WriteConnection::new(connection).unwrap();
    pen.drop_log();
    let other = DatabaseGuard::open_for_write(&database).unwrap();
    assert!(
        files
            .reopen()
            .unwrap_err()
            .to_string()
            .contains("other processes use the same log")
    );
    drop(other);
    let connection = files.reopen().unwrap();
    assert_ne!(log(), old);
    assert_eq!(count(&connection), 1, "what was seen is still seen");
    note(&connection, "after").unwrap();
    files.sync().unwrap();
    assert_eq!(
        readers
            .read(|connection| Ok(count(connection)))
            .wait()
            .unwrap(),
        2,
        "readers have the new one"
    );
    // A process that ends before it could do so leaves that to the next one.
    files.failed();
    let old = log();
    pen = WriteConnection::new(connection).unwrap();
    pen.drop_log();
    drop((files, readers));
    let gate = DatabaseGuard::open_for_write(&database).unwrap();
    assert_ne!(log(), old);
    drop(gate);
    assert_eq!(count(&connection_of(&directory)), 2);
}
