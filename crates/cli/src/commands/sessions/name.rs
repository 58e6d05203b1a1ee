//! Validates session names.

use rooftree_protocol::{ErrorCode, Problem, SessionId};

/// Longer names do not fit any list.
const LONGEST: usize = 100;

/// A name without blanks around it; none if it is empty. Refuses what could not be typed
/// again or would be taken for an id.
pub fn checked(name: &str) -> Result<Option<String>, Problem> {
    let name = name.trim();
    let refused = |why: &str| {
        Err(Problem::new(
            ErrorCode::InvalidArguments,
            format!("a session cannot be called {name:?}"),
        )
        .cause(why)
        .fix("choose another name"))
    };
    match name {
        "" => Ok(None),
        _ if name.chars().any(char::is_control) => refused("it contains control characters"),
        _ if name.chars().count() > LONGEST => {
            refused(&format!("it has more than {LONGEST} characters"))
        }
        _ if name.starts_with(SessionId::PREFIX) => refused("it looks like an id"),
        _ => Ok(Some(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_something_one_can_type_again() {
        assert_eq!(
            checked(" Refactor auth ").unwrap().as_deref(),
            Some("Refactor auth")
        );
        assert_eq!(checked("  ").unwrap(), None);
        for bad in ["ses_abc", "two\nlines", "\u{1b}[31m", &"x".repeat(101)] {
            assert!(checked(bad).is_err(), "{bad:?}");
        }
    }
}
