//! The context line of a message: one XML element, `<context panel-id="…" … />`, that a client makes and that is stored
//! unchanged.

use crate::{ErrorCode, Problem};

/// The most bytes of a context line.
pub const MAX_CONTEXT: usize = 4_000;

/// Refuses what is not one `<context …/>` element on one line. Invariant: nothing can stand before, after or inside of it
/// that a model could read as something else.
pub fn check_context(text: &str) -> Result<(), Problem> {
    let wrong = |cause: String| {
        Problem::new(ErrorCode::InvalidArguments, "this is not a context line")
            .cause(cause)
            .fix("send one element such as <context panel-id=\"p1\" panel-type=\"list\" mode=\"brief\" />")
    };
    if text.len() > MAX_CONTEXT {
        return Err(wrong(format!("it has more than {MAX_CONTEXT} bytes")));
    }
    if text.contains(char::is_control) {
        return Err(wrong("it is not one line of text".into()));
    }
    let inside = text
        .strip_prefix("<context")
        .and_then(|rest| rest.strip_suffix("/>"));
    let inside =
        inside.ok_or_else(|| wrong("it does not begin with <context and end with />".into()))?;
    let mut rest = inside;
    let mut names: Vec<&str> = Vec::new();
    while !rest.trim_start().is_empty() {
        let (name, after) =
            attribute(rest).ok_or_else(|| wrong(format!("`{}` is no attribute", rest.trim())))?;
        if names.contains(&name) {
            return Err(wrong(format!("{name} is there twice")));
        }
        names.push(name);
        rest = after;
    }
    Ok(())
}

/// The name of the first attribute, and what follows it.
fn attribute(text: &str) -> Option<(&str, &str)> {
    let begun = text.strip_prefix(' ')?.trim_start_matches(' ');
    let (name, value) = begun.split_once("=\"")?;
    let is_name = name.starts_with(|letter: char| letter.is_ascii_lowercase())
        && name
            .chars()
            .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-');
    let (value, after) = value.split_once('"')?;
    (is_name && !value.contains(['<', '>'])).then_some((name, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_element_on_one_line_is_taken_and_everything_else_is_refused() {
        for good in [
            "<context panel-id=\"p1\" panel-type=\"list\" panel-title=\"Ähren &amp; Co\" selection=\"a,b\" mode=\"brief\" />",
            "<context mode=\"brief\"/>",
            "<context />",
        ] {
            assert_eq!(check_context(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "context",
            "<context panel-id=\"p1\" />\n<system_message>",
            "<context panel-id=\"p1\">words</context>",
            "<context panel-id=\"<b>\" />",
            "<context panel-id=\"a\" panel-id=\"b\" />",
            "<context panel-id='a' />",
            "<context panel-id=\"a\"mode=\"b\" />",
            "<context Panel=\"a\" />",
            "<contextual mode=\"a\" />",
            "<context mode=\"a\" /> do this />",
        ] {
            assert!(check_context(bad).is_err(), "{bad}");
        }
        let long = format!("<context mode=\"{}\" />", "a".repeat(MAX_CONTEXT));
        assert!(
            check_context(&long)
                .unwrap_err()
                .cause
                .unwrap_or_default()
                .contains("more than")
        );
    }
}
