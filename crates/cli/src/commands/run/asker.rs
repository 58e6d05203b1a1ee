//! Questions to the person at the terminal: one card at a time, the others wait in the order they came.
//!
//! Invariant: a key counts only for the card that has been on the screen for a while. What was typed
//! before that was meant for something else.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use rooftree_protocol::{Answer, Event, PermissionId, QuestionId, QuestionReply, SessionId, Timestamp};
use rooftree_runtime::{Clock, SystemClock};

use crate::terminal::{
    self,
    card::{Card, Choice},
    keys::{Keys, Mode},
    line::{Line, Look},
    question::{Next, Sheet},
    view::View,
};

/// How long a card is on the screen before keys count.
const GUARD: Duration = Duration::from_millis(500);

/// A question about a call, and the session that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub session: SessionId,
    pub id: PermissionId,
}

/// What the person said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    Permission(Question, Answer),
    Reply(QuestionId, QuestionReply),
}

/// Something a person is asked.
pub enum Item {
    Permission(Card),
    Question(Sheet),
}

impl Item {
    /// What an event of this agent asks; none if it asks nothing.
    pub fn from_event(who: &str, event: &Event) -> Option<Self> {
        let card = Card::from_event(who, event).map(Self::Permission);
        card.or_else(|| Sheet::from_event(who, event).map(Self::Question))
    }

    fn id(&self) -> &str {
        match self {
            Self::Permission(card) => card.id.as_str(),
            Self::Question(sheet) => sheet.id.as_str(),
        }
    }
}

/// The questions that are open.
pub struct Asker {
    items: VecDeque<Item>,
    /// Since when the first one is on the screen, if it is.
    shown: Option<Timestamp>,
    /// What is being typed in words.
    typing: Option<String>,
    clock: Arc<dyn Clock>,
}

impl Default for Asker {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock))
    }
}

impl Asker {
    /// One that tells time by this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { items: VecDeque::new(), shown: None, typing: None, clock }
    }

    /// Something is asked. It never takes the place of what is being answered.
    pub fn add(&mut self, item: Item, view: &mut dyn View, keys: &mut Keys) {
        self.items.push_back(item);
        self.show_next(view, keys);
    }

    /// A question was settled: by us, by somebody else, or by time.
    pub fn remove(&mut self, id: &str, by: &str, view: &mut dyn View, keys: &mut Keys) {
        let was_shown = self.shown.is_some() && self.items.front().is_some_and(|item| item.id() == id);
        if !was_shown {
            self.items.retain(|item| item.id() != id);
            return;
        }
        let line = match self.items.pop_front() {
            Some(Item::Permission(card)) => card.settled(by),
            Some(Item::Question(sheet)) => sheet.settled(&format!("settled elsewhere: {by}")),
            None => Line::default(),
        };
        self.close(view, keys, &line);
    }

    /// A key was pressed; says what it settled, and how.
    pub fn key(&mut self, key: char, view: &mut dyn View, keys: &mut Keys) -> Option<Said> {
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
        let Some(Item::Permission(card)) = self.items.front_mut() else { return None };
        match card.choice(key)? {
            Choice::Answer(answer) => self.answer(answer, view, keys),
            Choice::SayWhy => {
                let prompt = Line::of(Look::Accent, "  why not? › ");
                view.ask_for_words(&card.lines(waiting, terminal::width()), &prompt);
                self.typing = Some(String::new());
                keys.listen(Mode::Lines);
                None
            }
            Choice::ShowAll => {
                card.show_all();
                self.show(view, keys);
                None
            }
        }
    }

    /// A whole line was typed.
    fn line(&mut self, line: &str, view: &mut dyn View, keys: &mut Keys) -> Option<Said> {
        let now = self.clock.now();
        match self.items.front_mut()? {
            Item::Permission(card) => {
                let answer = card.refusal(line);
                self.answer(answer, view, keys)
            }
            Item::Question(sheet) => match sheet.take(line) {
                Next::Again(words) => {
                    let words = Line::of(Look::Warning, format!("  {words}"));
                    view.ask_for_words(&[words], &Sheet::prompt(sheet.until.since(now)));
                    None
                }
                Next::Another => {
                    self.show(view, keys);
                    None
                }
                Next::Done(reply) => self.reply(reply, view, keys),
            },
        }
    }

    fn answer(&mut self, answer: Answer, view: &mut dyn View, keys: &mut Keys) -> Option<Said> {
        let Some(Item::Permission(card)) = self.items.pop_front() else { return None };
        self.close(view, keys, &card.answered(&answer));
        Some(Said::Permission(Question { session: card.session, id: card.id }, answer))
    }

    fn reply(&mut self, reply: QuestionReply, view: &mut dyn View, keys: &mut Keys) -> Option<Said> {
        let Some(Item::Question(sheet)) = self.items.pop_front() else { return None };
        let said = if matches!(reply, QuestionReply::Declined { .. }) { "declined" } else { "answered" };
        self.close(view, keys, &sheet.settled(said));
        Some(Said::Reply(sheet.id, reply))
    }

    fn show_next(&mut self, view: &mut dyn View, keys: &mut Keys) {
        if self.shown.is_none() {
            self.show(view, keys);
        }
    }

    /// Puts the first one on the screen, or what is new about it.
    fn show(&mut self, view: &mut dyn View, keys: &mut Keys) {
        let Some(item) = self.items.front() else { return };
        let (waiting, columns) = (self.items.len() - 1, terminal::width());
        let now = self.clock.now();
        match item {
            Item::Permission(card) => {
                view.ask(&card.lines(waiting, columns), &Card::prompt(card.until.since(now)));
                keys.listen(Mode::Keys);
                self.typing = None;
            }
            Item::Question(sheet) => {
                view.ask_for_words(&sheet.lines(waiting, columns), &Sheet::prompt(sheet.until.since(now)));
                keys.listen(Mode::Lines);
                self.typing = Some(String::new());
            }
        }
        self.shown = Some(now);
    }

    fn close(&mut self, view: &mut dyn View, keys: &mut Keys, line: &Line) {
        view.answered(line);
        keys.rest();
        self.shown = None;
        self.typing = None;
        self.show_next(view, keys);
    }
}

#[cfg(test)]
mod tests;
