//! Queue of prompts to the user at the terminal: one permission prompt or question at a time, in order.
//!
//! Invariant: a key counts only for the prompt that has been on the screen for a while. What was typed before
//! that was meant for something else.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use rooftree_protocol::{
    Answer, Event, PermissionDecision, PermissionId, QuestionId, QuestionReply, SessionId,
    Timestamp,
};
use rooftree_runtime::{Clock, SystemClock};

use crate::terminal::{
    keys::{KeyboardInput, KeyboardMode},
    line::{StyledLine, TextStyle},
    permission_prompt::{PermissionPrompt, PromptKeyAction, ScreenSize},
    question_prompt::{QuestionPrompt, QuestionStep},
    view::TerminalView,
};

/// How long a prompt is on the screen before keys count.
const GUARD: Duration = Duration::from_millis(500);

/// A question about a call, and the session that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionRef {
    pub session: SessionId,
    pub id: PermissionId,
}

/// What the person said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptAnswer {
    Permission(PermissionRef, Answer),
    Reply(QuestionId, QuestionReply),
}

/// Something a person is asked.
pub enum UserPrompt {
    Permission(PermissionPrompt),
    Question(QuestionPrompt),
}

impl UserPrompt {
    /// What an event of this agent asks; none if it asks nothing.
    pub fn from_event(who: &str, event: &Event) -> Option<Self> {
        let card = PermissionPrompt::from_event(who, event).map(Self::Permission);
        card.or_else(|| QuestionPrompt::from_event(who, event).map(Self::Question))
    }

    fn id(&self) -> &str {
        match self {
            Self::Permission(card) => card.id.as_str(),
            Self::Question(sheet) => sheet.id.as_str(),
        }
    }
}

/// The questions that are open.
pub struct PromptQueue {
    items: VecDeque<UserPrompt>,
    /// Since when the first one is on the screen, if it is.
    shown: Option<Timestamp>,
    /// What is being typed in words.
    typing: Option<String>,
    clock: Arc<dyn Clock>,
}

impl Default for PromptQueue {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock))
    }
}

impl PromptQueue {
    /// One that tells time by this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            items: VecDeque::new(),
            shown: None,
            typing: None,
            clock,
        }
    }

    /// Something is asked. It never takes the place of what is being answered.
    pub fn add(&mut self, item: UserPrompt, view: &mut dyn TerminalView, keys: &mut KeyboardInput) {
        self.items.push_back(item);
        self.show_next(view, keys);
    }

    /// A prompt was settled: by this client, by another one, or by its timeout.
    pub fn remove(
        &mut self,
        id: &str,
        by: &str,
        view: &mut dyn TerminalView,
        keys: &mut KeyboardInput,
    ) {
        let was_shown =
            self.shown.is_some() && self.items.front().is_some_and(|item| item.id() == id);
        if !was_shown {
            self.items.retain(|item| item.id() != id);
            return;
        }
        let line = match self.items.pop_front() {
            Some(UserPrompt::Permission(card)) => card.settled(by),
            Some(UserPrompt::Question(sheet)) => sheet.settled(&format!("settled elsewhere: {by}")),
            None => StyledLine::default(),
        };
        self.close(view, keys, &line);
    }

    /// A key was pressed; says what it settled, and how.
    pub fn key(
        &mut self,
        key: char,
        view: &mut dyn TerminalView,
        keys: &mut KeyboardInput,
    ) -> Option<PromptAnswer> {
        if self.clock.now().since(self.shown?) < GUARD {
            return None;
        }
        if let Some(typing) = &mut self.typing {
            if key != '\n' {
                typing.push(key);
                return None;
            }
            let line = std::mem::take(typing);
            view.entered();
            return self.line(&line, view, keys);
        }
        let waiting = self.items.len().saturating_sub(1);
        let Some(UserPrompt::Permission(card)) = self.items.front_mut() else {
            return None;
        };
        let screen = ScreenSize::now();
        let choice = card.choice(key);
        let hint = match &choice {
            None => Some(card.wrong_key(key)),
            Some(PromptKeyAction::Answer(answer))
                if answer.decision == PermissionDecision::Allow
                    && card.hides_command(waiting, screen) =>
            {
                Some(PermissionPrompt::not_shown())
            }
            Some(_) => None,
        };
        if let Some(hint) = hint {
            let prompt = PermissionPrompt::prompt(card.until.since(self.clock.now()));
            view.wrong_key(&card.lines(waiting, screen), &hint, &prompt);
            return None;
        }
        match choice? {
            PromptKeyAction::Answer(answer) => self.answer(answer, view, keys),
            PromptKeyAction::SayWhy => {
                let prompt = StyledLine::of(TextStyle::Accent, "  why not? › ");
                view.ask_for_words(&card.lines(waiting, screen), &prompt);
                self.typing = Some(String::new());
                keys.listen(KeyboardMode::Lines);
                None
            }
            PromptKeyAction::ShowAll => {
                card.show_all();
                if card.is_folded(waiting, screen) {
                    view.reveal(&card.whole(screen.columns));
                }
                self.show(view, keys);
                None
            }
        }
    }

    /// A whole line was typed.
    fn line(
        &mut self,
        line: &str,
        view: &mut dyn TerminalView,
        keys: &mut KeyboardInput,
    ) -> Option<PromptAnswer> {
        let now = self.clock.now();
        match self.items.front_mut()? {
            UserPrompt::Permission(card) => {
                let answer = card.refusal(line);
                self.answer(answer, view, keys)
            }
            UserPrompt::Question(sheet) => match sheet.take(line) {
                QuestionStep::Again(words) => {
                    let words = StyledLine::of(TextStyle::Warning, format!("  {words}"));
                    view.ask_for_words(&[words], &QuestionPrompt::prompt(sheet.until.since(now)));
                    None
                }
                QuestionStep::Another => {
                    self.show(view, keys);
                    None
                }
                QuestionStep::Done(reply) => self.reply(reply, view, keys),
            },
        }
    }

    fn answer(
        &mut self,
        answer: Answer,
        view: &mut dyn TerminalView,
        keys: &mut KeyboardInput,
    ) -> Option<PromptAnswer> {
        let Some(UserPrompt::Permission(card)) = self.items.pop_front() else {
            return None;
        };
        self.close(view, keys, &card.answered(&answer));
        Some(PromptAnswer::Permission(
            PermissionRef {
                session: card.session,
                id: card.id,
            },
            answer,
        ))
    }

    fn reply(
        &mut self,
        reply: QuestionReply,
        view: &mut dyn TerminalView,
        keys: &mut KeyboardInput,
    ) -> Option<PromptAnswer> {
        let Some(UserPrompt::Question(sheet)) = self.items.pop_front() else {
            return None;
        };
        let said = if matches!(reply, QuestionReply::Declined { .. }) {
            "declined"
        } else {
            "answered"
        };
        self.close(view, keys, &sheet.settled(said));
        Some(PromptAnswer::Reply(sheet.id, reply))
    }

    fn show_next(&mut self, view: &mut dyn TerminalView, keys: &mut KeyboardInput) {
        if self.shown.is_none() {
            self.show(view, keys);
        }
    }

    /// Puts the first one on the screen, or what is new about it.
    fn show(&mut self, view: &mut dyn TerminalView, keys: &mut KeyboardInput) {
        let Some(item) = self.items.front() else {
            return;
        };
        let (waiting, screen) = (self.items.len() - 1, ScreenSize::now());
        let now = self.clock.now();
        match item {
            UserPrompt::Permission(card) => {
                view.ask(
                    &card.lines(waiting, screen),
                    &PermissionPrompt::prompt(card.until.since(now)),
                );
                keys.listen(KeyboardMode::Keys);
                self.typing = None;
            }
            UserPrompt::Question(sheet) => {
                view.ask_for_words(
                    &sheet.lines(waiting, screen.columns),
                    &QuestionPrompt::prompt(sheet.until.since(now)),
                );
                keys.listen(KeyboardMode::Lines);
                self.typing = Some(String::new());
            }
        }
        self.shown = Some(now);
    }

    fn close(&mut self, view: &mut dyn TerminalView, keys: &mut KeyboardInput, line: &StyledLine) {
        view.answered(line);
        keys.restore_terminal();
        self.shown = None;
        self.typing = None;
        self.show_next(view, keys);
    }
}

#[cfg(test)]
mod tests;
