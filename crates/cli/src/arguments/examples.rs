//! Examples below the help of each command. Tests parse every one of them.

use clap::Command;

/// A command by its path, with examples and what each does.
type CommandExamples = (&'static str, &'static [(&'static str, &'static str)]);

/// How many examples a group of commands shows: one of each of its first commands.
const MOST_OF_A_GROUP: usize = 5;

/// Examples of every command. `k3v9x2ab` stands for the end of an id.
pub const EXAMPLES: &[CommandExamples] = &[
    (
        "chat",
        &[
            ("rooftree chat -a explore", "with another agent"),
            (
                "rooftree chat --continue",
                "the latest session of this directory",
            ),
        ],
    ),
    (
        "run",
        &[
            ("rooftree run \"What does this project do?\"", ""),
            (
                "rooftree run \"Explain this error\" < build.log",
                "what is piped in goes below the prompt",
            ),
            (
                "rooftree run \"What is wrong here?\" @shot.png",
                "attach a file",
            ),
            (
                "rooftree run --continue \"And the tests?\"",
                "the latest session of this directory",
            ),
            (
                "rooftree run -m ollama/qwen3:8b \"Fix the typo\" --permission-mode accept-edits",
                "",
            ),
            (
                "rooftree run -o json --max-turns 20 --timeout 5m \"Fix the test\"",
                "for scripts",
            ),
            (
                "rooftree run --output-schema plan.json \"Plan the release\"",
                "an answer that fits a JSON schema",
            ),
        ],
    ),
    (
        "demo",
        &[("rooftree demo", "no key, no network, nothing is changed")],
    ),
    (
        "serve",
        &[
            ("rooftree serve", "on 127.0.0.1:7663"),
            ("rooftree serve --open", "and open the page in a browser"),
            (
                "rooftree serve --port 8080 --no-resume",
                "leave unfinished sessions alone",
            ),
            (
                "rooftree serve --qr --public-url https://agents.example.org",
                "and draw the login link for a phone",
            ),
            (
                "rooftree serve --bind 0.0.0.0 --public-url https://agents.example.org",
                "behind a proxy",
            ),
        ],
    ),
    (
        "service install",
        &[
            (
                "rooftree service install",
                "the server starts at each login",
            ),
            ("rooftree service install --print", "only show the unit"),
        ],
    ),
    (
        "backup",
        &[
            ("rooftree backup sessions-monday.db", ""),
            ("rooftree backup /mnt/disk/rooftree.db -o json", ""),
        ],
    ),
    (
        "restore",
        &[(
            "rooftree restore sessions-monday.db",
            "end the server first",
        )],
    ),
    ("service uninstall", &[("rooftree service uninstall", "")]),
    ("service status", &[("rooftree service status", "")]),
    (
        "agents list",
        &[
            ("rooftree agents list", ""),
            ("rooftree agents list -o json", ""),
        ],
    ),
    (
        "agents show",
        &[
            ("rooftree agents show explore", ""),
            (
                "rooftree agents show explore --effective",
                "what holds for it here",
            ),
            (
                "rooftree agents show explore --prompt",
                "what the model reads",
            ),
        ],
    ),
    (
        "agents new",
        &[
            ("rooftree agents new reviewer", ""),
            ("rooftree agents new my-lead --from lead", ""),
        ],
    ),
    (
        "agents edit",
        &[("rooftree agents edit reviewer", "in $EDITOR, then checked")],
    ),
    (
        "agents validate",
        &[
            ("rooftree agents validate", "all that are found here"),
            ("rooftree agents validate .claude/agents", ""),
        ],
    ),
    (
        "agents test",
        &[(
            "rooftree agents test reviewer \"Review src/main.rs\"",
            "read-only",
        )],
    ),
    (
        "agents import",
        &[
            ("rooftree agents import claude .", "from .claude/agents"),
            (
                "rooftree agents import opencode . --project",
                "into this project",
            ),
        ],
    ),
    ("agents rm", &[("rooftree agents rm reviewer", "")]),
    (
        "trust",
        &[
            ("rooftree trust --show", "what this folder brings"),
            ("rooftree trust", "use it from now on"),
            ("rooftree trust --list", "folders that are trusted"),
        ],
    ),
    (
        "permissions list",
        &[(
            "rooftree permissions list",
            "what agents ask now, in all sessions",
        )],
    ),
    (
        "permissions show",
        &[(
            "rooftree permissions show k3v9x2ab",
            "with the whole change",
        )],
    ),
    (
        "permissions allow",
        &[
            ("rooftree permissions allow k3v9x2ab", "this call"),
            (
                "rooftree permissions allow k3v9x2ab --for session",
                "and calls like it in this session",
            ),
        ],
    ),
    (
        "permissions deny",
        &[(
            "rooftree permissions deny k3v9x2ab --because \"not this file\"",
            "",
        )],
    ),
    (
        "permissions answer",
        &[(
            "rooftree permissions answer k3v9x2ab 2",
            "the second choice",
        )],
    ),
    (
        "permissions rules",
        &[("rooftree permissions rules", "all rules, with numbers")],
    ),
    (
        "permissions rules add",
        &[("rooftree permissions rules add 'Bash(cargo test *)'", "")],
    ),
    (
        "permissions rules rm",
        &[("rooftree permissions rules rm 3", "")],
    ),
    (
        "permissions import",
        &[
            (
                "rooftree permissions import",
                "from .claude/settings.json or opencode.json",
            ),
            ("rooftree permissions import opencode.json --yes", ""),
        ],
    ),
    (
        "can",
        &[
            ("rooftree can lead Bash 'cargo test'", ""),
            (
                "rooftree can lead Write src/main.rs --permission-mode accept-edits",
                "",
            ),
        ],
    ),
    (
        "why",
        &[("rooftree why k3v9x2ab", "the end of a call's id")],
    ),
    (
        "sessions list",
        &[
            ("rooftree sessions list", ""),
            ("rooftree sessions list --here", "of this directory"),
            ("rooftree sessions list -o json", ""),
        ],
    ),
    ("sessions show", &[("rooftree sessions show k3v9x2ab", "")]),
    (
        "sessions events",
        &[("rooftree sessions events k3v9x2ab --since 40 --follow", "")],
    ),
    (
        "sessions search",
        &[("rooftree sessions search parser bug", "")],
    ),
    (
        "sessions fork",
        &[("rooftree sessions fork k3v9x2ab --at 40", "")],
    ),
    (
        "sessions switch",
        &[("rooftree sessions switch k3v9x2ab reviewer", "")],
    ),
    ("sessions back", &[("rooftree sessions back k3v9x2ab", "")]),
    (
        "sessions export",
        &[
            ("rooftree sessions export k3v9x2ab --format md", ""),
            (
                "rooftree sessions export k3v9x2ab --out talk.jsonl",
                "a file that import reads",
            ),
        ],
    ),
    (
        "sessions import",
        &[("rooftree sessions import talk.jsonl", "")],
    ),
    (
        "sessions rename",
        &[("rooftree sessions rename k3v9x2ab release", "")],
    ),
    ("sessions pin", &[("rooftree sessions pin k3v9x2ab", "")]),
    (
        "sessions unpin",
        &[("rooftree sessions unpin k3v9x2ab", "")],
    ),
    (
        "sessions set",
        &[("rooftree sessions set k3v9x2ab ticket=1234", "")],
    ),
    (
        "sessions compact",
        &[
            ("rooftree sessions compact k3v9x2ab", ""),
            (
                "rooftree sessions compact k3v9x2ab \"the API decisions\"",
                "what to keep above all",
            ),
        ],
    ),
    (
        "sessions queue",
        &[("rooftree sessions queue k3v9x2ab", "messages that wait")],
    ),
    (
        "sessions queue withdraw",
        &[("rooftree sessions queue k3v9x2ab withdraw msg_k3v9x2ab", "")],
    ),
    (
        "sessions queue replace",
        &[(
            "rooftree sessions queue k3v9x2ab replace msg_k3v9x2ab \"only the tests\"",
            "",
        )],
    ),
    (
        "sessions undo",
        &[
            (
                "rooftree sessions undo k3v9x2ab --dry-run",
                "only show what would change",
            ),
            ("rooftree sessions undo k3v9x2ab --yes", ""),
        ],
    ),
    (
        "sessions clear",
        &[("rooftree sessions clear k3v9x2ab", "")],
    ),
    ("sessions rm", &[("rooftree sessions rm k3v9x2ab", "")]),
    (
        "sessions restore",
        &[("rooftree sessions restore k3v9x2ab", "")],
    ),
    (
        "runs list",
        &[
            ("rooftree runs list", ""),
            ("rooftree runs list --all", "also delegated ones"),
        ],
    ),
    ("runs show", &[("rooftree runs show k3v9x2ab", "")]),
    (
        "runs trace",
        &[
            ("rooftree runs trace k3v9x2ab", ""),
            ("rooftree runs trace k3v9x2ab --svg trace.svg", ""),
        ],
    ),
    (
        "runs cancel",
        &[("rooftree runs cancel k3v9x2ab", "and every agent it asked")],
    ),
    ("tasks list", &[("rooftree tasks list", "")]),
    ("tasks tail", &[("rooftree tasks tail k3v9x2ab", "")]),
    (
        "tasks wait",
        &[("rooftree tasks wait k3v9x2ab --timeout 5m", "")],
    ),
    ("tasks stop", &[("rooftree tasks stop k3v9x2ab", "")]),
    (
        "tasks send",
        &[("rooftree tasks send k3v9x2ab \"also the tests\"", "")],
    ),
    (
        "schedules add",
        &[
            (
                "rooftree schedules add \"weekdays at 9\" \"Summarise my inbox\"",
                "",
            ),
            (
                "rooftree schedules add \"every 2h\" \"Look at the build\" --agent review --target home:123456",
                "the result goes to a chat",
            ),
            (
                "rooftree schedules add \"on run-ended:review\" \"Read the review\"",
                "after each run of an agent",
            ),
        ],
    ),
    ("schedules list", &[("rooftree schedules list", "")]),
    (
        "schedules next",
        &[(
            "rooftree schedules next \"0 9 * * 1-5\"",
            "before anything is saved",
        )],
    ),
    (
        "schedules show",
        &[("rooftree schedules show k3v9x2ab", "")],
    ),
    (
        "schedules run",
        &[("rooftree schedules run k3v9x2ab", "now, besides its times")],
    ),
    (
        "schedules pause",
        &[("rooftree schedules pause k3v9x2ab", "")],
    ),
    (
        "schedules resume",
        &[("rooftree schedules resume k3v9x2ab", "")],
    ),
    ("schedules rm", &[("rooftree schedules rm k3v9x2ab", "")]),
    (
        "schedules history",
        &[("rooftree schedules history k3v9x2ab", "")],
    ),
    (
        "schedules incidents",
        &[("rooftree schedules incidents k3v9x2ab", "")],
    ),
    (
        "schedules acknowledge",
        &[
            ("rooftree schedules acknowledge k3v9x2ab", ""),
            (
                "rooftree schedules acknowledge k3v9x2ab gate_error",
                "only this cause",
            ),
        ],
    ),
    (
        "outbox list",
        &[
            ("rooftree outbox list", ""),
            (
                "rooftree outbox list --state dead,unknown",
                "what did not arrive",
            ),
        ],
    ),
    ("outbox retry", &[("rooftree outbox retry k3v9x2ab", "")]),
    ("outbox drop", &[("rooftree outbox drop k3v9x2ab", "")]),
    (
        "connectors add",
        &[
            (
                "rooftree connectors add telegram --name home --agent lead",
                "the token is asked for",
            ),
            (
                "rooftree connectors add webhook --name builds --agent lead --generate-secret",
                "",
            ),
        ],
    ),
    (
        "connectors pair",
        &[(
            "rooftree connectors pair home --approver",
            "send the code to the bot",
        )],
    ),
    ("connectors list", &[("rooftree connectors list", "")]),
    (
        "connectors status",
        &[("rooftree connectors status home", "")],
    ),
    (
        "connectors set",
        &[(
            "rooftree connectors set home --group -1001234567890",
            "let a group use it",
        )],
    ),
    (
        "connectors secret",
        &[("rooftree connectors secret home", "asked for unseen")],
    ),
    (
        "connectors unpair",
        &[("rooftree connectors unpair home 123456", "")],
    ),
    ("connectors test", &[("rooftree connectors test home", "")]),
    ("connectors rm", &[("rooftree connectors rm home", "")]),
    (
        "doctor",
        &[
            ("rooftree doctor", ""),
            (
                "rooftree doctor --online",
                "also ask each provider one short question",
            ),
        ],
    ),
    ("doctor verify", &[("rooftree doctor verify", "")]),
    (
        "doctor salvage",
        &[("rooftree doctor salvage --out saved.db", "")],
    ),
    (
        "config show",
        &[(
            "rooftree config show --origin",
            "file and line of each value",
        )],
    ),
    (
        "config get",
        &[("rooftree config get limits.max_turns", "")],
    ),
    (
        "config set",
        &[
            ("rooftree config set model ollama/qwen3:8b", ""),
            ("rooftree config set limits.max_turns 20 --project", ""),
            (
                "rooftree config set permission.allow '[\"Bash(cargo test *)\"]'",
                "",
            ),
        ],
    ),
    ("config path", &[("rooftree config path", "")]),
    (
        "init",
        &[
            ("rooftree init", ""),
            ("rooftree init --print", "only show what would be written"),
        ],
    ),
    (
        "models list",
        &[
            ("rooftree models list", ""),
            ("rooftree models list sonnet", ""),
        ],
    ),
    ("models show", &[("rooftree models show sonnet", "")]),
    (
        "mcp list",
        &[
            ("rooftree mcp list", ""),
            ("rooftree mcp list --offline", "start nothing"),
        ],
    ),
    (
        "mcp add",
        &[
            (
                "rooftree mcp add memory -- npx -y @modelcontextprotocol/server-memory",
                "",
            ),
            (
                "rooftree mcp add docs --url https://example.com/mcp --project",
                "",
            ),
        ],
    ),
    ("mcp rm", &[("rooftree mcp rm memory", "")]),
    ("mcp test", &[("rooftree mcp test memory", "")]),
    ("mcp tools", &[("rooftree mcp tools memory", "")]),
    ("mcp prompts", &[("rooftree mcp prompts memory", "")]),
    ("mcp accept", &[("rooftree mcp accept memory", "")]),
    ("mcp login", &[("rooftree mcp login docs", "")]),
    ("auth list", &[("rooftree auth list", "")]),
    ("auth set", &[("rooftree auth set openai - < key.txt", "")]),
    ("auth login", &[("rooftree auth login anthropic", "")]),
    ("auth logout", &[("rooftree auth logout anthropic", "")]),
    (
        "token create",
        &[
            (
                "rooftree token create ci --scope chat --expires 30d",
                "sends messages, cannot approve",
            ),
            (
                "rooftree token create phone --scope chat,approve --agent reviewer",
                "for one agent",
            ),
        ],
    ),
    ("token list", &[("rooftree token list --all", "")]),
    ("token revoke", &[("rooftree token revoke ci", "")]),
    (
        "person invite",
        &[(
            "rooftree person invite Ann --url https://agents.example.org",
            "prints a link that works once",
        )],
    ),
    ("person list", &[("rooftree person list -o json", "")]),
    ("person disable", &[("rooftree person disable ann", "")]),
    (
        "person link",
        &[("rooftree person link", "logs another browser of yours in")],
    ),
    ("audit", &[("rooftree audit --limit 20", "")]),
    (
        "board",
        &[
            ("rooftree board", "what needs you first; Ctrl-C ends it"),
            ("rooftree board --once", ""),
            (
                "rooftree board -o stream-json",
                "the board, then every change of it",
            ),
        ],
    ),
    (
        "usage",
        &[
            ("rooftree usage --by model", ""),
            ("rooftree usage -o json", ""),
        ],
    ),
    (
        "call",
        &[(
            "rooftree call Read --file_path README.md",
            "inside a command of an agent",
        )],
    ),
    (
        "tools list",
        &[
            ("rooftree tools list", ""),
            ("rooftree tools list --agent explore", ""),
        ],
    ),
    ("tools show", &[("rooftree tools show Bash", "")]),
    ("hooks list", &[("rooftree hooks list", "")]),
    (
        "hooks test",
        &[("rooftree hooks test PreToolUse --tool Bash", "")],
    ),
    (
        "completions",
        &[
            (
                "rooftree completions bash > ~/.local/share/bash-completion/completions/rooftree",
                "",
            ),
            (
                "rooftree completions zsh > ~/.zfunc/_rooftree",
                "with fpath+=(~/.zfunc) in .zshrc",
            ),
            (
                "rooftree completions fish > ~/.config/fish/completions/rooftree.fish",
                "",
            ),
        ],
    ),
    (
        "man",
        &[
            ("rooftree man | man -l -", ""),
            (
                "rooftree man --dir ~/.local/share/man/man1",
                "one page per command",
            ),
        ],
    ),
    (
        "version",
        &[("rooftree version", ""), ("rooftree version -o json", "")],
    ),
];

/// The command and those below it with their examples below the help.
pub fn with_examples(command: Command) -> Command {
    let path = command.get_name().to_owned();
    added(command, &path)
}

fn added(command: Command, path: &str) -> Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .collect();
    let mut command = command;
    for name in &names {
        let below = format!("{path} {name}");
        command = command.mut_subcommand(name, |sub| added(sub, &below));
    }
    match page(path, &names) {
        Some(text) if command.get_after_help().is_none() => command.after_help(text),
        _ => command,
    }
}

fn of(path: &str) -> &'static [(&'static str, &'static str)] {
    let found = EXAMPLES.iter().find(|(known, _)| *known == path);
    found.map(|(_, examples)| *examples).unwrap_or_default()
}

/// The examples of a command; of a group, one of each of its commands.
fn page(path: &str, below: &[String]) -> Option<String> {
    let mut examples = of(path).to_vec();
    if examples.is_empty() {
        let first = |name: &String| of(&format!("{path} {name}")).first().copied();
        examples = below
            .iter()
            .filter_map(first)
            .take(MOST_OF_A_GROUP)
            .collect();
    }
    let widest = examples.iter().filter(|(_, does)| !does.is_empty());
    let widest = widest.map(|(typed, _)| typed.len()).max().unwrap_or(0);
    let line = |(typed, does): &(&str, &str)| match *does {
        "" => format!("  {typed}"),
        does => format!("  {typed:<widest$}  # {does}"),
    };
    let lines: Vec<String> = examples.iter().map(line).collect();
    (!lines.is_empty()).then(|| format!("Examples:\n{}", lines.join("\n")))
}
