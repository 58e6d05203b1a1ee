//! Additions to the standard library: atomic file replace with fsync, edit distance, shortening, XML escapes.
//!
//! - [`atomic_file`]: replaces a file atomically and durably ([`atomic_file::AtomicFile`], [`atomic_file::replace`]).
//! - [`edit_distance`]: how many letters two words differ by, to suggest the known word that was meant.
//! - [`failpoint`]: places where a crash test kills or stalls the process; empty without the feature `failpoints`.
//! - [`shorten`]: text cut to a number of characters, with `…`.
//! - [`xml`]: text as XML and HTML take it.
//!
//! ```
//! use rooftree_stdx::{atomic_file, shorten::shorten};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("settings.toml");
//! atomic_file::replace(&path, b"model = \"demo\"\n")?;
//! assert_eq!(shorten(&std::fs::read_to_string(&path)?, 5), "model…");
//! # Ok::<(), std::io::Error>(())
//! ```

pub mod atomic_file;
pub mod edit_distance;
pub mod failpoint;
pub mod shorten;
pub mod xml;
