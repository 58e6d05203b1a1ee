//! MemoryRead, MemoryWrite and MemorySearch: tools for an agent's own memory.

use std::{fs, path::Path, sync::Arc};

use futures::future::BoxFuture;
use rooftree_protocol::{ErrorCode, ToolSpec};
use rooftree_stdx::atomic_file;
use rooftree_tools::{
    Tool, ToolContext, ToolInfo, ToolOutput, Toolset,
    arguments::{self, ArgumentKind, ToolArgument, flag, text},
    session_tools::{MEMORY_READ, MEMORY_SEARCH, MEMORY_WRITE},
};
use serde_json::Value;

use crate::{
    caller::Caller,
    memory::{MAIN, directory, file},
};

/// Bytes one memory may have.
const LARGEST: usize = 256 * 1024;
/// Lines a search gives back.
const HITS: usize = 50;

/// These tools, with those of memory.
pub fn with_tools(tools: &Toolset) -> Toolset {
    let added: [Arc<dyn Tool>; 3] = [
        Arc::new(MemoryTool::new(MemoryAction::Read)),
        Arc::new(MemoryTool::new(MemoryAction::Write)),
        Arc::new(MemoryTool::new(MemoryAction::Search)),
    ];
    Toolset::new(tools.iter().cloned().chain(added))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MemoryAction {
    Read,
    Write,
    Search,
}

impl MemoryAction {
    fn info(self) -> &'static ToolInfo {
        match self {
            Self::Read => &MEMORY_READ,
            Self::Write => &MEMORY_WRITE,
            Self::Search => &MEMORY_SEARCH,
        }
    }
}

const READ: [ToolArgument; 1] = [ToolArgument::new(
    "name",
    ArgumentKind::Text,
    "Which memory; MEMORY if absent.",
)
.with_aliases(&["path", "file"])];
const WRITE: [ToolArgument; 3] = [
    ToolArgument::new("text", ArgumentKind::Text, "What to remember, as Markdown.")
        .required()
        .with_aliases(&["content"]),
    ToolArgument::new(
        "name",
        ArgumentKind::Text,
        "Which memory; MEMORY, which you are reminded of, if absent.",
    )
    .with_aliases(&["path", "file"]),
    ToolArgument::new(
        "replace",
        ArgumentKind::Flag,
        "Instead of what is there; otherwise it is added.",
    ),
];
const SEARCH: [ToolArgument; 1] =
    [ToolArgument::new("query", ArgumentKind::Text, "Words that must occur.").required()];

/// One of the three tools.
struct MemoryTool {
    action: MemoryAction,
    spec: ToolSpec,
}

impl MemoryTool {
    fn new(action: MemoryAction) -> Self {
        let spec = match action {
            MemoryAction::Read => arguments::spec(
                MEMORY_READ.name,
                "Read what you remember from earlier sessions.",
                &READ,
            ),
            MemoryAction::Write => arguments::spec(
                MEMORY_WRITE.name,
                "Remember something for later sessions: what is true of this project or person beyond this task.",
                &WRITE,
            ),
            MemoryAction::Search => arguments::spec(
                MEMORY_SEARCH.name,
                "Find lines in all you remember.",
                &SEARCH,
            ),
        };
        Self { action, spec }
    }

    fn arguments(&self) -> &'static [ToolArgument] {
        match self.action {
            MemoryAction::Read => &READ,
            MemoryAction::Write => &WRITE,
            MemoryAction::Search => &SEARCH,
        }
    }
}

impl Tool for MemoryTool {
    fn info(&self) -> &ToolInfo {
        self.action.info()
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        arguments::normalise(&self.spec.name, self.arguments(), input).map(Value::Object)
    }

    fn title(&self, input: &Value) -> String {
        match self.action {
            MemoryAction::Search => text(input, "query").to_owned(),
            MemoryAction::Read | MemoryAction::Write => name_in(input).to_owned(),
        }
    }

    fn subject(&self, input: &Value) -> Option<String> {
        Some(self.title(input))
    }

    fn preview(&self, input: &Value, _context: &ToolContext) -> String {
        text(input, "text").to_owned()
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let action = self.action;
        Box::pin(async move {
            let Some(caller) = Caller::of(&context) else {
                return ToolOutput::failed(
                    ErrorCode::Internal,
                    "this tool only works within a run",
                );
            };
            let done = tokio::task::spawn_blocking(move || {
                let memory_dirs = &caller.context.options.agents.memory;
                let place = directory(
                    &caller.resolved.definition,
                    memory_dirs,
                    &caller.session.cwd,
                );
                let place = place.ok_or(
                    "This agent has no memory: its definition says `memory: user` or the like.",
                )?;
                match action {
                    MemoryAction::Read => read(&place, name_in(&input)),
                    MemoryAction::Write => write(&place, &input),
                    MemoryAction::Search => search(&place, text(&input, "query")),
                }
            });
            match done.await {
                Ok(Ok(words)) => ToolOutput::done(words),
                Ok(Err(words)) => ToolOutput::failed(ErrorCode::ToolFailed, words),
                Err(_) => {
                    ToolOutput::failed(ErrorCode::Internal, "the tool crashed; this is a bug")
                }
            }
        })
    }
}

fn name_in(input: &Value) -> &str {
    match text(input, "name") {
        "" => MAIN,
        name => name,
    }
}

fn read(place: &Path, name: &str) -> Result<String, String> {
    let path = file(place, name)?;
    match fs::read_to_string(&path) {
        Ok(text) => Ok(text),
        Err(_) => {
            let known = names(place);
            let known = if known.is_empty() {
                "There is none yet.".into()
            } else {
                format!("There are: {}.", known.join(", "))
            };
            Err(format!("There is no memory `{name}`. {known}"))
        }
    }
}

/// Replaces the file atomically: a reader never sees half of it.
fn write(place: &Path, input: &Value) -> Result<String, String> {
    let path = file(place, name_in(input))?;
    let failed = |error: std::io::Error| format!("{} cannot be written: {error}", path.display());
    let before = if flag(input, "replace") {
        String::new()
    } else {
        fs::read_to_string(&path).unwrap_or_default()
    };
    let joined = if before.is_empty() {
        String::new()
    } else {
        format!("{}\n", before.trim_end())
    };
    let whole = format!("{joined}{}\n", text(input, "text").trim_end());
    if whole.len() > LARGEST {
        return Err(format!(
            "That would be {} bytes, and a memory has at most {LARGEST}: shorten it.",
            whole.len()
        ));
    }
    atomic_file::replace(&path, whole.as_bytes()).map_err(failed)?;
    Ok(format!("Remembered in {}.", path.display()))
}

fn search(place: &Path, query: &str) -> Result<String, String> {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    if words.is_empty() {
        return Err("MemorySearch needs words to look for.".into());
    }
    let mut hits = Vec::new();
    for name in names(place) {
        let text = fs::read_to_string(place.join(&name)).unwrap_or_default();
        for (number, line) in text.lines().enumerate() {
            let plain = line.to_lowercase();
            if words.iter().all(|word| plain.contains(word)) {
                hits.push(format!("{name}:{}: {line}", number + 1));
            }
        }
    }
    let found = hits.len();
    hits.truncate(HITS);
    Ok(match found {
        0 => "Nothing that is remembered has all these words in one line.".into(),
        found if found > HITS => format!("{}\n[{} more]", hits.join("\n"), found - HITS),
        _ => hits.join("\n"),
    })
}

fn names(place: &Path) -> Vec<String> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.ends_with(".md"))
        .collect();
    names.sort_unstable();
    names
}
