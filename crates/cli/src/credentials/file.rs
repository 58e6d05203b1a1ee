//! Reads and writes `credentials.toml`: refused if other users can read it, replaced atomically, never half-written.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, File, Metadata},
    io::{self, ErrorKind, Read},
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use rooftree_protocol::{ErrorCode, Problem};
use rooftree_stdx::atomic_file;
use serde::{Deserialize, Serialize};

use super::ApiKey;
use crate::human_format::place;

const HEADER: &str =
    "# Keys of providers, kept by `rooftree auth`. Only you may read this file.\n\n";

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(default)]
    keys: BTreeMap<String, ApiKey>,
}

/// Identity and state of a file: device, inode, size, mode, and the times of its last changes.
type FileStamp = [i128; 8];

/// The file that was read last, as it was, and its keys.
static LAST_READ: Mutex<Option<(PathBuf, FileStamp, StoredKeys)>> = Mutex::new(None);

/// Keys by account.
type StoredKeys = BTreeMap<String, ApiKey>;

fn stamp(found: &Metadata) -> FileStamp {
    [
        found.dev().into(),
        found.ino().into(),
        found.size().into(),
        found.mode().into(),
        found.mtime().into(),
        found.mtime_nsec().into(),
        found.ctime().into(),
        found.ctime_nsec().into(),
    ]
}

/// The keys in a file; none if there is no file. A file that has not changed is not read again: each provider asks
/// for its own key.
pub fn read(path: &Path) -> Result<StoredKeys, Problem> {
    let now = fs::metadata(path).ok().as_ref().map(stamp);
    let last = || LAST_READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, before, keys)) = &*last()
        && known == path
        && Some(*before) == now
    {
        return Ok(keys.clone());
    }
    let keys = read_anew(path)?;
    if let Some(now) = now {
        *last() = Some((path.to_owned(), now, keys.clone()));
    }
    Ok(keys)
}

fn read_anew(path: &Path) -> Result<StoredKeys, Problem> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(BTreeMap::new());
        }
        Err(error) => return Err(cannot("read", path, &error)),
    };
    let mode = file
        .metadata()
        .map_err(|error| cannot("read", path, &error))?
        .permissions()
        .mode();
    if mode & 0o077 != 0 {
        return Err(Problem::new(
            ErrorCode::InvalidConfig,
            format!("{} is not private", place(path)),
        )
        .cause(format!(
            "others may read or change it (mode {:03o}), so its keys are not used",
            mode & 0o777
        ))
        .fix(format!("chmod 600 {}", path.display())));
    }
    let mut text = String::new();
    file.read_to_string(&mut text)
        .map_err(|error| cannot("read", path, &error))?;
    // What the parser says would repeat the line, and the line may hold a key.
    let content: Content = toml::from_str(&text).map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map_or(1, |before| before.matches('\n').count() + 1);
        Problem::new(
            ErrorCode::InvalidConfig,
            format!("{}: line {line} cannot be read", place(path)),
        )
        .fix(
            "write provider = \"key\" below [keys], or remove the line and use `rooftree auth set`",
        )
    })?;
    Ok(content
        .keys
        .into_iter()
        .filter_map(|(name, key)| Some((name, ApiKey::new(key.reveal())?)))
        .collect())
}

/// Changes the keys in a file.
pub fn change<T>(
    path: &Path,
    change: impl FnOnce(&mut BTreeMap<String, ApiKey>) -> T,
) -> Result<T, Problem> {
    let failed = |error: &io::Error| cannot("write", path, error);
    let directory = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(|error| failed(&error))?;
    // Two changes at once would lose one of them.
    let alone = File::open(directory).map_err(|error| failed(&error))?;
    alone.lock().map_err(|error| failed(&error))?;
    let mut keys = read(path)?;
    let changed = change(&mut keys);
    let text = toml::to_string(&Content { keys })
        .map_err(|_| Problem::new(ErrorCode::Internal, "cannot spell the keys as TOML"))?;
    atomic_file::replace_private(path, format!("{HEADER}{text}").as_bytes())
        .map_err(|error| failed(&error))?;
    Ok(changed)
}

fn cannot(what: &str, path: &Path, error: &io::Error) -> Problem {
    Problem::new(
        ErrorCode::InvalidConfig,
        format!("cannot {what} {}", place(path)),
    )
    .cause(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn key(text: &str) -> ApiKey {
        ApiKey::new(text).unwrap()
    }

    #[test]
    fn keys_are_kept_in_a_private_file() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("new/credentials.toml");
        assert!(read(&path).unwrap().is_empty());
        change(&path, |keys| keys.insert("openai".into(), key("sk-1"))).unwrap();
        change(&path, |keys| keys.insert("groq".into(), key("gsk \"2\""))).unwrap();
        let keys = read(&path).unwrap();
        assert_eq!(
            (keys["openai"].reveal(), keys["groq"].reveal()),
            ("sk-1", "gsk \"2\"")
        );
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }

    #[test]
    fn a_file_others_can_read_is_refused_with_a_way_out() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("credentials.toml");
        for mode in [0o640, 0o604, 0o620] {
            fs::write(&path, "[keys]\nopenai = 'sk-1'\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let problem = read(&path).unwrap_err();
            assert!(problem.fix.unwrap().starts_with("chmod 600 "), "{mode:o}");
            assert!(
                change(&path, |_| ()).is_err(),
                "a change would bless what is in it"
            );
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_repeated() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("credentials.toml");
        for text in [
            "[keys]\nopenai = sk-secret-secret\n",
            "[keys]\n[keys.openai]\na = 'sk-secret-secret'\n",
        ] {
            atomic_file::replace_private(&path, text.as_bytes()).unwrap();
            let problem = read(&path).unwrap_err();
            assert!(
                problem.message.contains("line ") && !format!("{problem:?}").contains("secret-s"),
                "{problem:?}"
            );
        }
    }
}
