//! Spoofing tests of the permission prompt: it shows the true tool, the whole command and the true rule.

use rooftree_protocol::{
    CallId, Effect, Event, EventBody, PermissionId, PermissionScope, SessionId, Timestamp,
};

use super::{super::sanitize::tests::unescaped, PermissionPrompt};

/// One line of the corpus.
struct Spoof {
    is_benign: bool,
    field: String,
    text: String,
    /// What must be seen.
    seen: String,
}

fn spoofs() -> Vec<Spoof> {
    let lines = include_str!("../../../tests/corpora/spoofs.txt").lines();
    let entries = lines.filter(|line| !line.starts_with('#'));
    entries
        .map(|line| {
            let fields: Vec<String> = line.split(" ¦ ").map(unescaped).collect();
            let [kind, field, text, seen] = fields.try_into().unwrap();
            Spoof {
                is_benign: kind == "benign",
                field,
                text,
                seen,
            }
        })
        .collect()
}

/// The prompt of a request in which one field is set by an attacker.
fn card(spoof: &Spoof) -> PermissionPrompt {
    let of = |field: &str, usual: &str| {
        if spoof.field == field {
            spoof.text.clone()
        } else {
            usual.to_owned()
        }
    };
    let command = of("command", "rm -rf build");
    let body = EventBody::PermissionRequested {
        id: PermissionId::from_entropy(1),
        call: CallId::from_entropy(1),
        tool: of("tool", "Bash"),
        title: command.clone(),
        detail: of("detail", &command),
        effect: Effect::Destructive,
        rule: of("rule", "Bash(rm -rf build)"),
        until: Timestamp(0),
        reason: String::new(),
        digest: String::new(),
        scopes: vec![PermissionScope::Once, PermissionScope::Session],
        kind: Default::default(),
        spawn: Vec::new(),
    };
    let (session, agent) = (SessionId::from_entropy(1), of("agent", "lead"));
    let event = Event {
        v: 1,
        id: None,
        ts: Timestamp(0),
        session,
        run: None,
        parent_run: None,
        agent: agent.clone(),
        who: None,
        body,
    };
    PermissionPrompt::from_event(&agent, &event).unwrap()
}

fn squeezed(text: &str) -> String {
    text.chars()
        .filter(|letter| !letter.is_whitespace())
        .collect()
}

#[test]
fn the_corpus_is_large_enough_and_a_fifth_of_it_is_benign() {
    let spoofs = spoofs();
    let benign = spoofs.iter().filter(|spoof| spoof.is_benign).count();
    assert!(
        spoofs.len() - benign >= 60 && benign * 5 >= spoofs.len(),
        "{} of {}",
        benign,
        spoofs.len()
    );
}

#[test]
fn no_card_hides_anything_or_looks_like_another() {
    for spoof in spoofs() {
        for columns in [40, 80, 200] {
            let lines: Vec<String> = card(&spoof)
                .lines(0, super::tests::tall(columns))
                .iter()
                .map(|line| line.paint(false))
                .collect();
            let shown = lines.join("\n");
            let told = format!("{:?} as {} became\n{shown}", spoof.text, spoof.field);
            let is_plain = |letter: char| letter == '\n' || !letter.is_control();
            assert!(shown.chars().all(is_plain), "{told}");
            assert!(
                !shown.contains([
                    '\u{200b}', '\u{202e}', '\u{2066}', '\u{feff}', '\u{2028}', '\u{a0}'
                ]),
                "{told}"
            );
            let squeezed_card = squeezed(&shown);
            assert!(squeezed_card.contains(&squeezed(&spoof.seen)), "{told}");
            for (field, usual) in [
                ("tool", "Bash"),
                ("command", "rm -rf build"),
                ("rule", "Bash(rm -rf build)"),
            ] {
                assert!(
                    spoof.field == field || squeezed_card.contains(&squeezed(usual)),
                    "{told}"
                );
            }
            assert!(lines.len() <= 60, "{} lines: {told}", lines.len());
            let begins = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
            assert_eq!((begins("? "), begins("  y once")), (1, 1), "{told}");
            assert!(
                lines.first().is_some_and(|line| line.starts_with("? ")),
                "{told}"
            );
            assert!(
                lines
                    .iter()
                    .all(|line| unicode_width::UnicodeWidthStr::width(line.as_str())
                        <= columns.max(80)),
                "{told}"
            );
        }
    }
}
