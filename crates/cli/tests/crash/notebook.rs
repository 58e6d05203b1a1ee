//! What the model was asked, as the workers noted it, against what was stored at the time.
//!
//! A worker notes with each request how many of the model's own replies the request shows. A
//! request that shows fewer than were stored when its worker was started asks for a reply again
//! that had been given, and paid for, already.

use crate::scene::{Scene, Sight};

/// How far the notes and the replies were when nobody was at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    requests: usize,
    replies: usize,
}

/// Marks in order.
#[derive(Default)]
pub struct Notebook(Vec<Mark>);

impl Notebook {
    /// Notes where things stand. No worker may be alive.
    pub fn mark(&mut self, scene: &Scene, sight: &Sight) {
        let replies = sight.events.iter().filter(|event| event.body.name() == "message.completed").count();
        self.0.push(Mark { requests: requests(scene).len(), replies });
    }

    /// Requests for replies that were stored already.
    pub fn asked_again(&self, scene: &Scene) -> Vec<String> {
        let requests = requests(scene);
        self.0.iter().filter_map(|mark| stale(*mark, &requests)).collect()
    }
}

fn stale(mark: Mark, requests: &[usize]) -> Option<String> {
    let later = requests.get(mark.requests..).unwrap_or_default();
    let count = later.iter().filter(|shown| **shown < mark.replies).count();
    (count > 0).then(|| format!("{count} requests showed less than the {} stored replies", mark.replies))
}

/// For each request, how many replies it showed.
pub fn requests(scene: &Scene) -> Vec<usize> {
    let lines = scene.lines(&scene.notes());
    lines.iter().filter_map(|line| line.strip_prefix("asked ")?.parse().ok()).collect()
}

#[test]
fn only_a_request_for_a_reply_that_was_stored_is_stale() {
    let table = [
        ("the reply was lost and is asked for again", Mark { requests: 2, replies: 1 }, [0, 1, 1], false),
        ("the reply was stored and is asked for again", Mark { requests: 2, replies: 2 }, [0, 1, 1], true),
        ("the next reply is asked for", Mark { requests: 2, replies: 2 }, [0, 1, 2], false),
    ];
    for (what, mark, requests, is_stale) in table {
        assert_eq!(stale(mark, &requests).is_some(), is_stale, "{what}");
    }
}
