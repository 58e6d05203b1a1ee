//! `tar`: with known letters and options only, since it runs programs by several others.
//!
//! Left out on purpose: `-F`, `-I`, `--to-command`, `--checkpoint-action`, `--rsh-command`, `--rmt-command`, `-P`, and `-T`, which
//! reads options from a file.

use super::{ACTS, CommandClass, ShellWord, option_table::OptionTable};

const LETTERS: &str = "AcdrtuxvzjJZakOpmhlwSUoWBisR";

const TAR: OptionTable = OptionTable::careful(
    LETTERS,
    "fCXbLHN",
    "catenate concatenate create delete diff compare append list update extract get file= directory= exclude= \
     exclude-from= exclude-vcs exclude-vcs-ignores exclude-backups exclude-caches auto-compress bzip2 gzip gunzip \
     ungzip xz zstd lzma lzip lzop compress uncompress verbose verify overwrite keep-old-files keep-newer-files \
     skip-old-files unlink-first recursive-unlink to-stdout touch same-owner no-same-owner same-permissions \
     preserve-permissions no-same-permissions numeric-owner owner= group= mode= mtime= sort= format= strip-components= \
     no-recursion recursion dereference one-file-system sparse wildcards no-wildcards anchored \
     no-anchored ignore-case totals show-transformed-names null help version",
);

/// A file with a colon is on another machine, and the first word may be letters without a dash.
pub(super) fn classify(words: &[ShellWord]) -> CommandClass {
    const UNKNOWN: CommandClass =
        CommandClass::Runs("it has an option that may run a program, or one that is not known");
    let texts: Option<Vec<String>> = words.iter().map(ShellWord::literal).collect();
    let Some(texts) = texts.filter(|texts| !texts.iter().any(|text| text.contains(':'))) else {
        return UNKNOWN;
    };
    let is_letters = |first: &String| {
        first.starts_with('-')
            || first
                .chars()
                .all(|letter| LETTERS.contains(letter) || "fCXb".contains(letter))
    };
    let is_plain = texts.first().is_none_or(is_letters);
    if is_plain && TAR.operands(words).is_some() {
        ACTS
    } else {
        UNKNOWN
    }
}
