//! Paths that deny rules exclude, matched against found paths without disk access.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder, escape};

/// The paths that deny rules name; compared without touching the disk.
#[derive(Clone, Debug, Default)]
pub enum DeniedPaths {
    /// No path.
    #[default]
    Nothing,
    /// These and what is below them.
    These {
        /// Paths without anything to match, as most rules are.
        plain: Vec<PathBuf>,
        /// All others.
        globs: GlobSet,
    },
    /// Every path, because the rules could not be read.
    Everything,
}

impl DeniedPaths {
    /// The paths that absolute globs name.
    pub(crate) fn new(globs: Vec<String>) -> Self {
        if globs.is_empty() {
            return Self::Nothing;
        }
        let (plain, globs): (Vec<String>, Vec<String>) =
            globs.into_iter().partition(|glob| is_plain(glob));
        match compiled(&globs) {
            Ok(globs) => Self::These {
                plain: plain.into_iter().map(PathBuf::from).collect(),
                globs,
            },
            Err(_) => Self::Everything,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// Whether a rule names this very path.
    pub fn names(&self, path: &Path) -> bool {
        match self {
            Self::Nothing => false,
            Self::These { plain, globs } => {
                plain.iter().any(|plain| plain == path) || globs.is_match(path)
            }
            Self::Everything => true,
        }
    }

    /// Whether a rule names this path or a directory above it.
    pub fn covers(&self, path: &Path) -> bool {
        !self.is_empty() && path.ancestors().any(|path| self.names(path))
    }
}

/// Whether a glob names one path, the one it is spelled like.
pub(crate) fn is_plain(glob: &str) -> bool {
    !glob.contains(['*', '?', '[', ']', '{', '}', '\\'])
}

/// A glob that cannot be read names nothing but itself.
fn compiled(globs: &[String]) -> Result<GlobSet, globset::Error> {
    let read = |glob: &str| GlobBuilder::new(glob).literal_separator(true).build();
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        set.add(read(glob).or_else(|_| read(&escape(glob)))?);
    }
    set.build()
}
