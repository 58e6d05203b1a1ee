//! Draws delegated agents: a tree while they work, one line each when they begin and end. Pure.

use rooftree_protocol::{
    CallId, RunStatus, Timestamp,
    event::{RunMode, WaitReason},
};
use rooftree_view::{RunActivity, RunPhase, RunTreeView, TreeRun};
use unicode_width::UnicodeWidthStr;

use super::{
    line::{StyledLine, TextStyle, prefix},
    run_text,
    sanitize::clean_line,
};

/// Columns of a model's name, at most.
const MODEL: usize = 26;
/// Columns for what an agent does, below which its model is left out instead.
const DOING: usize = 18;

/// A tree's surroundings: what turns while it waits, what time it is, how wide it may be.
#[derive(Clone, Copy)]
pub struct TreeLayout {
    pub spinner: &'static str,
    pub now: Timestamp,
    pub columns: usize,
}

/// One agent and its place in the tree.
struct Row<'a> {
    /// The lines that lead to it.
    stem: String,
    agent: &'a TreeRun,
}

/// Those some calls delegated to, and those below them.
pub fn of_calls<'a>(
    agents: &RunTreeView,
    calls: impl Iterator<Item = &'a CallId>,
    canvas: TreeLayout,
) -> Vec<StyledLine> {
    let asked: Vec<&TreeRun> = calls
        .flat_map(|call| agents.started_by_call(call))
        .collect();
    let mut rows = Vec::new();
    grow(agents, asked, "  ", &mut rows);
    draw(&rows, canvas)
}

/// Some agents side by side, for background agents that no run waits for.
pub fn beside<'a>(
    agents: impl Iterator<Item = &'a TreeRun>,
    canvas: TreeLayout,
) -> Vec<StyledLine> {
    let rows: Vec<Row<'_>> = agents
        .map(|agent| Row {
            stem: String::new(),
            agent,
        })
        .collect();
    draw(&rows, canvas)
}

fn grow<'a>(
    agents: &'a RunTreeView,
    siblings: Vec<&'a TreeRun>,
    stem: &str,
    rows: &mut Vec<Row<'a>>,
) {
    let last = siblings.len().saturating_sub(1);
    for (number, agent) in siblings.into_iter().enumerate() {
        let (branch, below) = if number == last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        rows.push(Row {
            stem: format!("{stem}{branch}"),
            agent,
        });
        grow(
            agents,
            agents.started_by_run(&agent.run).collect(),
            &format!("{stem}{below}"),
            rows,
        );
    }
}

fn draw(rows: &[Row<'_>], canvas: TreeLayout) -> Vec<StyledLine> {
    let widest =
        |width: &dyn Fn(&Row<'_>) -> usize| rows.iter().map(width).max().unwrap_or_default();
    let name = widest(&|row| row.stem.width() + 2 + row.agent.agent.width());
    let model = widest(&|row| run_text::model(&row.agent.model).width()).min(MODEL);
    let facts: Vec<[String; 3]> = rows
        .iter()
        .map(|row| facts(row.agent, canvas.now))
        .collect();
    let facts = in_columns(&facts);
    let tail = facts
        .iter()
        .map(|text| text.width())
        .max()
        .unwrap_or_default();
    let rest = canvas.columns.saturating_sub(name + tail + 4);
    // Who it is, what it does and how long: that is what a narrow terminal still shows.
    let (model, doing) = if rest >= model + 2 + DOING {
        (model, rest - model - 2)
    } else {
        (0, rest)
    };
    rows.iter()
        .zip(facts)
        .map(|(row, facts)| {
            let (icon, look) = icon(row.agent, canvas.spinner);
            let used = row.stem.width() + 2;
            let mut line = StyledLine::of(TextStyle::Dim, &row.stem)
                .with(look, format!("{icon} "))
                .with(
                    TextStyle::Strong,
                    padded(&row.agent.agent, name.saturating_sub(used)),
                );
            if model > 0 {
                line = line.with(
                    TextStyle::Dim,
                    format!("  {}", padded(&run_text::model(&row.agent.model), model)),
                );
            }
            line.with(
                TextStyle::Plain,
                format!("  {}", padded(&activity(row.agent), doing)),
            )
            .with(TextStyle::Dim, format!("  {facts}"))
            .cut(canvas.columns)
        })
        .collect()
}

/// Exactly so many columns of a text, with a sign if something was left out.
fn padded(text: &str, columns: usize) -> String {
    let text = clean_line(text);
    match columns.checked_sub(text.width()) {
        Some(room) => format!("{text}{}", " ".repeat(room)),
        None => {
            let kept = prefix(&text, columns.saturating_sub(1));
            format!(
                "{kept}…{}",
                " ".repeat(columns.saturating_sub(kept.width() + 1))
            )
        }
    }
}

fn activity(agent: &TreeRun) -> String {
    let doing = doing(agent);
    let what = match (agent.status(), doing.is_empty()) {
        (Some(status), true) => status.to_string(),
        (None, true) => agent.origin.title.clone(),
        (_, false) => doing,
    };
    if agent.mode() == RunMode::Background && !agent.has_ended() {
        format!("bg · {what}")
    } else {
        what
    }
}

/// The last tool it used, or what else it does; after its end, what came of it. Empty if nothing is known.
fn doing(agent: &TreeRun) -> String {
    if let Some(end) = &agent.end {
        return match &end.error {
            Some(problem) => problem.message.clone(),
            None if end.is_refuted() => end.refutation(),
            None => end.text.trim().lines().next().unwrap_or_default().into(),
        };
    }
    match &agent.activity {
        RunActivity::Starting => String::new(),
        RunActivity::Reading { tokens } => run_text::reading(*tokens),
        RunActivity::Thinking => "thinking".into(),
        RunActivity::Answering => "answering".into(),
        RunActivity::Calling { tool, title } => format!("{tool} {title}"),
        RunActivity::Asking { tool, title } => format!("wants {tool} {title}"),
        RunActivity::Waiting { detail } => detail.clone(),
    }
}

/// How long it has taken up to now.
fn milliseconds(agent: &TreeRun, now: Timestamp) -> u64 {
    let so_far = now.since(agent.started_at).as_millis();
    agent
        .duration_ms()
        .unwrap_or_else(|| u64::try_from(so_far).unwrap_or(u64::MAX))
}

/// How long, how many tokens, how much money.
fn facts(agent: &TreeRun, now: Timestamp) -> [String; 3] {
    let milliseconds = milliseconds(agent, now);
    let time = if agent.has_ended() {
        milliseconds
    } else {
        milliseconds / 100 * 100
    };
    let usage = agent.own_usage();
    let used = usage.total();
    [
        run_text::duration(time),
        if used > 0 {
            run_text::tokens(used)
        } else {
            String::new()
        },
        if usage.cost_usd > 0.0 {
            run_text::money(&usage)
        } else {
            String::new()
        },
    ]
}

/// Each row's facts as one text, below those of the row above.
fn in_columns(rows: &[[String; 3]]) -> Vec<String> {
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|fact| fact.width())
            .max()
            .unwrap_or_default()
    };
    let widths = [0, 1, 2].map(width);
    let cell = |(fact, width): (&String, usize)| {
        format!("{}{fact}", " ".repeat(width.saturating_sub(fact.width())))
    };
    rows.iter()
        .map(|row| {
            let cells = row.iter().zip(widths).filter(|(_, width)| *width > 0);
            cells.map(cell).collect::<Vec<String>>().join("  ")
        })
        .collect()
}

fn icon(agent: &TreeRun, spinner: &'static str) -> (&'static str, TextStyle) {
    let status = match &agent.phase {
        RunPhase::Ended { status } => status,
        RunPhase::Waiting { reason, .. } => match reason {
            WaitReason::Permission | WaitReason::Question => return ("?", TextStyle::Warning),
            WaitReason::RateLimit | WaitReason::Retry => return ("↻", TextStyle::Warning),
            WaitReason::Child => return (spinner, TextStyle::Accent),
        },
        RunPhase::Queued | RunPhase::Working => return (spinner, TextStyle::Accent),
    };
    match status {
        RunStatus::Completed if agent.verified() == Some(false) => ("■", TextStyle::Warning),
        RunStatus::Completed => ("✓", TextStyle::Good),
        RunStatus::Failed => ("✗", TextStyle::Bad),
        _ => ("■", TextStyle::Warning),
    }
}

/// An agent that began.
pub fn began(agent: &TreeRun) -> StyledLine {
    let model = run_text::model(&agent.model);
    let line = StyledLine::of(TextStyle::Accent, "◌ ").with(TextStyle::Strong, &agent.agent);
    let line = line
        .with(TextStyle::Dim, format!(" {model}"))
        .with(TextStyle::Plain, format!("  {}", agent.origin.title));
    match agent.mode() {
        RunMode::Background => line.with(TextStyle::Dim, "  (background)"),
        RunMode::Verifying => line.with(TextStyle::Dim, "  (checks the work)"),
        _ => line,
    }
}

/// An agent that ended, below its call or on its own.
pub fn ended(stem: &str, agent: &TreeRun) -> StyledLine {
    let (icon, look) = icon(agent, "◌");
    let line = StyledLine::of(TextStyle::Dim, stem)
        .with(look, format!("{icon} "))
        .with(TextStyle::Strong, &agent.agent);
    let model = run_text::model(&agent.model);
    let line = if model.is_empty() {
        line
    } else {
        line.with(TextStyle::Dim, format!(" {model}"))
    };
    let mut facts = Vec::new();
    match agent.status() {
        Some(RunStatus::Completed) if agent.verified() == Some(false) => {
            facts.push(format!("not verified: {}", doing(agent)));
        }
        Some(RunStatus::Completed) => {}
        Some(RunStatus::Failed) => facts.push(format!("failed: {}", doing(agent))),
        Some(status) => facts.push(status.to_string()),
        None => facts.push("goes on in background".to_owned()),
    }
    if agent.has_ended() {
        let (turns, calls) = (agent.total_turns(), agent.total_calls());
        if turns > 0 {
            facts.push(run_text::counted(turns.into(), "turn"));
        }
        if calls > 0 {
            facts.push(run_text::counted(calls.into(), "tool"));
        }
        facts.extend(
            self::facts(agent, agent.started_at)
                .into_iter()
                .filter(|fact| !fact.is_empty()),
        );
    }
    line.with(TextStyle::Dim, format!("  {}", facts.join(" · ")))
}

#[cfg(test)]
pub mod tests;
