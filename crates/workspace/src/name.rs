//! Names of copies: safe as a file name and as a part of a branch's name.

/// How long the agent's part of a name may be.
const AGENT: usize = 40;
/// How many characters tell copies of one agent apart.
const UNIQUE: usize = 8;

/// `<agent>-<8 characters>`, made of letters, digits, `-` and `_` only.
pub(super) fn of(agent: &str, unique: &str) -> String {
    let mut clean = String::new();
    for character in agent.chars().take(4 * AGENT) {
        match character {
            letter if letter.is_ascii_alphanumeric() || letter == '_' => {
                clean.push(letter.to_ascii_lowercase());
            }
            _ if clean.ends_with('-') || clean.is_empty() => {}
            _ => clean.push('-'),
        }
    }
    clean.truncate(AGENT);
    let agent = clean.trim_matches('-');
    let agent = if agent.is_empty() { "agent" } else { agent };
    // Of ids that begin with a time, only the end differs.
    let mut end: Vec<char> = unique
        .chars()
        .rev()
        .filter(char::is_ascii_alphanumeric)
        .take(UNIQUE)
        .collect();
    end.reverse();
    let end: String = end
        .into_iter()
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    format!("{agent}-{end:0>UNIQUE$}")
}

/// The same name for the first attempt, a numbered one for those that follow.
pub(super) fn numbered(name: &str, attempt: u32) -> String {
    if attempt < 2 {
        name.to_owned()
    } else {
        format!("{name}-{attempt}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_whatever_the_agent_is_called() {
        let table = [
            ("reviewer", "ses_01ARZ3NDEKTSV4RR0", "reviewer-ktsv4rr0"),
            ("Code Writer", "abcdefgh", "code-writer-abcdefgh"),
            ("../../etc", "../..", "etc-00000000"),
            ("-x.lock", "12", "x-lock-00000012"),
            ("日本", "ffff0000", "agent-ffff0000"),
            ("a\nb@{c", "ffff0000", "a-b-c-ffff0000"),
        ];
        for (agent, unique, name) in table {
            assert_eq!(of(agent, unique), name, "{agent}");
        }
        assert!(of(&"long".repeat(100), "1").len() < 60);
    }
}
