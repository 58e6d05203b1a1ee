//! The environment a program gets: this process's own, without what looks like a secret.

use std::{collections::BTreeMap, ffi::OsString};

/// What a child finds in its environment.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// If given, nothing is inherited but these names and those that begin like one ending in `*`.
    pub only: Option<Vec<String>>,
    /// Names that are passed on although they look like secrets.
    pub keep: Vec<String>,
    /// Names that begin like one of these are not passed on: they would bend what the program does.
    pub without: Vec<String>,
    /// Variables set on top.
    pub set: BTreeMap<String, String>,
}

impl Environment {
    /// Adds a variable.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.set.insert(name.to_owned(), value.to_owned());
        self
    }

    /// What is left of `inherited`, and what is set.
    pub(crate) fn resolve(
        &self,
        inherited: impl Iterator<Item = (OsString, OsString)>,
    ) -> BTreeMap<OsString, OsString> {
        let is_passed_on = |name: &str| {
            self.only.as_ref().is_none_or(|only| is_listed(only, name))
                && !self.without.iter().any(|beginning| name.starts_with(beginning.as_str()))
                && (!looks_secret(name) || self.keep.iter().any(|kept| kept == name))
        };
        let mut variables: BTreeMap<OsString, OsString> =
            inherited.filter(|(name, _)| is_passed_on(&name.to_string_lossy())).collect();
        variables.extend(self.set.iter().map(|(name, value)| (name.into(), value.into())));
        variables
    }
}

fn is_listed(names: &[String], name: &str) -> bool {
    names.iter().any(|listed| match listed.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => listed == name,
    })
}

/// Whether a variable of this name probably holds something a model must not read.
pub fn looks_secret(name: &str) -> bool {
    const ENDINGS: [&str; 7] =
        ["API_KEY", "APIKEY", "_TOKEN", "ACCESS_KEY", "PRIVATE_KEY", "_CREDENTIALS", "_PASSPHRASE"];
    let name = name.to_ascii_uppercase();
    ["SECRET", "PASSWORD", "PASSWD"].iter().any(|word| name.contains(word))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || name == "TOKEN"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_left_out_unless_it_is_kept() {
        let table = [
            ("PATH", true),
            ("HOME", true),
            ("KEYBOARD", true),
            ("TOKENIZERS_PARALLELISM", true),
            ("OPENAI_API_KEY", false),
            ("github_token", false),
            ("AWS_SECRET_ACCESS_KEY", false),
            ("DB_PASSWORD", false),
            ("MY_SECRETS", false),
            ("KEPT_TOKEN", true),
        ];
        let environment = Environment { keep: vec!["KEPT_TOKEN".to_owned()], ..Environment::default() };
        for (name, is_there) in table {
            let variables = environment.resolve([(name.into(), "x".into())].into_iter());
            assert_eq!(variables.len() == 1, is_there, "{name}");
        }
    }

    #[test]
    fn what_would_bend_the_program_is_left_out_and_can_still_be_set() {
        let environment = Environment { without: vec!["GIT_".to_owned()], ..Environment::default() };
        let environment = environment.with("GIT_INDEX_FILE", "ours");
        let inherited = [("GIT_DIR", "theirs"), ("GIT_INDEX_FILE", "theirs"), ("HOME", "/home")];
        let variables =
            environment.resolve(inherited.into_iter().map(|(name, value)| (name.into(), value.into())));
        let names: Vec<_> = variables.keys().map(|name| name.to_string_lossy().into_owned()).collect();
        assert_eq!(names, ["GIT_INDEX_FILE", "HOME"]);
        assert_eq!(variables.get(&OsString::from("GIT_INDEX_FILE")), Some(&OsString::from("ours")));
    }

    #[test]
    fn with_a_list_nothing_else_is_inherited() {
        let only = Some(["PATH", "LC_*"].map(str::to_owned).to_vec());
        let environment = Environment { only, ..Environment::default() }.with("OWN", "x");
        let inherited = ["PATH", "PATHS", "LC_ALL", "SSH_AUTH_SOCK", "LANG"];
        let variables = environment.resolve(inherited.into_iter().map(|name| (name.into(), "x".into())));
        let names: Vec<_> = variables.keys().map(|name| name.to_string_lossy().into_owned()).collect();
        assert_eq!(names, ["LC_ALL", "OWN", "PATH"]);
    }

    #[test]
    fn what_is_set_wins_over_what_is_inherited() {
        let environment = Environment::default().with("PAGER", "cat");
        let variables = environment.resolve([("PAGER".into(), "less".into())].into_iter());
        assert_eq!(variables.get(&OsString::from("PAGER")), Some(&OsString::from("cat")));
    }
}
