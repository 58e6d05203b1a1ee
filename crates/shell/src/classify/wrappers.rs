//! Wrappers that start another command unchanged: what they start is judged in their place.

use super::{
    ShellCall, ShellWord,
    option_table::{OptionStyle, OptionTable},
};

/// A wrapper without options: with any option it is not unwrapped.
const PLAIN: OptionTable = OptionTable::careful("", "", "").read_by(OptionStyle::First);
const NICE: OptionTable = OptionTable::careful("#", "n", "adjustment=").read_by(OptionStyle::First);
const STDBUF: OptionTable =
    OptionTable::careful("", "ioe", "input= output= error=").read_by(OptionStyle::First);
const TIMEOUT: OptionTable = OptionTable::careful(
    "v",
    "ks",
    "foreground preserve-status verbose kill-after= signal=",
)
.read_by(OptionStyle::First);

/// The call that a wrapper starts: `git log` of `timeout 5 git log`. None if the call is no wrapper's, or has
/// an option that is not known.
pub fn unwrapped(call: &ShellCall) -> Option<ShellCall> {
    let name = call.program()?;
    let (form, own) = match name.as_str() {
        "nohup" | "builtin" | "time" | "command" => (PLAIN, 0),
        "nice" => (NICE, 0),
        "stdbuf" => (STDBUF, 0),
        // The time comes first.
        "timeout" => (TIMEOUT, 1),
        _ => return None,
    };
    let is_dashes = |word: &ShellWord| word.literal().as_deref() == Some("--");
    let operands = form.operands(call.arguments())?;
    let before = call.arguments().len() - operands.len();
    if call.arguments().iter().take(before).any(is_dashes) {
        return None;
    }
    operands
        .iter()
        .take(own)
        .try_for_each(|word| word.literal().map(drop))?;
    let words: Vec<ShellWord> = operands.into_iter().skip(own).cloned().collect();
    let first = words.first()?.literal()?;
    if first.starts_with('-') || first.is_empty() {
        return None;
    }
    Some(ShellCall {
        assignments: call.assignments.clone(),
        words,
    })
}
