//! The conversation in line mode: on a terminal of its own, typed and read like a person does.

use std::fs;

use crate::{
    permissions::WRITES,
    run::{delegating::BACKGROUND, fixture::Desk},
    seat::Seat,
};

/// A conversation on a terminal with a cursor that moves.
fn opened(desk: &Desk, arguments: &str) -> Seat {
    let mut seat = Seat::coloured(desk, arguments);
    seat.sees("/help lists commands");
    seat.sees("›");
    seat
}

/// Types a line and sends it.
fn sends(seat: &mut Seat, line: &str) {
    seat.types(line);
    seat.types("\r");
}

#[test]
fn n_20_bare_rooftree_opens_a_conversation_and_answers_several_messages() {
    let desk = Desk::with_echo();
    let mut seat = opened(&desk, "");
    sends(&mut seat, "first");
    seat.sees("heard: first");
    seat.sees("✓ 1 turn");
    seat.sees("›");
    sends(&mut seat, "second");
    seat.sees("heard: second");
    seat.sees("›");
    seat.types("\u{4}");
    assert_eq!(seat.ends(), 0);
    let sessions = desk
        .house
        .rooftree(&["sessions", "list", "-o", "ids"])
        .well();
    assert_eq!(sessions.lines().count(), 1, "both are one session");
    desk.house.is_sound();
}

#[test]
fn n_20_text_without_a_subcommand_is_the_first_message() {
    let desk = Desk::with_echo();
    let mut seat = Seat::coloured(&desk, "'fix the bug'");
    seat.sees("lead › fix the bug");
    seat.sees("heard: fix the bug");
    seat.sees("›");
    sends(&mut seat, "/quit");
    assert_eq!(seat.ends(), 0);
    let mut command = desk.command(&[]);
    let run = std::mem::replace(&mut command, desk.house.command(&["fix the bug"]));
    for (name, value) in run.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    let piped = command.current_dir(desk.path()).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&piped.stdout),
        "heard: fix the bug\n"
    );
}

#[test]
fn n_20_without_a_terminal_four_lines_say_how_to_start() {
    let desk = Desk::with_echo();
    let done = desk.house.rooftree(&[]);
    assert_eq!((done.code, done.out.as_str()), (2, ""), "{done:?}");
    assert_eq!(done.err.lines().count(), 4, "{done:?}");
    for words in [
        "no model can be used",
        "rooftree run",
        "rooftree init",
        "rooftree demo",
    ] {
        assert!(done.err.contains(words), "{words}: {done:?}");
    }
    let settings = desk.house.path().join("config.toml");
    let before = std::fs::read(&settings).unwrap_or_default();
    std::fs::write(&settings, "model = \"a").unwrap();
    let broken = desk.house.rooftree(&[]);
    assert_eq!(broken.code, 3, "{broken:?}");
    assert!(broken.err.contains("is not TOML"), "{broken:?}");
    std::fs::write(&settings, before).unwrap();
    let misspelt = desk.house.rooftree(&["hello"]);
    assert_eq!(misspelt.code, 2);
    assert!(
        misspelt.err.contains("rooftree run \"hello\""),
        "{misspelt:?}"
    );
}

#[test]
fn ctrl_c_stops_the_run_and_the_conversation_stays() {
    let desk = Desk::new(
        "[[reply]]\n[[reply.call]]\ntool = \"Bash\"\ninput = { command = \"echo begun; sleep 1000\" }\n\n\
         [[reply]]\ntimes = 9\ntext = \"heard: {{ user.text }}\"\n",
    );
    let mut seat = opened(&desk, "chat --permission-mode bypass --sandbox off");
    sends(&mut seat, "work");
    seat.sees("begun");
    seat.types("\u{3}");
    seat.sees("stopping");
    seat.sees("stopped");
    seat.sees("›");
    sends(&mut seat, "again");
    seat.sees("heard: again");
    seat.sees("›");
    seat.types("\u{3}");
    seat.sees("Ctrl-D or /quit leaves");
    sends(&mut seat, "/quit");
    assert_eq!(seat.ends(), 0);
}

#[test]
fn help_lists_the_table_and_a_wrong_command_is_answered_with_the_nearest() {
    let desk = Desk::with_echo();
    let mut seat = opened(&desk, "");
    sends(&mut seat, "/help");
    for action in rooftree_protocol::actions::ACTIONS {
        seat.sees(&format!("/{}", action.name));
    }
    sends(&mut seat, "/swich x");
    seat.sees("did you mean `/switch`?");
    sends(&mut seat, "/permissions");
    seat.sees("nothing waits for an answer");
    seat.sees("no rules");
    sends(&mut seat, "/cost");
    seat.sees("needs a session");
    sends(&mut seat, "/quit");
    assert_eq!(seat.ends(), 0);
}

#[test]
fn as5_a_conversation_is_handed_over_with_a_message_and_comes_back_with_a_summary() {
    let desk = Desk::with_echo();
    let mut seat = opened(&desk, "");
    sends(&mut seat, "begin");
    seat.sees("heard: begin");
    seat.sees("lead ›");
    sends(&mut seat, "/switch explore go on there");
    seat.sees("/back returns to lead");
    seat.sees("heard: go on there");
    seat.sees("explore ›");
    sends(&mut seat, "/back and here");
    seat.sees("back to lead, which reads a summary of what explore did");
    seat.sees("heard:");
    seat.sees("lead ›");
    sends(&mut seat, "/back");
    seat.sees("this conversation was not handed over");
    sends(&mut seat, "/quit");
    assert_eq!(seat.ends(), 0);
    let list = desk
        .house
        .rooftree(&["sessions", "list", "-o", "json"])
        .json();
    let lead = list
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["agent"] == "lead");
    let id = lead.unwrap()["id"].as_str().unwrap().to_owned();
    let events = desk.house.rooftree(&["sessions", "events", &id]).well();
    assert!(
        events.contains("The conversation went on with agent explore"),
        "{events}"
    );
}

#[test]
fn model_agent_mode_and_new_change_what_the_next_message_meets() {
    let desk = Desk::with_echo();
    desk.write(
        "other.toml",
        "[[reply]]\ntimes = 9\ntext = \"other: {{ user.text }}\"\n",
    );
    let mut seat = opened(&desk, "");
    sends(&mut seat, "/model scripted/other.toml");
    seat.sees("from your next message on");
    sends(&mut seat, "one");
    seat.sees("other: one");
    seat.sees("lead ›");
    sends(&mut seat, "/mode plan");
    seat.sees("for this session");
    seat.sees("lead (plan) ›");
    sends(&mut seat, "/mode nonsense");
    seat.sees("choose one of plan, ask");
    sends(&mut seat, "/agent explore two");
    seat.sees("other: two");
    seat.sees("explore ›");
    sends(&mut seat, "/new three");
    seat.sees("other: three");
    seat.sees("explore ›");
    sends(&mut seat, "/quit");
    assert_eq!(seat.ends(), 0);
    let sessions = desk
        .house
        .rooftree(&["sessions", "list", "-o", "ids"])
        .well();
    assert_eq!(sessions.lines().count(), 3);
    desk.house.is_sound();
}

#[test]
fn history_survives_the_program_and_completion_fills_in_names() {
    let desk = Desk::with_echo();
    let mut seat = opened(&desk, "");
    sends(&mut seat, "remember me");
    seat.sees("heard: remember me");
    seat.sees("›");
    sends(&mut seat, "/quit");
    assert_eq!(seat.ends(), 0);
    let mut seat = opened(&desk, "");
    seat.types("\u{10}\u{10}\r");
    seat.sees("heard: remember me");
    seat.sees("›");
    seat.types("/sta\t\r");
    seat.sees("folder");
    // One Tab lists what begins so.
    seat.types("/s\t");
    seat.sees("/sessions");
    seat.sees("/switch");
    // Ctrl-U clears the line.
    seat.types("\u{15}");
    seat.types("/agent expl\t look\r");
    seat.sees("heard: look");
    seat.sees("explore ›");
    desk.write("notes.txt", "the content");
    seat.types("read @not\t\r");
    seat.sees("heard: read @notes.txt");
    seat.sees("›");
    sends(&mut seat, "/quit");
    assert_eq!(seat.ends(), 0);
}

#[test]
fn several_lines_are_one_message() {
    let desk = Desk::with_echo();
    let mut seat = opened(&desk, "");
    seat.types("one\\\r");
    seat.types("two\u{1b}\rthree\r");
    seat.sees("heard: one");
    seat.sees("three");
    seat.sees("✓ 1 turn");
    seat.sees("›");
    sends(&mut seat, "/quit");
    assert_eq!(seat.ends(), 0);
}

#[test]
fn a_card_is_asked_inside_a_conversation_and_the_next_line_is_read_after_it() {
    let desk = Desk::new(WRITES);
    let mut seat = opened(&desk, "");
    sends(&mut seat, "Write it");
    seat.sees("denied automatically in");
    seat.presses_until("y", "✓ yes, once");
    seat.sees("written");
    seat.sees("lead ›");
    sends(&mut seat, "next");
    seat.sees("✓ 1 turn");
    seat.sees("lead ›");
    sends(&mut seat, "/quit");
    assert_eq!(seat.ends(), 0);
    assert!(desk.path().join("new.txt").exists());
}

#[test]
fn n_29_a_plain_conversation_moves_no_cursor_and_has_no_colours() {
    let desk = Desk::with_echo();
    let mut seat = Seat::coloured(&desk, "--plain");
    seat.sees("lead › ");
    seat.types("hello\n");
    seat.sees("heard: hello");
    seat.sees("lead › ");
    seat.types("/quit\n");
    let rest = seat.reads_to_end();
    assert!(!rest.contains('\u{1b}'), "{rest:?}");
}

#[test]
fn n_13_commands_and_skills_are_expanded_in_run_and_in_a_conversation() {
    let desk = Desk::with_echo();
    desk.write(
        ".claude/commands/fix-issue.md",
        "---\ndescription: Fix it\nargument-hint: [number]\n---\nFix issue $1 please.",
    );
    desk.write(
        ".claude/skills/notes/SKILL.md",
        "---\nname: notes\ndescription: Writes notes\ncontext: fork\n---\nWrite notes about $ARGUMENTS.",
    );
    let untrusted = desk.run(&["/fix-issue 12"]);
    assert!(
        untrusted.err.contains("because it is not trusted"),
        "{untrusted:?}"
    );
    let trusted = |words: &[&str]| desk.run(&[words, &["--trust"]].concat());
    let fixed = trusted(&["/fix-issue 12"]);
    assert!(fixed.out.contains("Fix issue 12 please."), "{fixed:?}");
    assert!(fixed.err.contains("without effect: `context`"), "{fixed:?}");
    let noted = trusted(&["/notes", "version 2"]);
    assert!(
        noted.out.contains("Write notes about version 2."),
        "{noted:?}"
    );
    assert!(
        !noted.err.contains("without effect"),
        "told once: {noted:?}"
    );
    let wrong = trusted(&["/fix-isue 12"]).ended(2);
    assert!(wrong.contains("did you mean `/fix-issue`?"), "{wrong}");
    assert!(
        trusted(&["/model x"])
            .ended(2)
            .contains("command of a conversation")
    );
    let path = trusted(&["/etc/hosts is wrong"]).well();
    assert!(path.contains("heard: /etc/hosts is wrong"), "{path}");
    let mut seat = opened(&desk, "--trust");
    sends(&mut seat, "/fix-issue 7");
    seat.sees("Fix issue 7 please.");
    seat.sees("›");
    sends(&mut seat, "/quit");
    assert_eq!(seat.ends(), 0);
}

#[test]
fn n_13_a_file_inside_a_sentence_is_attached() {
    let desk = Desk::new("[[reply]]\ntext = \"{{ user.text }}\"\n");
    desk.write("notes.txt", "the content");
    let told = desk.run(&["Look at @notes.txt, please; ask @anna"]).well();
    assert!(told.contains("the content"), "{told}");
    assert!(told.contains("@anna"), "{told}");
    fs::remove_file(desk.path().join("notes.txt")).unwrap();
}

#[test]
fn an_agent_in_background_goes_on_while_the_prompt_is_shown_and_its_end_is_told() {
    let desk = Desk::new(BACKGROUND);
    for arguments in [
        "chat --permission-mode auto",
        "chat --permission-mode auto --plain",
    ] {
        let enter = if arguments.ends_with("plain") {
            "\n"
        } else {
            "\r"
        };
        let mut seat = opened(&desk, arguments);
        seat.types(&format!("go{enter}"));
        seat.sees("1 agent in background at work");
        seat.sees("lead (auto) ›");
        desk.write("open", "");
        desk.waits_for("dug");
        // A plain terminal is told when the line is read.
        seat.presses_until(enter, "It is back.");
        seat.types(&format!("/quit{enter}"));
        assert_eq!(seat.ends(), 0);
        fs::remove_file(desk.path().join("open")).unwrap();
        fs::remove_file(desk.path().join("dug")).unwrap();
    }
    desk.house.is_sound();
}

#[test]
fn leaving_with_an_agent_at_work_asks_what_becomes_of_it() {
    let desk = Desk::new(BACKGROUND);
    let mut seat = opened(&desk, "chat --permission-mode auto");
    sends(&mut seat, "go");
    seat.sees("1 agent in background at work");
    seat.sees("›");
    seat.types("\u{4}");
    seat.sees("s stops them");
    seat.types("s\n");
    assert_eq!(seat.ends(), 0);
    let left = desk
        .house
        .rooftree(&["tasks", "list", "--running", "-o", "ids"])
        .well();
    assert_eq!(left, "");
}

#[test]
fn undo_shows_the_files_asks_and_takes_the_changes_back() {
    let desk = Desk::new(WRITES);
    let mut seat = opened(&desk, "");
    sends(&mut seat, "Write it");
    seat.sees("denied automatically in");
    seat.presses_until("y", "✓ yes, once");
    seat.sees("written");
    seat.sees("lead ›");
    sends(&mut seat, "/undo");
    seat.sees("new.txt");
    seat.sees("y/N");
    seat.types("y\n");
    seat.sees("lead ›");
    assert!(!desk.path().join("new.txt").exists());
    sends(&mut seat, "/quit");
    assert_eq!(seat.ends(), 0);
}

#[test]
fn compact_summarises_the_conversation_and_says_what_came_of_it() {
    let desk = Desk::with_echo();
    let mut seat = opened(&desk, "");
    sends(&mut seat, "/compact");
    seat.sees("needs a session");
    for word in ["first", "second", "third"] {
        seat.sees("›");
        sends(&mut seat, word);
        seat.sees(&format!("heard: {word}"));
    }
    seat.sees("›");
    sends(&mut seat, "/compact the words");
    seat.sees("compacted: about");
    seat.sees("›");
    sends(&mut seat, "/quit");
    assert_eq!(seat.ends(), 0);
    let id = desk
        .house
        .rooftree(&["sessions", "list", "-o", "ids"])
        .well();
    let events = desk
        .house
        .rooftree(&["sessions", "events", id.trim()])
        .well();
    let compacted = events
        .lines()
        .filter(|line| line.contains("\"context.compacted\""));
    let compacted: Vec<&str> = compacted.collect();
    assert_eq!(compacted.len(), 1, "{events}");
    assert!(compacted[0].contains("\"who\""), "{events}");
    desk.house.is_sound();
}

#[test]
fn sessions_lists_those_of_this_folder_unless_all_are_asked_for() {
    let desk = Desk::with_echo();
    let other = desk.path().join("elsewhere");
    fs::create_dir_all(&other).unwrap();
    let place = other.to_str().unwrap();
    let mut far = Seat::coloured(&desk, &format!("-C {place} 'from afar'"));
    far.sees("heard: from afar");
    far.sees("›");
    sends(&mut far, "/quit");
    assert_eq!(far.ends(), 0);
    let mut seat = opened(&desk, "");
    sends(&mut seat, "near");
    seat.sees("heard: near");
    seat.sees("›");
    sends(&mut seat, "/sessions");
    seat.sees("near");
    seat.sees("›");
    sends(&mut seat, "/sessions all");
    seat.sees("from afar");
    sends(&mut seat, "/sessions none");
    seat.sees("does not know `none`");
    sends(&mut seat, "/quit");
    assert_eq!(seat.ends(), 0);
}

#[test]
fn leaving_says_how_to_continue_and_continuing_shows_the_last_exchange() {
    let desk = Desk::with_echo();
    let mut seat = opened(&desk, "");
    sends(&mut seat, "the **first** thing");
    seat.sees("heard: the first thing");
    seat.sees("›");
    sends(&mut seat, "/quit");
    let list = ["sessions", "list", "-o", "ids"];
    let id = desk.house.rooftree(&list).well();
    let end = &id.trim()[id.trim().len() - 8..];
    seat.sees(&format!("continue with: rooftree chat -s {end}"));
    assert_eq!(seat.ends(), 0);
    let mut again = Seat::coloured(&desk, &format!("chat -s {end}"));
    again.sees("› the first thing");
    again.sees("● heard: the first thing");
    again.sees("lead ›");
    sends(&mut again, "/new");
    again.sees("a new conversation begins");
    sends(&mut again, &format!("/resume {end}"));
    again.sees("● heard: the first thing");
    sends(&mut again, "/quit");
    assert_eq!(again.ends(), 0);
}

#[test]
fn agents_are_listed_with_what_they_are_for_and_tasks_are_those_of_the_conversation() {
    let desk = Desk::new(BACKGROUND);
    let mut first = opened(&desk, "chat --permission-mode auto");
    sends(&mut first, "go");
    first.sees("1 agent in background at work");
    first.sees("lead (auto) ›");
    sends(&mut first, "/tasks");
    first.sees("Dig");
    first.sees("lead (auto) ›");
    desk.write("open", "");
    desk.waits_for("dug");
    first.presses_until("\r", "It is back.");
    sends(&mut first, "/quit");
    assert_eq!(first.ends(), 0);
    let mut second = opened(&desk, "chat --permission-mode auto");
    sends(&mut second, "/agent");
    second.sees("lead (now)");
    second.sees("lead (auto) ›");
    sends(&mut second, "/tasks");
    second.sees("nothing is at work");
    sends(&mut second, "/quit");
    assert_eq!(second.ends(), 0);
}

#[test]
fn a_conversation_with_a_server_is_refused_with_what_can_be_sent() {
    let desk = Desk::with_echo();
    let mut seat = Seat::coloured(&desk, "--server http://127.0.0.1:1 chat");
    seat.sees("a conversation cannot be sent to a server");
    seat.sees("rooftree run");
    assert_eq!(seat.ends(), 2);
}
