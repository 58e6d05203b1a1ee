//! `find`: looking, unless it is told to act on what it finds.

use super::{Call, Standing, Word};

/// What `find` does with what it finds.
const ACTIONS: [&str; 9] =
    ["-delete", "-exec", "-execdir", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok", "-okdir"];

pub(super) fn standing(call: &Call) -> Standing {
    let acts = |word: &Word| match word.literal() {
        Some(text) => ACTIONS.iter().any(|action| text == *action) || text == "-files0-from",
        None => word.may_be_option(),
    };
    if call.arguments().iter().any(acts) {
        return Standing::Runs("it acts on what it finds");
    }
    Standing::Looks
}
