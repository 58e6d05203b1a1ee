//! Button data: what a pressed button of a permission request or question sends back, at most 64 bytes.
//!
//! It holds the end of the inquiry's id and what was chosen, never a right: who may answer is decided when it arrives.

use std::{fmt, str::FromStr};

/// Characters of an inquiry's id that a button carries: its end, by which inquiries are found.
const ID_CHARS: usize = 12;

/// A pressed button.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ButtonPress {
    /// The end of the id of the permission request or question.
    pub inquiry: String,
    /// What was chosen.
    pub choice: ButtonChoice,
}

/// What a button chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ButtonChoice {
    /// Allow it once.
    Allow,
    /// Deny it.
    Deny,
    /// Allow it for the session.
    AllowSession,
    /// The choice with this number of the only question, from 0.
    Option(u8),
}

impl ButtonPress {
    /// The button for an inquiry.
    pub fn new(inquiry: &str, choice: ButtonChoice) -> Self {
        let skipped = inquiry.chars().count().saturating_sub(ID_CHARS);
        Self {
            inquiry: inquiry.chars().skip(skipped).collect(),
            choice,
        }
    }
}

impl fmt::Display for ButtonPress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p:{}:", self.inquiry)?;
        match self.choice {
            ButtonChoice::Allow => f.write_str("y"),
            ButtonChoice::Deny => f.write_str("n"),
            ButtonChoice::AllowSession => f.write_str("s"),
            ButtonChoice::Option(number) => write!(f, "{number}"),
        }
    }
}

impl FromStr for ButtonPress {
    type Err = ();

    fn from_str(data: &str) -> Result<Self, ()> {
        let (inquiry, choice) = data
            .strip_prefix("p:")
            .and_then(|rest| rest.rsplit_once(':'))
            .ok_or(())?;
        let is_plain = inquiry
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        if inquiry.len() != ID_CHARS || !is_plain {
            return Err(());
        }
        let choice = match choice {
            "y" => ButtonChoice::Allow,
            "n" => ButtonChoice::Deny,
            "s" => ButtonChoice::AllowSession,
            number => ButtonChoice::Option(number.parse().map_err(drop)?),
        };
        Ok(Self {
            inquiry: inquiry.to_owned(),
            choice,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_button_is_read_as_it_is_written_and_is_short() {
        let id = rooftree_protocol::PermissionId::from_entropy(u128::MAX);
        for choice in [
            ButtonChoice::Allow,
            ButtonChoice::Deny,
            ButtonChoice::AllowSession,
            ButtonChoice::Option(17),
        ] {
            let press = ButtonPress::new(id.as_str(), choice);
            let data = press.to_string();
            assert!(
                data.len() <= 64 && id.as_str().ends_with(&press.inquiry),
                "{data}"
            );
            assert_eq!(data.parse(), Ok(press));
        }
        for wrong in [
            "",
            "p::y",
            "p:abc:y",
            "q:abcdefghijkl:y",
            "p:abcdefghijkl:x",
            "p:abcdefgh'jkl:y",
        ] {
            assert_eq!(wrong.parse::<ButtonPress>(), Err(()), "{wrong}");
        }
    }
}
