//! Detects command lines that return untrusted text: from the network, or from a ref that git fetched.
//!
//! The output of such a line may hold instructions for the model (prompt injection). A line that cannot be parsed
//! counts if it names one of the programs. Text that a program fetches without any sign of it in the line is not
//! detected.

use super::{CommandClass, ShellCall, ShellEffects, ShellWord, classify, named_files::inner};

/// Maximum nesting of lines in arguments of lines.
const DEEPEST: usize = 3;

/// Programs that print what another machine says.
const REMOTE: &str = "
    aria2c aws az bb curl dig elinks finger ftp gcloud gh glab gsutil host http httpie https hub hurl kubectl lftp links
    lynx mail mosh nc ncat netcat nslookup rclone s3cmd scp sftp socat ssh telnet tea w3m wget wget2 whois xh xhs";

/// Programs with sub-commands that print what another machine says.
const BY_COMMAND: [(&str, &str); 9] = [
    ("brew", "desc info search"),
    ("cargo", "info search"),
    ("docker", "logs pull search"),
    ("git", "clone ls-remote"),
    ("npm", "i info install search show view"),
    ("openssl", "s_client"),
    ("pip", "download index install search"),
    ("pnpm", "info view"),
    ("yarn", "info"),
];

/// Patterns of refs that were fetched.
const FETCHED: [&str; 8] = [
    "FETCH_HEAD",
    "origin/",
    "upstream/",
    "remotes/",
    "@{u",
    "@{push",
    "@*",
    "--remotes",
];

/// Beginnings of addresses.
const ADDRESSES: [&str; 4] = ["http://", "https://", "ftp://", "ssh://"];

/// Whether what a line prints may come from outside.
pub fn reads_outside(text: &str) -> bool {
    reads_within(text, DEEPEST)
}

fn reads_within(text: &str, depth: usize) -> bool {
    let Ok(deeds) = ShellEffects::of(text) else {
        let is_between = |c: char| c.is_whitespace() || "\"'`;|&()<>{}".contains(c);
        return has_address(text)
            || text
                .split(is_between)
                .any(|word| is_in(REMOTE, last_name(word)));
    };
    let connects = |word: &ShellWord| {
        ["/dev/tcp/", "/dev/udp/"]
            .iter()
            .any(|start| word.shape().starts_with(start))
    };
    deeds.files.iter().any(|file| connects(&file.target))
        || deeds.calls.iter().any(|call| call_reads(call, depth))
        || deeds
            .texts
            .iter()
            .any(|text| has_address(&text.shape()) && deeds.calls.iter().any(acts))
}

fn call_reads(call: &ShellCall, depth: usize) -> bool {
    let call = inner(call, 0);
    let name = call.name().unwrap_or_default();
    let words: Vec<String> = call.arguments().iter().map(ShellWord::shape).collect();
    if is_in(REMOTE, &name) || by_command(&name, &words) {
        return true;
    }
    if name == "git" {
        return words
            .iter()
            .any(|word| FETCHED.iter().any(|sign| word.contains(sign)));
    }
    if name == "rsync" && words.iter().any(|word| word.contains(':')) {
        return true;
    }
    // A shell or an interpreter is given text, which may be a line or hold an address.
    let is_line = |word: &&String| word.contains(char::is_whitespace) && depth > 0;
    acts(&call)
        && (words.iter().any(|word| has_address(word))
            || words
                .iter()
                .filter(is_line)
                .any(|line| reads_within(line, depth - 1)))
}

/// Whether a call does more than look: `echo https://…` prints what is in the line already.
fn acts(call: &ShellCall) -> bool {
    classify(&inner(call, 0)) != CommandClass::Looks
}

/// Options may stand before a sub-command, and be followed by a value, so any word may be it.
fn by_command(name: &str, words: &[String]) -> bool {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let commands = BY_COMMAND
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, commands)| *commands);
    commands.is_some_and(|commands| words.iter().any(|word| is_in(commands, word)))
}

fn has_address(text: &str) -> bool {
    ADDRESSES.iter().any(|start| text.contains(start))
}

fn last_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

fn is_in(table: &str, name: &str) -> bool {
    table.split_ascii_whitespace().any(|one| one == name)
}
