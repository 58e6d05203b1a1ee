//! Tests of atomic file replace: old or new content, mode bits, nothing left behind.

use std::{
    fs::{self, Permissions},
    io::Write,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    thread,
};

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn what_is_interrupted_before_the_rename_leaves_the_old_content_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file");
    replace(&path, b"old").unwrap();
    let mut file = AtomicFile::create(&path).unwrap();
    file.write_all(&[b'x'; 100_000]).unwrap();
    file.flush().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old", "half of it is written");
    drop(file);
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(place.path()), ["file"]);
}

#[test]
fn a_rename_that_fails_leaves_what_was_there_and_no_temporary_file() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("directory");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("inside"), "old").unwrap();
    assert!(replace(&path, b"new").is_err());
    assert!(replace_private(&path, b"new").is_err());
    assert_eq!(fs::read(path.join("inside")).unwrap(), b"old");
    assert_eq!(names(place.path()), ["directory"]);
}

#[test]
fn a_reader_sees_the_old_content_or_the_new_one() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file");
    let contents = [vec![b'a'; 50_000], vec![b'b'; 70_000]];
    replace(&path, &contents[0]).unwrap();
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0..50 {
                let mut file = AtomicFile::create(&path).unwrap();
                file.write_all(&contents[number % 2]).unwrap();
                file.commit_without_fsync().unwrap();
            }
        });
        while !writer.is_finished() {
            assert!(contents.contains(&fs::read(&path).unwrap()));
        }
    });
    assert_eq!(names(place.path()), ["file"]);
}

#[test]
fn mode_bits_stay_and_private_files_become_private() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("new/file");
    replace(&path, b"one").unwrap();
    for bits in [0o640, 0o755, 0o600, 0o444] {
        fs::set_permissions(&path, Permissions::from_mode(bits)).unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(mode(&path), bits, "{bits:o}");
    }
    replace_private(&path, b"three").unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(fs::read(&path).unwrap(), b"three");
}

#[test]
fn a_link_is_replaced_unless_it_is_meant_to_be_followed() {
    let place = tempfile::tempdir().unwrap();
    let (target, link) = (place.path().join("target"), place.path().join("link"));
    fs::write(&target, "old").unwrap();
    fs::set_permissions(&target, Permissions::from_mode(0o600)).unwrap();
    symlink("target", &link).unwrap();
    replace_through_links(&link, b"followed").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&target).unwrap(), b"followed");
    assert_eq!(mode(&target), 0o600);
    replace(&link, b"replaced").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_file());
    assert_eq!(fs::read(&target).unwrap(), b"followed");
}

#[test]
fn a_new_file_never_takes_the_place_of_another() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file");
    let commit = |text: &[u8]| {
        let mut file = AtomicFile::private(&path).unwrap();
        file.write_all(text).unwrap();
        file.commit_new().unwrap()
    };
    assert!(commit(b"first"));
    assert!(!commit(b"second"));
    assert_eq!(fs::read(&path).unwrap(), b"first");
    assert_eq!(names(place.path()), ["file"]);
}
