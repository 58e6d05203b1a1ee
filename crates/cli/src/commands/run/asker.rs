//! Questions to the person at the terminal: one card at a time, the others wait.

use std::collections::VecDeque;

use rooftree_protocol::{Answer, Event, PermissionId, SessionId};

use crate::terminal::{
    self,
    card::{Card, Choice},
    keys::{Keys, Mode},
    line::{Line, Look},
    view::View,
};

/// A question, and the session that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub session: SessionId,
    pub id: PermissionId,
}

/// The questions that are open.
#[derive(Default)]
pub struct Asker {
    cards: VecDeque<Card>,
    /// Whether the first card is on the screen.
    shown: bool,
    /// What is being typed as the reason for a no.
    reason: Option<String>,
}

impl Asker {
    /// A question of this agent came.
    pub fn add(&mut self, who: &str, event: &Event, view: &mut dyn View, keys: &mut Keys) {
        self.cards.extend(Card::from_event(who, event));
        self.show_next(view, keys);
    }

    /// A question was settled: by us, by somebody else, or by time.
    pub fn remove(&mut self, id: &PermissionId, by: &str, view: &mut dyn View, keys: &mut Keys) {
        let was_shown = self.shown && self.cards.front().is_some_and(|card| card.id == *id);
        self.cards.retain(|card| card.id != *id);
        if was_shown {
            self.close(view, keys, &Line::of(Look::Dim, format!("settled: {by}")));
            self.show_next(view, keys);
        }
    }

    /// A key was pressed; says which question it settled, and how.
    pub fn key(&mut self, key: char, view: &mut dyn View, keys: &mut Keys) -> Option<(Question, Answer)> {
        if !self.shown {
            return None;
        }
        let answer = match &mut self.reason {
            Some(reason) if key != '\n' => {
                reason.push(key);
                return None;
            }
            Some(reason) => {
                let because = Some(reason.trim().to_owned()).filter(|words| !words.is_empty());
                Answer::deny(because)
            }
            None => match Card::choice(key)? {
                Choice::Answer(answer) => answer,
                Choice::SayWhy => {
                    self.reason = Some(String::new());
                    view.answered(&Line::of(Look::Warning, "no"));
                    view.ask(&[], &Line::of(Look::Accent, "  why? "));
                    keys.listen(Mode::Lines);
                    return None;
                }
            },
        };
        let card = self.cards.pop_front()?;
        let line = if self.reason.is_some() { Line::default() } else { Card::answered(&answer) };
        self.close(view, keys, &line);
        self.show_next(view, keys);
        Some((Question { session: card.session, id: card.id }, answer))
    }

    fn show_next(&mut self, view: &mut dyn View, keys: &mut Keys) {
        if let (false, Some(card)) = (self.shown, self.cards.front()) {
            view.ask(&card.lines(self.cards.len() - 1, terminal::width()), &Card::prompt());
            keys.listen(Mode::Keys);
            self.shown = true;
        }
    }

    fn close(&mut self, view: &mut dyn View, keys: &mut Keys, line: &Line) {
        view.answered(line);
        keys.rest();
        self.shown = false;
        self.reason = None;
    }
}
