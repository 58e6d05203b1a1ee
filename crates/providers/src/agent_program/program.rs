//! Table of the supported programs: names, install and login hints. `program_format` knows their formats.

/// One supported program.
#[derive(Debug)]
pub struct AgentProgram {
    /// The provider's name: the part before the slash.
    pub name: &'static str,
    /// Name of its executable in PATH.
    pub executable: &'static str,
    /// Hint: how to install it.
    pub install: &'static str,
    /// Hint: how to log in.
    pub login: &'static str,
    /// The version this was written against.
    pub version: &'static str,
    /// Environment variables it needs although they look like secrets.
    pub(super) keys: &'static [&'static str],
    /// The format of its flags and records.
    pub(super) speech: ProgramFormat,
}

/// The supported formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProgramFormat {
    Claude,
    Codex,
    Pi,
}

/// Anthropic's `claude`.
pub static CLAUDE: AgentProgram = AgentProgram {
    name: "claude-cli",
    executable: "claude",
    install: "npm install -g @anthropic-ai/claude-code",
    login: "start `claude` and type /login, or set ANTHROPIC_API_KEY",
    version: "2.1.197",
    keys: &[
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
    ],
    speech: ProgramFormat::Claude,
};

/// OpenAI's `codex`.
pub static CODEX: AgentProgram = AgentProgram {
    name: "codex-cli",
    executable: "codex",
    install: "npm install -g @openai/codex",
    login: "run `codex login`, or set CODEX_API_KEY",
    version: "0.166.0",
    keys: &["OPENAI_API_KEY", "CODEX_API_KEY"],
    speech: ProgramFormat::Codex,
};

/// The `pi` coding agent.
pub static PI: AgentProgram = AgentProgram {
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
    speech: ProgramFormat::Pi,
};
