//! Encodes and parses the command-line arguments of the sandbox helper.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
};

use super::{SandboxNetwork, landlock::LandlockGrant};

/// The first argument of a program that is asked to be the helper.
pub(super) const ENTRY: &str = "--rooftree-confine";

/// Which part of the work is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HelperRole {
    /// To stay outside, fork a confined child that becomes the program, and see to it that nothing is left.
    Outside,
    /// To stay outside a program that is not confined.
    Unconfined,
}

/// Arguments of the helper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HelperArgs {
    pub(super) part: HelperRole,
    /// Process ID of the process that started it; the helper ends when that has died.
    pub(super) owner: i32,
    pub(super) network: SandboxNetwork,
    /// The file the program was found in, tried before a search along PATH; empty: not known.
    pub(super) file: OsString,
    pub(super) grants: Vec<LandlockGrant>,
    /// The program and its arguments.
    pub(super) command: Vec<OsString>,
}

impl HelperArgs {
    /// As arguments, the entry first.
    pub(super) fn to_arguments(&self) -> Vec<OsString> {
        let part = match self.part {
            HelperRole::Outside => "outside",
            HelperRole::Unconfined => "unconfined",
        };
        let network = if self.network == SandboxNetwork::On {
            "on"
        } else {
            "off"
        };
        let mut words: Vec<OsString> = vec![
            ENTRY.into(),
            part.into(),
            self.owner.to_string().into(),
            network.into(),
            self.file.clone(),
        ];
        for LandlockGrant { path, is_writable } in &self.grants {
            let mut word = OsString::from(if *is_writable { "w" } else { "r" });
            word.push(path);
            words.push(word);
        }
        words.push("--".into());
        words.extend(self.command.iter().cloned());
        words
    }

    /// From what stands after the entry; none if it is not an order.
    pub(super) fn read(mut words: impl Iterator<Item = OsString>) -> Option<Self> {
        let part = match words.next()?.to_str()? {
            "outside" => HelperRole::Outside,
            "unconfined" => HelperRole::Unconfined,
            _ => return None,
        };
        let owner = words.next()?.to_str()?.parse().ok()?;
        let network = match words.next()?.to_str()? {
            "on" => SandboxNetwork::On,
            "off" => SandboxNetwork::Off,
            _ => return None,
        };
        let file = words.next()?;
        let grants = words
            .by_ref()
            .take_while(|word| word != OsStr::new("--"))
            .map(granted);
        let grants = grants.collect::<Option<_>>()?;
        let command: Vec<OsString> = words.collect();
        (!command.is_empty()).then_some(Self {
            part,
            owner,
            network,
            file,
            grants,
            command,
        })
    }
}

fn granted(word: OsString) -> Option<LandlockGrant> {
    let (kind, path) = word.as_bytes().split_first()?;
    let path = OsString::from_vec(path.to_vec()).into();
    matches!(kind, b'r' | b'w').then_some(LandlockGrant {
        path,
        is_writable: *kind == b'w',
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_survives_being_written() {
        let order = HelperArgs {
            part: HelperRole::Outside,
            owner: 42,
            network: SandboxNetwork::On,
            file: "/bin/sh".into(),
            grants: vec![
                LandlockGrant {
                    path: "/a b".into(),
                    is_writable: true,
                },
                LandlockGrant {
                    path: "/--".into(),
                    is_writable: false,
                },
            ],
            command: vec!["sh".into(), "--".into(), "-c".into()],
        };
        assert_eq!(
            HelperArgs::read(order.to_arguments().into_iter().skip(1)),
            Some(order)
        );
        for broken in [
            vec![],
            vec!["outside"],
            vec!["outside", "1", "on", ""],
            vec!["outside", "1", "on", "", "--"],
            vec!["x", "1", "on", "", "--", "y"],
        ] {
            assert_eq!(
                HelperArgs::read(broken.into_iter().map(OsString::from)),
                None
            );
        }
    }
}
