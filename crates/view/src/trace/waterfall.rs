//! Lays a tree of runs out along one axis of time. Pure: it knows neither letters nor pixels.

use rooftree_protocol::{RunStatus, event::RunMode};

use crate::{
    RunSpan, WaitCause,
    figures::{duration, model, money, tokens},
};

/// A picture, in milliseconds from its left edge.
#[derive(Debug)]
pub struct TraceChart {
    /// One for each run, in the order of the spans.
    pub bars: Vec<TraceBar>,
    /// The right edge.
    pub length: u64,
    /// Where the axis has marks.
    pub marks: Vec<u64>,
}

/// One run.
#[derive(Debug)]
pub struct TraceBar {
    /// Its definition.
    pub agent: String,
    /// The model it began with.
    pub model: String,
    /// For each one above: whether more follow there; the last is its own.
    pub branches: Vec<bool>,
    /// When it began.
    pub from: u64,
    /// When it ended.
    pub to: u64,
    /// When it waited, and for whom.
    pub waits: Vec<(WaitCause, u64, u64)>,
    /// How it ended.
    pub ending: TraceBarEnd,
    /// How long it took, what it used.
    pub facts: [String; 3],
    /// What is remarkable about it.
    pub note: String,
}

/// How a bar ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceBarEnd {
    /// It completed.
    Well,
    /// It failed.
    Badly,
    /// It was stopped.
    Stopped,
    /// It has not ended.
    Open,
}

/// Marks an axis has at most.
const MARKS: u64 = 7;
/// Distances between marks that people read easily.
const STEPS: [u64; 18] = [
    10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000,
    600_000, 1_800_000, 3_600_000, 7_200_000,
];

/// Lays it out.
pub fn lay_out(spans: &[RunSpan]) -> TraceChart {
    let dawn = spans.iter().map(|span| span.from).min().unwrap_or_default();
    let place = |moment: rooftree_protocol::Timestamp| {
        u64::try_from(moment.since(dawn).as_millis()).unwrap_or(u64::MAX)
    };
    let length = spans
        .iter()
        .map(|span| place(span.to))
        .max()
        .unwrap_or_default()
        .max(1);
    let bars = spans.iter().enumerate().map(|(number, span)| TraceBar {
        agent: span.agent.clone(),
        model: model(&span.model),
        branches: (1..=span.depth)
            .map(|level| follows(spans, number, level))
            .collect(),
        from: place(span.from),
        to: place(span.to).max(place(span.from)),
        waits: span
            .waits
            .iter()
            .map(|wait| (wait.cause, place(wait.from), place(wait.to)))
            .collect(),
        ending: ending(span),
        facts: facts(span),
        note: note(span),
    });
    TraceChart {
        bars: bars.collect(),
        length,
        marks: marks(length),
    }
}

/// Whether another one of this level follows before the picture goes back to a higher one.
fn follows(spans: &[RunSpan], number: usize, level: usize) -> bool {
    let later = spans.iter().skip(number + 1).map(|span| span.depth);
    later
        .take_while(|depth| *depth >= level)
        .any(|depth| depth == level)
}

fn ending(span: &RunSpan) -> TraceBarEnd {
    match span.status {
        None => TraceBarEnd::Open,
        Some(RunStatus::Completed) => TraceBarEnd::Well,
        Some(RunStatus::Failed) => TraceBarEnd::Badly,
        Some(_) => TraceBarEnd::Stopped,
    }
}

fn facts(span: &RunSpan) -> [String; 3] {
    let took = u64::try_from(span.to.since(span.from).as_millis()).unwrap_or(u64::MAX);
    let used = if span.usage.total() > 0 {
        tokens(span.usage.total())
    } else {
        String::new()
    };
    let cost = if span.usage.cost_usd > 0.0 {
        money(&span.usage)
    } else {
        String::new()
    };
    [duration(took), used, cost]
}

fn note(span: &RunSpan) -> String {
    let mut notes = Vec::new();
    if span.mode == RunMode::Background {
        notes.push("background".to_owned());
    }
    if span.mode == RunMode::Verifying {
        notes.push("checks the work".to_owned());
    }
    if span.mode == RunMode::Woken {
        notes.push("woken by an answer".to_owned());
    }
    let provider = span
        .waits
        .iter()
        .filter(|wait| wait.cause == WaitCause::Provider)
        .count();
    if provider > 0 {
        notes.push(if provider == 1 {
            "asked again once".into()
        } else {
            format!("asked again {provider} times")
        });
    }
    match span.status {
        Some(RunStatus::Failed) => notes.push(format!("failed: {}", span.failure)),
        Some(RunStatus::Completed) => {}
        Some(status) => notes.push(status.to_string()),
        None => notes.push("not ended".into()),
    }
    notes.join(" · ")
}

fn marks(length: u64) -> Vec<u64> {
    let most = STEPS.last().copied().unwrap_or(1);
    let step = STEPS
        .into_iter()
        .find(|step| length / step < MARKS)
        .unwrap_or(length / MARKS / most * most + most);
    (0..=length / step).map(|number| number * step).collect()
}

/// A moment on the axis: `0`, `500 ms`, `2 s`, `1m`.
pub fn mark(moment: u64) -> String {
    match moment {
        0 => "0".into(),
        1..1_000 => format!("{moment} ms"),
        _ if moment < 60_000 && moment.is_multiple_of(1_000) => format!("{} s", moment / 1_000),
        _ if moment < 60_000 => format!("{:.1} s", moment as f64 / 1_000.0),
        _ if moment.is_multiple_of(3_600_000) => format!("{}h", moment / 3_600_000),
        _ if moment.is_multiple_of(60_000) => format!("{}m", moment / 60_000),
        _ => duration(moment),
    }
}

#[cfg(test)]
pub mod tests {
    use rooftree_protocol::{Timestamp, Usage};

    use crate::WaitSpan;
    use rooftree_protocol::{RunId, SessionId};

    use super::*;

    pub fn span(depth: usize, agent: &str, from: i64, to: i64) -> RunSpan {
        RunSpan {
            run: RunId::from_entropy(1),
            session: SessionId::from_entropy(1),
            title: String::new(),
            depth,
            agent: agent.into(),
            model: "demo/script".into(),
            mode: RunMode::Foreground,
            from: Timestamp(1_000 + from),
            to: Timestamp(1_000 + to),
            status: Some(RunStatus::Completed),
            usage: Usage {
                input: 4_000,
                output: 500,
                ..Usage::none()
            },
            waits: Vec::new(),
            steps: Vec::new(),
            earlier_steps: 0,
            failure: String::new(),
        }
    }

    /// A lead that asked three: one waited for a person, one was asked again and failed.
    pub fn family() -> Vec<RunSpan> {
        let wait = |cause, from: i64, to: i64| WaitSpan {
            cause,
            from: Timestamp(1_000 + from),
            to: Timestamp(1_000 + to),
        };
        vec![
            span(0, "lead", 0, 6_000),
            span(1, "reviewer", 500, 2_000),
            RunSpan {
                waits: vec![wait(WaitCause::Person, 2_000, 3_000)],
                ..span(1, "tester", 500, 4_000)
            },
            RunSpan {
                waits: vec![wait(WaitCause::Provider, 1_000, 5_000)],
                status: Some(RunStatus::Failed),
                failure: "429".into(),
                mode: RunMode::Background,
                ..span(1, "researcher", 500, 5_500)
            },
        ]
    }

    #[test]
    fn time_begins_with_the_first_run_and_ends_with_the_last() {
        let late = lay_out(&[span(0, "lead", 0, 2_000), span(1, "slow", 1_000, 9_500)]);
        assert_eq!(
            (late.length, late.bars[1].from, late.bars[1].to),
            (9_500, 1_000, 9_500)
        );
        assert_eq!(late.marks, [0, 2_000, 4_000, 6_000, 8_000]);
    }

    #[test]
    fn branches_say_whether_more_follow() {
        let spans = [
            span(0, "a", 0, 9),
            span(1, "b", 0, 9),
            span(2, "c", 0, 9),
            span(1, "d", 0, 9),
            span(0, "e", 0, 9),
        ];
        let branches: Vec<Vec<bool>> = lay_out(&spans)
            .bars
            .into_iter()
            .map(|bar| bar.branches)
            .collect();
        assert_eq!(
            branches,
            [vec![], vec![true], vec![true, false], vec![false], vec![]]
        );
    }

    #[test]
    fn what_is_remarkable_is_noted() {
        let notes: Vec<String> = lay_out(&family())
            .bars
            .into_iter()
            .map(|bar| bar.note)
            .collect();
        assert_eq!(
            notes,
            ["", "", "", "background · asked again once · failed: 429"]
        );
    }

    #[test]
    fn an_axis_has_few_marks_however_long_it_is() {
        for length in [
            1,
            9,
            70,
            999,
            4_200,
            61_000,
            3_599_000,
            90_000_000,
            10_000_000_000,
        ] {
            let marks = marks(length);
            assert!((1..=9).contains(&marks.len()), "{length}: {marks:?}");
        }
        assert_eq!(
            [0, 500, 2_000, 60_000, 7_200_000].map(mark),
            ["0", "500 ms", "2 s", "1m", "2h"]
        );
    }
}
