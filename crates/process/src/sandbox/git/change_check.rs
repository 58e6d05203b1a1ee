//! Decides whether a change of a file could make git run something, and what the file should be instead.

use crate::sandbox::git_config as config;

use super::guarded_files::{GitFileRole, GuardedContent, GuardedFile};

/// A change that has to be undone.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileRepair {
    /// What git would do with it, for people.
    pub(super) why: String,
    /// Current content, to be moved to quarantine; none if the file is gone.
    pub(super) now: Option<GuardedContent>,
    /// Content to write instead; none: the file is removed.
    pub(super) instead: Option<GuardedContent>,
    /// Whether that is what was there before.
    pub(super) is_restored: bool,
}

impl FileRepair {
    /// Description of the repair.
    pub(super) fn description(&self) -> &'static str {
        match (&self.instead, self.is_restored) {
            (Some(_), true) => "put back as it was",
            (Some(_), false) => "left out of the file",
            (None, _) => "removed",
        }
    }
}

/// What to do about a file that decides what git runs; none if nothing.
pub(super) fn repair_for(
    before: Option<&GuardedFile>,
    now: Option<&GuardedFile>,
) -> Option<FileRepair> {
    if before.map(|one| &one.content) == now.map(|one| &one.content) {
        return None;
    }
    let role = now.or(before)?.role;
    match role {
        GitFileRole::Settings => settings(before, now),
        GitFileRole::Todo => todo(before, now),
        GitFileRole::Hook => undone(before, now, "git runs it as a hook"),
        GitFileRole::Program => undone(before, now, "git runs it, or a hook does"),
        GitFileRole::Remote => undone(before, now, "git takes it for a remote"),
        GitFileRole::Leads => undone(before, now, "it leads git to another repository"),
    }
}

/// Back to what was there before.
fn undone(
    before: Option<&GuardedFile>,
    now: Option<&GuardedFile>,
    why: &str,
) -> Option<FileRepair> {
    let content = |one: Option<&GuardedFile>| one.map(|one| one.content.clone());
    // What was too large to be kept cannot be put back; what has come instead goes.
    let instead = content(before).filter(|content| !matches!(content, GuardedContent::Large(..)));
    Some(FileRepair {
        why: why.to_owned(),
        now: content(now),
        is_restored: instead.is_some(),
        instead,
    })
}

fn bytes(guarded: &GuardedFile) -> Option<&[u8]> {
    match &guarded.content {
        GuardedContent::File { bytes, .. } => Some(bytes),
        GuardedContent::Link(_) => guarded.settings.as_deref(),
        GuardedContent::Large(..) => None,
    }
}

/// The settings that are not harmless, with their values; none if they cannot be read.
fn dangerous(guarded: &GuardedFile) -> Option<Vec<(String, String)>> {
    let found = config::dangerous(bytes(guarded)?)?;
    Some(
        found
            .into_iter()
            .map(|setting| (setting.name, setting.value))
            .collect(),
    )
}

fn settings(before: Option<&GuardedFile>, now: Option<&GuardedFile>) -> Option<FileRepair> {
    let had = before.map(dangerous);
    let has = now.map(dangerous);
    let is_harmless = match (&had, &has) {
        (_, Some(None)) => false,
        (None | Some(None), Some(Some(has))) => has.is_empty(),
        (Some(Some(had)), Some(Some(has))) => had == has,
        (_, None) => had.flatten().is_some_and(|had| had.is_empty()),
    };
    if is_harmless {
        return None;
    }
    let why = match has.flatten() {
        None if now.is_none() => "settings of git that name programs are gone".to_owned(),
        None => "its settings cannot be checked, and could make git run something".to_owned(),
        Some(has) => {
            let names: Vec<&str> = has.iter().map(|(name, _)| name.as_str()).collect();
            format!("git would run what it names ({})", names.join(", "))
        }
    };
    match before {
        Some(_) => undone(before, now, &why),
        None => Some(FileRepair {
            why,
            now: now.map(|one| one.content.clone()),
            instead: now.and_then(cleaned),
            is_restored: false,
        }),
    }
}

/// New settings without those that are not harmless; none if they cannot be told apart.
fn cleaned(now: &GuardedFile) -> Option<GuardedContent> {
    let GuardedContent::File { bytes, mode } = &now.content else {
        return None;
    };
    let lines: Vec<usize> = config::dangerous(bytes)?
        .iter()
        .map(|setting| setting.line)
        .collect();
    let bytes = config::without(bytes, &lines);
    config::dangerous(&bytes)?
        .is_empty()
        .then_some(GuardedContent::File { bytes, mode: *mode })
}

/// Steps of a rebase that run a program and were not among the steps before.
fn todo(before: Option<&GuardedFile>, now: Option<&GuardedFile>) -> Option<FileRepair> {
    let now = now?;
    let why = "`git rebase --continue` would run its exec lines";
    let GuardedContent::File { bytes, mode } = &now.content else {
        return undone(before, Some(now), why);
    };
    let mut known: Vec<&[u8]> = before
        .and_then(self::bytes)
        .map(|bytes| executed(bytes).map(|(_, line)| line).collect())
        .unwrap_or_default();
    let is_new = |line: &[u8]| match known.iter().position(|known| *known == line) {
        Some(at) => {
            known.swap_remove(at);
            false
        }
        None => true,
    };
    let mut is_new = is_new;
    let lines: Vec<usize> = executed(bytes)
        .filter(|(_, line)| is_new(line))
        .map(|(at, _)| at)
        .collect();
    (!lines.is_empty()).then(|| FileRepair {
        why: why.to_owned(),
        now: Some(now.content.clone()),
        instead: Some(GuardedContent::File {
            bytes: config::without(bytes, &lines),
            mode: *mode,
        }),
        is_restored: false,
    })
}

/// The lines of a todo list that run a program, with their numbers.
fn executed(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    let runs = |line: &[u8]| {
        let line = line.trim_ascii_start();
        let word = line
            .split(|byte| byte.is_ascii_whitespace())
            .next()
            .unwrap_or_default();
        matches!(word, b"exec" | b"x")
    };
    lines.filter(move |(_, line)| runs(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(role: GitFileRole, text: &str) -> GuardedFile {
        GuardedFile {
            role,
            content: GuardedContent::File {
                bytes: text.into(),
                mode: 0o644,
            },
            settings: None,
        }
    }

    fn instead(
        role: GitFileRole,
        before: Option<&str>,
        now: Option<&str>,
    ) -> Option<Option<String>> {
        let (before, now) = (
            before.map(|text| file(role, text)),
            now.map(|text| file(role, text)),
        );
        let verdict = repair_for(before.as_ref(), now.as_ref())?;
        Some(verdict.instead.map(|content| match content {
            GuardedContent::File { bytes, .. } => String::from_utf8(bytes).unwrap(),
            other => format!("{other:?}"),
        }))
    }

    #[test]
    fn harmless_settings_stay_and_others_go() {
        let (plain, evil) = (
            "[core]\n\tbare = false\n",
            "[core]\n\tbare = false\n\tfsmonitor = x\n",
        );
        let hooks = "[core]\n\thooksPath = x\n";
        let own = |text: &str| Some(Some(text.to_owned()));
        for (before, now, wanted) in [
            (None, Some(plain), None),
            (None, Some(evil), own(plain)),
            (Some(plain), Some(evil), own(plain)),
            (Some(evil), Some(evil), None),
            (Some(hooks), Some(plain), own(hooks)),
            (Some(hooks), None, own(hooks)),
            (Some(plain), None, None),
            (None, Some("[core] fsmonitor = x\n"), Some(None)),
            (Some(plain), Some("[core] fsmonitor = x\n"), own(plain)),
            (
                Some(hooks),
                Some("[core]\n\thooksPath = x\n[user]\n\tname = a\n"),
                None,
            ),
        ] {
            assert_eq!(
                instead(GitFileRole::Settings, before, now),
                wanted,
                "{before:?} {now:?}"
            );
        }
    }

    #[test]
    fn steps_that_run_something_go_and_those_that_were_there_stay() {
        let own = |text: &str| Some(Some(text.to_owned()));
        for (before, now, wanted) in [
            (None, Some("pick a\n"), None),
            (
                None,
                Some("pick a\nexec x\n  x y\npick b\n"),
                own("pick a\npick b\n"),
            ),
            (
                Some("exec make\npick a\nexec make\n"),
                Some("pick a\nexec make\n"),
                None,
            ),
            (
                Some("exec make\n"),
                Some("exec make\nexec make\n"),
                own("exec make\n"),
            ),
            (Some("exec make\n"), None, None),
        ] {
            assert_eq!(
                instead(GitFileRole::Todo, before, now),
                wanted,
                "{before:?} {now:?}"
            );
        }
    }

    #[test]
    fn hooks_are_put_back_and_new_ones_go() {
        let own = |text: &str| Some(Some(text.to_owned()));
        assert_eq!(instead(GitFileRole::Hook, None, Some("x")), Some(None));
        assert_eq!(instead(GitFileRole::Hook, Some("a"), Some("x")), own("a"));
        assert_eq!(instead(GitFileRole::Hook, Some("a"), None), own("a"));
        assert_eq!(instead(GitFileRole::Hook, Some("a"), Some("a")), None);
    }
}
