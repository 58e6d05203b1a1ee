//! Opens paths without following any link on the way.
//!
//! Linux does that in one call, `openat2`. Where a kernel or a container's filter does not know it, the
//! path is walked part by part.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read},
    os::fd::OwnedFd,
    path::{Component, Path},
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, openat, openat2, statat},
    io::Errno,
};

use super::CallReach;

/// Does not wait for the other end of a FIFO.
pub(super) const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// Neither reads nor writes: good for looking at what is there, a last link included.
pub(super) const LOOK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW);

/// A directory, for what is done in it.
pub(super) const ENTER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);

/// Opens an absolute path in which no part is a link, `.` or `..`; `ELOOP` if one is a link.
pub(super) fn open(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    if !is_plain(path) {
        return Err(Errno::INVAL);
    }
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(CWD, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
        // Filters of containers say PERM for calls they do not know.
        Err(Errno::NOSYS | Errno::PERM) => by_steps(path, flags),
        opened => opened,
    }
}

fn is_plain(path: &Path) -> bool {
    path.is_absolute()
        && path
            .components()
            .all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

/// The same with calls that every kernel has.
fn by_steps(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let root = openat(CWD, "/", ENTER | OFlags::CLOEXEC, Mode::empty())?;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return openat(&root, ".", flags | OFlags::CLOEXEC, Mode::empty());
    };
    let mut at = root;
    for part in parent.iter().skip(1) {
        at = step(&at, part, ENTER)?;
    }
    step(&at, name, flags)
}

/// Opens what has this name in a directory, unless it is a link.
pub(super) fn step(directory: &OwnedFd, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(directory, name, flags, Mode::empty()).map_err(|error| match error {
        // For a link that should be a directory the kernel only says that it is none.
        Errno::NOTDIR if is_link(directory, name) => Errno::LOOP,
        error => error,
    })
}

fn is_link(directory: &OwnedFd, name: &OsStr) -> bool {
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
}

/// A file that was found by walking, to be read. It may have become something else since: what it
/// is now is not checked, but a link is not followed and a FIFO not waited for.
pub(crate) fn read(path: &Path) -> io::Result<File> {
    Ok(File::from(open(path, READ)?))
}

/// The same for a file that a walk of a call has found, unless it is a private file under another name.
pub(crate) fn read_within(reach: &CallReach, path: &Path) -> io::Result<impl Read + use<>> {
    let file = File::from(open(path, READ)?);
    if reach.admits_file(&file.metadata()?) {
        Ok(file)
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::MetadataExt};

    use super::*;

    type Opener = fn(&Path, OFlags) -> Result<OwnedFd, Errno>;

    #[test]
    fn both_ways_to_open_agree_on_every_kind_of_path() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "x").unwrap();
        for (name, target) in [
            ("link", "a"),
            ("a/last", "b/file"),
            ("gone", "nowhere"),
            ("circle", "circle"),
        ] {
            std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        }
        let table = [
            ("a/b/file", READ, None),
            ("a/b", ENTER, None),
            ("a/last", LOOK, None),
            ("a/last", READ, Some(Errno::LOOP)),
            ("link/b/file", READ, Some(Errno::LOOP)),
            ("link", ENTER, Some(Errno::LOOP)),
            ("gone", READ, Some(Errno::LOOP)),
            ("circle", READ, Some(Errno::LOOP)),
            ("a/none", READ, Some(Errno::NOENT)),
            ("a/b/file/x", READ, Some(Errno::NOTDIR)),
            ("a/b/file", ENTER, Some(Errno::NOTDIR)),
        ];
        for (name, flags, error) in table {
            for (way, opener) in [("openat2", open as Opener), ("by steps", by_steps)] {
                let opened = opener(&root.join(name), flags);
                assert_eq!(opened.as_ref().err().copied(), error, "{name} {way}");
                let Ok(opened) = opened else { continue };
                let same = fs::symlink_metadata(root.join(name)).unwrap().ino();
                assert_eq!(
                    File::from(opened).metadata().unwrap().ino(),
                    same,
                    "{name} {way}"
                );
            }
        }
        assert!(by_steps(Path::new("/"), ENTER).is_ok());
    }

    #[test]
    fn a_path_that_is_not_plain_is_not_opened() {
        for path in ["a", "", "./a", "/a/../etc/passwd", "/.."] {
            assert_eq!(
                open(Path::new(path), READ).err(),
                Some(Errno::INVAL),
                "{path}"
            );
        }
        assert!(open(Path::new("/a\0b"), READ).is_err());
        assert_eq!(
            open(&Path::new("/").join("x".repeat(5000)), READ).err(),
            Some(Errno::NAMETOOLONG)
        );
    }
}
