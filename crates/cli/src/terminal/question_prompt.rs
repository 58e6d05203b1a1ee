//! Prompt for an agent's questions: one after the other, answered with numbers or words.

use std::{collections::BTreeMap, time::Duration};

use rooftree_protocol::{Choice, Event, EventBody, Question, QuestionId, QuestionReply, Timestamp};

use super::{
    line::{StyledLine, TextStyle},
    permission_prompt::in_words,
    sanitize::clean_line,
    wrap,
};

/// What an agent wants to know, and what has been answered so far.
#[derive(Clone, Debug)]
pub struct QuestionPrompt {
    /// Which questions.
    pub id: QuestionId,
    /// When they are taken for declined.
    pub until: Timestamp,
    agent: String,
    questions: Vec<Question>,
    answers: BTreeMap<String, Vec<String>>,
}

/// What a typed line leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionStep {
    /// It cannot be an answer; says what can.
    Again(String),
    /// The next question.
    Another,
    /// All is said.
    Done(QuestionReply),
}

impl QuestionPrompt {
    /// The sheet for what this agent asks; none if the event asks nothing.
    pub fn from_event(agent: &str, event: &Event) -> Option<Self> {
        let EventBody::QuestionRequested {
            id,
            questions,
            until,
            ..
        } = &event.body
        else {
            return None;
        };
        Some(Self {
            id: id.clone(),
            until: *until,
            agent: agent.to_owned(),
            questions: questions.clone(),
            answers: BTreeMap::new(),
        })
    }

    fn current(&self) -> Option<&Question> {
        self.questions.get(self.answers.len())
    }

    /// The question that is next, in lines of so many columns.
    pub fn lines(&self, waiting: usize, columns: usize) -> Vec<StyledLine> {
        let Some(question) = self.current() else {
            return Vec::new();
        };
        let columns = columns.max(20);
        let mut heading = StyledLine::of(TextStyle::Warning, "? ")
            .with(TextStyle::Strong, &self.agent)
            .with(TextStyle::Plain, " asks");
        if self.questions.len() > 1 {
            let place = format!(" ({} of {})", self.answers.len() + 1, self.questions.len());
            heading = heading.with(TextStyle::Dim, place);
        }
        if waiting > 0 {
            heading = heading.with(TextStyle::Dim, format!(" · {waiting} more waiting"));
        }
        let mut lines = vec![heading.cut(columns)];
        let rows = wrap::rows(
            &super::sanitize::clean(&question.text),
            columns.saturating_sub(2),
        );
        lines.extend(
            rows.iter()
                .map(|row| StyledLine::of(TextStyle::Plain, "  ").with(TextStyle::Strong, row)),
        );
        for (number, choice) in (1..).zip(&question.choices) {
            lines.extend(choice_lines(number, choice, columns));
        }
        lines.push(StyledLine::of(TextStyle::Dim, format!("  {}", how(question))).cut(columns));
        lines
    }

    /// All of its questions for a page, each with the name it is answered by.
    pub fn facts(&self, columns: usize) -> Vec<StyledLine> {
        let columns = columns.max(20);
        let mut lines = vec![
            StyledLine::of(TextStyle::Warning, "? ")
                .with(TextStyle::Strong, &self.agent)
                .with(TextStyle::Plain, " asks")
                .cut(columns),
        ];
        for question in &self.questions {
            let rows = wrap::rows(&clean_line(&question.text), columns.saturating_sub(2));
            lines
                .extend(rows.iter().map(|row| {
                    StyledLine::of(TextStyle::Plain, "  ").with(TextStyle::Strong, row)
                }));
            lines.push(
                StyledLine::of(TextStyle::Dim, format!("  {}=…", question.name)).cut(columns),
            );
            for (number, choice) in (1..).zip(&question.choices) {
                lines.extend(choice_lines(number, choice, columns));
            }
        }
        lines
    }

    /// Where the answer is typed; says how long there is for it.
    pub fn prompt(left: Duration) -> StyledLine {
        StyledLine::of(
            TextStyle::Dim,
            format!("  declined automatically in {} ", in_words(left)),
        )
        .with(TextStyle::Accent, "› ")
    }

    /// Takes a typed line in. An empty one, or Esc, declines all of it.
    pub fn take(&mut self, line: &str) -> QuestionStep {
        let Some(question) = self.current() else {
            return QuestionStep::Done(self.reply());
        };
        if is_declined(line) {
            return QuestionStep::Done(QuestionReply::Declined { because: None });
        }
        match chosen(question, line) {
            Err(words) => QuestionStep::Again(words),
            Ok(answer) => {
                self.answers.insert(question.name.clone(), answer);
                if self.current().is_some() {
                    QuestionStep::Another
                } else {
                    QuestionStep::Done(self.reply())
                }
            }
        }
    }

    fn reply(&self) -> QuestionReply {
        QuestionReply::Answered {
            answers: self.answers.clone(),
        }
    }

    /// What is left of it when it is settled.
    pub fn settled(&self, said: &str) -> StyledLine {
        StyledLine::of(TextStyle::Dim, "· ")
            .with(TextStyle::Strong, &self.agent)
            .with(TextStyle::Dim, format!(" asked — {said}"))
    }
}

fn is_declined(line: &str) -> bool {
    line.trim_matches(|c: char| c.is_whitespace() || c == '\u{1b}')
        .is_empty()
}

fn choice_lines(number: usize, choice: &Choice, columns: usize) -> Vec<StyledLine> {
    let mut lines = vec![
        StyledLine::of(TextStyle::Accent, format!("  {number:>2} "))
            .with(TextStyle::Plain, &choice.label)
            .cut(columns),
    ];
    let rows = wrap::rows(&clean_line(&choice.description), columns.saturating_sub(5));
    lines.extend(
        rows.iter()
            .map(|row| StyledLine::of(TextStyle::Dim, format!("     {row}"))),
    );
    lines
}

/// How a question is answered, in words.
fn how(question: &Question) -> String {
    let numbers = match (question.choices.len(), question.several) {
        (0, _) => return "type your answer; Enter alone declines".into(),
        (_, true) => "numbers, e.g. 1 3",
        (_, false) => "a number",
    };
    let words = if question.free {
        ", or words of your own"
    } else {
        ""
    };
    format!("type {numbers}{words}; Enter alone declines")
}

/// What a line means as an answer; or what can be typed instead. Numbers and labels are choices,
/// other words an answer of one's own where that is welcome.
pub fn chosen(question: &Question, line: &str) -> Result<Vec<String>, String> {
    let line = line.trim();
    if question.choices.is_empty() {
        return Ok(vec![line.to_owned()]);
    }
    if let Some(choice) = labelled(question, line) {
        return Ok(vec![choice]);
    }
    let words: Vec<&str> = line
        .split([',', ' '])
        .filter(|word| !word.is_empty())
        .collect();
    let are_numbers = words
        .iter()
        .all(|word| word.chars().all(|c| c.is_ascii_digit()));
    if are_numbers && !words.is_empty() {
        return numbered(question, &words);
    }
    if question.several {
        let labels: Option<Vec<String>> = line
            .split(',')
            .map(|part| labelled(question, part.trim()))
            .collect();
        if let Some(labels) = labels {
            return Ok(labels);
        }
    }
    if question.free {
        Ok(vec![line.to_owned()])
    } else {
        Err(possible(question))
    }
}

fn labelled(question: &Question, text: &str) -> Option<String> {
    let same = |choice: &&Choice| choice.label.eq_ignore_ascii_case(text);
    question
        .choices
        .iter()
        .find(same)
        .map(|choice| choice.label.clone())
}

fn numbered(question: &Question, words: &[&str]) -> Result<Vec<String>, String> {
    if words.len() > 1 && !question.several {
        return Err("only one can be chosen".into());
    }
    let mut labels: Vec<String> = Vec::new();
    for word in words {
        let place = word
            .parse::<usize>()
            .ok()
            .and_then(|number| number.checked_sub(1));
        let choice = place
            .and_then(|place| question.choices.get(place))
            .ok_or_else(|| possible(question))?;
        if !labels.contains(&choice.label) {
            labels.push(choice.label.clone());
        }
    }
    Ok(labels)
}

fn possible(question: &Question) -> String {
    match question.choices.len() {
        1 => "there is only choice 1".into(),
        last => format!("choose from 1 to {last}"),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A question with three choices.
    pub fn question(name: &str, several: bool, free: bool) -> Question {
        let choice = |label: &str| Choice {
            label: label.into(),
            description: format!("it is {label}"),
        };
        let choices = ["red", "green", "dark blue"].map(choice).to_vec();
        Question {
            name: name.into(),
            text: format!("Which {name}?"),
            choices,
            several,
            free,
        }
    }

    /// A sheet of these.
    pub fn sheet(questions: Vec<Question>) -> QuestionPrompt {
        let body = EventBody::QuestionRequested {
            id: QuestionId::from_entropy(1),
            call: rooftree_protocol::CallId::from_entropy(1),
            questions,
            until: Timestamp(3_600_000),
        };
        QuestionPrompt::from_event("lead", &super::super::permission_prompt::tests::event(body))
            .unwrap()
    }

    #[test]
    fn numbers_labels_and_words_are_answers_where_they_are_welcome() {
        let (one, several, free) = (
            question("a", false, false),
            question("a", true, false),
            question("a", false, true),
        );
        let words = Question {
            choices: Vec::new(),
            ..free.clone()
        };
        type Wanted = Result<&'static [&'static str], &'static str>;
        let table: [(&Question, &str, Wanted); 12] = [
            (&one, "2", Ok(&["green"])),
            (&one, " Dark Blue ", Ok(&["dark blue"])),
            (&one, "1 2", Err("only one can be chosen")),
            (&one, "4", Err("choose from 1 to 3")),
            (&one, "0", Err("choose from 1 to 3")),
            (&one, "99999999999999999999999", Err("choose from 1 to 3")),
            (&one, "pink", Err("choose from 1 to 3")),
            (&several, "3,1 1", Ok(&["dark blue", "red"])),
            (&several, "red, dark blue", Ok(&["red", "dark blue"])),
            (&free, "pink with dots", Ok(&["pink with dots"])),
            (&words, "42", Ok(&["42"])),
            (&words, "no idea", Ok(&["no idea"])),
        ];
        for (question, line, wanted) in table {
            let got = chosen(question, line);
            let wanted = wanted
                .map(|labels| {
                    labels
                        .iter()
                        .map(|label| (*label).to_owned())
                        .collect::<Vec<_>>()
                })
                .map_err(str::to_owned);
            assert_eq!(got, wanted, "{line}");
        }
    }

    #[test]
    fn questions_come_one_after_the_other_and_an_empty_line_declines_all() {
        let mut sheet = sheet(vec![
            question("wall", false, false),
            question("door", true, false),
        ]);
        assert_eq!(
            sheet.take("9"),
            QuestionStep::Again("choose from 1 to 3".into())
        );
        assert_eq!(sheet.take("1"), QuestionStep::Another);
        let mut other = sheet.clone();
        for empty in ["", "  ", "\u{1b}"] {
            assert_eq!(
                other.take(empty),
                QuestionStep::Done(QuestionReply::Declined { because: None })
            );
        }
        let QuestionStep::Done(QuestionReply::Answered { answers }) = sheet.take("1,2") else {
            panic!("all is said")
        };
        assert_eq!(answers["wall"], ["red"]);
        assert_eq!(answers["door"], ["red", "green"]);
    }

    #[test]
    fn a_sheet_shows_the_question_and_its_choices_and_obeys_nothing() {
        let mut asked = question("wall", false, true);
        asked.text = "Which \u{1b}[2Jwall?".into();
        asked.choices.truncate(1);
        let lines = sheet(vec![asked, question("b", false, false)]).lines(1, 80);
        let shown: Vec<String> = lines.iter().map(|line| line.paint(false)).collect();
        assert_eq!(
            shown,
            [
                "? lead asks (1 of 2) · 1 more waiting",
                "  Which wall?",
                "   1 red",
                "     it is red",
                "  type a number, or words of your own; Enter alone declines",
            ]
        );
    }
}
