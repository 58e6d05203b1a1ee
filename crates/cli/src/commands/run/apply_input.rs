//! Applies the input of the user or program that follows a run: messages, answers, cancel.

use rooftree_protocol::{
    Answer, Command, ErrorCode, Event, EventBody, Part, PermissionId, Problem, QuestionReply,
    command::{Address, Delivery},
    event::{self, NoticeLevel},
};
use rooftree_runtime::{Clock, SystemClock};

use super::{
    PromptAnswerer, begin,
    follow::{OpenPrompt, RunFollower},
    input_lines::{ALLOWED, InputCommand, InputLine},
    prompt_queue::{PermissionRef, PromptAnswer},
};
use crate::{
    exit::{Exit, NOBODY_LEFT},
    terminal::line::{StyledLine, TextStyle},
};

impl RunFollower<'_> {
    /// Does what a line of standard input says.
    pub(super) async fn apply_input(&mut self, typed: InputLine) -> Result<(), Problem> {
        match typed {
            InputLine::Wish(InputCommand::User { text, key }) => {
                self.post(text, key, Delivery::Queue).await
            }
            InputLine::Wish(InputCommand::Steer { text }) => {
                self.post(text, None, Delivery::Steer).await
            }
            InputLine::Wish(InputCommand::Permission {
                id,
                decision,
                scope,
                because,
                digest,
            }) => {
                let question = self.question(id);
                self.answer(PromptAnswer::Permission(
                    question,
                    Answer {
                        decision,
                        scope,
                        because,
                        digest,
                    },
                ))
                .await
            }
            InputLine::Wish(InputCommand::Answer {
                id,
                answers,
                because,
                ..
            }) => {
                let reply = match answers {
                    Some(answers) => QuestionReply::Answered { answers },
                    None => QuestionReply::Declined { because },
                };
                self.answer(PromptAnswer::Reply(id, reply)).await
            }
            InputLine::Wish(InputCommand::Cancel) => self.cancel().await,
            InputLine::Nonsense(what) => {
                self.report_bad_input(&what, Some(ALLOWED.into()));
                Ok(())
            }
            InputLine::End => {
                self.input_open = false;
                for question in self.program_questions() {
                    self.refuse(question).await?;
                }
                Ok(())
            }
        }
    }

    /// What the program that reads the events was asked and has not answered.
    fn program_questions(&self) -> Vec<OpenPrompt> {
        let open = self.watch.tree.inquiries().iter();
        let open = open.filter(|_| matches!(self.answerer, PromptAnswerer::Program));
        open.filter_map(|open| OpenPrompt::of(&open.session, &open.asked))
            .collect()
    }

    /// The open permission request with this id; an unknown id is taken for one of the main session.
    fn question(&mut self, id: PermissionId) -> PermissionRef {
        let mut open = self.program_questions().into_iter();
        let asked = open.find_map(|open| match open {
            OpenPrompt::Permission(question) if question.id == id => Some(question),
            _ => None,
        });
        asked.unwrap_or_else(|| PermissionRef {
            session: self.session.id.clone(),
            id,
        })
    }

    async fn post(
        &mut self,
        text: String,
        key: Option<String>,
        delivery: Delivery,
    ) -> Result<(), Problem> {
        let to = Address::Id {
            id: self.session.id.clone(),
        };
        let is_keyed = key.is_some();
        match begin::post(&*self.client, to, vec![Part::text(text)], key, delivery).await {
            Ok((session, message)) if is_keyed => {
                begin::await_keyed(&*self.client, &session, message, &mut self.watch).await
            }
            Ok((_, message)) => {
                self.watch.await_message(message);
                Ok(())
            }
            // The line is refused; what is under way goes on.
            Err(problem) if is_refusal(&problem) => {
                self.refused = Some(Exit::for_error(problem.code));
                let why = problem
                    .cause
                    .map(|cause| format!(": {cause}"))
                    .unwrap_or_default();
                self.report_bad_input(&format!("{}{why}", problem.message), problem.fix);
                Ok(())
            }
            Err(problem) => Err(problem),
        }
    }

    /// Sends an answer to the session that asked. An answer that has no effect, because another client was
    /// faster or because it matches no request, is reported and does not end the run.
    pub(super) async fn answer(&mut self, said: PromptAnswer) -> Result<(), Problem> {
        let command = match said {
            PromptAnswer::Permission(
                PermissionRef {
                    session,
                    id: permission,
                },
                answer,
            ) => Command::Permit {
                session,
                permission,
                answer,
            },
            PromptAnswer::Reply(question, reply) => Command::Reply { question, reply },
        };
        match self.send(command).await {
            Err(problem) if is_late_answer(&problem) => {
                let why = problem
                    .cause
                    .map(|cause| format!(": {cause}"))
                    .unwrap_or_default();
                self.report_bad_input(&format!("{}{why}", problem.message), problem.fix);
                Ok(())
            }
            sent => sent,
        }
    }

    /// Declines a prompt because the client that could have answered has disconnected.
    pub(super) async fn refuse(&mut self, open: OpenPrompt) -> Result<(), Problem> {
        self.answerer = PromptAnswerer::Nobody;
        let because = Some(NOBODY_LEFT.to_owned());
        self.answer(match open {
            OpenPrompt::Permission(question) => {
                PromptAnswer::Permission(question, Answer::deny(because))
            }
            OpenPrompt::Question(id) => {
                PromptAnswer::Reply(id, QuestionReply::Declined { because })
            }
        })
        .await
    }

    /// Stops everything, and leaves with this number.
    pub(super) async fn stop(&mut self, exit: Exit) -> Result<(), Problem> {
        self.stopping = Some(exit);
        self.watch.is_stopping = true;
        self.cancel().await
    }

    /// A run that is cancelled stops what it started; when it has ended, they are told one by one.
    async fn cancel(&self) -> Result<(), Problem> {
        if self.watch.is_working() {
            return self
                .send(Command::Cancel {
                    session: self.session.id.clone(),
                    run: None,
                })
                .await;
        }
        for agent in self.watch.tree.delegated_at_work() {
            let (session, run) = (agent.session.clone(), Some(agent.run.clone()));
            self.send(Command::Cancel { session, run }).await?;
        }
        Ok(())
    }

    pub(super) async fn send(&self, command: Command) -> Result<(), Problem> {
        self.client.send(command).await.map(|_| ())
    }

    /// Says something beside the work.
    pub(super) fn remark(&mut self, words: &str) {
        self.view
            .say(&[StyledLine::of(TextStyle::Warning, "! ").with(TextStyle::Plain, words)]);
    }

    /// Says that something typed cannot be used, on both streams.
    pub(super) fn report_bad_input(&mut self, what: &str, hint: Option<String>) {
        self.report.event(&self.notice(what, hint));
        self.remark(what);
    }

    fn notice(&self, message: &str, hint: Option<String>) -> Event {
        let (level, code) = (NoticeLevel::Error, "bad_input".into());
        Event {
            v: event::VERSION,
            id: None,
            ts: SystemClock.now(),
            session: self.session.id.clone(),
            run: None,
            parent_run: None,
            agent: self.session.agent.clone(),
            who: None,
            body: EventBody::Notice {
                level,
                code,
                message: message.to_owned(),
                hint,
            },
        }
    }
}

/// Whether a message was refused for what it is, or because the inbox is full.
fn is_refusal(problem: &Problem) -> bool {
    matches!(
        problem.code,
        ErrorCode::InboxFull | ErrorCode::InvalidArguments
    )
}

/// Whether an answer was refused for what it is, and not because something is broken.
fn is_late_answer(problem: &Problem) -> bool {
    matches!(
        problem.code,
        ErrorCode::InteractionUnavailable | ErrorCode::InvalidArguments | ErrorCode::TaskNotFound
    )
}
