//! Formats durations, tokens, costs and small events for people. Pure.

use rooftree_protocol::{
    Event, EventBody, RunId, RunStatus, SessionId,
    event::{Denial, NoticeLevel, Report, RunEnd, Verdict, WaitReason},
    file_undo::{UndoStep, UndoneFile},
};

pub use rooftree_view::figures::{duration, model, money, tokens};

use super::{
    line::{StyledLine, TextStyle},
    sanitize::clean,
};

/// What a model on this machine does before its first word: `reading 4.1k tokens`.
pub fn reading(count: u64) -> String {
    format!("reading {}ens", tokens(count))
}

/// `1 turn`, `3 turns`.
pub fn counted(count: u64, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}

/// The end of an id that is enough to name it.
pub fn short(session: &SessionId) -> &str {
    ending(session.as_str())
}

/// The end of any id that is enough to name it.
pub fn ending(id: &str) -> &str {
    id.get(id.len().saturating_sub(8)..).unwrap_or(id)
}

/// The command that goes on with a session.
pub fn how_to_continue(session: &SessionId) -> String {
    format!("rooftree run -s {} \"…\"", short(session))
}

/// What the last line about a run tells.
pub struct FinishedRun<'a> {
    pub end: &'a RunEnd,
    pub session: &'a SessionId,
    pub run: Option<&'a RunId>,
    /// Runs it delegated to.
    pub agents: usize,
}

/// How a run ended and what it used, on one line.
pub fn facts(account: &FinishedRun<'_>) -> StyledLine {
    let &FinishedRun { end, agents, .. } = account;
    let (icon, look, word) = match end.status {
        RunStatus::Completed if end.is_refuted() => ("■", TextStyle::Warning, Some("not verified")),
        RunStatus::Completed => ("✓", TextStyle::Good, None),
        RunStatus::Failed => ("✗", TextStyle::Bad, Some("failed")),
        RunStatus::Cancelled => ("■", TextStyle::Warning, Some("stopped")),
        RunStatus::MaxTurns => ("■", TextStyle::Warning, Some("out of turns")),
        RunStatus::Budget => ("■", TextStyle::Warning, Some("out of money")),
        RunStatus::TimedOut => ("■", TextStyle::Warning, Some("out of time")),
        RunStatus::Truncated => (
            "■",
            TextStyle::Warning,
            Some("answer cut off at the output limit"),
        ),
        RunStatus::Interrupted => ("■", TextStyle::Warning, Some("interrupted")),
    };
    let mut facts: Vec<String> = word.map(str::to_owned).into_iter().collect();
    facts.push(match agents {
        0 => counted(end.turns.into(), "turn"),
        agents => counted(agents as u64, "agent"),
    });
    if end.calls > 0 {
        facts.push(counted(end.calls.into(), "tool"));
    }
    facts.push(duration(end.duration_ms));
    facts.push(tokens(end.usage.total()));
    if end.usage.cost_usd > 0.0 {
        facts.push(money(&end.usage));
    }
    StyledLine::of(look, icon).with(TextStyle::Dim, format!(" {}", facts.join(" · ")))
}

/// The last line about a run; more where it is too wide for one.
pub fn summary(account: &FinishedRun<'_>, columns: usize) -> Vec<StyledLine> {
    let &FinishedRun {
        session,
        run,
        agents,
        ..
    } = account;
    let facts = facts(account);
    let trace = run
        .filter(|_| agents > 0)
        .map(|run| format!("trace: rooftree runs trace {}", ending(run.as_str())));
    let rest: Vec<String> = std::iter::once(format!("session {session}"))
        .chain(trace)
        .collect();
    let whole = facts
        .clone()
        .with(TextStyle::Dim, format!(" · {}", rest.join(" · ")));
    if whole.width() <= columns {
        return vec![whole];
    }
    let joined = StyledLine::of(TextStyle::Dim, format!("  {}", rest.join(" · ")));
    if joined.width() <= columns {
        return vec![facts, joined];
    }
    let apart = rest
        .iter()
        .map(|fact| StyledLine::of(TextStyle::Dim, format!("  {fact}")));
    std::iter::once(facts).chain(apart).collect()
}

/// The calls that were refused because there was no one to ask, and what would have allowed them.
pub fn denials(denials: &[Denial]) -> Vec<StyledLine> {
    if denials.is_empty() {
        return Vec::new();
    }
    let count = counted(denials.len() as u64, "call");
    let mut lines = vec![StyledLine::of(
        TextStyle::Warning,
        format!("{count} not permitted:"),
    )];
    for denial in denials {
        lines.push(StyledLine::of(TextStyle::Warning, "  ⊘ ").with(
            TextStyle::Plain,
            format!("{} {}", denial.tool, denial.title),
        ));
        lines.push(StyledLine::of(
            TextStyle::Dim,
            format!("    {}", without_mark(&denial.reason)),
        ));
    }
    lines
}

/// Reasons begin with a mark for the model, `[auto-rejected: …]`, that people need not read.
fn without_mark(reason: &str) -> &str {
    match reason
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
    {
        Some((_, words)) if !words.is_empty() => words,
        _ => reason,
    }
}

/// What is said beside the work about an event; nothing for what is shown otherwise or not at all.
pub fn remarks(event: &Event) -> Vec<StyledLine> {
    match &event.body {
        EventBody::RunVerified(verdict) => checks(&event.agent, verdict),
        body => remark(body).into_iter().collect(),
    }
}

/// One line per check of the work: `✗ tests: ok.txt is missing · back to fixer (1 of 3)`.
fn checks(agent: &str, verdict: &Verdict) -> Vec<StyledLine> {
    let count = match verdict.attempts {
        0 => verdict.attempt.to_string(),
        most => format!("{} of {most}", verdict.attempt),
    };
    let then = if verdict.again {
        format!("back to {agent}")
    } else {
        "not verified".to_owned()
    };
    let line = |report: &Report| {
        let said = clean(&report.one_line());
        if report.passed {
            return StyledLine::of(TextStyle::Good, "✓ ").with(TextStyle::Dim, clean(&report.name));
        }
        StyledLine::of(TextStyle::Bad, "✗ ")
            .with(TextStyle::Plain, said)
            .with(TextStyle::Dim, format!(" · {then} ({count})"))
    };
    verdict.reports.iter().map(line).collect()
}

fn remark(body: &EventBody) -> Option<StyledLine> {
    match body {
        EventBody::RunWaiting {
            reason: WaitReason::RateLimit | WaitReason::Retry,
            detail,
            ..
        } => Some(StyledLine::of(TextStyle::Warning, "↻ ").with(TextStyle::Dim, detail)),
        EventBody::SessionCleared { .. } => Some(StyledLine::of(
            TextStyle::Dim,
            "— the context starts anew —",
        )),
        EventBody::FilesUndone(undo) => {
            let is_back =
                |file: &&UndoneFile| matches!(file.step, UndoStep::Restore | UndoStep::Delete);
            let back = undo.files.iter().filter(is_back).count() as u64;
            let words = format!("— file changes taken back: {} —", counted(back, "file"));
            Some(StyledLine::of(TextStyle::Dim, words))
        }
        EventBody::Notice {
            level,
            message,
            hint,
            ..
        } => {
            let (icon, look) = match level {
                NoticeLevel::Info => ("· ", TextStyle::Dim),
                NoticeLevel::Warning => ("! ", TextStyle::Warning),
                NoticeLevel::Error => ("✗ ", TextStyle::Bad),
            };
            let line = StyledLine::of(look, icon).with(TextStyle::Plain, message);
            Some(match hint {
                Some(hint) => line.with(TextStyle::Dim, format!(" — {hint}")),
                None => line,
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::Usage;

    use super::*;

    #[test]
    fn numbers_are_short_and_never_round_up_to_nonsense() {
        let durations = [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_000, "1.0 s"),
            (59_949, "59.9 s"),
            (59_950, "1m00s"),
        ];
        for (given, words) in durations
            .into_iter()
            .chain([(372_114, "6m13s"), (3_600_000, "1h00m")])
        {
            assert_eq!(duration(given), words);
        }
        for (given, words) in [
            (950, "950 tok"),
            (4_120, "4.1k tok"),
            (999_949, "999.9k tok"),
            (1_250_000, "1.2M tok"),
        ] {
            assert_eq!(tokens(given), words);
        }
        assert_eq!(
            (counted(1, "turn"), counted(2, "turn")),
            ("1 turn".into(), "2 turns".into())
        );
    }

    #[test]
    fn money_is_never_nothing_when_something_was_paid() {
        let table = [
            (0.194, true, "≈$0.19"),
            (0.00012, true, "≈$0.00012"),
            (1.5, false, "≥$1.50"),
            (0.0, true, "free"),
            (0.0, false, "–"),
        ];
        for (cost_usd, cost_complete, words) in table {
            assert_eq!(
                money(&Usage {
                    cost_usd,
                    cost_complete,
                    ..Usage::none()
                }),
                words
            );
        }
    }

    #[test]
    fn a_script_is_called_by_its_file() {
        assert_eq!(model("scripted//tmp/a/b.toml"), "scripted/b.toml");
        assert_eq!(model("ollama/qwen3:8b"), "ollama/qwen3:8b");
    }

    #[test]
    fn the_mark_for_the_model_is_not_shown_to_people() {
        assert_eq!(
            without_mark("[auto-rejected: no user can be asked] Write asks"),
            "Write asks"
        );
        assert_eq!(without_mark("[rejected by user]"), "[rejected by user]");
    }
}
