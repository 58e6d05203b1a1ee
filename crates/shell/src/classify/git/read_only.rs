//! Git's sub-commands that look, with the options by which they go on looking.
//!
//! Letters mean different things to different sub-commands, so each has its own. Long options are shared:
//! none of them does harm in any of these. Values are not skipped: what follows an option is read as a word of
//! its own, because an option that takes a value in one sub-command is a flag in another.

use super::super::option_table::OptionTable;

/// Letters without a value, and letters with a value that is attached.
const LETTERS: [(&str, &str, &str); 22] = [
    ("blame", "bcflMCnpstewh#", "L"),
    ("cat-file", "epst", ""),
    ("check-ignore", "qvzn", ""),
    ("count-objects", "vH", ""),
    ("describe", "", ""),
    ("diff", DIFF, DIFF_VALUED),
    ("diff-tree", DIFF, DIFF_VALUED),
    ("for-each-ref", "s", ""),
    ("grep", "aIrviwhHlLzcnpWqEGFPo#", "eABCm"),
    ("log", DIFF, DIFF_VALUED),
    ("ls-files", "cdomiskutvzfr", ""),
    ("ls-tree", "drtlz", ""),
    ("merge-base", "a", ""),
    ("name-rev", "", ""),
    ("rev-list", DIFF, DIFF_VALUED),
    ("rev-parse", "q", ""),
    ("shortlog", "nsewc#", ""),
    ("show", DIFF, DIFF_VALUED),
    ("show-ref", "dsqh#", ""),
    ("status", "sbvz", "u"),
    ("version", "", ""),
    ("whatchanged", DIFF, DIFF_VALUED),
];

const DIFF: &str = "puszBMCDRabwWXqgicmrtEFPvh%#";
const DIFF_VALUED: &str = "USGILnl";

/// Long options. None of them takes the next word here.
const LONG: &str = "
    abbrev abbrev-commit abbrev-ref absolute-git-dir after after-context ahead-behind all all-match
    allow-unknown-type always ancestry-path anchored and author author-date-order basic-regexp batch
    batch-check before before-context bisect boundary branch branches break break-rewrites broken buffer
    build-options cached candidates cc check cherry cherry-mark cherry-pick clear-decorations color
    color-lines color-moved color-moved-ws color-words column combined-all-paths committed committer
    compact-summary contains context count cruft cumulative date date-order debug decorate decorate-refs
    decorate-refs-exclude deduplicate default deleted dense dereference diff-algorithm diff-filter
    diff-merges dirstat dirstat-by-file dirty do-walk dst-prefix email encode-email-headers encoding eol
    exact-match exclude exclude-first-parent-only exclude-hidden exclude-per-directory exclude-standard
    exists expand-tabs extended-regexp files-with-matches files-without-match find-copies
    find-copies-harder find-object find-renames first-parent fixed-strings follow follow-symlinks
    fork-point format full-diff full-history full-index full-name full-tree function-context
    git-common-dir git-dir git-path glob graph grep grep-reflog group hash head heading heads help
    histogram human-readable ignore-all-space ignore-blank-lines ignore-case ignore-cr-at-eol
    ignore-matching-lines ignore-missing ignore-rev ignore-space-at-eol ignore-space-change
    ignore-submodules ignored incremental indent-heuristic independent inter-hunk-context invert-grep
    invert-match is-ancestor is-bare-repository is-inside-git-dir is-inside-work-tree
    is-shallow-repository ita-invisible-in-index ita-visible-in-index killed left-only left-right
    line-number line-porcelain line-prefix list local-env-vars log-size long mailmap match max-age
    max-count max-depth max-parents merge-base merged merges min-age min-parents minimal modified
    name-only name-status no-abbrev no-abbrev-commit no-ahead-behind no-color no-color-moved
    no-commit-id no-contains no-decorate no-diff-merges no-exclude-standard no-expand-tabs no-ext-diff
    no-flags no-follow no-graph no-indent-heuristic no-mailmap no-max-parents no-merged no-merges
    no-min-parents no-notes no-patch no-prefix no-relative no-rename-empty no-renames no-revs
    no-standard-notes no-textconv no-undefined no-use-mailmap no-walk non-matching not notes null
    numbered numstat object-only objects octopus omit-empty oneline only-matching or others parents
    patch patch-with-raw patch-with-stat path-format patience perl-regexp pickaxe-all pickaxe-regex
    points-at porcelain pretty progress quiet raw reflog reflogs refs regexp-ignore-case relative
    relative-date remotes remove-empty rename-empty renames resolve-git-dir resolve-undo reverse
    revs-only right-only root rotate-to score-debug shared-index-path short shortstat show-cdup
    show-email show-function show-linear-break show-name show-notes show-number show-object-format
    show-prefix show-pulls show-stash show-stats show-superproject-working-tree show-toplevel
    simplify-by-decoration simplify-merges since since-as-filter single-worktree skip skip-to sort
    source sparse sq src-prefix stage staged stat stat-count stat-graph-width stat-name-width stat-width
    summary symbolic symbolic-full-name tags text threads topo-order unified unmerged until untracked
    untracked-files use-mailmap verbose verify walk-reflogs word-diff word-diff-regex word-regexp
    ws-error-highlight z";

/// The options of a sub-command that looks; none for other sub-commands.
pub(in crate::classify) fn form(command: &str) -> Option<OptionTable> {
    let (_, flags, valued) = LETTERS.into_iter().find(|(name, ..)| *name == command)?;
    Some(OptionTable::careful(flags, valued, LONG).with_values_attached())
}
