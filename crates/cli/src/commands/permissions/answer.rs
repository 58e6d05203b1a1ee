//! Answers permission requests and questions from any terminal: the first answer counts.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use rooftree_client::{ListedInquiry, RuntimeClient};
use rooftree_protocol::{
    Answer, Command, ErrorCode, EventBody, PermissionDecision, PermissionId, PermissionScope,
    Problem, Question, QuestionId, QuestionReply,
};
use rooftree_runtime::saved_rules;

use super::find;
use crate::{
    environment::Environment,
    exit::Exit,
    human_format::place,
    output,
    terminal::{question_prompt::chosen, run_text::short, sanitize::clean_line},
};

/// Options of `permissions allow`.
#[derive(Args, Debug)]
pub struct AllowArguments {
    /// Which question: its id, or the last 4 or more characters of it
    #[arg(value_name = "ID")]
    id: String,
    /// For how long; longer than once saves the rule that `permissions show` shows
    #[arg(long = "for", value_enum, default_value_t, value_name = "HOW LONG")]
    scope: AllowScope,
}

/// Options of `permissions deny`.
#[derive(Args, Debug)]
pub struct DenyArguments {
    /// Which question: its id, or the last 4 or more characters of it
    #[arg(value_name = "ID")]
    id: String,
    /// Words to the agent
    #[arg(long, value_name = "TEXT")]
    because: Option<String>,
}

/// Options of `permissions answer`.
#[derive(Args, Debug)]
pub struct AnswerArguments {
    /// Which question: its id, or the last 4 or more characters of it
    #[arg(value_name = "ID")]
    id: String,
    /// A number, a choice or words; NAME=ANSWER where several questions are asked
    #[arg(value_name = "ANSWER", required_unless_present = "decline")]
    answers: Vec<String>,
    /// Give no answer
    #[arg(long, conflicts_with = "answers")]
    decline: bool,
    /// With --decline: words to the agent
    #[arg(long, value_name = "TEXT", requires = "decline")]
    because: Option<String>,
}

/// Why an answer of the other kind is refused.
const BY_KIND: &str = "a permission is answered with yes or no, a question with what it asks for";

/// For how long a yes holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum AllowScope {
    /// This one call
    #[default]
    Once,
    /// Whatever matches the rule, in this conversation
    Session,
    /// Whatever matches the rule, in this project
    Project,
    /// Whatever matches the rule, everywhere
    Always,
}

impl From<AllowScope> for PermissionScope {
    fn from(scope: AllowScope) -> Self {
        match scope {
            AllowScope::Once => Self::Once,
            AllowScope::Session => Self::Session,
            AllowScope::Project => Self::Project,
            AllowScope::Always => Self::Always,
        }
    }
}

/// Says yes.
pub async fn allow(arguments: AllowArguments, environment: &Environment) -> Result<Exit, Problem> {
    permit(
        environment,
        &arguments.id,
        Answer::allow(arguments.scope.into()),
    )
    .await
}

/// Says no.
pub async fn deny(arguments: DenyArguments, environment: &Environment) -> Result<Exit, Problem> {
    permit(environment, &arguments.id, Answer::deny(arguments.because)).await
}

async fn permit(environment: &Environment, id: &str, answer: Answer) -> Result<Exit, Problem> {
    let client = find::answering(environment)?;
    let asked = find::inquiry(&*client, id).await?;
    // Bind the answer to the request as it is now, so that it cannot answer a changed one.
    let digest = Some(asked.digest.clone()).filter(|digest| !digest.is_empty());
    let answer = Answer { digest, ..answer };
    let permission = PermissionId::parse(&asked.id)
        .map_err(|_| usage(format!("{} is not asked that way", asked.id)).cause(BY_KIND))?;
    let command = Command::Permit {
        session: asked.session.clone(),
        permission,
        answer: answer.clone(),
    };
    client.send(command).await?;
    output::print_note(environment, &said(&*client, &asked, &answer).await?);
    print_delivery(environment, &*client, &asked).await
}

/// Answers an agent's questions.
pub async fn reply(arguments: AnswerArguments, environment: &Environment) -> Result<Exit, Problem> {
    let client = find::answering(environment)?;
    let asked = find::inquiry(&*client, &arguments.id).await?;
    let reply = match &asked.asked {
        _ if arguments.decline => QuestionReply::Declined {
            because: arguments.because,
        },
        EventBody::QuestionRequested { questions, .. } => QuestionReply::Answered {
            answers: answers(questions, &arguments.answers)?,
        },
        _ => {
            return Err(usage(format!("{} asks for permission", asked.id))
                .fix("rooftree permissions allow, or rooftree permissions deny"));
        }
    };
    let word = if arguments.decline {
        "declined"
    } else {
        "answered"
    };
    let question = QuestionId::parse(&asked.id)
        .map_err(|_| usage(format!("{} is not asked that way", asked.id)).cause(BY_KIND))?;
    client.send(Command::Reply { question, reply }).await?;
    output::print_note(environment, &format!("{word}: {}", asked.id));
    print_delivery(environment, &*client, &asked).await
}

/// What was answered, with the exact rule that is saved.
async fn said(
    client: &dyn RuntimeClient,
    asked: &ListedInquiry,
    answer: &Answer,
) -> Result<String, Problem> {
    let EventBody::PermissionRequested {
        tool, title, rule, ..
    } = &asked.asked
    else {
        return Ok(String::new());
    };
    let what = clean_line(&format!("{tool} {title}"));
    if answer.decision == PermissionDecision::Deny {
        return Ok(format!("denied: {what}"));
    }
    let where_it_holds = match answer.scope {
        PermissionScope::Once => return Ok(format!("allowed once: {what}")),
        PermissionScope::Session => format!("in session {}", short(&asked.root)),
        PermissionScope::Project => {
            let root = client.session(&asked.root).await?;
            let home = root.map(|root| place(&saved_rules::project(&root.cwd)));
            format!("below {}", home.unwrap_or_else(|| "its project".into()))
        }
        PermissionScope::Always => "everywhere".into(),
    };
    Ok(format!(
        "allowed: {what}\nrule {where_it_holds}: {}",
        clean_line(rule)
    ))
}

/// Prints whether the answer is delivered now, or else how to resume the session.
async fn print_delivery(
    environment: &Environment,
    client: &dyn RuntimeClient,
    asked: &ListedInquiry,
) -> Result<Exit, Problem> {
    if !find::is_awake(client, &asked.session).await? {
        let root = short(&asked.root);
        output::print_note(
            environment,
            &format!(
                "no process is at work on it now; the answer is kept, and it goes on with: rooftree run -s {root}"
            ),
        );
    }
    Ok(Exit::DONE)
}

/// What was typed, by the questions' names.
fn answers(
    questions: &[Question],
    typed: &[String],
) -> Result<BTreeMap<String, Vec<String>>, Problem> {
    let mut answers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for text in typed {
        let (question, value) = named(questions, text)?;
        let chosen = chosen(question, value).map_err(|words| {
            usage(format!("`{value}` does not answer `{}`", question.name)).cause(words)
        })?;
        let before = answers.entry(question.name.clone()).or_default();
        if !before.is_empty() && !question.several {
            return Err(usage(format!("`{}` is answered twice", question.name)));
        }
        before.extend(chosen);
    }
    match questions
        .iter()
        .find(|question| !answers.contains_key(&question.name))
    {
        Some(missing) => Err(usage(format!("`{}` is not answered", missing.name))
            .cause(missing.text.clone())
            .fix(format!("add {}=…, or use --decline", missing.name))),
        None => Ok(answers),
    }
}

/// Which question an answer is for: the only one, or the one it names.
fn named<'a, 'b>(
    questions: &'a [Question],
    text: &'b str,
) -> Result<(&'a Question, &'b str), Problem> {
    let find = |name: &str| {
        questions
            .iter()
            .find(|question| question.name.eq_ignore_ascii_case(name.trim()))
    };
    let by_name = text
        .split_once('=')
        .and_then(|(name, value)| Some((find(name)?, value)));
    match (by_name, questions) {
        (Some(found), _) => Ok(found),
        (None, [only]) => Ok((only, text)),
        (None, several) => {
            let names: Vec<&str> = several
                .iter()
                .map(|question| question.name.as_str())
                .collect();
            Err(
                usage(format!("`{text}` does not say which question it answers")).fix(format!(
                    "write NAME=ANSWER; the names are {}",
                    names.join(", ")
                )),
            )
        }
    }
}

fn usage(message: String) -> Problem {
    Problem::new(ErrorCode::InvalidArguments, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::question_prompt::tests::question;

    fn given(
        questions: &[Question],
        typed: &[&str],
    ) -> Result<BTreeMap<String, Vec<String>>, String> {
        let typed: Vec<String> = typed.iter().map(|text| (*text).to_owned()).collect();
        answers(questions, &typed).map_err(|problem| problem.message)
    }

    #[test]
    fn one_question_needs_no_name_and_several_do() {
        let one = [question("wall", false, true)];
        assert_eq!(given(&one, &["2"]).unwrap()["wall"], ["green"]);
        assert_eq!(
            given(&one, &["a=b"]).unwrap()["wall"],
            ["a=b"],
            "words may hold a sign"
        );
        let two = [
            question("wall", false, false),
            question("door", true, false),
        ];
        let both = given(&two, &["Door=1", "wall=red", "door=3"]).unwrap();
        assert_eq!(
            (&both["wall"], &both["door"]),
            (&vec!["red".into()], &vec!["red".into(), "dark blue".into()])
        );
        for (typed, words) in [
            (&["red"][..], "`red` does not say which question it answers"),
            (&["wall=red"], "`door` is not answered"),
            (&["wall=pink", "door=1"], "`pink` does not answer `wall`"),
            (&["wall=1", "wall=2", "door=1"], "`wall` is answered twice"),
        ] {
            assert_eq!(given(&two, typed), Err(words.to_owned()));
        }
    }
}
