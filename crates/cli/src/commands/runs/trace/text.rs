//! Renders a trace as text, as wide as the terminal.

use unicode_width::UnicodeWidthStr;

use rooftree_view::{
    WaitCause,
    trace::{TraceBar, TraceBarEnd, TraceChart, mark},
};

use crate::{human_format::cut, terminal::sanitize::clean_line};

/// Columns of a chart, at least.
const NARROWEST: usize = 12;

/// What is drawn with.
pub struct TraceSymbols {
    work: char,
    person: char,
    provider: char,
    fails: char,
    stops: char,
    open: char,
    /// Another one follows, the last one, nothing any more, one goes by.
    branches: [&'static str; 4],
    /// Signs in words that are not drawn as they are.
    instead: &'static [(&'static str, &'static str)],
}

impl TraceSymbols {
    pub const BLOCKS: Self = Self {
        work: '█',
        person: '▒',
        provider: '░',
        fails: '✗',
        stops: '■',
        open: '…',
        branches: ["├ ", "└ ", "  ", "│ "],
        instead: &[],
    };
    pub const ASCII: Self = Self {
        work: '#',
        person: '?',
        provider: '.',
        fails: 'x',
        stops: '!',
        open: '>',
        branches: ["|-", "`-", "  ", "| "],
        instead: &[
            (" · ", "; "),
            ("≈", "~"),
            ("≥", ">"),
            ("–", "-"),
            ("…", "."),
        ],
    };

    fn spelled(&self, text: &str) -> String {
        self.instead
            .iter()
            .fold(text.to_owned(), |text, (sign, other)| {
                text.replace(sign, other)
            })
    }
}

/// Draws it. Notes stand behind a bar if there is room, else below it.
pub fn draw(picture: &TraceChart, columns: usize, signs: &TraceSymbols) -> String {
    let names: Vec<String> = picture.bars.iter().map(|bar| name(bar, signs)).collect();
    let widest = names
        .iter()
        .map(|name| name.width())
        .max()
        .unwrap_or_default()
        .min(columns / 3);
    let widths: [usize; 3] = [0, 1, 2].map(|fact| {
        let facts = picture.bars.iter().filter_map(|bar| bar.facts.get(fact));
        facts.map(|text| text.width()).max().unwrap_or_default()
    });
    let tail: usize = widths
        .iter()
        .map(|width| if *width > 0 { width + 2 } else { 0 })
        .sum();
    let chart = columns.saturating_sub(widest + 2 + tail + 1).max(NARROWEST);
    let mut text = String::new();
    for (bar, name) in picture.bars.iter().zip(&names) {
        let mut line = padded(&cut(name, widest), widest + 2) + &drawn(bar, picture, chart, signs);
        for (fact, width) in bar.facts.iter().zip(widths).filter(|(_, width)| *width > 0) {
            line.push_str("  ");
            line.push_str(&" ".repeat(width.saturating_sub(fact.width())));
            line.push_str(fact);
        }
        push(&mut text, &signs.spelled(&cut(&line, columns)));
        if !bar.note.is_empty() {
            let at = " ".repeat(widest + 2);
            let note = cut(&format!("{at}{}", clean_line(&bar.note)), columns);
            push(&mut text, &signs.spelled(&note));
        }
    }
    push(
        &mut text,
        &cut(
            &format!("{}{}", " ".repeat(widest + 2), axis(picture, chart)),
            columns,
        ),
    );
    if let Some(legend) = legend(picture, signs) {
        push(
            &mut text,
            &cut(&format!("{}{legend}", " ".repeat(widest + 2)), columns),
        );
    }
    text
}

fn push(text: &mut String, line: &str) {
    text.push_str(line.trim_end());
    text.push('\n');
}

fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(text.width())))
}

fn name(bar: &TraceBar, signs: &TraceSymbols) -> String {
    let [another, last, nothing, by] = signs.branches;
    let own = bar.branches.len().saturating_sub(1);
    let stem: String = bar
        .branches
        .iter()
        .enumerate()
        .map(|(level, follows)| match (level == own, follows) {
            (true, true) => another,
            (true, false) => last,
            (false, true) => by,
            (false, false) => nothing,
        })
        .collect();
    format!("{stem}{}", clean_line(&bar.agent))
}

/// A bar in exactly so many columns and one more, where a failure is marked.
fn drawn(bar: &TraceBar, picture: &TraceChart, columns: usize, signs: &TraceSymbols) -> String {
    let place = |moment: u64| scaled(moment, picture.length, columns);
    // Whatever happened is seen, however short it was.
    let (from, to) = (
        place(bar.from).min(columns - 1),
        place(bar.to).max(place(bar.from) + 1).min(columns),
    );
    let mut cells = vec![' '; columns + 1];
    let mut fill = |from: usize, to: usize, sign: char| {
        cells
            .iter_mut()
            .take(to)
            .skip(from)
            .for_each(|cell| *cell = sign);
    };
    fill(from, to, signs.work);
    for (cause, begin, end) in &bar.waits {
        let sign = if *cause == WaitCause::Person {
            signs.person
        } else {
            signs.provider
        };
        fill(
            place(*begin).max(from),
            place(*end).max(place(*begin) + 1).min(to),
            sign,
        );
    }
    let ending = match bar.ending {
        TraceBarEnd::Well => None,
        TraceBarEnd::Badly => Some(signs.fails),
        TraceBarEnd::Stopped => Some(signs.stops),
        TraceBarEnd::Open => Some(signs.open),
    };
    if let Some(sign) = ending {
        fill(to, to + 1, sign);
    }
    cells.into_iter().collect()
}

fn scaled(moment: u64, length: u64, columns: usize) -> usize {
    let place = u128::from(moment) * columns as u128 / u128::from(length.max(1));
    usize::try_from(place).unwrap_or(columns)
}

/// The marks of the axis; one that would touch the one before it is left out.
fn axis(picture: &TraceChart, columns: usize) -> String {
    let mut line = String::new();
    for moment in &picture.marks {
        let (at, words) = (scaled(*moment, picture.length, columns), mark(*moment));
        let used = line.width();
        if (used == 0 || used < at) && at + words.width() <= columns + 1 {
            line.push_str(&" ".repeat(at - used));
            line.push_str(&words);
        }
    }
    line
}

fn legend(picture: &TraceChart, signs: &TraceSymbols) -> Option<String> {
    let waits = |cause| {
        picture
            .bars
            .iter()
            .any(|bar| bar.waits.iter().any(|(why, ..)| *why == cause))
    };
    let mut words = Vec::new();
    if waits(WaitCause::Person) {
        words.push(format!("{} waiting for you", signs.person));
    }
    if waits(WaitCause::Provider) {
        words.push(format!("{} waiting for the provider", signs.provider));
    }
    (!words.is_empty()).then(|| words.join("   "))
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::{RunId, RunStatus, SessionId, Timestamp, Usage, event::RunMode};
    use rooftree_view::{RunSpan, WaitSpan, trace::lay_out};

    use super::*;

    fn span(depth: usize, agent: &str, from: i64, to: i64) -> RunSpan {
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
    fn family() -> Vec<RunSpan> {
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
    fn bars_stand_where_they_happened() {
        assert_eq!(
            draw(&lay_out(&family()), 64, &TraceSymbols::BLOCKS),
            "\
lead          ████████████████████████████████   6.0 s  4.5k tok
├ reviewer      ████████                         1.5 s  4.5k tok
├ tester        ████████▒▒▒▒▒▒█████              3.5 s  4.5k tok
└ researcher    ███░░░░░░░░░░░░░░░░░░░░░███✗     5.0 s  4.5k tok
              background · asked again once · failed: 429
              0    1 s  2 s   3 s  4 s  5 s
              ▒ waiting for you   ░ waiting for the provider
"
        );
    }

    #[test]
    fn plain_letters_say_the_same() {
        let text = draw(&lay_out(&family()), 64, &TraceSymbols::ASCII);
        assert!(text.is_ascii(), "{text}");
        assert!(
            text.contains("|-tester        ########??????#####"),
            "{text}"
        );
    }

    #[test]
    fn it_is_never_wider_than_it_may_be() {
        for columns in [40, 60, 80, 120, 200] {
            let text = draw(&lay_out(&family()), columns, &TraceSymbols::BLOCKS);
            assert!(
                text.lines().all(|line| line.width() <= columns),
                "{columns}\n{text}"
            );
        }
    }
}
