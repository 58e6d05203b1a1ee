//! Recorded output of the real programs: every word once, tools as activities, usage taken over.

use rooftree_protocol::{
    PermissionMode, Usage,
    event::{ReplyPart, StopReason},
};
use rooftree_providers::{
    Workplace,
    agent_program::{AgentProgram, CLAUDE, CODEX, PI},
};
use serde_json::{Value, json};

use super::fake::{Fake, text, tool, user};

pub const CLAUDE_RECORDING: &str = include_str!("recordings/claude.jsonl");
pub const CODEX_RECORDING: &str = include_str!("recordings/codex.jsonl");
pub const PI_RECORDING: &str = include_str!("recordings/pi.jsonl");

struct Expected {
    program: &'static AgentProgram,
    recording: &'static str,
    text: &'static str,
    tool: Value,
    usage: Usage,
}

fn usage(input: u64, output: u64, cache: (u64, u64)) -> Usage {
    Usage {
        input,
        output,
        cache_read: cache.0,
        cache_write: cache.1,
        ..Usage::none()
    }
}

fn table() -> [Expected; 3] {
    let bash = |name: &str, title: &str| json!({"activity": "tool", "tool": name, "title": title, "ok": true});
    [
        Expected {
            program: &CLAUDE,
            recording: CLAUDE_RECORDING,
            text: "Let me look.\n\nIt says\n\nhi ✓.",
            tool: bash("Bash", "echo hi"),
            usage: Usage {
                cost_usd: 0.000_754_5,
                ..usage(234, 39, (200, 10))
            },
        },
        Expected {
            program: &CODEX,
            recording: CODEX_RECORDING,
            text: "It says hi ✓.",
            tool: bash("command_execution", "/bin/bash -lc 'echo hi'"),
            usage: Usage {
                reasoning: 6,
                cost_complete: false,
                ..usage(100, 14, (40, 0))
            },
        },
        Expected {
            program: &PI,
            recording: PI_RECORDING,
            text: "Let me look.\n\nIt says\n\nhi ✓.",
            tool: bash("bash", "echo hi"),
            usage: Usage {
                cost_usd: 0.000_754_5,
                ..usage(234, 39, (200, 10))
            },
        },
    ]
}

#[tokio::test]
async fn a_recorded_answer_becomes_a_reply() {
    for expected in table() {
        let name = expected.program.name;
        let heard = Fake::replaying(expected.program, expected.recording)
            .ask("What does it say?")
            .await;
        let reply = heard.reply.unwrap();
        assert_eq!(
            (heard.text.as_str(), text(&reply).as_str()),
            (expected.text, expected.text),
            "{name}"
        );
        assert_eq!(reply.stop, StopReason::End);
        let cost = reply.usage.cost_usd;
        assert!(
            (cost - expected.usage.cost_usd).abs() < 1e-9,
            "{name}: {cost}"
        );
        assert_eq!(
            Usage {
                cost_usd: expected.usage.cost_usd,
                ..reply.usage
            },
            expected.usage,
            "{name}"
        );
        let opaque: Vec<&Value> = reply
            .parts
            .iter()
            .filter_map(|part| match part {
                ReplyPart::Opaque { provider, item } if provider == name => Some(item),
                _ => None,
            })
            .collect();
        assert_eq!(opaque.len(), 2, "{name}: one activity, one memory");
        assert_eq!(opaque[0], &expected.tool, "{name}");
        assert_eq!(
            opaque[1]["session"].as_str(),
            reply.request.as_deref(),
            "{name}"
        );
        assert!(
            !reply
                .parts
                .iter()
                .any(|part| matches!(part, ReplyPart::Call(_))),
            "{name}: nothing for us to do"
        );
        let tools: Vec<_> = heard
            .notes
            .iter()
            .filter(|(_, code, _)| *code == "program_tool")
            .collect();
        assert_eq!(tools.len(), 1, "{name}: its tool is told once, live");
    }
}

#[tokio::test]
async fn the_reply_is_the_same_wherever_the_output_is_cut() {
    for expected in table() {
        // In the middle of the last character that takes several bytes, and of a record.
        let mark = expected.recording.rfind('✓').unwrap();
        for at in [1, mark / 2, mark + 1, mark + 2] {
            let script = format!(
                "head -c {at} \"$here/recording\"; sleep 0.1; echo noise >&2; tail -c +{} \"$here/recording\"",
                at + 1
            );
            let fake = Fake::new(expected.program, &script).with_recording(expected.recording);
            let heard = fake.ask("What does it say?").await;
            assert_eq!(
                heard.text, expected.text,
                "{} cut at {at}",
                expected.program.name
            );
            assert_eq!(text(&heard.reply.unwrap()), expected.text);
        }
    }
}

#[tokio::test]
async fn a_long_prompt_and_one_that_begins_with_a_dash_arrive_whole() {
    let million = format!("-{}", "ä\n".repeat(350_000));
    for expected in table() {
        for prompt in ["--help", "- one\n- two\n", &million] {
            let fake = Fake::replaying(expected.program, expected.recording);
            fake.ask(prompt).await.reply.unwrap();
            assert!(fake.input() == prompt, "{}", expected.program.name);
            assert!(fake.arguments().iter().all(|argument| argument != "--help"));
        }
    }
}

#[tokio::test]
async fn model_effort_system_prompt_and_scope_become_flags() {
    let table: [(&AgentProgram, &str, &str); 3] = [
        (
            &CLAUDE,
            CLAUDE_RECORDING,
            "-p --output-format=stream-json --verbose --include-partial-messages --model=some/model --effort=high \
             --append-system-prompt=- \"Be\" terse. --tools=Read --strict-mcp-config --allowedTools=Read",
        ),
        (
            &CODEX,
            CODEX_RECORDING,
            "exec --json --skip-git-repo-check --color never --model=some/model -c model_reasoning_effort=\"high\" \
             -c developer_instructions='- \"Be\" terse.' --sandbox read-only -c web_search=\"disabled\" -",
        ),
        (
            &PI,
            PI_RECORDING,
            "--mode json -p --model some/model --thinking high --append-system-prompt - \"Be\" terse. --tools read",
        ),
    ];
    for (program, recording, expected) in table {
        let fake = Fake::replaying(program, recording);
        let mut request = fake.request([user("hi")]);
        request.model = "some/model".into();
        request.effort = Some(rooftree_protocol::Effort::High);
        request.system = "- \"Be\" terse.".into();
        request.tools = [tool("Read"), tool("Bash")].into();
        let directory = request.workplace.directory.clone();
        request.workplace = Workplace {
            directory,
            mode: PermissionMode::Ask,
            ..Workplace::default()
        }
        .into();
        fake.answer(request).await.reply.unwrap();
        assert_eq!(fake.arguments().join(" "), expected, "{}", program.name);
    }
}
