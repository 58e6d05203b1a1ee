//! Parses git configuration strictly, and tells harmless settings from those that can make git run a program.
//!
//! The parser accepts less than git does: one setting per line, no continuation lines. So it never
//! takes for a comment or a value what git takes for a setting. What it cannot parse is not harmless.

/// One setting of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GitSetting {
    /// `section.subsection.key`; section and key in lower case.
    pub(super) name: String,
    pub(super) value: String,
    /// The line it stands on, from 0.
    pub(super) line: usize,
}

/// Keys that cannot make git run a program, by section. `*` stands for every key.
const HARMLESS: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "autocrlf",
            "eol",
            "safecrlf",
            "worktree",
            "quotepath",
            "abbrev",
            "compression",
            "bigfilethreshold",
            "sparsecheckout",
            "sparsecheckoutcone",
            "longpaths",
            "untrackedcache",
            "sharedrepository",
            "preloadindex",
            "trustctime",
            "checkstat",
            "splitindex",
            "multipackindex",
            "commitgraph",
        ],
    ),
    ("user", &["name", "email", "useconfigonly", "signingkey"]),
    ("author", &["name", "email"]),
    ("committer", &["name", "email"]),
    (
        "remote",
        &[
            "url",
            "pushurl",
            "fetch",
            "push",
            "tagopt",
            "prune",
            "prunetags",
            "mirror",
            "skipfetchall",
            "skipdefaultupdate",
            "promisor",
            "partialclonefilter",
            "followremotehead",
            "pushdefault",
            "gh-resolved",
        ],
    ),
    (
        "branch",
        &[
            "remote",
            "pushremote",
            "merge",
            "rebase",
            "description",
            "autosetupmerge",
            "autosetuprebase",
            "sort",
            "vscode-merge-base",
            "gh-merge-base",
        ],
    ),
    (
        "submodule",
        &[
            "url",
            "active",
            "branch",
            "ignore",
            "path",
            "shallow",
            "recurse",
            "fetchjobs",
        ],
    ),
    ("init", &["defaultbranch"]),
    ("pull", &["rebase", "ff", "octopus"]),
    ("push", &["default", "autosetupremote", "followtags"]),
    (
        "fetch",
        &[
            "prune",
            "prunetags",
            "parallel",
            "writecommitgraph",
            "recursesubmodules",
        ],
    ),
    (
        "merge",
        &[
            "conflictstyle",
            "ff",
            "renames",
            "renamelimit",
            "log",
            "stat",
        ],
    ),
    (
        "rebase",
        &[
            "autosquash",
            "autostash",
            "updaterefs",
            "missingcommitscheck",
            "stat",
        ],
    ),
    (
        "diff",
        &[
            "renames",
            "algorithm",
            "renamelimit",
            "mnemonicprefix",
            "noprefix",
            "colormoved",
            "context",
        ],
    ),
    ("log", &["date", "decorate", "follow", "abbrevcommit"]),
    ("commit", &["gpgsign", "verbose", "status", "cleanup"]),
    ("tag", &["gpgsign", "sort", "forcesignannotated"]),
    (
        "receive",
        &["denycurrentbranch", "denynonfastforwards", "denydeletes"],
    ),
    ("lfs", &["repositoryformatversion", "access", "locksverify"]),
    (
        "http",
        &["postbuffer", "lowspeedlimit", "lowspeedtime", "version"],
    ),
    ("extensions", &["*"]),
    ("advice", &["*"]),
    ("color", &["*"]),
    ("column", &["*"]),
    ("status", &["*"]),
    ("gc", &["*"]),
    ("maintenance", &["*"]),
    ("index", &["*"]),
    ("pack", &["*"]),
    ("feature", &["*"]),
    ("rerere", &["*"]),
    ("stash", &["*"]),
    ("sparse", &["*"]),
    ("commitgraph", &["*"]),
    ("transfer", &["*"]),
    ("apply", &["*"]),
];

/// Keys whose value names another repository.
const PLACES: [&str; 5] = ["url", "pushurl", "remote", "pushremote", "pushdefault"];

/// Ways to reach a repository that is not on this machine.
const REMOTE: [&str; 8] = [
    "http", "https", "ssh", "git", "ftp", "ftps", "git+ssh", "ssh+git",
];

impl GitSetting {
    fn section(&self) -> &str {
        self.name.split('.').next().unwrap_or_default()
    }

    pub(super) fn key(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or_default()
    }

    /// Whether it cannot make git run a program, or read more settings.
    pub(super) fn is_harmless(&self) -> bool {
        let value = self.value.to_ascii_lowercase();
        match self.name.as_str() {
            // A word here starts git's own monitor or none; anything else is a program.
            "core.fsmonitor" => matches!(
                value.as_str(),
                "true" | "false" | "yes" | "no" | "1" | "0" | ""
            ),
            _ if self.section() == "submodule" && self.key() == "update" => {
                matches!(value.as_str(), "checkout" | "rebase" | "merge" | "none")
            }
            _ => {
                let keys = HARMLESS
                    .iter()
                    .find(|(section, _)| *section == self.section());
                let is_listed =
                    |keys: &[&str]| keys.iter().any(|key| *key == "*" || *key == self.key());
                // `<helper>::<address>` runs a helper.
                let runs_helper = PLACES.contains(&self.key()) && self.value.contains("::");
                keys.is_some_and(|(_, keys)| is_listed(keys)) && !runs_helper
            }
        }
    }

    /// The directory it names as a repository, if that is on this machine.
    pub(super) fn local_repository(&self) -> Option<&str> {
        let is_place =
            matches!(self.section(), "remote" | "branch") && PLACES.contains(&self.key());
        let value = Some(self.value.as_str()).filter(|value| is_place && !value.is_empty())?;
        if let Some(path) = value.strip_prefix("file://") {
            return Some(path);
        }
        let is_remote = value
            .split_once("://")
            .is_some_and(|(scheme, _)| REMOTE.contains(&scheme));
        // `host:path`, as git understands it: a colon before any slash.
        let is_host = value
            .split_once(':')
            .is_some_and(|(host, _)| !host.contains('/'));
        (!is_remote && !is_host).then_some(value)
    }
}

/// All settings of a file; none if it is not written as strictly as is read here.
pub(super) fn settings(bytes: &[u8]) -> Option<Vec<GitSetting>> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let (mut found, mut section) = (Vec::new(), None);
    for (line, raw) in text.split('\n').enumerate() {
        let raw = raw.strip_suffix('\r').unwrap_or(raw);
        if raw.contains(|char: char| char.is_control() && char != '\t') {
            return None;
        }
        let trimmed = raw.trim_matches([' ', '\t']);
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(rest) = trimmed.strip_prefix('[') {
            section = Some(header(rest)?);
            continue;
        }
        let (key, value) = assignment(trimmed)?;
        found.push(GitSetting {
            name: format!("{}.{key}", section.as_ref()?),
            value,
            line,
        });
    }
    Some(found)
}

/// The section a header names: `core]`, `remote "origin"]`.
fn header(rest: &str) -> Option<String> {
    let is_word = |text: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|char| char.is_ascii_alphanumeric() || char == '-')
    };
    let (inside, after) = match rest.split_once('"') {
        None => rest.split_once(']')?,
        Some((_, quoted)) => {
            let (name, after) = quoted.split_once('"')?;
            let section = rest.split('"').next()?.trim_end_matches([' ', '\t']);
            let is_plain = is_word(section) && !name.contains('\\');
            let after = after
                .strip_prefix(']')
                .filter(|after| is_plain && is_rest_empty(after));
            return after.map(|_| format!("{}.{name}", section.to_ascii_lowercase()));
        }
    };
    (inside.split('.').all(is_word) && is_rest_empty(after)).then(|| inside.to_ascii_lowercase())
}

/// Whether nothing but a comment follows.
fn is_rest_empty(rest: &str) -> bool {
    let rest = rest.trim_matches([' ', '\t']);
    rest.is_empty() || rest.starts_with(['#', ';'])
}

fn assignment(line: &str) -> Option<(String, String)> {
    let (key, rest) = line.split_at(
        line.find(|char: char| !char.is_ascii_alphanumeric() && char != '-')
            .unwrap_or(line.len()),
    );
    let is_key = key.starts_with(|char: char| char.is_ascii_alphabetic());
    let rest = rest.trim_start_matches([' ', '\t']);
    let value = match rest.strip_prefix('=') {
        Some(value) => unquoted(value.trim_start_matches([' ', '\t']))?,
        None if is_rest_empty(rest) => "true".to_owned(),
        None => return None,
    };
    is_key.then(|| (key.to_ascii_lowercase(), value))
}

/// A value without its quotes, escapes and comment; none if it goes on in the next line.
fn unquoted(text: &str) -> Option<String> {
    let (mut value, mut is_quoted) = (String::new(), false);
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => break,
            '\\' => value.push(match chars.next()? {
                'n' => '\n',
                't' => '\t',
                escaped @ ('"' | '\\') => escaped,
                _ => return None,
            }),
            _ => value.push(char),
        }
    }
    (!is_quoted && !text.ends_with('\\')).then(|| value.trim_end_matches([' ', '\t']).to_owned())
}

/// The settings of a file that are not harmless, in order; none if it cannot be parsed.
pub(super) fn dangerous(bytes: &[u8]) -> Option<Vec<GitSetting>> {
    settings(bytes).map(|all| {
        all.into_iter()
            .filter(|setting| !setting.is_harmless())
            .collect()
    })
}

/// The same file without some of its lines.
pub(super) fn without(bytes: &[u8], lines: &[usize]) -> Vec<u8> {
    let kept = bytes.split_inclusive(|byte| *byte == b'\n').enumerate();
    kept.filter(|(line, _)| !lines.contains(line))
        .flat_map(|(_, text)| text.to_vec())
        .collect()
}

#[cfg(test)]
mod tests;
