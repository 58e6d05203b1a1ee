//! Draws the board as lines of text: a section per state, one row per session, and what each asks below it.

use std::path::Path;

use rooftree_protocol::Timestamp;
use rooftree_view::board::{
    BoardProcess, BoardReason, BoardReasonKind, BoardRow, BoardState, BoardWaitReason,
};

use crate::{
    human_format,
    terminal::{
        line::{StyledLine, TextStyle},
        run_text::{ending, short, tokens},
    },
};

/// What is shown if there are no sessions.
pub(super) const EMPTY: &str =
    "nothing is on the board: rooftree run \"…\" opens a session, rooftree demo shows how";
/// What is asked below one row; the rest is counted.
const MOST_REASONS: usize = 5;
/// Columns of a board whose terminal is not known.
const USUAL: usize = 120;
/// Terminals narrower than this have no column of places.
const WIDE: usize = 100;

/// How a board is drawn.
#[derive(Clone, Copy)]
pub(super) struct BoardLook {
    pub(super) now: Timestamp,
    /// Columns there are.
    pub(super) width: Option<usize>,
    /// Rows there are; none for all.
    pub(super) height: Option<usize>,
}

/// The board as lines that fit.
pub(super) fn lines(rows: &[BoardRow], look: BoardLook) -> Vec<StyledLine> {
    let width = look.width.unwrap_or(USUAL).max(20);
    let mut lines = Vec::new();
    let mut state = None;
    for row in rows {
        if state != Some(row.state) {
            state = Some(row.state);
            let count = rows.iter().filter(|other| other.state == row.state).count();
            let (word, style) = heading(row.state);
            lines.push(StyledLine::of(style, format!("{word} ({count})")));
        }
        lines.push(first_line(row, look.now, width));
        lines.extend(details(row, look.now));
    }
    if rows.is_empty() {
        lines.push(StyledLine::of(TextStyle::Dim, EMPTY));
    }
    let lines = lines.into_iter().map(|line| line.cut(width));
    fitted(lines.collect(), look.height)
}

/// At most so many lines; the last one says how many are left out.
fn fitted(mut lines: Vec<StyledLine>, height: Option<usize>) -> Vec<StyledLine> {
    let Some(room) = height.map(|height| height.saturating_sub(1).max(2)) else {
        return lines;
    };
    if lines.len() > room {
        let left = lines.len() - (room - 1);
        lines.truncate(room - 1);
        let words = format!("… {left} more lines; rooftree board --once shows all");
        lines.push(StyledLine::of(TextStyle::Dim, words));
    }
    lines
}

fn heading(state: BoardState) -> (&'static str, TextStyle) {
    match state {
        BoardState::NeedsYou => ("NEEDS YOU", TextStyle::Warning),
        BoardState::Failed => ("FAILED", TextStyle::Bad),
        BoardState::Working => ("WORKING", TextStyle::Accent),
        BoardState::Waiting => ("WAITING", TextStyle::Accent),
        BoardState::Idle => ("IDLE", TextStyle::Strong),
        BoardState::Done => ("DONE", TextStyle::Good),
        BoardState::Stopped => ("STOPPED", TextStyle::Strong),
    }
}

/// Id, title and agent on the left, how long and what was used on the right.
fn first_line(row: &BoardRow, now: Timestamp, width: usize) -> StyledLine {
    let mark = if row.unread { "•" } else { " " };
    let pin = if row.pinned { "^" } else { " " };
    let facts = facts(row, now, width).join(" · ");
    let facts = StyledLine::of(TextStyle::Dim, facts);
    let head = StyledLine::of(TextStyle::Plain, format!("{mark}{pin}"))
        .with(TextStyle::Dim, format!("{}  ", short(&row.session)));
    let agent = StyledLine::of(TextStyle::Dim, format!("  {}", row.agent.name));
    let title = match row.title.as_str() {
        "" => StyledLine::of(TextStyle::Dim, "nothing asked yet"),
        title => StyledLine::of(TextStyle::Strong, title),
    };
    let room = width.saturating_sub(facts.width() + 2).max(24);
    let title_room = room.saturating_sub(head.width() + agent.width()).max(8);
    let left = head.and(title.cut(title_room)).and(agent).cut(room);
    let gap = width.saturating_sub(left.width() + facts.width()).max(2);
    left.and(StyledLine::of_text(" ".repeat(gap))).and(facts)
}

fn facts(row: &BoardRow, now: Timestamp, width: usize) -> Vec<String> {
    let mut facts = Vec::new();
    if let Some(wait) = &row.waiting {
        let what = match wait.reason {
            BoardWaitReason::RateLimit => "rate limit",
            BoardWaitReason::Child => "for an agent",
            BoardWaitReason::Retry => "tries again",
        };
        let until = wait.until.map(|until| format!(" {}", span(until, now)));
        facts.push(format!("{what}{}", until.unwrap_or_default()));
    }
    let children = row.children;
    if children.working + children.needs_you > 0 {
        facts.push(format!("{} below", children.working + children.needs_you));
    }
    if let Some([done, all]) = row.todo {
        facts.push(format!("{done}/{all}"));
    }
    if width >= WIDE {
        facts.push(place(row));
        facts.push(tokens(row.usage.tokens));
    }
    let since = row.ended.or(row.started);
    facts.extend(since.map(|since| span(now, since)));
    facts.retain(|fact| !fact.is_empty());
    facts
}

fn place(row: &BoardRow) -> String {
    let cwd = human_format::place(Path::new(&row.place.cwd));
    let cwd = human_format::cut(&cwd, 24);
    let owner = row.owner.as_ref();
    match (row.process, owner) {
        (BoardProcess::Elsewhere, Some(owner)) => format!("{cwd} on {}", owner.host),
        _ => cwd,
    }
}

/// What it asks, with the ids to answer by; else what it does or said.
fn details(row: &BoardRow, now: Timestamp) -> Vec<StyledLine> {
    if row.why.is_empty() {
        let is_news = row.headline != row.title && !row.headline.is_empty();
        let line = StyledLine::of(TextStyle::Dim, format!("            {}", row.headline));
        return Vec::from_iter(is_news.then_some(line));
    }
    let shown = row.why.iter().take(MOST_REASONS);
    let mut lines: Vec<StyledLine> = shown.map(|why| reason(why, now)).collect();
    let left = row.why.len().saturating_sub(MOST_REASONS);
    if left > 0 {
        lines.push(StyledLine::of(
            TextStyle::Dim,
            format!("            and {left} more"),
        ));
    }
    lines
}

fn reason(why: &BoardReason, now: Timestamp) -> StyledLine {
    let kind = match why.kind {
        BoardReasonKind::Permission => "permission",
        BoardReasonKind::Question => "question",
        BoardReasonKind::Credential => "login",
        BoardReasonKind::Budget => "budget",
        BoardReasonKind::FailedRun => "run",
        BoardReasonKind::FailedDelivery => "delivery",
        BoardReasonKind::ScheduleOff => "schedule off",
        BoardReasonKind::ScheduleFailed => "schedule",
        BoardReasonKind::QuarantinedTool => "tool changed",
    };
    let id = format!("{kind} {}", ending(&why.id));
    StyledLine::of(TextStyle::Warning, format!("            {id}"))
        .with(
            TextStyle::Dim,
            format!("  {}  {}  ", span(now, why.since), why.by),
        )
        .with(TextStyle::Plain, &why.title)
}

/// A duration in a few characters: `42s`, `5m`, `3h`, `2d`.
fn span(later: Timestamp, earlier: Timestamp) -> String {
    match later.since(earlier).as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3_600 => format!("{}m", seconds / 60),
        seconds @ 3_600..86_400 => format!("{}h", seconds / 3_600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::SessionId;
    use rooftree_view::board::{
        BoardAgent, BoardPlace, BoardRev, BoardUsage, BoardWait, ChildCounts,
    };

    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    fn row(number: u128, state: BoardState, title: &str) -> BoardRow {
        let session = SessionId::from_entropy(number);
        BoardRow {
            root: session.clone(),
            session,
            rev: BoardRev::default(),
            head: 9,
            agent: BoardAgent {
                name: "lead".into(),
                ..BoardAgent::default()
            },
            title: title.into(),
            state,
            why: Vec::new(),
            waiting: None,
            process: BoardProcess::Alive,
            owner: None,
            headline: "Adding swept checks to the collision system".into(),
            started: Some(Timestamp(NOW.0 - 300_000)),
            ended: None,
            children: ChildCounts {
                working: 2,
                needs_you: 1,
                done: 3,
                failed: 0,
            },
            todo: Some([2, 5]),
            usage: BoardUsage {
                tokens: 31_000,
                cost_usd: 0.05,
                complete: true,
            },
            origin: "user".into(),
            place: BoardPlace {
                host: "box".into(),
                cwd: "/src/shop".into(),
                branch: None,
            },
            unread: true,
            pinned: false,
        }
    }

    fn board() -> Vec<BoardRow> {
        let mut asks = row(
            1,
            BoardState::NeedsYou,
            "Refactor the authentication of the whole shop",
        );
        asks.why = vec![BoardReason {
            kind: BoardReasonKind::Permission,
            id: "per_abcdefgh12345678".into(),
            title: "Bash cargo test -p auth".into(),
            by: "test-writer".into(),
            since: Timestamp(NOW.0 - 120_000),
        }];
        let mut waits = row(2, BoardState::Waiting, "日本語の題名はここにあります");
        let until = Some(Timestamp(NOW.0 + 30_000));
        waits.waiting = Some(BoardWait {
            reason: BoardWaitReason::RateLimit,
            until,
        });
        vec![asks, row(3, BoardState::Working, "Fix\u{1b}[31m it"), waits]
    }

    #[test]
    fn the_board_fits_60_80_and_120_columns_and_names_what_to_answer() {
        for width in [60, 80, 120] {
            let look = BoardLook {
                now: NOW,
                width: Some(width),
                height: None,
            };
            let lines = lines(&board(), look);
            assert!(lines.iter().all(|line| line.width() <= width), "{width}");
            let text: Vec<String> = lines.iter().map(|line| line.paint(false)).collect();
            let text = text.join("\n");
            for part in [
                "NEEDS YOU (1)",
                "permission 12345678  2m",
                "WORKING (1)",
                "rate limit 30s",
                "  lead",
            ] {
                assert!(text.contains(part), "{width}: {part}\n{text}");
            }
            assert!(!text.contains('\u{1b}'), "{text}");
        }
    }

    #[test]
    fn a_long_title_leaves_room_for_the_agent_and_an_empty_one_has_words() {
        let look = BoardLook {
            now: NOW,
            width: Some(60),
            height: None,
        };
        let long = "Refactor the authentication of the whole shop and then all of its tests";
        for (title, shown) in [(long, "Refactor"), ("", "nothing asked yet")] {
            let lines = lines(&[row(1, BoardState::Working, title)], look);
            let text: Vec<String> = lines.iter().map(|line| line.paint(false)).collect();
            let line = text.iter().find(|line| line.contains(shown));
            assert!(
                line.is_some_and(|line| line.contains("  lead")),
                "{text:#?}"
            );
        }
    }

    #[test]
    fn a_low_terminal_shows_the_first_lines_and_counts_the_rest() {
        let look = BoardLook {
            now: NOW,
            width: Some(80),
            height: Some(5),
        };
        let lines = lines(&board(), look);
        assert_eq!(lines.len(), 4);
        let last = lines.last().unwrap().paint(false);
        assert!(last.contains("more lines"), "{last}");
    }
}
