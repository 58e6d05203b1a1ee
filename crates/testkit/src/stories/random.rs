//! Random stories, played by the real runtime: delegation, permissions, questions, failures, cuts, compaction, todos, and
//! whatever people do meanwhile. For tests of what clients fold from events.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use rooftree_protocol::{
    AgentDefinition, Answer, Command, Effect, EventBody, PermissionMode, PermissionScope,
    QuestionReply, SessionId,
    command::{CommandReply, NewSession},
    event::StopReason,
};
use rooftree_runtime::{delegation, people_tools};
use rooftree_store::Inquiry;
use rooftree_tools::{BackgroundProcesses, Tool, Toolset};
use serde_json::json;

use super::{look, task};
use crate::{
    Dice, ProbeTool, TestRuntime, TestRuntimeBuilder, owner,
    scripted::{ScriptEntry, ScriptedCall, ScriptedFailureKind, call, fail, say},
};

/// What models say: Markdown, and characters of one to four bytes.
const TEXTS: &[&str] = &[
    "gold",
    "",
    "Ein Stück weiter südlich: 3 €.",
    "日本語のテキスト、そして絵文字 🪙🪙.",
    "# Plan\n\n- **look**\n- dig\n\n```sh\nls -l\n```\n\nThat is all.",
    "A \"quoted\" \\ line\twith a tab,\r\nand \u{1}control\u{1b}[31m.",
    "| a | b |\n|---|--:|\n| 1 | 𝄞 |\n\n<script>alert(1)</script>",
];
/// What replies cost: whole, small, and with many digits.
const COSTS: &[f64] = &[0.0, 1.0, 0.1, 0.000_000_3, 0.012_345_678_9, 0.000_02];
/// How often a story looks whether it has settled.
const LOOKS: usize = 2_000;

/// A story that was begun: its session exists, and nothing has happened in it.
pub struct RandomStory {
    /// Where it is played.
    pub house: TestRuntime,
    /// Its session.
    pub session: SessionId,
    dice: Dice,
}

impl RandomStory {
    /// Begins the story of this number.
    pub async fn begin(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let house = plan(&mut dice).build();
        let new = NewSession {
            agent: "lead".into(),
            cwd: house.path().into(),
            name: None,
            model: None,
        };
        let CommandReply::Session(opened) = house.command(Command::Open(new)).await else {
            panic!("opening a session is answered with it")
        };
        Self {
            session: opened.id,
            house,
            dice,
        }
    }

    /// Plays it until nothing is left to do.
    pub async fn play(&mut self) {
        self.house.post_to(&self.session, "go first").await;
        for _ in 0..3 + self.dice.roll(4) {
            self.do_something().await;
        }
        for _ in 0..LOOKS {
            if self
                .house
                .store()
                .unfinished()
                .await
                .is_ok_and(|rest| rest.is_empty())
            {
                return;
            }
            self.answer_all().await;
            self.house.clock.advance(Duration::from_secs(30));
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
        let told = self.house.transcript(&self.session).await;
        panic!("the story never settled:\n{told}");
    }

    async fn do_something(&mut self) {
        let session = self.session.clone();
        let (house, dice) = (&self.house, &mut self.dice);
        // What comes too early or too late is refused, which is part of the story.
        let send = |command| async { drop(house.handle.send(&owner(), command).await) };
        match dice.roll(14) {
            0 => house.post_to(&session, "go on").await,
            1 => house.steer(&session, "no, differently").await,
            2 => house.post_silent(&session, "by the way").await,
            3 => send(Command::Cancel { session, run: None }).await,
            4 if dice.roll(2) == 0 => {
                let unless_busy = false;
                send(Command::Clear {
                    session,
                    unless_busy,
                })
                .await;
            }
            5 => {
                send(Command::Compact {
                    session,
                    focus: None,
                })
                .await
            }
            6 => {
                let name = [None, Some("täglich".to_owned())][dice.roll(2)].clone();
                send(Command::Rename { session, name }).await;
            }
            7 => {
                let mode = [None, Some(PermissionMode::Ask), Some(PermissionMode::Plan)];
                let mode = mode[dice.roll(3)];
                send(Command::SetMode { session, mode }).await;
            }
            8 => {
                let children = house.children(&session).await;
                if let Some(child) = children.first() {
                    let session = child.id.clone();
                    send(Command::Cancel { session, run: None }).await;
                }
            }
            9 | 10 => self.answer_all().await,
            11 => house.clock.advance(Duration::from_secs(10)),
            _ => {
                let pause = Duration::from_micros(dice.roll(4_000) as u64);
                tokio::time::sleep(pause).await;
            }
        }
    }

    /// Answers whatever is asked.
    async fn answer_all(&mut self) {
        let asked = self.house.handle.queries(&owner()).inquiries(None).await;
        for inquiry in asked.unwrap_or_default() {
            let command = self.answer(inquiry);
            drop(self.house.handle.send(&owner(), command).await);
        }
    }

    fn answer(&mut self, inquiry: Inquiry) -> Command {
        match inquiry.asked {
            EventBody::PermissionRequested { id, .. } => Command::Permit {
                session: inquiry.session,
                permission: id,
                answer: match self.dice.roll(3) {
                    0 => Answer::allow(PermissionScope::Once),
                    1 => Answer::allow(PermissionScope::Session),
                    _ => Answer::deny(Some("not that one".into())),
                },
            },
            EventBody::QuestionRequested { id, .. } => Command::Reply {
                question: id,
                reply: QuestionReply::Answered {
                    answers: BTreeMap::from([("colour".to_owned(), vec!["blue".to_owned()])]),
                },
            },
            other => panic!("nobody asks by {}", other.name()),
        }
    }
}

/// A script and what goes with it.
fn plan(dice: &mut Dice) -> TestRuntimeBuilder {
    let mut entries = Vec::new();
    for (agent, turns) in [
        ("lead", 1 + dice.roll(3)),
        ("helper", dice.roll(3)),
        ("scout", 1),
    ] {
        for _ in 0..turns {
            entries.extend(turn(dice, agent));
        }
        entries.push(reply(dice, agent).times(1_000));
    }
    entries.push(
        say("In short: they dug.")
            .agent("compaction")
            .matching(".*"),
    );
    let mut plan = TestRuntimeBuilder::new(entries)
        .agent(AgentDefinition::new("helper"))
        .agent(AgentDefinition::new("scout"));
    plan.tools = people_tools::with_tools(&delegation::tools::with_tools(&tools()));
    plan.limits.depth = Some(2);
    plan.limits.max_turns = Some(8);
    if dice.roll(3) == 0 {
        plan = with_verifier(plan);
    }
    if dice.roll(2) == 0 {
        plan = plan.asking(PermissionMode::Ask);
    }
    plan
}

fn with_verifier(mut plan: TestRuntimeBuilder) -> TestRuntimeBuilder {
    let found = || Box::pin(std::future::ready(Err("ok.txt is missing".to_owned())));
    plan.checkers
        .insert("tests".into(), Arc::new(move |_| found()));
    plan.agent(AgentDefinition {
        verifiers: vec!["tests".into()],
        ..AgentDefinition::new("lead")
    })
}

fn tools() -> Toolset {
    let builtin = rooftree_tools::builtin(Arc::new(BackgroundProcesses::new(|| 7)));
    let todos = builtin
        .iter()
        .find(|tool| tool.spec().name == "TodoWrite")
        .cloned();
    let probes: [Arc<dyn Tool>; 2] = [
        ProbeTool::open("Look", Effect::ReadOnly),
        ProbeTool::open("Change", Effect::LocalMutation),
    ];
    Toolset::new(probes.into_iter().chain(todos))
}

/// One turn of an agent: a reply, perhaps after failures.
fn turn(dice: &mut Dice, agent: &str) -> Vec<ScriptEntry> {
    let reply = match dice.roll(8) {
        0 => reply(dice, agent).stop(StopReason::MaxOutput),
        1 | 2 => reply(dice, agent),
        _ => {
            let calls: Vec<_> = (0..1 + dice.roll(2))
                .map(|_| any_call(dice, agent))
                .collect();
            reply(dice, agent).calls(calls)
        }
    };
    let kind = match dice.roll(16) {
        0 => ScriptedFailureKind::RateLimit,
        1 | 4 => ScriptedFailureKind::Cut,
        2 => ScriptedFailureKind::Overloaded,
        3 => ScriptedFailureKind::Unauthorized,
        _ => return vec![reply],
    };
    let failure = fail(kind).agent(agent);
    match kind {
        ScriptedFailureKind::Cut => vec![failure.cut_after(5), reply],
        _ => vec![failure, reply],
    }
}

fn reply(dice: &mut Dice, agent: &str) -> ScriptEntry {
    let entry = say(dice.pick(TEXTS)).agent(agent).usage(120, 30);
    let entry = entry.cost(dice.pick(COSTS)).chunk(4 + dice.roll(12));
    if dice.roll(4) == 0 {
        entry.thinking("Let me see …")
    } else {
        entry
    }
}

fn any_call(dice: &mut Dice, agent: &str) -> ScriptedCall {
    let below = if agent == "lead" { "helper" } else { "scout" };
    match dice.roll(9) {
        0 | 1 => task(below, "dig", json!({})),
        2 => task(below, "dig", json!({"run_in_background": true})),
        3 => call("Change", json!({"say": "a.txt"})),
        4 => {
            let input = json!({"question": "Which colour?", "header": "colour", "options": ["red", "blue"]});
            call("AskUserQuestion", input)
        }
        5 => {
            let status = dice.pick(&["pending", "in_progress", "completed"]);
            call(
                "TodoWrite",
                json!({"todos": [{"content": "look", "status": status}]}),
            )
        }
        6 if agent == "lead" => call(
            "InvokeAgent",
            json!({"agent_name": "fork", "prompt": "go alone"}),
        ),
        7 => call("Missing", json!({})),
        _ => look("the hole"),
    }
}
