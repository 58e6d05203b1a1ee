//! Carries out the slash commands of a conversation, through the handle and the commands of the program.

use rooftree_protocol::{
    Command, ErrorCode, PermissionMode, Problem, Session,
    actions::{ActionInfo, ActionTarget, UserAction},
    command::{CommandReply, HandBackSummary},
};

use super::{
    help,
    line_mode::{ConversationStep, LineMode},
    state::mode_name,
};
use crate::{
    commands::{
        run::{permission_mode, slash_prompt},
        sessions::{
            compact::{self, CompactionOutcome},
            name,
        },
    },
    control::{owner, send_for_session},
    human_format::place,
    session_lookup::{self, LookupScope},
    terminal::{
        self,
        line::{StyledLine, TextStyle},
        run_text, wrap,
    },
};

impl LineMode<'_> {
    /// Does what a slash command says.
    pub(super) async fn perform(
        &mut self,
        action: &ActionInfo,
        words: &str,
    ) -> Result<ConversationStep, Problem> {
        if action.target == ActionTarget::Session && self.state.session.is_none() {
            let message = format!("/{} needs a session, and none is open yet", action.name);
            return Err(wrong(message).fix("say something first, or /resume one"));
        }
        match action.action {
            UserAction::Help => {
                let prompts = slash_prompt::names(&self.context.now());
                self.print(&help::lines(&prompts, terminal::width().clamp(40, 110)));
            }
            UserAction::Model => return self.model(words).await,
            UserAction::Agent => return self.agent(words).await,
            UserAction::Mode => return self.mode(words).await,
            UserAction::New => {
                self.state.begin_anew(self.state.agent.clone());
                self.note("a new conversation begins with your next message");
                return Ok(said(words));
            }
            UserAction::Clear => return self.clear().await,
            UserAction::Compact => return self.compact(words).await,
            UserAction::Sessions => return self.sessions(words).await,
            UserAction::Resume => return self.resume(words).await,
            UserAction::Rename => return self.rename(words).await,
            UserAction::Switch => return self.switch(words).await,
            UserAction::Back => return self.back(words).await,
            UserAction::Tasks => return self.list_tasks().await,
            UserAction::Stop => {
                needs(words, action)?;
                return self.command(&["tasks", "stop", words]).await;
            }
            UserAction::Permissions => {
                self.command(&["permissions", "list"]).await?;
                return self.command(&["permissions", "rules"]).await;
            }
            UserAction::Undo => return self.undo().await,
            UserAction::Cost => return self.cost().await,
            UserAction::Status => self.status(),
            UserAction::Quit => return Ok(self.quit().await),
        }
        Ok(ConversationStep::Ask)
    }

    /// A command of the program, which prints by itself.
    async fn command(&self, typed: &[&str]) -> Result<ConversationStep, Problem> {
        (self.runner)(typed, self.environment).await?;
        Ok(ConversationStep::Ask)
    }

    async fn model(&mut self, words: &str) -> Result<ConversationStep, Problem> {
        if words.is_empty() {
            let model = self.state.model(&self.definitions);
            self.note(&format!("model: {model}"));
            return Ok(ConversationStep::Ask);
        }
        if self.is_model_pinned {
            return Err(
                wrong("the model cannot be changed".into()).cause("it is pinned for this machine")
            );
        }
        let resolved = self.models.resolve(words)?;
        self.models.catalog.open(&resolved.choice)?;
        if let Some(how) = &resolved.how {
            self.remark(how);
        }
        if let Some(session) = &self.state.session {
            let command = Command::SetModel {
                session: session.id.clone(),
                model: Some(resolved.choice.clone()),
            };
            self.state.session = Some(send_for_session(&self.handle, command).await?);
        }
        self.note(&format!(
            "model: {}, from your next message on",
            resolved.choice
        ));
        self.state.named = Some(resolved.choice);
        Ok(ConversationStep::Ask)
    }

    async fn agent(&mut self, words: &str) -> Result<ConversationStep, Problem> {
        let (name, message) = first_word(words);
        if name.is_empty() {
            self.list_agents();
            return Ok(ConversationStep::Ask);
        }
        let agent = self.definitions.find(name)?.name.clone();
        self.note(&format!(
            "a new conversation with {agent} begins with your next message"
        ));
        self.state.begin_anew(agent);
        Ok(said(message))
    }

    fn list_agents(&self) {
        let agents = self.definitions.all().into_iter();
        let agents = agents.filter(|agent| !agent.hidden).map(|agent| {
            let is_open = if agent.name == self.state.agent {
                " (now)"
            } else {
                ""
            };
            (
                format!("{}{is_open}", agent.name),
                agent.description.clone(),
            )
        });
        self.print(&help::agents(
            agents.collect(),
            terminal::width().clamp(40, 110),
        ));
    }

    /// What this conversation has in background; before there is one, all that works.
    async fn list_tasks(&self) -> Result<ConversationStep, Problem> {
        match &self.state.session {
            Some(session) => {
                let typed = ["tasks", "list", "--session", session.id.as_str()];
                self.command(&typed).await
            }
            None => self.command(&["tasks", "list", "--running"]).await,
        }
    }

    async fn mode(&mut self, words: &str) -> Result<ConversationStep, Problem> {
        if words.is_empty() {
            self.note(&format!("mode: {}", mode_name(self.state.mode())));
            return Ok(ConversationStep::Ask);
        }
        let mode = permission_mode(words)
            .map_err(|why| wrong(format!("there is no mode `{words}`")).fix(why))?;
        self.check_mode(mode)?;
        let session = self.session().await?;
        let command = Command::SetMode {
            session: session.id.clone(),
            mode: Some(mode),
        };
        self.send(command).await?;
        self.state.session = Some(session);
        self.state.mode = Some(mode);
        self.note(&format!(
            "mode: {}, for this session; agents it delegates to are not widened",
            mode_name(mode)
        ));
        Ok(ConversationStep::Ask)
    }

    fn check_mode(&self, mode: PermissionMode) -> Result<(), Problem> {
        if let Some((widest, why)) = self.widest.filter(|(widest, _)| mode > *widest) {
            let message = format!("the mode cannot be wider than {}", mode_name(widest));
            return Err(wrong(message).cause(why));
        }
        let definition = self.definitions.find(&self.state.agent)?;
        let most = definition.permission_mode.unwrap_or(PermissionMode::Bypass);
        if mode > most {
            let agent = &self.state.agent;
            let message = format!("agent `{agent}` works in mode {} at most", mode_name(most));
            return Err(wrong(message).cause("its definition says so"));
        }
        Ok(())
    }

    /// The open session, or a new one.
    async fn session(&self) -> Result<Session, Problem> {
        match &self.state.session {
            Some(session) => Ok(session.clone()),
            None => {
                let new = self.state.new_session(&self.definitions);
                send_for_session(&self.handle, Command::Open(new)).await
            }
        }
    }

    async fn clear(&mut self) -> Result<ConversationStep, Problem> {
        if let Some(session) = &self.state.session {
            let command = Command::Clear {
                session: session.id.clone(),
                unless_busy: false,
            };
            self.send(command).await?;
            self.note("forgotten; the session and its journal stay");
        }
        Ok(ConversationStep::Ask)
    }

    /// Waits for the summary; Ctrl-C stops it.
    async fn compact(&mut self, words: &str) -> Result<ConversationStep, Problem> {
        if let Some(session) = &self.state.session {
            self.note("summarising… (Ctrl-C stops it)");
            let focus = Some(words.to_owned()).filter(|words| !words.is_empty());
            let place = (&session.id, self.state.seen);
            let (outcome, seen) = compact::compact(&self.handle, place, focus).await?;
            self.state.seen = seen;
            match &outcome {
                CompactionOutcome::NotDone(why) => self.remark(why),
                done => self.note(&done.words()),
            }
        }
        Ok(ConversationStep::Ask)
    }

    /// The sessions of this folder, or all.
    async fn sessions(&mut self, words: &str) -> Result<ConversationStep, Problem> {
        match words {
            "" => self.command(&["sessions", "list", "--here"]).await,
            "all" => self.command(&["sessions", "list"]).await,
            other => Err(wrong(format!("/sessions does not know `{other}`"))
                .fix("/sessions lists those of this folder, /sessions all those of every folder")),
        }
    }

    async fn resume(&mut self, words: &str) -> Result<ConversationStep, Problem> {
        if words.is_empty() {
            return Err(
                wrong("which session?".into()).fix("/resume ID or NAME; /sessions lists them")
            );
        }
        let queries = self.handle.queries(&owner());
        let session = session_lookup::session(&queries, words, LookupScope::Live).await?;
        let (id, agent) = (
            run_text::short(&session.id).to_owned(),
            session.agent.clone(),
        );
        self.state.enter(session);
        self.note(&format!("goes on with session {id} of {agent}"));
        self.show_last_exchange().await;
        Ok(ConversationStep::Ask)
    }

    async fn rename(&mut self, words: &str) -> Result<ConversationStep, Problem> {
        let Some(session) = &self.state.session else {
            return Ok(ConversationStep::Ask);
        };
        if words.is_empty() {
            return Err(wrong("what should it be called?".into()).fix("/rename NAME"));
        }
        let command = Command::Rename {
            session: session.id.clone(),
            name: name::checked(words)?,
        };
        self.state.session = Some(send_for_session(&self.handle, command).await?);
        self.note(&format!("the session is called {words}"));
        Ok(ConversationStep::Ask)
    }

    /// Hands the conversation over: the other agent goes on with all that was said.
    async fn switch(&mut self, words: &str) -> Result<ConversationStep, Problem> {
        let (name, message) = first_word(words);
        let Some(session) = &self.state.session else {
            return Ok(ConversationStep::Ask);
        };
        if name.is_empty() {
            return Err(wrong("to which agent?".into()).fix("/switch AGENT; /agent lists them"));
        }
        let agent = self.definitions.find(name)?.name.clone();
        let from = self.state.agent.clone();
        let command = Command::Fork {
            session: session.id.clone(),
            at: None,
            name: None,
            agent: Some(agent.clone()),
            // The message is posted where its run is followed.
            message: None,
        };
        let switched = send_for_session(&self.handle, command).await?;
        self.state.enter(switched);
        self.note(&format!(
            "{agent} goes on and knows all that was said; /back returns to {from}"
        ));
        Ok(said(message))
    }

    /// Back to the agent that handed over, with a summary of what happened since.
    async fn back(&mut self, words: &str) -> Result<ConversationStep, Problem> {
        let Some(session) = self.state.session.clone() else {
            return Ok(ConversationStep::Ask);
        };
        let Some(origin) = session.forked_from.clone() else {
            let message = "this conversation was not handed over";
            return Err(wrong(message.into()).fix("/switch AGENT hands it over"));
        };
        let command = Command::HandBack {
            session: session.id.clone(),
            summary: HandBackSummary::Extract,
        };
        let reply = self.send(command).await?;
        let queries = self.handle.queries(&owner());
        let before = queries.session(&origin.session).await;
        let Some(before) = before.map_err(|error| error.problem())? else {
            return Err(wrong(format!(
                "session {} is not there any more",
                origin.session
            )));
        };
        let told = match reply {
            CommandReply::Accepted { .. } => format!(
                "back to {}, which reads a summary of what {} did",
                before.agent, session.agent
            ),
            _ => format!("back to {}; nothing was said meanwhile", before.agent),
        };
        self.state.enter(before);
        self.note(&told);
        Ok(said(words))
    }

    /// Takes back the file changes of the last turn, after a preview.
    async fn undo(&self) -> Result<ConversationStep, Problem> {
        let Some(session) = &self.state.session else {
            return Ok(ConversationStep::Ask);
        };
        self.command(&["sessions", "undo", session.id.as_str()])
            .await
    }

    fn status(&self) {
        let state = &self.state;
        let session = state.session.as_ref().map(|session| {
            let name = session.name.as_ref().map(|name| format!(" ({name})"));
            format!("{}{}", session.id, name.unwrap_or_default())
        });
        let rows = [
            ("agent", state.agent.clone()),
            ("model", state.model(&self.definitions)),
            ("mode", mode_name(state.mode())),
            ("folder", place(&state.cwd)),
            ("session", session.unwrap_or_else(|| "none yet".into())),
        ];
        let lines = rows.map(|(name, value)| {
            StyledLine::of(TextStyle::Accent, format!("  {name:<9}")).with(TextStyle::Plain, value)
        });
        self.print(&lines);
    }

    pub(super) fn note(&self, words: &str) {
        let rows = wrap::rows(words, terminal::width().saturating_sub(1).max(20)).into_iter();
        let lines = rows.map(|row| StyledLine::of(TextStyle::Dim, row));
        self.print(&lines.collect::<Vec<_>>());
    }
}

/// What follows a command with a message behind it.
fn said(message: &str) -> ConversationStep {
    if message.is_empty() {
        ConversationStep::Ask
    } else {
        ConversationStep::Say(message.to_owned(), None)
    }
}

fn first_word(words: &str) -> (&str, &str) {
    let (first, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    (first, rest.trim())
}

fn needs(words: &str, action: &ActionInfo) -> Result<(), Problem> {
    if words.is_empty() {
        return Err(wrong(format!("/{} needs a word", action.name)).fix(action.typed()));
    }
    Ok(())
}

fn wrong(message: String) -> Problem {
    Problem::new(ErrorCode::InvalidArguments, message)
}
