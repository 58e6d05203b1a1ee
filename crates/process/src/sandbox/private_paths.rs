//! Private places of a machine: keys, credentials, browser profiles and histories, as one list.
//!
//! The sandbox hides them from commands, and the policy of the file tools refuses them without a rule that
//! names them. Both read this list, so that they mean the same places.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// Files and directories that only root should read: a session that runs as root would otherwise show them.
const SYSTEM: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/NetworkManager/system-connections",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/letsencrypt",
    "/etc/krb5.keytab",
    "/etc/rancher",
    "/etc/kubernetes",
    "/var/spool/cron",
    "/var/lib/sss",
];

/// Keys, credentials, profiles and histories below a home directory.
const BELOW_HOME: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".pki",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".config/age",
    ".config/sops",
    ".config/op",
    ".config/1Password",
    ".config/Bitwarden",
    ".config/keepassxc",
    // Clouds and their clients.
    ".aws",
    ".azure",
    ".kube",
    ".oci",
    ".aliyun",
    ".bluemix",
    ".boto",
    ".s3cfg",
    ".fly",
    ".vault-token",
    ".terraform.d/credentials.tfrc.json",
    ".terraformrc",
    ".config/gcloud",
    ".config/doctl",
    ".config/rclone",
    ".config/heroku",
    ".config/netlify",
    ".config/configstore",
    // Registries, repositories and databases.
    ".docker",
    ".dockercfg",
    ".netrc",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".gem/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    // Model vendors and other agents.
    ".claude.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".config/github-copilot",
    ".local/share/opencode/auth.json",
    ".cache/huggingface/token",
    ".huggingface",
    ".kaggle",
    // Browsers, mail and messengers.
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".config/Signal",
    "snap/firefox",
    "snap/chromium",
    ".var/app",
    // Sessions of the desktop, and what was typed.
    ".Xauthority",
    ".ICEauthority",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".mysql_history",
    ".node_repl_history",
    ".local/share/fish/fish_history",
    // Wallets.
    ".bitcoin",
    ".ethereum",
    ".electrum",
];

/// The private places of this machine and of a home, as they are written; links are not followed.
pub fn private_places(home: Option<&Path>) -> Vec<PathBuf> {
    let below = home
        .iter()
        .flat_map(|home| BELOW_HOME.iter().map(|name| home.join(name)));
    SYSTEM
        .iter()
        .map(PathBuf::from)
        .chain(below)
        .chain(host_keys())
        .collect()
}

/// The private place that a path of some home directory is in, whose home that may be.
pub fn private_in_homes(path: &Path) -> Option<PathBuf> {
    let mut parts = path.components();
    let home = if path.starts_with("/root") {
        parts.by_ref().take(2).collect::<PathBuf>()
    } else if path.starts_with("/home") {
        parts.by_ref().take(3).collect()
    } else {
        return None;
    };
    let inside = parts.as_path().to_str()?.to_ascii_lowercase();
    let is_it = |name: &&&str| Path::new(&inside).starts_with(name.to_ascii_lowercase());
    Some(home.join(BELOW_HOME.iter().find(is_it)?))
}

/// The home directory of the user who runs this.
pub fn home() -> Option<PathBuf> {
    env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute())
}

/// The private keys by which this machine proves its identity.
fn host_keys() -> Vec<PathBuf> {
    let entries = fs::read_dir("/etc/ssh").into_iter().flatten().flatten();
    let is_key = |path: &PathBuf| path.extension().is_none_or(|extension| extension != "pub");
    let is_host = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("ssh_host_"))
    };
    entries
        .map(|entry| entry.path())
        .filter(|path| is_host(path) && is_key(path))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_every_home_are_private_whatever_their_case() {
        let table = [
            ("/home/ada/.ssh/id_rsa", Some("/home/ada/.ssh")),
            ("/home/ada/.SSH/id_rsa", Some("/home/ada/.ssh")),
            ("/root/.aws", Some("/root/.aws")),
            ("/home/ada/project/.ssh/x", None),
            ("/home/ada/.sshd", None),
            ("/srv/.ssh/x", None),
            ("/home", None),
        ];
        for (path, wanted) in table {
            assert_eq!(
                private_in_homes(Path::new(path)),
                wanted.map(PathBuf::from),
                "{path}"
            );
        }
    }
}
