//! Git's sub-commands that reach another repository: with the operands told from the values of options.

use super::super::{ShellWord, option_table::OptionTable};

const PUSH: OptionTable = OptionTable::careful(
    "nvqfdu46",
    "o",
    "all branches mirror tags follow-tags atomic dry-run porcelain delete prune verbose quiet progress no-progress \
     force force-with-lease no-force-with-lease force-if-includes set-upstream no-verify verify no-signed push-option= \
     ipv4 ipv6 thin no-thin",
);

const FETCH: OptionTable = OptionTable::careful(
    "aqvftnpPk46",
    "jo",
    "all append atomic depth= deepen= shallow-since= shallow-exclude= unshallow update-shallow dry-run force keep \
     prune prune-tags no-tags tags jobs= quiet verbose progress no-progress ipv4 ipv6 no-auto-gc \
     show-forced-updates no-show-forced-updates write-fetch-head no-write-fetch-head porcelain server-option= \
     filter= refetch set-upstream no-recurse-submodules negotiation-tip=",
);

const PULL: OptionTable = OptionTable::careful(
    "aqvftpk46r",
    "jo",
    "all append depth= deepen= shallow-since= unshallow dry-run force keep prune no-tags tags jobs= quiet verbose \
     progress no-progress ipv4 ipv6 server-option= rebase no-rebase ff ff-only no-ff commit no-commit squash \
     no-squash stat no-stat summary autostash no-autostash allow-unrelated-histories no-edit no-verify \
     set-upstream no-recurse-submodules",
);

const CLONE: OptionTable = OptionTable::careful(
    "qvlsn46",
    "bjo",
    "depth= branch= single-branch no-single-branch bare mirror quiet verbose progress no-tags tags filter= origin= \
     sparse shallow-since= shallow-exclude= jobs= no-checkout revision= no-hardlinks ipv4 ipv6 reject-shallow \
     no-reject-shallow no-recurse-submodules server-option=",
);

/// The options of a sub-command that reaches another repository.
///
/// `--repo`, `--receive-pack`, `--upload-pack`, `--multiple`, `--config`, `--reference`, `--recurse-submodules` and
/// their like are left out: they name another place or program.
pub(in crate::classify) fn form(command: &str) -> Option<OptionTable> {
    match command {
        "push" => Some(PUSH),
        "fetch" => Some(FETCH),
        "pull" => Some(PULL),
        "clone" => Some(CLONE),
        _ => None,
    }
}

/// Whether what is sent to or got from is on another machine, as far as it is said here: the remote that
/// a clone has by itself, or an address.
pub(in crate::classify) fn is_elsewhere(command: &str, operands: &[&ShellWord]) -> bool {
    let Some(place) = operands.first() else {
        return command != "clone";
    };
    let Some(place) = place.literal() else {
        return false;
    };
    let is_address = ["https://", "ssh://", "git@"]
        .iter()
        .any(|start| place.starts_with(start));
    is_address || (command != "clone" && matches!(place.as_str(), "origin" | "upstream"))
}
