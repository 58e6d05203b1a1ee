//! Wrappers that start another command unchanged: what they start is judged in their place.

use super::{
    Call, Word,
    form::{Form, Style},
};

/// A wrapper without options: with any option it is not unwrapped.
const PLAIN: Form = Form::careful("", "", "").read_by(Style::First);
const NICE: Form = Form::careful("#", "n", "adjustment=").read_by(Style::First);
const STDBUF: Form = Form::careful("", "ioe", "input= output= error=").read_by(Style::First);
const TIMEOUT: Form =
    Form::careful("v", "ks", "foreground preserve-status verbose kill-after= signal=").read_by(Style::First);

/// The call that a wrapper starts: `git log` of `timeout 5 git log`. None if the call is no wrapper's, or has
/// an option that is not known.
pub fn unwrapped(call: &Call) -> Option<Call> {
    let name = call.program()?;
    let (form, own) = match name.as_str() {
        "nohup" | "builtin" | "time" | "command" => (PLAIN, 0),
        "nice" => (NICE, 0),
        "stdbuf" => (STDBUF, 0),
        // The time comes first.
        "timeout" => (TIMEOUT, 1),
        _ => return None,
    };
    let is_dashes = |word: &Word| word.literal().as_deref() == Some("--");
    let operands = form.operands(call.arguments())?;
    let before = call.arguments().len() - operands.len();
    if call.arguments().iter().take(before).any(is_dashes) {
        return None;
    }
    operands.iter().take(own).try_for_each(|word| word.literal().map(drop))?;
    let words: Vec<Word> = operands.into_iter().skip(own).cloned().collect();
    let first = words.first()?.literal()?;
    if first.starts_with('-') || first.is_empty() {
        return None;
    }
    Some(Call { assignments: call.assignments.clone(), words })
}
