//! Shapes and encodings that were not found before, as data: each with a benign neighbour that stays.

use rooftree_secrets::SecretRedactor;

#[test]
fn s_l3_the_missing_shapes_are_taken_out() {
    let random = "q7Zp2LxW9vTk4RbN8sYc1HdJ6mGfUaEo";
    let secrets = SecretRedactor::default();
    for text in [
        format!("X-API-Key: {random}"),
        format!("x-api-key: {random}\r\nHost: a"),
        format!("machine example.org login ann password {random}"),
        format!("machine example.org\n  login ann\n  password {random}\n"),
        format!("default login ann password {random}"),
        format!("Set-Cookie: session={random}; Path=/; HttpOnly"),
        format!("< set-cookie: theme=dark; sid={random}"),
        format!("Cookie: theme=dark; session={random}"),
        format!("mfa.{random}{random}abcDEF0123456789"),
        [
            "Bot MTk4NjIyNDgzNDcxOTI1MjQ4",
            "Cl2FMQ",
            "ZnCjm1XVW7vRze4b7Cq4se7kKWs",
        ]
        .join("."),
    ] {
        let clean = secrets
            .clean(&text)
            .unwrap_or_else(|| panic!("nothing found in {text}"));
        assert!(
            clean.contains("[redacted: ") && !clean.contains(random),
            "{text} became {clean}"
        );
    }
    for text in [
        "X-API-Key: <your key>",
        "the password is asked for, and the login too",
        "machine learning: login with a password here",
        "Set-Cookie: theme=dark; Path=/",
        "Cookie: lang=en; consent=yes",
        "mfa.example.org",
    ] {
        assert_eq!(secrets.clean(text), None, "{text}");
    }
}

#[test]
fn s_l3_a_known_value_is_found_in_further_forms_and_broken_apart() {
    let value = "s3cr3t&val<u>e-4242-abcdefgh";
    let secrets = SecretRedactor::knowing([("KEY".to_owned(), value.to_owned())]);
    let hex: Vec<String> = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let dump = |per_line: usize, grouped: usize, bar: &str| -> String {
        let line = |(number, bytes): (usize, &[String])| {
            let columns: Vec<String> = bytes.chunks(grouped).map(|group| group.concat()).collect();
            let from = number * per_line;
            let shown = value.get(from..from + bytes.len()).unwrap();
            format!(
                "{:08x}: {}  {bar}{shown}{bar}\n",
                number * 16,
                columns.join(" ")
            )
        };
        hex.chunks(per_line).enumerate().map(line).collect()
    };
    let escaped: String = value
        .chars()
        .map(|letter| format!("\\u{:04x}", u32::from(letter)))
        .collect();
    for (form, text) in [
        (
            "html",
            "x &quot;s3cr3t&amp;val&lt;u&gt;e-4242-abcdefgh".to_owned(),
        ),
        ("escapes", escaped),
        (
            "some escapes",
            "s3cr3t\\u0026val\\u003cu\\u003ee-4242-abcdefgh".to_owned(),
        ),
        (
            "base32",
            "OMZWG4RTOQTHMYLMHR2T4ZJNGQZDIMRNMFRGGZDFMZTWQ===".to_owned(),
        ),
        ("lines", "s3cr3t&val<\nu>e-4242-\nabcdefgh".to_owned()),
        (
            "indented lines",
            "key: s3cr3t&val<\\\n      u>e-4242-abcdefgh".to_owned(),
        ),
        ("xxd", dump(16, 2, "")),
        ("hexdump", dump(16, 1, "|")),
    ] {
        let clean = secrets
            .clean(&text)
            .unwrap_or_else(|| panic!("{form}: nothing found in {text}"));
        assert!(
            clean.contains("[redacted: KEY]"),
            "{form}: {text}\nbecame\n{clean}"
        );
        assert!(
            !clean.contains("abcdefgh") && !clean.contains("4242"),
            "{form}: {clean}"
        );
    }
    assert_eq!(secrets.clean("00000000: 6162 6364 6566  abcdef\n"), None);
}
