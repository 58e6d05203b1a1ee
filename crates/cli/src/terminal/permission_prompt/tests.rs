//! Tests of the permission prompt: its text and its keys.

use rooftree_protocol::{CallId, PermissionDecision};

use super::*;

const ALL: [PermissionScope; 4] = [
    PermissionScope::Once,
    PermissionScope::Session,
    PermissionScope::Project,
    PermissionScope::Always,
];

/// A question about a call, as an agent asks it.
pub fn question(number: u128, title: &str) -> EventBody {
    EventBody::PermissionRequested {
        id: PermissionId::from_entropy(number),
        call: CallId::from_entropy(number),
        tool: "Bash".into(),
        title: title.into(),
        detail: title.into(),
        effect: Effect::Destructive,
        rule: format!("Bash({title})"),
        until: Timestamp(3_600_000),
        reason: "Bash may run anything and mode `ask` asks about that; --allow 'Bash' would".into(),
        digest: format!("digest {number}"),
        scopes: ALL.to_vec(),
        kind: Default::default(),
        spawn: Vec::new(),
    }
}

/// Wraps it as the bus does.
pub fn event(body: EventBody) -> Event {
    let session = SessionId::from_entropy(1);
    let (agent, ts) = ("lead".to_owned(), Timestamp(0));
    Event {
        v: 1,
        id: None,
        ts,
        session,
        run: None,
        parent_run: None,
        agent,
        who: None,
        body,
    }
}

fn card(body: EventBody) -> PermissionPrompt {
    PermissionPrompt::from_event("lead", &event(body)).unwrap()
}

/// A screen on which everything fits.
pub fn tall(columns: usize) -> ScreenSize {
    ScreenSize {
        columns,
        rows: usize::MAX,
    }
}

fn shown(card: &PermissionPrompt, waiting: usize, columns: usize) -> Vec<String> {
    card.lines(waiting, tall(columns))
        .iter()
        .map(|line| line.paint(false).trim_end().to_owned())
        .collect()
}

#[test]
fn only_the_keys_on_the_card_mean_something_and_each_is_bound_to_what_was_shown() {
    let card = card(question(1, "ls"));
    let scope = |key| match card.choice(key) {
        Some(PromptKeyAction::Answer(answer)) if answer.decision == PermissionDecision::Allow => {
            assert_eq!(answer.digest.as_deref(), Some("digest 1"));
            Some(answer.scope)
        }
        _ => None,
    };
    assert_eq!(
        ['y', 'Y', 's', 'p', 'a'].map(scope),
        [0, 0, 1, 2, 3].map(|at| Some(ALL[at]))
    );
    for key in ['\n', '\r', ' ', 'n', 'f', 'v', 'q', '\u{1b}', '1'] {
        assert_eq!(scope(key), None, "{key:?}");
    }
    assert_eq!(card.choice('\n'), None, "Enter alone is no answer");
    assert_eq!(card.choice('f'), Some(PromptKeyAction::SayWhy));
}

#[test]
fn a_scope_that_is_not_offered_has_no_key_and_no_line() {
    let EventBody::PermissionRequested {
        id,
        call,
        tool,
        title,
        detail,
        effect,
        rule,
        until,
        ..
    } = question(1, "ls")
    else {
        panic!("a question")
    };
    let (reason, digest, scopes) = (String::new(), String::new(), vec![PermissionScope::Once]);
    let card = card(EventBody::PermissionRequested {
        id,
        call,
        tool,
        title,
        detail,
        effect,
        rule,
        until,
        reason,
        digest,
        scopes,
        kind: Default::default(),
        spawn: Vec::new(),
    });
    assert!(
        ['s', 'p', 'a']
            .iter()
            .all(|key| card.choice(*key).is_none())
    );
    assert_eq!(
        shown(&card, 0, 80),
        [
            "? lead wants to run something",
            "  Bash  ls",
            "",
            "  y once   n no   f no, and say why"
        ]
    );
}

#[test]
fn a_card_shows_who_what_why_and_the_rule_and_obeys_nothing() {
    let card =
        card(question(1, "rm x\u{1b}[2K")).about("demo/script".into(), Some("~/copy".into()));
    assert_eq!(
        shown(&card, 1, 80),
        [
            "? lead wants to run something (1 of 2) · demo/script",
            "  Bash  rm x\\u{1b}[2K",
            "  in    ~/copy",
            "  why   Bash may run anything and mode `ask` asks about that",
            "",
            "  y once   n no   f no, and say why",
            "  s this session   p this project   a always   for all that match",
            "    Bash(rm x\\u{1b}[2K)",
        ]
    );
}

#[test]
fn no_line_of_a_command_is_hidden_and_none_is_wider_than_the_terminal() {
    let command: Vec<String> = (1..=90)
        .map(|line| format!("echo {line} {}", "x".repeat(200)))
        .collect();
    let card = card(question(1, &command.join("\n")));
    for columns in [20, 40, 80, 120] {
        let lines = card.lines(0, tall(columns));
        assert!(lines.iter().all(|line| line.width() <= columns));
        let text: String = lines.iter().map(|line| line.paint(false)).collect();
        assert_eq!(
            text.matches('x').count(),
            2 * 90 * 200,
            "once as the command, once in the rule"
        );
    }
}

#[test]
fn of_a_long_diff_the_rest_is_one_key_away() {
    let EventBody::PermissionRequested {
        id,
        call,
        until,
        scopes,
        ..
    } = question(1, "a.rs")
    else {
        panic!("a question")
    };
    let detail = (1..=100)
        .map(|line| format!("+ line {line}"))
        .collect::<Vec<_>>()
        .join("\n");
    let mut card = card(EventBody::PermissionRequested {
        id,
        call,
        until,
        scopes,
        kind: Default::default(),
        spawn: Vec::new(),
        detail,
        tool: "Write".into(),
        title: "a.rs".into(),
        effect: Effect::LocalMutation,
        rule: "Write(a.rs)".into(),
        reason: String::new(),
        digest: String::new(),
    });
    assert!(shown(&card, 0, 80).contains(&"    … 70 more lines: v shows them".to_owned()));
    assert_eq!(card.choice('v'), Some(PromptKeyAction::ShowAll));
    card.show_all();
    assert!(shown(&card, 0, 80).contains(&"    + line 100".to_owned()));
}

#[test]
fn a_card_is_never_taller_than_the_screen_and_what_is_folded_can_be_shown() {
    let command: String = (0..200).map(|number| format!("echo {number}\n")).collect();
    for (columns, rows) in [(80, 24), (40, 16), (120, 50), (20, 24)] {
        let screen = ScreenSize { columns, rows };
        let card = card(question(1, command.trim_end()));
        let lines = card.lines(2, screen);
        assert!(
            lines.len() + fold::BESIDES <= rows,
            "{columns}×{rows}: {}",
            lines.len()
        );
        let text: Vec<String> = lines.iter().map(|line| line.paint(false)).collect();
        let text = text.join("\n");
        for seen in ["echo 0", "more lines: v shows them", "y once", "n no"] {
            assert!(text.contains(seen), "{seen}: {text}");
        }
        let whole = card.whole(columns);
        let whole: Vec<String> = whole.iter().map(|line| line.paint(false)).collect();
        let whole = whole.join("\n");
        assert!((0..200).all(|number| whole.contains(&format!("echo {number}"))));
    }
}

#[test]
fn a_command_that_is_not_shown_whole_must_be_shown_before_it_can_be_allowed() {
    let screen = ScreenSize {
        columns: 80,
        rows: 24,
    };
    let short = card(question(1, "ls"));
    assert!(!short.hides_command(0, screen));
    let command: String = (0..90).map(|number| format!("echo {number}\n")).collect();
    let mut long = card(question(1, &command));
    assert!(long.hides_command(0, screen));
    long.show_all();
    assert!(!long.hides_command(0, screen));
    assert!(
        long.lines(0, screen).len() <= 24,
        "it is shown above the card"
    );
}

#[test]
fn a_request_about_agents_says_so_and_shows_all_of_its_list() {
    let EventBody::PermissionRequested {
        id, call, until, ..
    } = question(1, "ls")
    else {
        panic!("a question")
    };
    let card = card(EventBody::PermissionRequested {
        id,
        call,
        until,
        tool: "Task".into(),
        title: "9 agents: 9 × explore".into(),
        detail: "9 × explore · a/b\n  gets: Read\n  loses: Write\n  forecast: no past runs".into(),
        effect: Effect::ReadOnly,
        rule: "Task(agents:9)".into(),
        reason: "the reply starts 9 agents".into(),
        digest: String::new(),
        scopes: vec![PermissionScope::Once, PermissionScope::Session],
        kind: rooftree_protocol::PermissionKind::Spawn,
        spawn: Vec::new(),
    });
    let shown = shown(&card, 0, 80);
    assert!(shown[0].contains("wants to start agents"), "{shown:?}");
    for wanted in [
        "9 agents: 9 × explore",
        "loses: Write",
        "no past runs",
        "Task(agents:9)",
    ] {
        assert!(
            shown.iter().any(|line| line.contains(wanted)),
            "{wanted}: {shown:?}"
        );
    }
    assert!(card.choice('s').is_some() && card.choice('p').is_none());
}
