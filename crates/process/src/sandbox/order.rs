//! What the helper is to do, as the arguments it is started with.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
};

use super::{Network, landlock::Grant};

/// The first argument of a program that is asked to be the helper.
pub(super) const ENTRY: &str = "--rooftree-confine";

/// Which part of the work is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// To stay outside and see to it that nothing is left.
    Outside,
    /// To go inside and become the program.
    Inside,
    /// To stay outside a program that is not confined.
    Unconfined,
}

/// What the helper is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) part: Part,
    /// Who started it, and without whom it ends.
    pub(super) owner: i32,
    pub(super) network: Network,
    pub(super) grants: Vec<Grant>,
    /// The program and its arguments.
    pub(super) command: Vec<OsString>,
}

impl Order {
    /// As arguments, the entry first.
    pub(super) fn written(&self) -> Vec<OsString> {
        let part = match self.part {
            Part::Outside => "outside",
            Part::Inside => "inside",
            Part::Unconfined => "unconfined",
        };
        let network = if self.network == Network::On { "on" } else { "off" };
        let mut words: Vec<OsString> =
            vec![ENTRY.into(), part.into(), self.owner.to_string().into(), network.into()];
        for Grant { path, is_writable } in &self.grants {
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
            "outside" => Part::Outside,
            "inside" => Part::Inside,
            "unconfined" => Part::Unconfined,
            _ => return None,
        };
        let owner = words.next()?.to_str()?.parse().ok()?;
        let network = match words.next()?.to_str()? {
            "on" => Network::On,
            "off" => Network::Off,
            _ => return None,
        };
        let grants = words.by_ref().take_while(|word| word != OsStr::new("--")).map(granted);
        let grants = grants.collect::<Option<_>>()?;
        let command: Vec<OsString> = words.collect();
        (!command.is_empty()).then_some(Self { part, owner, network, grants, command })
    }
}

fn granted(word: OsString) -> Option<Grant> {
    let (kind, path) = word.as_bytes().split_first()?;
    let path = OsString::from_vec(path.to_vec()).into();
    matches!(kind, b'r' | b'w').then_some(Grant { path, is_writable: *kind == b'w' })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_survives_being_written() {
        let order = Order {
            part: Part::Outside,
            owner: 42,
            network: Network::On,
            grants: vec![
                Grant { path: "/a b".into(), is_writable: true },
                Grant { path: "/--".into(), is_writable: false },
            ],
            command: vec!["sh".into(), "--".into(), "-c".into()],
        };
        assert_eq!(Order::read(order.written().into_iter().skip(1)), Some(order));
        for broken in
            [vec![], vec!["outside"], vec!["outside", "1", "on", "--"], vec!["x", "1", "on", "--", "y"]]
        {
            assert_eq!(Order::read(broken.into_iter().map(OsString::from)), None);
        }
    }
}
