//! The environment variables a program gets: this process's own, without those that are or hold a secret.
//!
//! By default every variable is passed on whose name does not look like a secret: the variables that builds and tests
//! need cannot be listed. The caller adds the names of variables that hold a secret whatever they are called, and can
//! switch to an allow list: only what programs commonly need.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    sync::Arc,
};

/// The environment of a child.
#[derive(Clone, Debug, Default)]
pub struct ChildEnvironment {
    /// Which variables of this process a child may inherit at all.
    pub inheritance: Arc<EnvironmentFilter>,
    /// If given, nothing is inherited but these names and those that begin like one ending in `*`.
    pub only: Option<Vec<String>>,
    /// Names that are passed on although they look like secrets.
    pub keep: Vec<String>,
    /// Variables set on top.
    pub set: BTreeMap<String, String>,
}

/// Filter for the variables of this process that programs may inherit. Not a global: two runtimes in one process
/// each have their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvironmentFilter {
    /// Names that are passed on although they look like secrets or hold one.
    pub keep: Vec<String>,
    /// Names of variables that hold a secret.
    pub withheld: BTreeSet<String>,
    /// Whether only what programs commonly need is passed on.
    pub only_listed: bool,
}

/// Variables that every program needs: search path, home, user name, locale. None is a credential. Names, or
/// prefixes that end with `*`.
pub(crate) const PLAIN: [&str; 9] = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ",
];

/// What programs commonly need besides.
const LISTED: &[&str] = &[
    "PWD",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "TMPDIR",
    "TMP",
    "TEMP",
    "XDG_*",
    "HOSTNAME",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "CI",
    "EDITOR",
    "VISUAL",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "CARGO_*",
    "RUSTUP_*",
    "RUST*",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "GOPROXY",
    "GOFLAGS",
    "JAVA_HOME",
    "MAVEN_*",
    "GRADLE_*",
    "ANDROID_*",
    "NODE_*",
    "NVM_*",
    "VOLTA_*",
    "PNPM_HOME",
    "BUN_INSTALL",
    "DENO_*",
    "npm_config_*",
    "VIRTUAL_ENV",
    "CONDA_*",
    "PYTHON*",
    "PYENV_*",
    "UV_*",
    "PIP_*",
    "POETRY_*",
    "RBENV_*",
    "GEM_*",
    "BUNDLE_*",
    "DOTNET_*",
    "SDKROOT",
    "DEVELOPER_DIR",
    "CC",
    "CXX",
    "AR",
    "LD",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "PKG_CONFIG*",
    "CMAKE_*",
    "MAKEFLAGS",
    "NIX_*",
    "DOCKER_HOST",
    "KUBECONFIG",
    "GIT_*",
    "SSH_AUTH_SOCK",
    "ROOFTREE_*",
];

impl EnvironmentFilter {
    fn passes(&self, name: &str, keep: &[String]) -> bool {
        let is_kept = self.keep.iter().chain(keep).any(|kept| kept == name);
        let is_secret = looks_secret(name) || self.withheld.contains(name);
        is_kept
            || (!is_secret
                && (!self.only_listed || is_listed(&PLAIN, name) || is_listed(LISTED, name)))
    }
}

fn is_listed(names: &[impl AsRef<str>], name: &str) -> bool {
    names
        .iter()
        .map(AsRef::as_ref)
        .any(|listed| match listed.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => listed == name,
        })
}

impl ChildEnvironment {
    /// Whatever may be inherited.
    pub fn inheriting(inheritance: Arc<EnvironmentFilter>) -> Self {
        Self {
            inheritance,
            ..Self::default()
        }
    }

    /// Nothing but what every program needs, and these.
    pub fn plain(more: &[&str]) -> Self {
        let only = PLAIN
            .iter()
            .chain(more)
            .map(|name| (*name).to_owned())
            .collect();
        Self {
            only: Some(only),
            ..Self::default()
        }
    }

    /// Adds a variable.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.set.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The variables of the child: `inherited` after filtering, and those set.
    pub(crate) fn resolve(
        &self,
        inherited: impl Iterator<Item = (OsString, OsString)>,
    ) -> BTreeMap<OsString, OsString> {
        let is_passed_on = |name: &str| {
            self.only.as_ref().is_none_or(|only| is_listed(only, name))
                && self.inheritance.passes(name, &self.keep)
        };
        let mut variables: BTreeMap<OsString, OsString> = inherited
            .filter(|(name, _)| is_passed_on(&name.to_string_lossy()))
            .collect();
        variables.extend(
            self.set
                .iter()
                .map(|(name, value)| (name.into(), value.into())),
        );
        variables
    }
}

/// Whether a variable of this name probably holds something a model must not read.
pub fn looks_secret(name: &str) -> bool {
    const ENDINGS: [&str; 10] = [
        "API_KEY",
        "APIKEY",
        "_TOKEN",
        "ACCESS_KEY",
        "SECRET_KEY",
        "PRIVATE_KEY",
        "_CREDENTIALS",
        "_PASSPHRASE",
        "_PASS",
        "_PAT",
    ];
    let name = name.to_ascii_uppercase();
    ["SECRET", "PASSWORD", "PASSWD"]
        .iter()
        .any(|word| name.contains(word))
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
        let environment = ChildEnvironment {
            keep: vec!["KEPT_TOKEN".to_owned()],
            ..ChildEnvironment::default()
        };
        for (name, is_there) in table {
            let variables = environment.resolve([(name.into(), "x".into())].into_iter());
            assert_eq!(variables.len() == 1, is_there, "{name}");
        }
    }

    #[test]
    fn with_a_list_of_its_own_a_program_inherits_nothing_else() {
        let only = Some(["PATH", "LC_*"].map(str::to_owned).to_vec());
        let environment = ChildEnvironment {
            only,
            ..ChildEnvironment::default()
        }
        .with("OWN", "x");
        let inherited = ["PATH", "PATHS", "LC_ALL", "SSH_AUTH_SOCK", "LANG"];
        let variables =
            environment.resolve(inherited.into_iter().map(|name| (name.into(), "x".into())));
        let names: Vec<_> = variables
            .keys()
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, ["LC_ALL", "OWN", "PATH"]);
    }

    #[test]
    fn what_is_set_wins_over_what_is_inherited() {
        let environment = ChildEnvironment::default().with("PAGER", "cat");
        let variables = environment.resolve([("PAGER".into(), "less".into())].into_iter());
        assert_eq!(
            variables.get(&OsString::from("PAGER")),
            Some(&OsString::from("cat"))
        );
    }

    #[test]
    fn what_holds_a_secret_is_left_out_whatever_it_is_called() {
        let withheld = ["DATABASE_URL", "KEPT_URL"].map(str::to_owned).into();
        let keep = vec!["KEPT_URL".to_owned()];
        let inheritance = EnvironmentFilter {
            keep,
            withheld,
            only_listed: false,
        };
        let names = ["DATABASE_URL", "KEPT_URL", "MY_OWN", "PATH"];
        let inherited = names.into_iter().map(|name| (name.into(), "x".into()));
        let variables = ChildEnvironment::inheriting(inheritance.into()).resolve(inherited);
        let names: Vec<_> = variables
            .keys()
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, ["KEPT_URL", "MY_OWN", "PATH"]);
    }

    #[test]
    fn with_a_list_only_what_is_on_it_or_kept_is_passed_on() {
        let inheritance = EnvironmentFilter {
            keep: vec!["MY_OWN".to_owned()],
            only_listed: true,
            ..EnvironmentFilter::default()
        };
        let names = [
            "CARGO_HOME",
            "CARGO_REGISTRY_TOKEN",
            "HOME",
            "LC_ALL",
            "MY_OTHER",
            "MY_OWN",
            "https_proxy",
        ];
        let inherited = names.into_iter().map(|name| (name.into(), "x".into()));
        let variables = ChildEnvironment::inheriting(inheritance.into()).resolve(inherited);
        let names: Vec<_> = variables
            .keys()
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        assert_eq!(
            names,
            ["CARGO_HOME", "HOME", "LC_ALL", "MY_OWN", "https_proxy"]
        );
    }
}
