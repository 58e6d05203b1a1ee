//! Rust text reduced to the code that ships: comments, literals and test items blanked out.
//!
//! Every blanked character except a line break becomes a space, so lines keep
//! their numbers. This is not a parser; it knows just enough for textual checks
//! not to be fooled by a comment or a test.

const TEST: &str = "#[cfg(test)]";

/// The text with everything blanked that is no production code.
pub fn production(text: &str) -> String {
    without_test_items(&without_comments_and_literals(text))
}

/// The modules a file declares for its tests alone.
pub fn test_modules(text: &str) -> Vec<String> {
    let items = without_comments_and_literals(text);
    let declared = items.split(TEST).skip(1).filter_map(|item| {
        let (name, _) = item.trim_start().strip_prefix("mod ")?.split_once(';')?;
        (!name.contains('{')).then(|| name.trim().to_owned())
    });
    declared.collect()
}

fn without_comments_and_literals(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let blanked = length_of_noise(rest);
        let (taken, after) = rest.split_at(blanked.unwrap_or(first.len_utf8()));
        if blanked.is_some() {
            blank(taken, &mut code);
        } else {
            code.push_str(taken);
        }
        rest = after;
    }
    code
}

/// How many bytes at the start of `rest` are a comment or a literal; none if it is code.
fn length_of_noise(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(rest.find("*/").map_or(rest.len(), |end| end + 2));
    }
    if rest.starts_with('"') {
        return Some(quoted(rest, '"'));
    }
    if rest.starts_with('r') {
        return raw_string(rest);
    }
    rest.starts_with('\'').then(|| character(rest)).flatten()
}

/// The length of a literal that begins with its quote, escapes honoured.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if letter == quote => return at + letter.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

fn raw_string(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix('r')?;
    let fence = after.len() - after.trim_start_matches('#').len();
    let body = after.get(fence..)?.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(fence));
    let opening = rest.len() - body.len();
    Some(
        body.find(&end)
            .map_or(rest.len(), |at| opening + at + end.len()),
    )
}

/// A character literal, as opposed to a lifetime: it closes after one character or an escape.
fn character(rest: &str) -> Option<usize> {
    let mut letters = rest.char_indices().skip(1);
    let (_, first) = letters.next()?;
    let closes = first == '\\' || letters.next().is_some_and(|(_, second)| second == '\'');
    closes.then(|| quoted(rest, '\''))
}

/// Blanks each item behind `#[cfg(test)]`, up to its closing brace or semicolon.
fn without_test_items(code: &str) -> String {
    let mut kept = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find(TEST) {
        let (before, item) = rest.split_at(at);
        let (item, after) = item.split_at(end_of_item(item));
        kept.push_str(before);
        blank(item, &mut kept);
        rest = after;
    }
    kept + rest
}

fn end_of_item(item: &str) -> usize {
    let mut depth = 0_usize;
    for (at, letter) in item.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth <= 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    item.len()
}

fn blank(text: &str, into: &mut String) {
    into.extend(
        text.chars()
            .map(|letter| if letter == '\n' { '\n' } else { ' ' }),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squeezed(text: &str) -> String {
        text.replace(' ', "")
    }

    #[test]
    fn comments_and_literals_are_blanked_and_code_is_kept() {
        let table = [
            ("a // crate::x\nb", "a\nb"),
            ("a /* crate::x\n*/ b", "a\n b"),
            (r#"f("crate::x \" y", z)"#, "f(, z)"),
            ("f(r#\"a\"b\"#, z)", "f(, z)"),
            ("f(br\"\\\", z)", "f(b, z)"),
            ("for r in rows { r#type }", "for r in rows { r#type }"),
            ("f('\"', '\\'', z)", "f(, , z)"),
            ("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}"),
        ];
        for (text, code) in table {
            let kept = production(text);
            assert_eq!(squeezed(&kept), squeezed(code), "{text}");
            assert_eq!(kept.chars().count(), text.chars().count(), "{text}");
        }
    }

    #[test]
    fn test_items_are_blanked_to_their_end_and_lines_keep_their_numbers() {
        let text =
            "a\n#[cfg(test)]\nmod tests {\n  fn f() { '}'; }\n}\nb\n#[cfg(test)]\nmod more;\nc\n";
        let code = production(text);
        assert_eq!(code.split_whitespace().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(code.lines().count(), text.lines().count());
    }

    #[test]
    fn modules_declared_for_tests_are_told_apart_from_modules_with_tests_inside() {
        let text = "#[cfg(test)]\nmod testing;\nmod run;\n#[cfg(test)]\nmod tests { use a; }\n";
        assert_eq!(test_modules(text), ["testing"]);
    }
}
