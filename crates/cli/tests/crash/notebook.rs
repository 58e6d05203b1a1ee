//! What the model was asked, as the workers noted it, against what was stored at the time.
//!
//! A worker notes with each request whose it is and how many of the model's own replies it shows.
//! A request that shows fewer than the session had when its worker was started asks for a reply
//! again that had been given, and paid for, already.

use std::collections::HashMap;

use rooftree_protocol::Event;

use crate::fixture::{Scene, Sight};

/// How far the notes and the replies of each session were when nobody was at work.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mark {
    requests: usize,
    replies: HashMap<String, usize>,
}

/// One request: how many replies it showed, and of which session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    shown: usize,
    session: String,
}

/// Marks in order.
#[derive(Default)]
pub struct Notebook(Vec<Mark>);

impl Notebook {
    /// Notes where things stand. No worker may be alive.
    pub fn mark(&mut self, scene: &Scene, sight: &Sight) {
        self.mark_all(scene, [sight.events.as_slice()]);
    }

    /// The same with the journals of several sessions.
    pub fn mark_all<'a>(&mut self, scene: &Scene, journals: impl IntoIterator<Item = &'a [Event]>) {
        let mut replies = HashMap::new();
        for event in journals.into_iter().flatten() {
            let count: &mut usize = replies.entry(event.session.to_string()).or_default();
            *count += usize::from(event.body.name() == "message.completed");
        }
        self.0.push(Mark {
            requests: requests(scene).len(),
            replies,
        });
    }

    /// Requests for replies that were stored already.
    pub fn asked_again(&self, scene: &Scene) -> Vec<String> {
        let requests = requests(scene);
        self.0
            .iter()
            .filter_map(|mark| stale(mark, &requests))
            .collect()
    }
}

fn stale(mark: &Mark, requests: &[Request]) -> Option<String> {
    let later = requests.get(mark.requests..).unwrap_or_default();
    let stored = |request: &&Request| {
        mark.replies
            .get(&request.session)
            .copied()
            .unwrap_or_default()
    };
    let again: Vec<_> = later
        .iter()
        .filter(|request| request.shown < stored(request))
        .collect();
    (!again.is_empty()).then(|| format!("{again:?} show less than was stored"))
}

/// Every request, in order.
pub fn requests(scene: &Scene) -> Vec<Request> {
    let read = |line: &String| {
        let (shown, session) = line.strip_prefix("asked ")?.split_once(' ')?;
        Some(Request {
            shown: shown.parse().ok()?,
            session: session.to_owned(),
        })
    };
    scene
        .lines(&scene.notes())
        .iter()
        .filter_map(read)
        .collect()
}

#[test]
fn only_a_request_for_a_reply_that_was_stored_is_stale() {
    let request = |(shown, session): (usize, &str)| Request {
        shown,
        session: session.into(),
    };
    let table = [
        (
            "the reply was lost and is asked for again",
            1,
            [(0, "a"), (1, "a"), (1, "a")],
            false,
        ),
        (
            "the reply was stored and is asked for again",
            2,
            [(0, "a"), (1, "a"), (1, "a")],
            true,
        ),
        (
            "the next reply is asked for",
            2,
            [(0, "a"), (1, "a"), (2, "a")],
            false,
        ),
        (
            "another session asks for its first",
            2,
            [(0, "a"), (1, "a"), (0, "b")],
            false,
        ),
    ];
    for (what, stored, requests, is_stale) in table {
        let mark = Mark {
            requests: 2,
            replies: HashMap::from([("a".to_owned(), stored)]),
        };
        assert_eq!(
            stale(&mark, &requests.map(request)).is_some(),
            is_stale,
            "{what}"
        );
    }
}
