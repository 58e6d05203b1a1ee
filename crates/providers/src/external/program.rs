//! The programs there are, as data: names, hints, and the functions that know their format.

use std::ffi::OsString;

use rooftree_protocol::PermissionMode;
use serde_json::Value;

use super::{account::Account, claude, codex, grant::Grant, pi};
use crate::Request;

/// One kind of program.
#[derive(Debug)]
pub struct Program {
    /// The provider's name: what stands before the slash.
    pub name: &'static str,
    /// What it is called in PATH.
    pub executable: &'static str,
    /// How one gets it.
    pub install: &'static str,
    /// How one logs in.
    pub login: &'static str,
    /// The version this was written against.
    pub version: &'static str,
    /// Variables it needs although they look like secrets.
    pub(super) keys: &'static [&'static str],
    pub(super) arguments: fn(&Start<'_>) -> Vec<OsString>,
    pub(super) grant: fn(&[&str], PermissionMode) -> Grant,
    pub(super) take: fn(&Value, &mut Account),
}

/// What the flags of one start depend on.
pub(super) struct Start<'a> {
    pub(super) request: &'a Request,
    /// The system prompt; none if it travels with the prompt.
    pub(super) system: Option<&'a str>,
    /// The program's own session to go on with.
    pub(super) session: Option<&'a str>,
    pub(super) grant: &'a Grant,
}

impl Start<'_> {
    /// The model's name; none for the program's own choice.
    pub(super) fn model(&self) -> Option<&str> {
        Some(self.request.model.as_str()).filter(|model| *model != "default")
    }
}

impl Program {
    /// What of these tools (canonical names) the program gets in this mode, and what cannot be enforced.
    pub fn grant(&self, tools: &[&str], mode: PermissionMode) -> Grant {
        (self.grant)(tools, mode)
    }
}

/// Anthropic's `claude`.
pub static CLAUDE: Program = Program {
    name: "claude-cli",
    executable: "claude",
    install: "npm install -g @anthropic-ai/claude-code",
    login: "start `claude` and type /login, or set ANTHROPIC_API_KEY",
    version: "2.1.197",
    keys: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
    arguments: claude::arguments,
    grant: claude::grant,
    take: claude::take,
};

/// OpenAI's `codex`.
pub static CODEX: Program = Program {
    name: "codex-cli",
    executable: "codex",
    install: "npm install -g @openai/codex",
    login: "run `codex login`, or set CODEX_API_KEY",
    version: "0.166.0",
    keys: &["OPENAI_API_KEY", "CODEX_API_KEY"],
    arguments: codex::arguments,
    grant: codex::grant,
    take: codex::take,
};

/// The `pi` coding agent.
pub static PI: Program = Program {
    name: "pi-cli",
    executable: "pi",
    install: "npm install -g @mariozechner/pi-coding-agent",
    login: "start `pi` and type /login, or set the key of its provider",
    version: "0.73.1",
    keys: &[
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_OAUTH_TOKEN",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "GROQ_API_KEY",
        "CEREBRAS_API_KEY",
        "XAI_API_KEY",
        "DEEPSEEK_API_KEY",
        "FIREWORKS_API_KEY",
        "OPENROUTER_API_KEY",
        "ZAI_API_KEY",
        "MISTRAL_API_KEY",
        "MOONSHOT_API_KEY",
    ],
    arguments: pi::arguments,
    grant: pi::grant,
    take: pi::take,
};
