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
        (None, true) => agent.title.clone(),
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
        .with(TextStyle::Plain, format!("  {}", agent.title));
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
pub mod tests {
    use rooftree_protocol::{
        ErrorCode, Event, EventBody, MessageId, ParentCall, Problem, RunId, SessionId, Usage,
        event::RunEnd,
    };

    use super::*;

    pub fn event(tail: u128, body: EventBody) -> Event {
        Event {
            v: 1,
            id: None,
            ts: Timestamp(1_000),
            session: SessionId::from_entropy(tail),
            run: Some(RunId::from_entropy(tail)),
            parent_run: None,
            agent: format!("agent{tail}"),
            body,
        }
    }

    /// A run that another one delegated; 0 is the first one.
    pub fn begins(tail: u128, parent: u128, mode: RunMode) -> Event {
        let body = EventBody::RunStarted {
            mode,
            message: MessageId::from_entropy(tail),
            model: "demo/script".into(),
            title: "look".into(),
            depth: 1,
            parent: Some(ParentCall {
                session: SessionId::from_entropy(parent),
                run: RunId::from_entropy(parent),
                call: CallId::from_entropy(tail),
            }),
            policy: None,
            bounds: None,
        };
        event(tail, body)
    }

    pub fn ends(tail: u128, status: RunStatus, text: &str) -> Event {
        let error =
            (status == RunStatus::Failed).then(|| Problem::new(ErrorCode::Internal, "it broke"));
        let end = RunEnd {
            text: text.into(),
            turns: 2,
            calls: 1,
            usage: Usage {
                input: 900,
                output: 100,
                ..Usage::none()
            },
            duration_ms: 1_200,
            error,
            ..RunEnd::new(status)
        };
        event(tail, EventBody::RunCompleted(end))
    }

    const CANVAS: TreeLayout = TreeLayout {
        spinner: "◌",
        now: Timestamp(13_000),
        columns: 80,
    };

    fn drawn(agents: &RunTreeView, call: u128, columns: usize) -> Vec<String> {
        let canvas = TreeLayout { columns, ..CANVAS };
        of_calls(agents, [CallId::from_entropy(call)].iter(), canvas)
            .iter()
            .map(|line| line.paint(false).trim_end().to_owned())
            .collect()
    }

    fn family() -> RunTreeView {
        let mut agents = RunTreeView::default();
        agents.apply(&begins(1, 0, RunMode::Parallel));
        agents.apply(&begins(2, 1, RunMode::Foreground));
        agents.apply(&begins(3, 1, RunMode::Background));
        agents.apply(&ends(2, RunStatus::Completed, "three issues"));
        agents
    }

    #[test]
    fn those_below_hang_from_the_one_who_asked() {
        assert_eq!(
            drawn(&family(), 1, 80),
            [
                "  └─ ◌ agent1     demo/script  look                             12.0 s",
                "     ├─ ✓ agent2  demo/script  three issues                      1.2 s  1.0k tok",
                "     └─ ◌ agent3  demo/script  bg · look                        12.0 s",
            ]
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_the_name_stays() {
        for columns in [20, 30, 40, 60, 120] {
            let canvas = TreeLayout { columns, ..CANVAS };
            for line in of_calls(&family(), [CallId::from_entropy(1)].iter(), canvas) {
                assert!(line.width() <= columns, "{}", line.paint(false));
                assert!(line.paint(false).contains("agent"), "{}", line.paint(false));
            }
        }
        assert!(
            !drawn(&family(), 1, 50)
                .iter()
                .any(|line| line.contains("demo/script")),
            "the model goes first"
        );
    }

    #[test]
    fn each_agent_has_one_line_for_its_beginning_and_one_for_its_end() {
        let mut agents = RunTreeView::default();
        agents.apply(&begins(1, 0, RunMode::Background));
        agents.apply(&ends(1, RunStatus::Failed, ""));
        let agent = &agents.runs()[0];
        assert_eq!(
            began(agent).paint(false),
            "◌ agent1 demo/script  look  (background)"
        );
        assert_eq!(
            ended("", agent).paint(false),
            "✗ agent1 demo/script  failed: it broke · 2 turns · 1 tool · 1.2 s · 1.0k tok"
        );
    }
}
