//! A directory and all tools, for one test.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use rooftree_protocol::{CallId, ErrorCode, PermissionMode, SessionId};
use rooftree_tools::{
    BackgroundProcesses, CallReach, PermissionRule, Policy, PolicyRequest, PolicyVerdict, Tool,
    ToolContext, ToolOutput, Toolset, builtin, tool::FileViews, toolset::ToolLookup,
};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub struct Desk {
    _directory: TempDir,
    pub tools: Toolset,
    pub processes: Arc<BackgroundProcesses>,
    pub context: ToolContext,
    /// What calls are judged by; everything is allowed at first.
    pub policy: Policy,
    pub told: Arc<Mutex<String>>,
}

impl Desk {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let next = AtomicU64::new(1);
        let processes = Arc::new(BackgroundProcesses::new(move || {
            u128::from(next.fetch_add(1, Ordering::Relaxed))
        }));
        let told = Arc::new(Mutex::new(String::new()));
        let context = context(&fs::canonicalize(directory.path()).unwrap(), told.clone());
        let policy = Policy {
            mode: PermissionMode::Bypass,
            ..Policy::default()
        };
        Self {
            tools: builtin(processes.clone()),
            processes,
            context,
            policy,
            told,
            _directory: directory,
        }
    }

    /// Adds a rule that refuses.
    pub fn deny(&mut self, rule: &str) {
        self.policy.deny.push(PermissionRule::parse(rule).unwrap());
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.context.cwd.join(name)
    }

    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), content).unwrap();
    }

    pub fn content(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Calls a tool by any of its names, the way the runtime does.
    pub async fn call(&self, name: &str, input: Value) -> ToolOutput {
        match self.prepared(name, input) {
            Ok((tool, input, context)) => tool.run(input, context).await,
            Err(output) => *output,
        }
    }

    /// A call up to the moment it is made: judged, and its place pinned.
    pub fn prepared(
        &self,
        name: &str,
        input: Value,
    ) -> Result<(Arc<dyn Tool>, Value, ToolContext), Box<ToolOutput>> {
        let failed =
            |words: String| Box::new(ToolOutput::failed(ErrorCode::InvalidArguments, words));
        let (tool, input) = normalised(&self.tools, name, input).map_err(failed)?;
        let (reach, verdict) = judged(&*tool, &input, &self.context, &self.policy);
        match verdict {
            PolicyVerdict::Allow(_) => Ok((
                tool,
                input,
                ToolContext {
                    reach,
                    ..self.context.clone()
                },
            )),
            PolicyVerdict::Ask(words) | PolicyVerdict::Deny(words) => {
                let refusal =
                    ToolOutput::failed(ErrorCode::ToolNotAllowed, format!("[denied] {words}"));
                Err(Box::new(refusal))
            }
        }
    }

    /// Calls a tool that is expected to work; gives what the model reads.
    pub async fn done(&self, name: &str, input: Value) -> String {
        let output = self.call(name, input.clone()).await;
        assert_eq!(output.failure, None, "{name} {input}: {}", output.text());
        output.text()
    }

    /// Calls a tool that is expected to fail; gives what the model reads.
    pub async fn failed(&self, name: &str, input: Value) -> String {
        let output = self.call(name, input.clone()).await;
        assert!(
            output.failure.is_some(),
            "{name} {input}: {}",
            output.text()
        );
        output.text()
    }
}

pub async fn call(tools: &Toolset, name: &str, input: Value, context: ToolContext) -> ToolOutput {
    match normalised(tools, name, input) {
        Err(words) => ToolOutput::failed(ErrorCode::InvalidArguments, words),
        Ok((tool, input)) => {
            let (reach, _) = judged(&*tool, &input, &context, &Policy::default());
            tool.run(input, ToolContext { reach, ..context }).await
        }
    }
}

fn normalised(tools: &Toolset, name: &str, input: Value) -> Result<(Arc<dyn Tool>, Value), String> {
    let ToolLookup::Tool(tool) = tools.find(name) else {
        panic!("there is no tool {name}")
    };
    let input = tool.normalise(name, input)?;
    // What is canonical stays as it is: hooks rewrite it and it is normalised again.
    assert_eq!(
        tool.normalise(&tool.spec().name, input.clone()),
        Ok(input.clone())
    );
    Ok((tool, input))
}

/// What the runtime does before a call: links followed once, and judged where they lead.
fn judged(
    tool: &dyn Tool,
    input: &Value,
    context: &ToolContext,
    policy: &Policy,
) -> (CallReach, PolicyVerdict) {
    let (name, subject) = (tool.spec().name.as_str(), tool.subject(input));
    let judged = PolicyRequest {
        tool: name,
        subject: subject.as_deref(),
        input: Some(input),
        effect: tool.effect(input),
        cwd: &context.cwd,
    };
    let reach = policy.reach(&judged);
    let verdict = policy.judge_at(&judged, &reach);
    (reach, verdict)
}

fn context(cwd: &Path, told: Arc<Mutex<String>>) -> ToolContext {
    ToolContext {
        session: SessionId::from_entropy(1),
        call: CallId::from_entropy(1),
        cwd: cwd.into(),
        reach: CallReach::default(),
        cancel: CancellationToken::new(),
        views: FileViews::default(),
        todos: Arc::new([]),
        sandbox: None,
        progress: Arc::new(move |text| told.lock().unwrap().push_str(text)),
        caller: None,
        way_back: None,
        ask: rooftree_tools::tool::no_inquirer(),
        blobs: Arc::new(|id| {
            let bytes = (id == "blb_long")
                .then(|| format!("first\n{}\nlast\n", "x".repeat(5000)).into_bytes());
            Box::pin(async move { bytes })
        }),
    }
}
