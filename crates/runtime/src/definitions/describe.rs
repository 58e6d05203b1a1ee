//! Default description of an agent that has none, taken from its prompt.

/// "Your job is to …", else "You are a …", else the first line.
pub fn described(prompt: &str) -> String {
    let after = |opening: &str, most: usize| {
        let rest = prompt.split_once(opening)?.1;
        let sentence = rest.split(['.', '\n']).next().unwrap_or_default();
        Some(capitalised(&cut(sentence.trim(), most))).filter(|text| !text.is_empty())
    };
    after("Your job is to ", 80)
        .or_else(|| after("You are a ", 60))
        .or_else(|| after("You are an ", 60))
        .unwrap_or_else(|| cut(first_line(prompt), 60))
}

/// The first line that says something; a heading only if there is nothing else.
fn first_line(prompt: &str) -> &str {
    let lines = || {
        prompt
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
    };
    let said = lines()
        .find(|line| !line.starts_with('#'))
        .or_else(|| lines().next());
    said.unwrap_or_default().trim_start_matches('#').trim()
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_describes_its_agent() {
        let table = [
            (
                "You are a reviewer. Your job is to find bugs and improvements.",
                "Find bugs and improvements",
            ),
            (
                "You are a paranoid security auditor.",
                "Paranoid security auditor",
            ),
            (
                "Review all the code carefully.",
                "Review all the code carefully.",
            ),
            ("# System Prompt\n\nYou help.\n", "You help."),
            ("# Only a heading", "Only a heading"),
            ("", ""),
        ];
        for (prompt, wanted) in table {
            assert_eq!(described(prompt), wanted);
        }
    }
}
