//! Encodings of a known secret to search for: plain, JSON, percent-encoded, HTML, base32, base64.

use rooftree_stdx::xml::escape_text;

/// Every form of a value, without repeats. Forms of base64 hold wherever in a longer text the value is.
pub(super) fn of(value: &str) -> Vec<String> {
    let bytes = value.as_bytes();
    let mut forms = vec![
        value.to_owned(),
        in_json(value),
        percent(bytes, |byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~')
        }),
        percent(bytes, |byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'*')
        })
        .replace("%20", "+"),
        bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        bytes.iter().map(|byte| format!("{byte:02X}")).collect(),
    ];
    forms.push(
        forms
            .get(2)
            .map(|form| in_lower_escapes(form))
            .unwrap_or_default(),
    );
    for shift in 0..3 {
        let form = base64_inside(bytes, shift);
        forms.push(form.replace('+', "-").replace('/', "_"));
        forms.push(form);
    }
    for shift in 0..5 {
        let form = base32_inside(bytes, shift);
        forms.push(form.to_ascii_lowercase());
        forms.push(form);
    }
    forms.extend(in_escapes(value));
    forms.extend(in_html(value));
    forms.retain(|form| form.len() >= super::SHORTEST_VALUE);
    forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
    forms.dedup();
    forms
}

fn in_json(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted.trim_matches('"').to_owned()
}

fn percent(bytes: &[u8], is_kept: fn(u8) -> bool) -> String {
    let mut text = String::new();
    for byte in bytes {
        if is_kept(*byte) {
            text.push(char::from(*byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// The same with `%2f` instead of `%2F`.
fn in_lower_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = 0i32;
    for letter in text.chars() {
        // Only the two characters after a `%` are in an escape.
        out.push(if inside > 0 {
            letter.to_ascii_lowercase()
        } else {
            letter
        });
        inside = if letter == '%' {
            2
        } else {
            (inside - 1).max(0)
        };
    }
    out
}

/// With `\u0026` for every character, and for those that encoders of JSON escape so.
fn in_escapes(value: &str) -> [String; 3] {
    let is_special =
        |letter: char| matches!(letter, '<' | '>' | '&' | '\'' | '"' | '+' | '=' | '/');
    let written = |is_escaped: &dyn Fn(char) -> bool| {
        let mut units = [0; 2];
        let mut text = String::new();
        for letter in value.chars() {
            if is_escaped(letter) {
                letter
                    .encode_utf16(&mut units)
                    .iter()
                    .for_each(|unit| text.push_str(&format!("\\u{unit:04x}")));
            } else {
                text.push(letter);
            }
        }
        text
    };
    let all = written(&|_| true);
    let upper = all
        .split("\\u")
        .map(str::to_ascii_uppercase)
        .collect::<Vec<_>>()
        .join("\\u");
    [all, upper, written(&is_special)]
}

/// As HTML and XML escape it, in the spellings that libraries have for quotes.
fn in_html(value: &str) -> Vec<String> {
    let base = escape_text(value);
    let quotes = [
        ("&quot;", "&#39;"),
        ("&#34;", "&#39;"),
        ("&quot;", "&#x27;"),
        ("&quot;", "&apos;"),
        ("\"", "'"),
    ];
    quotes
        .iter()
        .map(|(double, single)| base.replace('"', double).replace('\'', single))
        .collect()
}

/// The characters of base32 that only this value decides, if it begins `shift` bytes into a group of five.
fn base32_inside(bytes: &[u8], shift: usize) -> String {
    const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let bit = |at: usize| bytes.get(at / 8).copied().unwrap_or_default() >> (7 - at % 8) & 1;
    let mut from = (5 - shift * 8 % 5) % 5;
    let mut text = String::new();
    while from + 5 <= bytes.len() * 8 {
        let letter = (from..from + 5).fold(0u8, |letter, at| letter << 1 | bit(at));
        text.push(
            LETTERS
                .get(usize::from(letter))
                .map_or('A', |letter| char::from(*letter)),
        );
        from += 5;
    }
    text
}

/// The characters of base64 that only this value decides, if it begins `shift` bytes into a group of three.
fn base64_inside(bytes: &[u8], shift: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bit = |at: usize| -> u8 {
        let byte = bytes.get(at / 8).copied().unwrap_or_default();
        byte >> (7 - at % 8) & 1
    };
    let bits = bytes.len() * 8;
    // The first character that begins inside the value, and those that end inside it.
    let mut from = (6 - shift * 8 % 6) % 6;
    let mut text = String::new();
    while from + 6 <= bits {
        let letter = (from..from + 6).fold(0u8, |letter, at| letter << 1 | bit(at));
        text.push(
            LETTERS
                .get(usize::from(letter))
                .map_or('A', |letter| char::from(*letter)),
        );
        from += 6;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_in_every_encoding_it_passes_through() {
        let value = "p@ss/w0rd+\"x\" é";
        let forms = of(value);
        let written = [
            value.to_owned(),
            r#"p@ss/w0rd+\"x\" é"#.to_owned(),
            "p%40ss%2Fw0rd%2B%22x%22%20%C3%A9".to_owned(),
            "p%40ss%2fw0rd%2b%22x%22%20%c3%a9".to_owned(),
            "7040737".to_owned(),
        ];
        for text in written {
            assert!(
                forms
                    .iter()
                    .any(|form| form.contains(&text) || text.contains(form.as_str())),
                "{text}: {forms:?}"
            );
        }
    }

    #[test]
    fn base64_is_found_wherever_the_value_begins() {
        let value = "s3cr3t-value-42";
        let forms = of(value);
        // `user:s3cr3t-value-42`, and the same after one and two more bytes, as `base64` writes them.
        for text in [
            "dXNlcjpzM2NyM3QtdmFsdWUtNDI=",
            "eHVzZXI6czNjcjN0LXZhbHVlLTQy",
            "eHh1c2VyOnMzY3IzdC12YWx1ZS00Mg==",
        ] {
            assert!(
                forms.iter().any(|form| text.contains(form.as_str())),
                "{text}: {forms:?}"
            );
        }
    }
}
