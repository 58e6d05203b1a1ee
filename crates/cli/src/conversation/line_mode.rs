//! The loop of a conversation in line mode: reads a line, carries out a slash command or follows a run, and asks again.
//!
//! A run is followed and drawn by the same code as `rooftree run`. Ctrl-C stops the run and not the program. What is
//! typed while a run works is read when it has ended.

use std::{
    io::{IsTerminal, Write, stderr},
    sync::Arc,
    time::Duration,
};

use futures::future::LocalBoxFuture;
use rooftree_protocol::{
    Command, Event, PermissionMode, Problem, SkillNote, command::CommandReply,
};
use rooftree_runtime::{AgentRuntime, ContextWatcher, Definitions, Handle, SecretRedactor};
use rooftree_store::SessionFilter;

use super::{
    background::BackgroundEvents,
    completion::CompletionSources,
    history::InputHistory,
    input::{self, TypedLine},
    line_editor::{EditorMode, LineEditor, LineRead},
    state::OpenConversation,
};
use crate::{
    commands::run::{
        Arguments, BackgroundPolicy, BackgroundWait, CliRequest, FollowPlace, PreparedRun,
        PreparedRuntime, PromptAnswerer, RunJob, SessionTarget, StdoutReport, UserInput,
        UserMessage, expand_prompt, find_session, first_message, follow, note_missing_files,
        slash_prompt,
    },
    configured_models::ConfiguredModels,
    control::{self, owner, send},
    environment::{Environment, variable},
    exit::Exit,
    mcp_servers::ConfiguredServers,
    terminal::{
        answer_text::AnswerFormat,
        line::{StyledLine, TextStyle},
        run_text, select_view,
    },
    told_notices::ToldNotices,
};

/// How long agents in background are waited for if the person wants to wait.
pub(super) const WAIT: Duration = Duration::from_secs(600);
/// Sessions that are proposed for completion.
const PROPOSED: usize = 50;

/// Runs a command of the program as it would be typed, without `rooftree`.
pub type CommandRunner =
    for<'a> fn(&'a [&'a str], &'a Environment) -> LocalBoxFuture<'a, Result<Exit, Problem>>;

/// A conversation.
pub(super) struct LineMode<'a> {
    pub(super) runner: CommandRunner,
    pub(super) environment: &'a Environment,
    pub(super) handle: Handle,
    pub(super) definitions: Definitions,
    pub(super) models: Arc<ConfiguredModels>,
    pub(super) context: ContextWatcher,
    pub(super) state: OpenConversation,
    pub(super) colours: bool,
    /// The widest mode that can be chosen, and why it is not wider.
    pub(super) widest: Option<(PermissionMode, &'static str)>,
    /// Whether the administrator has pinned the model.
    pub(super) is_model_pinned: bool,
    gathered: ConfiguredServers,
    secrets: SecretRedactor,
    editor: LineEditor,
    history: InputHistory,
    /// What people should know before the first run.
    remarks: Vec<String>,
    /// What they were told in this project before; none once a run has taken it over.
    told: Option<ToldNotices>,
}

/// What follows after a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ConversationStep {
    /// The next line.
    Ask,
    /// Say this to the agent; with the tools that its run may use, if a command file says so.
    Say(String, Option<SkillNote>),
    Leave(Exit),
}

/// Converses until the person leaves.
pub async fn converse(
    arguments: &Arguments,
    environment: &Environment,
    runner: CommandRunner,
) -> Result<Exit, Problem> {
    let prepared = PreparedRun::load(arguments, environment).await?;
    let control = prepared.control(environment)?;
    let queries = control.queries(&owner());
    let definitions = prepared.project.definitions.clone();
    let target = find_session(arguments, environment, &definitions, &queries).await?;
    let chosen = prepared.choose(arguments).await?;
    let (named, default) = (chosen.named.clone(), chosen.default.clone());
    let (target, model) = prepared.with_model(target, &chosen, &control).await?;
    let widest = if prepared.settings.is_pinned("permission.mode") {
        Some((prepared.mode(), "it is pinned for this machine"))
    } else {
        let most = prepared.project.widest_mode;
        most.map(|most| (most, "hooks of this folder that guard tools are off"))
    };
    let is_model_pinned = prepared.settings.is_pinned("model");
    let mut state = OpenConversation {
        agent: String::new(),
        cwd: environment.cwd.clone(),
        session: None,
        named,
        default,
        started_mode: prepared.mode(),
        mode: None,
        seen: 0,
    };
    state.take(target);
    let first = first_message(arguments, &definitions)?;
    let started = prepared.start(chosen, &model, environment)?;
    let PreparedRuntime {
        runtime,
        remarks,
        told,
        models,
        definitions,
        context,
        gathered,
    } = started;
    let colours = environment.colours(stderr().is_terminal());
    let history = InputHistory::open(environment.database.with_file_name("input-history"));
    let mut conversation = LineMode {
        runner,
        environment,
        handle: runtime.handle(),
        definitions,
        models,
        context,
        state,
        colours,
        widest,
        is_model_pinned,
        gathered,
        secrets: SecretRedactor::default(),
        editor: LineEditor::open(editor_mode(environment), history.entries(), colours)?,
        history,
        remarks,
        told: Some(told),
    };
    conversation.greet();
    conversation.show_last_exchange().await;
    let exit = conversation.go_on(first).await;
    leave(runtime, exit).await
}

fn editor_mode(environment: &Environment) -> EditorMode {
    let is_dumb = variable("TERM").is_none_or(|term| term == "dumb");
    if environment.everywhere.plain || is_dumb {
        EditorMode::Plain
    } else {
        EditorMode::Rich
    }
}

async fn leave(runtime: AgentRuntime, exit: Result<Exit, Problem>) -> Result<Exit, Problem> {
    runtime.stop().await;
    exit
}

impl LineMode<'_> {
    /// Reads and carries out lines until the person leaves.
    async fn go_on(&mut self, first: Option<String>) -> Result<Exit, Problem> {
        let mut next = match first {
            Some(text) => {
                self.remember(&text);
                self.show_typed(&text);
                self.obey(&text).await
            }
            None => ConversationStep::Ask,
        };
        loop {
            next = match next {
                ConversationStep::Leave(exit) => {
                    self.say_how_to_continue(exit);
                    return Ok(exit);
                }
                ConversationStep::Say(text, restriction) => self.say(text, restriction).await,
                ConversationStep::Ask => match self.ask().await {
                    LineRead::Line(line) => {
                        self.remember(&line);
                        self.obey(&line).await
                    }
                    LineRead::Interrupted(draft) => {
                        self.keep_draft(&draft);
                        ConversationStep::Ask
                    }
                    LineRead::End => self.quit().await,
                    LineRead::Leave(exit) => ConversationStep::Leave(exit),
                },
            };
        }
    }

    /// A line at the prompt. What happens meanwhile is printed above it, or told when the line is read.
    async fn ask(&mut self) -> LineRead {
        self.editor.complete_with(self.sources().await);
        let prompt = self.state.prompt();
        let Some(session) = &self.state.session else {
            return self.editor.read(&prompt).await;
        };
        let (id, printer) = (session.id.clone(), self.editor.printer());
        let mut events =
            BackgroundEvents::after(&self.handle, &id, self.state.seen, self.environment);
        let mut untold = String::new();
        let reading = self.editor.read(&prompt);
        tokio::pin!(reading);
        let read = loop {
            tokio::select! {
                biased;
                read = &mut reading => break read,
                text = events.next() => match &printer {
                    Some(printer) => { let _ = printer.send(text); }
                    None => untold.push_str(&text),
                },
            }
        };
        self.state.seen = events.seen;
        write(&untold);
        read
    }

    fn remember(&mut self, line: &str) {
        let line = self.secrets.clean(line).unwrap_or_else(|| line.to_owned());
        self.history.add(&line);
        self.editor.remember(&line);
    }

    /// What was typed before Ctrl-C can be brought back with the arrow key.
    fn keep_draft(&mut self, draft: &str) {
        if draft.trim().is_empty() {
            self.print(&[StyledLine::of(
                TextStyle::Dim,
                "Ctrl-D or /quit leaves; /help lists commands",
            )]);
        } else {
            self.editor.remember(draft);
        }
    }

    /// Does what a line says.
    async fn obey(&mut self, line: &str) -> ConversationStep {
        let context = self.context.now();
        let done = match input::parse(line, &slash_prompt::names(&context)) {
            TypedLine::Empty => self.watch_background().await,
            TypedLine::Action(action, words) => self.perform(action, &words).await,
            TypedLine::Prompt(name, words) => self.expand(&name, &words),
            TypedLine::Message(text) => Ok(ConversationStep::Say(text, None)),
            TypedLine::Unknown(problem) => Err(problem),
        };
        done.unwrap_or_else(|problem| self.report(&problem))
    }

    fn expand(&mut self, name: &str, words: &str) -> Result<ConversationStep, Problem> {
        let context = self.context.now();
        let Some(expanded) = slash_prompt::expand(name, words, &context) else {
            return Err(slash_prompt::unknown(name, &[]));
        };
        let unused = [("model", &expanded.model), ("agent", &expanded.agent)];
        for (field, value) in unused {
            if let Some(value) = value {
                self.remark(&format!(
                    "`{field}: {value}` of /{name} holds only in rooftree run; /{field} {value} changes it here"
                ));
            }
        }
        Ok(ConversationStep::Say(expanded.text, expanded.restriction))
    }

    /// Sends a message and follows the run, until it has ended or is stopped.
    async fn say(&mut self, text: String, restriction: Option<SkillNote>) -> ConversationStep {
        let done = self.try_say(text, restriction).await;
        done.unwrap_or_else(|problem| self.report(&problem))
    }

    async fn try_say(
        &mut self,
        text: String,
        restriction: Option<SkillNote>,
    ) -> Result<ConversationStep, Problem> {
        note_missing_files(&text, &self.state.cwd, self.environment);
        let message = UserMessage::typed(text, &self.state.cwd)?.narrowed(restriction);
        let said = UserInput::Message(message);
        let said = expand_prompt(said, &self.gathered, self.environment).await?;
        let UserInput::Message(message) = said else {
            return Ok(ConversationStep::Ask);
        };
        let said = message.post(&*control::client(&self.handle)).await?;
        let policy = BackgroundPolicy::Detach;
        self.follow(CliRequest::Post(said), policy, Vec::new())
            .await
    }

    pub(super) async fn follow(
        &mut self,
        request: CliRequest,
        policy: BackgroundPolicy,
        open_prompts: Vec<Event>,
    ) -> Result<ConversationStep, Problem> {
        let target = match &self.state.session {
            Some(session) => SessionTarget::Known(Box::new(session.clone())),
            None => SessionTarget::New(self.state.new_session(&self.definitions)),
        };
        let after = self.state.session.is_some().then_some(self.state.seen);
        let job = RunJob {
            linger: BackgroundWait::new(policy),
            remarks: std::mem::take(&mut self.remarks),
            told: self
                .told
                .take()
                .unwrap_or_else(|| ToldNotices::read(self.environment)),
            open_prompts,
            after,
            place: FollowPlace::Conversation,
            ..RunJob::new(request, target, PromptAnswerer::Person)
        };
        let mut report = StdoutReport::of_text().shown_as(AnswerFormat::of(self.environment));
        let view =
            select_view::view_for_person(self.environment, select_view::detail(self.environment));
        job.settle_programs(&self.handle).await?;
        let client = control::client(&self.handle);
        let left = follow(&client, job, view, &mut report).await?;
        self.state.seen = left.seen;
        let queries = self.handle.queries(&owner());
        let session = queries.session(&left.session).await;
        self.state.session = session.map_err(|error| error.problem())?;
        Ok(match left.is_leaving {
            true => ConversationStep::Leave(left.exit),
            false => ConversationStep::Ask,
        })
    }

    async fn sources(&self) -> CompletionSources {
        let queries = self.handle.queries(&owner());
        let filter = SessionFilter {
            cwd: Some(self.state.cwd.clone()),
            top_level: Some(true),
            limit: PROPOSED,
            ..SessionFilter::default()
        };
        let sessions = queries.sessions(filter).await.unwrap_or_default();
        let sessions = sessions.into_iter().map(|session| {
            let id = run_text::short(&session.id).to_owned();
            session.name.unwrap_or(id)
        });
        let usable: Vec<&str> = self
            .models
            .usable()
            .into_iter()
            .map(|profile| profile.name.as_str())
            .collect();
        let models = self.models.catalog.known().iter();
        let models = models.filter(|model| usable.contains(&model.provider()));
        let agents = self.definitions.all().into_iter();
        let agents = agents.filter(|agent| !agent.hidden);
        let tasks = self.tasks().await.unwrap_or_default().into_iter();
        CompletionSources {
            prompts: slash_prompt::names(&self.context.now()),
            agents: agents.map(|agent| agent.name.clone()).collect(),
            models: models.map(|model| model.id.clone()).collect(),
            sessions: sessions.collect(),
            tasks: tasks
                .map(|task| run_text::ending(&task.id).to_owned())
                .collect(),
            directory: self.state.cwd.clone(),
        }
    }

    /// Sends a command that is only accepted.
    pub(super) async fn send(&self, command: Command) -> Result<CommandReply, Problem> {
        send(&self.handle, command).await
    }
}

/// Writes to standard error.
pub(super) fn write(text: &str) {
    // A terminal that is gone is noticed when it is read.
    let _ = stderr().write_all(text.as_bytes());
}
