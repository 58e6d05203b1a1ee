//! Tests of the prompt queue: what is on the screen, which key is pressed, which answer is sent.

use rooftree_protocol::{PermissionDecision, PermissionScope, event::Event};
use rooftree_runtime::clock::VirtualClock;

use super::*;
use crate::terminal::{
    permission_prompt::tests::{event, question},
    plain::PlainView,
    question_prompt::tests as given,
    view::ViewDetail,
};

/// A person before a screen, with a clock that only moves when told.
struct Story {
    asker: PromptQueue,
    clock: Arc<VirtualClock>,
    keys: KeyboardInput,
    view: PlainView<Vec<u8>>,
}

impl Story {
    fn new() -> Self {
        let clock = Arc::new(VirtualClock::seeded(1));
        let asker = PromptQueue::new(clock.clone());
        Self {
            asker,
            clock,
            keys: KeyboardInput::absent(),
            view: PlainView::new(Vec::new(), false, ViewDetail::Usual),
        }
    }

    fn asks(&mut self, event: &Event) {
        let item = UserPrompt::from_event("lead", event).unwrap();
        self.asker.add(item, &mut self.view, &mut self.keys);
    }

    fn types(&mut self, text: &str) -> Option<PromptAnswer> {
        let mut said = None;
        for key in text.chars() {
            said = said.or(self.asker.key(key, &mut self.view, &mut self.keys));
        }
        said
    }

    fn waits(&mut self) {
        self.clock.advance(GUARD);
    }

    fn settled_elsewhere(&mut self, number: u128, by: &str) {
        let id = PermissionId::from_entropy(number);
        self.asker
            .remove(id.as_str(), by, &mut self.view, &mut self.keys);
    }

    /// What was shown since the last look.
    fn screen(&mut self) -> String {
        String::from_utf8(self.view.taken()).unwrap()
    }
}

fn permitted(said: Option<PromptAnswer>) -> (u128, PermissionDecision, PermissionScope) {
    let Some(PromptAnswer::Permission(question, answer)) = said else {
        panic!("a permission is answered")
    };
    let number = (1..9)
        .find(|number| question.id == PermissionId::from_entropy(*number))
        .unwrap();
    assert_eq!(
        answer.digest,
        Some(format!("digest {number}")),
        "the answer is bound to what was shown"
    );
    (number, answer.decision, answer.scope)
}

#[test]
fn keys_typed_before_a_card_was_seen_permit_nothing() {
    let mut story = Story::new();
    story.asks(&event(question(1, "ls")));
    assert_eq!(story.types("yyysa"), None);
    story.clock.advance(GUARD - Duration::from_millis(1));
    assert_eq!(story.types("y"), None);
    story.clock.advance(Duration::from_millis(1));
    let (number, decision, scope) = permitted(story.types("y"));
    assert_eq!(
        (number, decision, scope),
        (1, PermissionDecision::Allow, PermissionScope::Once)
    );
}

#[test]
fn enter_alone_is_no_answer() {
    let mut story = Story::new();
    story.asks(&event(question(1, "ls")));
    story.waits();
    assert_eq!(story.types("\n\n \u{1b}"), None);
    assert_eq!(permitted(story.types("n")).1, PermissionDecision::Deny);
}

#[test]
fn the_first_that_asked_is_shown_first_and_nothing_takes_its_place() {
    let mut story = Story::new();
    for (number, title) in [(1, "one"), (2, "two"), (3, "three")] {
        story.asks(&event(question(number, title)));
    }
    let screen = story.screen();
    assert!(
        screen.contains("Bash  one") && !screen.contains("two"),
        "{screen}"
    );
    story.waits();
    assert_eq!(permitted(story.types("y")).0, 1);
    let screen = story.screen();
    assert!(
        screen.contains("Bash  two") && screen.contains("(1 of 2)"),
        "{screen}"
    );
    assert_eq!(story.types("y"), None, "the next card has its own guard");
    story.waits();
    assert_eq!(
        permitted(story.types("s")),
        (2, PermissionDecision::Allow, PermissionScope::Session)
    );
    story.waits();
    assert_eq!(
        permitted(story.types("a")),
        (3, PermissionDecision::Allow, PermissionScope::Always)
    );
}

#[test]
fn a_card_settled_elsewhere_goes_away_with_a_word_who_did() {
    let mut story = Story::new();
    story.asks(&event(question(1, "one")));
    story.asks(&event(question(2, "two")));
    story.asks(&event(question(3, "three")));
    story.waits();
    story.screen();
    story.settled_elsewhere(2, "anna");
    assert_eq!(
        story.screen(),
        "",
        "one that was not shown leaves without a word"
    );
    story.settled_elsewhere(1, "anna");
    let screen = story.screen();
    assert!(
        screen.contains("answered by anna elsewhere — lead: Bash one"),
        "{screen}"
    );
    assert!(screen.contains("Bash  three"), "{screen}");
    assert_eq!(
        story.types("y"),
        None,
        "a key meant for the card that went away does not count"
    );
    story.waits();
    assert_eq!(permitted(story.types("y")).0, 3);
}

#[test]
fn a_no_can_have_words() {
    let mut story = Story::new();
    story.asks(&event(question(1, "rm x")));
    story.waits();
    let Some(PromptAnswer::Permission(_, answer)) = story.types("fuse git rm, y\n") else {
        panic!("no, with words")
    };
    assert_eq!(answer.decision, PermissionDecision::Deny);
    assert_eq!(answer.because.as_deref(), Some("use git rm, y"));
}

#[test]
fn an_agents_questions_are_answered_in_turn() {
    let mut story = Story::new();
    let sheet = given::sheet(vec![
        given::question("wall", false, false),
        given::question("door", false, true),
    ]);
    let id = sheet.id.clone();
    story.asker.add(
        UserPrompt::Question(sheet),
        &mut story.view,
        &mut story.keys,
    );
    assert_eq!(story.types("1\n"), None, "it has its guard too");
    story.waits();
    assert_eq!(story.types("7\n"), None);
    assert!(story.screen().contains("choose from 1 to 3"));
    assert_eq!(story.types("2\n"), None);
    assert!(story.screen().contains("Which door?"));
    story.waits();
    let Some(PromptAnswer::Reply(whose, QuestionReply::Answered { answers })) =
        story.types("oak\n")
    else {
        panic!("all is said")
    };
    assert_eq!(
        (whose, &answers["wall"], &answers["door"]),
        (id, &vec!["green".into()], &vec!["oak".into()])
    );
}
