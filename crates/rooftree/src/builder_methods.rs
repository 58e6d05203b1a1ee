//! The methods a query and a long-lived runtime have in common, written once.

/// Gives a builder with a field `setup` everything that can be said about models, tools and permissions.
macro_rules! settings {
    ($builder:ident) => {
        impl $builder {
            /// The model to ask, where an agent names none: `provider/model`, a short name like
            /// `sonnet`, `fast`, `standard` or `powerful`, or a model's own name.
            pub fn model(mut self, model: impl Into<String>) -> Self {
                self.setup.models.default = Some(model.into());
                self
            }

            /// A model to turn to, for one turn, when the chosen one cannot be had.
            pub fn fallback(mut self, model: impl Into<String>) -> Self {
                self.setup.models.fallbacks.push(model.into());
                self
            }

            /// An agent that others can delegate to. One that is called as another one replaces it.
            pub fn agent(mut self, agent: impl Into<$crate::Agent>) -> Self {
                self.setup.agents.given.push(agent.into());
                self
            }

            /// The agents written in a file or in a directory of files: Markdown or JSON.
            pub fn agents_dir(mut self, path: impl Into<::std::path::PathBuf>) -> Self {
                self.setup.agents.files.push(path.into());
                self
            }

            /// A tool of one's own, usually made with [`#[tool]`](macro@crate::tool).
            pub fn tool(mut self, tool: impl $crate::Tool + 'static) -> Self {
                self.setup.tools.push(::std::sync::Arc::new(tool));
                self
            }

            /// A provider of one's own: models called `name/…` are asked through it. The first one is the
            /// default if no model is named.
            pub fn provider(
                mut self,
                name: impl Into<String>,
                provider: impl $crate::Provider + 'static,
            ) -> Self {
                self.setup
                    .models
                    .added
                    .providers
                    .push((name.into(), ::std::sync::Arc::new(provider)));
                self
            }

            /// A place where models called `name/…` are reached, instead of the usual one if there is one.
            pub fn endpoint(mut self, name: impl Into<String>, endpoint: $crate::Endpoint) -> Self {
                self.setup
                    .models
                    .added
                    .endpoints
                    .insert(name.into(), endpoint);
                self
            }

            /// Where a program that answers as a model is, if it is not the usual one in PATH: `claude-cli`,
            /// `codex-cli` or `pi-cli`. Their models are called `claude-cli/default` and so on.
            pub fn program(
                mut self,
                name: impl Into<String>,
                executable: impl Into<::std::path::PathBuf>,
            ) -> Self {
                self.setup
                    .models
                    .added
                    .programs
                    .insert(name.into(), executable.into());
                self
            }

            /// A server of tools by the Model Context Protocol, which every agent has as `mcp__name__tool`
            /// that brings none of its own. It is started when an agent may use it, and ends with all of
            /// this.
            pub fn mcp(mut self, name: impl Into<String>, server: $crate::McpServer) -> Self {
                self.setup.servers.insert(name.into(), server);
                self
            }

            /// Where agents remember what belongs to no project: a directory with one for each agent that has
            /// [`MemoryScope::User`](crate::MemoryScope::User).
            pub fn memory(mut self, directory: impl Into<::std::path::PathBuf>) -> Self {
                self.setup.agents.memory = Some(directory.into());
                self
            }

            /// Something that can check the work of agents who name it: a command, which says it with its exit
            /// code, or a model that judges.
            pub fn verifier(mut self, name: impl Into<String>, verifier: $crate::Verifier) -> Self {
                self.setup.agents.verifiers.insert(name.into(), verifier);
                self
            }

            /// The verifiers written in a file, as in `.rooftree/verifiers.json`.
            pub fn verifiers_file(mut self, path: impl Into<::std::path::PathBuf>) -> Self {
                self.setup.agents.verifier_files.push(path.into());
                self
            }

            /// A function that can check the work of agents who name it. An error says what is wanting: the
            /// agent reads it and goes on, a few times at most.
            pub fn verify<F, Checking>(mut self, name: impl Into<String>, checker: F) -> Self
            where
                F: Fn($crate::CheckedWork) -> Checking + Send + Sync + 'static,
                Checking: Future<Output = ::std::result::Result<(), String>> + Send + 'static,
            {
                let checker = move |work| -> ::futures::future::BoxFuture<'static, _> {
                    Box::pin(checker(work))
                };
                self.setup
                    .agents
                    .checkers
                    .insert(name.into(), ::std::sync::Arc::new(checker));
                self
            }

            /// The directory tools work in; that of the process if nothing is said.
            pub fn cwd(mut self, directory: impl Into<::std::path::PathBuf>) -> Self {
                self.setup.cwd = Some(directory.into());
                self
            }

            /// Bounds for all agents, whatever their definitions say. What these leave open stays as it was.
            pub fn limits(mut self, limits: $crate::AgentLimits) -> Self {
                self.setup.limits = ::std::mem::take(&mut self.setup.limits).overridden_by(limits);
                self
            }

            /// Model replies per run of the main agent, at most.
            pub fn max_turns(self, turns: u32) -> Self {
                self.limits($crate::AgentLimits::default().max_turns(turns))
            }

            /// US dollars per run, at most, as far as prices are known.
            pub fn max_cost(self, dollars: f64) -> Self {
                self.limits($crate::AgentLimits::default().max_cost(dollars))
            }

            /// How long a run may take, waiting for people not counted.
            pub fn timeout(self, limit: ::std::time::Duration) -> Self {
                self.limits($crate::AgentLimits::default().timeout(limit))
            }

            /// How deep delegation goes. With one, the default, sub-agents cannot delegate.
            pub fn max_depth(self, depth: u32) -> Self {
                self.limits($crate::AgentLimits::default().max_depth(depth))
            }

            /// How much may happen without asking. Usually nothing that changes something.
            pub fn permission_mode(mut self, mode: $crate::PermissionMode) -> Self {
                self.setup.rights.mode = mode;
                self
            }

            /// Whether agents' commands run in a sandbox: by default wherever that works. With
            /// [`SandboxMode::Required`](crate::SandboxMode::Required), a command that cannot be sandboxed is
            /// not started.
            pub fn sandbox(mut self, mode: $crate::SandboxMode) -> Self {
                self.setup.rights.confinement.mode = mode;
                self
            }

            /// The hosts that sandboxed programs can reach. By default all.
            pub fn network(mut self, network: $crate::Network) -> Self {
                self.setup.rights.confinement.network = network;
                self
            }

            /// A directory that sandboxed programs can write to besides the one they work in.
            pub fn writable(mut self, directory: impl Into<::std::path::PathBuf>) -> Self {
                self.setup
                    .rights
                    .confinement
                    .writable
                    .push(directory.into());
                self
            }

            /// A path that sandboxed programs can read although it is hidden by default.
            pub fn readable(mut self, path: impl Into<::std::path::PathBuf>) -> Self {
                self.setup.rights.confinement.readable.push(path.into());
                self
            }

            /// A variable that programs get although it looks like a secret or holds one. All others that do
            /// are withheld from what agents run.
            pub fn keep_variable(mut self, name: impl Into<String>) -> Self {
                self.setup.rights.inheritance.keep.push(name.into());
                self
            }

            /// Lets programs inherit only the variables that programs commonly need.
            pub fn only_usual_variables(mut self) -> Self {
                self.setup.rights.inheritance.only_listed = true;
                self
            }

            /// A rule that requires permission for calls, whatever the mode allows.
            pub fn ask(mut self, rule: impl Into<String>) -> Self {
                self.setup.rights.ask.push(rule.into());
                self
            }

            /// A rule that allows calls: `Write(notes/**)`, `Bash(cargo test *)`, `ticket`.
            pub fn allow(mut self, rule: impl Into<String>) -> Self {
                self.setup.rights.allow.push(rule.into());
                self
            }

            /// A rule that refuses calls, in every mode.
            pub fn deny(mut self, rule: impl Into<String>) -> Self {
                self.setup.rights.deny.push(rule.into());
                self
            }

            /// Is asked before each tool call, of sub-agents too. It can refuse a call or require permission
            /// for it; it cannot allow what is refused otherwise. No answer within a minute, or a crash,
            /// refuses.
            pub fn before_tool<F, Answering>(mut self, hook: F) -> Self
            where
                F: Fn($crate::ToolUse) -> Answering + Send + Sync + 'static,
                Answering: Future<Output = $crate::HookVerdict> + Send + 'static,
            {
                let hook = move |about| -> ::futures::future::BoxFuture<'static, _> {
                    Box::pin(hook(about))
                };
                self.setup
                    .callbacks
                    .before_tool
                    .push(::std::sync::Arc::new(hook));
                self
            }

            /// A [`Hook`](crate::Hook) that is asked before tool calls and told what happens.
            pub fn hook(self, hook: impl $crate::Hook) -> Self {
                let hook = ::std::sync::Arc::new(hook);
                let (before, after) = (hook.clone(), hook.clone());
                let (started, stopped) = (hook.clone(), hook);
                self.before_tool(move |about| {
                    let hook = before.clone();
                    async move { hook.before_tool(about).await }
                })
                .after_tool(move |news| {
                    let hook = after.clone();
                    async move { hook.after_tool(news).await }
                })
                .on_subagent_start(move |news| {
                    let hook = started.clone();
                    async move { hook.subagent_started(news).await }
                })
                .on_subagent_stop(move |news| {
                    let hook = stopped.clone();
                    async move { hook.subagent_stopped(news).await }
                })
            }

            /// Is asked at one point of the life of every agent: before a prompt is worked on, after
            /// a tool was used, when a run wants to end, and so on. At the points where something
            /// waits to pass, no answer within a minute, or a crash, refuses.
            pub fn hook_at<F, Answering>(mut self, point: $crate::HookPoint, hook: F) -> Self
            where
                F: Fn($crate::HookPayload) -> Answering + Send + Sync + 'static,
                Answering: Future<Output = $crate::HookAnswer> + Send + 'static,
            {
                let hook = move |about| -> ::futures::future::BoxFuture<'static, _> {
                    Box::pin(hook(about))
                };
                let hook = ::rooftree_runtime::hooks::ConfiguredHook::handler(
                    point,
                    ::std::sync::Arc::new(hook),
                );
                self.setup.callbacks.hooks.push(hook);
                self
            }

            /// Is told of each tool call that has ended, in order, of sub-agents too.
            pub fn after_tool<F, Hearing>(mut self, hook: F) -> Self
            where
                F: Fn($crate::ToolUsed) -> Hearing + Send + Sync + 'static,
                Hearing: Future<Output = ()> + Send + 'static,
            {
                let hook = move |news| -> ::futures::future::BoxFuture<'static, ()> {
                    Box::pin(hook(news))
                };
                self.setup
                    .callbacks
                    .after_tool
                    .push(::std::sync::Arc::new(hook));
                self
            }

            /// Is told of each sub-agent that begins to work.
            pub fn on_subagent_start<F, Hearing>(mut self, hook: F) -> Self
            where
                F: Fn($crate::SubagentStart) -> Hearing + Send + Sync + 'static,
                Hearing: Future<Output = ()> + Send + 'static,
            {
                let hook = move |news| -> ::futures::future::BoxFuture<'static, ()> {
                    Box::pin(hook(news))
                };
                self.setup
                    .callbacks
                    .subagent_start
                    .push(::std::sync::Arc::new(hook));
                self
            }

            /// Is told of each sub-agent that has ended its work, however it ended.
            pub fn on_subagent_stop<F, Hearing>(mut self, hook: F) -> Self
            where
                F: Fn($crate::SubagentStop) -> Hearing + Send + Sync + 'static,
                Hearing: Future<Output = ()> + Send + 'static,
            {
                let hook = move |news| -> ::futures::future::BoxFuture<'static, ()> {
                    Box::pin(hook(news))
                };
                self.setup
                    .callbacks
                    .subagent_stop
                    .push(::std::sync::Arc::new(hook));
                self
            }

            /// Answers permission requests for tool calls, those of sub-agents too. Without it, and without
            /// another client that can answer, such calls are refused.
            pub fn approve<F, Answering>(mut self, approver: F) -> Self
            where
                F: Fn($crate::PermissionRequest) -> Answering + Send + Sync + 'static,
                Answering: Future<Output = $crate::Decision> + Send + 'static,
            {
                let approver = move |question| -> ::futures::future::BoxFuture<'static, _> {
                    Box::pin(approver(question))
                };
                self.setup.callbacks.approver = Some(::std::sync::Arc::new(approver));
                self
            }

            /// Answers what agents ask with AskUser, which only the first agent of a chain has, and only
            /// with this.
            pub fn answer<F, Answering>(mut self, answerer: F) -> Self
            where
                F: Fn(Vec<$crate::protocol::Question>) -> Answering + Send + Sync + 'static,
                Answering: Future<Output = $crate::protocol::QuestionReply> + Send + 'static,
            {
                let answerer = move |questions| -> ::futures::future::BoxFuture<'static, _> {
                    Box::pin(answerer(questions))
                };
                self.setup.callbacks.answerer = Some(::std::sync::Arc::new(answerer));
                self
            }

            /// Records what models answer, or answers from a recording; for tests.
            pub fn cassette(mut self, cassette: $crate::testing::Cassette) -> Self {
                self.setup.models.cassette = Some(cassette);
                self
            }

            /// Where time and randomness come from; for tests.
            pub fn clock(mut self, clock: ::std::sync::Arc<dyn $crate::Clock>) -> Self {
                self.setup.clock = clock;
                self
            }
        }
    };
}

pub(crate) use settings;
