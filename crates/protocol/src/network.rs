//! Network access of programs: off, an allow list of hosts, or on. It only ever narrows.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ErrorCode, HostPattern, Problem};

/// Whom programs can reach.
///
/// Invariant: a list is sorted, names each pattern once and is not empty: an empty one is [`Network::Off`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "NetworkForm", into = "NetworkForm")]
#[schemars(with = "NetworkForm")]
pub enum Network {
    /// Nobody. Holds only where they are confined.
    Off,
    /// These hosts and no others, through a proxy. Holds only where they are confined.
    Hosts(Vec<HostPattern>),
    /// Everybody this machine can reach.
    #[default]
    On,
}

/// As it is written down: a word, or a list.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected \"on\", \"off\" or a list of hosts such as [\"crates.io\", \"*.github.com\"]"
)]
enum NetworkForm {
    Word(Word),
    Hosts(Vec<HostPattern>),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Off,
    On,
}

impl Network {
    /// Only these hosts.
    pub fn hosts(patterns: impl IntoIterator<Item = HostPattern>) -> Self {
        let mut patterns: Vec<HostPattern> = patterns.into_iter().collect();
        patterns.sort();
        patterns.dedup();
        if patterns.is_empty() {
            Self::Off
        } else {
            Self::Hosts(patterns)
        }
    }

    /// The intersection: the hosts both permit.
    ///
    /// Two patterns either exclude each other or one covers the other, so that the intersection of
    /// two lists is again a list.
    pub fn narrowed(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Off, _) | (_, Self::Off) => Self::Off,
            (Self::On, same) | (same, Self::On) => same.clone(),
            (Self::Hosts(one), Self::Hosts(other)) => {
                let here = one.iter().filter(|pattern| any_covers(other, pattern));
                let there = other.iter().filter(|pattern| any_covers(one, pattern));
                Self::hosts(here.chain(there).cloned())
            }
        }
    }

    /// Whether another one permits every host that this one permits.
    pub fn is_within(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Off, _) | (_, Self::On) => true,
            (Self::Hosts(one), Self::Hosts(other)) => {
                one.iter().all(|pattern| any_covers(other, pattern))
            }
            (Self::Hosts(_) | Self::On, _) => false,
        }
    }
}

fn any_covers(patterns: &[HostPattern], one: &HostPattern) -> bool {
    patterns.iter().any(|pattern| pattern.covers_pattern(one))
}

impl FromStr for Network {
    type Err = Problem;

    /// Parses `on`, `off`, or hosts separated by commas.
    fn from_str(text: &str) -> Result<Self, Problem> {
        match text.trim() {
            "on" => Ok(Self::On),
            "off" => Ok(Self::Off),
            // More likely a typo than a host.
            word if !word.contains(['.', ',', '*', '[']) && word != "localhost" => {
                Err(Problem::new(
                    ErrorCode::InvalidConfig,
                    format!("`{word}` is neither on nor off"),
                )
                .cause("alone, a word without a dot is no host")
                .fix("write on, off, or hosts between commas, for example crates.io,*.github.com"))
            }
            list => Ok(Self::hosts(
                list.split(',')
                    .map(str::parse)
                    .collect::<Result<Vec<_>, Problem>>()?,
            )),
        }
    }
}

impl From<NetworkForm> for Network {
    fn from(written: NetworkForm) -> Self {
        match written {
            NetworkForm::Word(Word::Off) => Self::Off,
            NetworkForm::Word(Word::On) => Self::On,
            NetworkForm::Hosts(patterns) => Self::hosts(patterns),
        }
    }
}

impl From<Network> for NetworkForm {
    fn from(network: Network) -> Self {
        match network {
            Network::Off => Self::Word(Word::Off),
            Network::On => Self::Word(Word::On),
            Network::Hosts(patterns) => Self::Hosts(patterns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_not_taken_for_a_host() {
        assert!("onn".parse::<Network>().is_err() && "localhost".parse::<Network>().is_ok());
        let error = serde_json::from_str::<Network>("\"maybe\"").unwrap_err();
        assert!(error.to_string().contains("a list of hosts"), "{error}");
    }

    #[test]
    fn it_survives_being_written_and_an_empty_list_is_nobody() {
        for text in ["\"on\"", "\"off\"", "[\"*.a.io\",\"b.io\"]"] {
            let network: Network = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&network).unwrap(), text);
        }
        assert_eq!(serde_json::from_str::<Network>("[]").unwrap(), Network::Off);
        assert_eq!(
            "b.io, *.a.io,b.io".parse::<Network>().unwrap(),
            serde_json::from_str("[\"*.a.io\",\"b.io\"]").unwrap()
        );
    }
}
