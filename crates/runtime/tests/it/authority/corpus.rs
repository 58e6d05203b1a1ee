//! The corpus of recoveries and messages: every case with its control.

use rooftree_protocol::{
    Confinement, EventBody, Network, PermissionMode, RunBounds, SandboxMode, event::PolicyNote,
};
use rooftree_providers::scripted::{call, say};
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder};
use rooftree_tools::{PermissionRule, Policy};
use serde::Deserialize;
use serde_json::json;

use super::{left_open, messages, tools};

#[derive(Deserialize)]
struct Corpus {
    recovery: Vec<Recovery>,
    message: Vec<Told>,
}

/// One call that a recovered run makes.
#[derive(Deserialize)]
struct Recovery {
    class: String,
    /// Whether the call is one that both the run and the process permit.
    #[serde(default)]
    benign: bool,
    /// What the journal of the run says; nothing if it is older than the record of policies.
    began: Option<Rights>,
    /// Whether the journal says the bounds of the run.
    #[serde(default = "yes")]
    recorded: bool,
    process: Rights,
    call: String,
    #[serde(default)]
    say: String,
}

fn yes() -> bool {
    true
}

#[derive(Clone, Deserialize)]
struct Rights {
    mode: PermissionMode,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    network: Network,
    #[serde(default)]
    sandbox: SandboxMode,
    tools: Option<Vec<String>>,
    max_turns: Option<u32>,
}

impl Rights {
    fn policy(&self) -> Policy {
        let rules = |rules: &[String]| {
            rules
                .iter()
                .map(|rule| PermissionRule::parse(rule).unwrap())
                .collect()
        };
        Policy {
            mode: self.mode,
            allow: rules(&self.allow),
            ask: rules(&self.ask),
            deny: rules(&self.deny),
            ..Policy::default()
        }
    }

    fn note(&self) -> PolicyNote {
        let (allow, ask, deny) = (self.allow.clone(), self.ask.clone(), self.deny.clone());
        PolicyNote {
            mode: self.mode,
            allow,
            ask,
            deny,
            ..PolicyNote::default()
        }
    }

    fn confinement(&self) -> Confinement {
        Confinement {
            mode: self.sandbox,
            network: self.network.clone(),
            ..Confinement::default()
        }
    }

    fn bounds(&self) -> RunBounds {
        RunBounds {
            mode: self.mode,
            tools: self.tools.clone(),
            sandbox: self.confinement(),
            max_turns: self.max_turns.unwrap_or(9),
            ..RunBounds::unrecorded()
        }
    }
}

/// A message from a process that bypasses to a session of the scout.
#[derive(Deserialize)]
struct Told {
    class: String,
    #[serde(default)]
    benign: bool,
    /// How the lead says it.
    tool: String,
    #[serde(default)]
    silent: bool,
    /// The mode in which the scout's run was left open; nothing if none was.
    open: Option<PermissionMode>,
}

fn corpus() -> Corpus {
    toml::from_str(include_str!("../../corpora/authority.toml")).unwrap()
}

impl Recovery {
    fn plan(&self) -> TestRuntimeBuilder {
        let calls = || [call(self.call.as_str(), json!({"say": self.say}))];
        let mut plan = TestRuntimeBuilder::new([
            say("").matching("left open").calls(calls()),
            say("").matching("control").calls(calls()),
            say("done").times(9),
        ])
        .tools(tools());
        plan.rights.policy = self.process.policy();
        plan.rights.sandbox.confinement = self.process.confinement();
        plan.limits.max_turns = self.process.max_turns;
        plan
    }

    /// Whether the call did, in the first or the second run of a session, what it must not do where it is refused.
    async fn did(&self, runtime: &TestRuntime, session: &rooftree_protocol::SessionId) -> bool {
        runtime.wait_for_run(session).await;
        let records = runtime
            .events(session)
            .await
            .into_iter()
            .filter_map(|event| match event.body {
                EventBody::ToolCompleted(record) => Some(record),
                _ => None,
            });
        let records: Vec<_> = records.collect();
        let text = |record: &rooftree_protocol::event::ToolRecord| {
            rooftree_protocol::message::text_of(&record.content)
        };
        match self.call.as_str() {
            "Walls" => records
                .iter()
                .any(|record| text(record).contains(&self.say)),
            _ => records.iter().any(|record| record.outcome.is_done()),
        }
    }
}

#[tokio::test]
async fn r2_d1_no_case_of_the_corpus_gets_more_than_its_run_began_with() {
    for (number, case) in corpus().recovery.into_iter().enumerate() {
        let runtime = case.plan().build();
        let bounds = case
            .began
            .as_ref()
            .filter(|_| case.recorded)
            .map(Rights::bounds);
        let session = left_open(
            &runtime,
            "lead",
            case.began.as_ref().map(Rights::note),
            bounds,
        )
        .await;
        runtime.recover().await;
        let did = case.did(&runtime, &session).await;
        assert_eq!(
            did,
            case.benign,
            "{} {number}: {}",
            case.class,
            runtime.transcript(&session).await
        );
        // The control: without the ceiling, as a new run of the same process, the call does what it must not.
        let control = runtime.post("control").await;
        assert!(
            case.did(&runtime, &control).await,
            "control of {} {number}",
            case.class
        );
        runtime.close().await;
    }
}

#[tokio::test]
async fn r2_d1_no_message_of_the_corpus_wakes_an_interrupted_run() {
    for (number, case) in corpus().message.into_iter().enumerate() {
        let input = json!({"to": "scout", "agentId": "scout", "text": "left open", "content": "left open", "silent": case.silent});
        let input = match case.tool.as_str() {
            "agents_message" => json!({"agentId": "scout", "content": "left open"}),
            _ => json!({"to": input["to"], "text": "x", "silent": case.silent}),
        };
        let runtime = messages::plan(call(case.tool.as_str(), input)).build();
        let scout = match case.open {
            Some(mode) => {
                let note = PolicyNote {
                    mode,
                    ..PolicyNote::default()
                };
                left_open(&runtime, "scout", Some(note), Some(messages::bounds(mode))).await
            }
            None => {
                let scout = runtime.post_as("scout", "hi").await;
                runtime.wait_for_run(&scout).await;
                scout
            }
        };
        let before = runtime.events(&scout).await.len();
        let lead = runtime.post("tell it").await;
        let said = runtime.wait_for_run(&lead).await.text;
        assert_eq!(
            said.contains("queued"),
            !case.benign,
            "{} {number}: {said}",
            case.class
        );
        if case.benign && !case.silent {
            runtime.wait_for_nth_run(&scout, 2).await;
        } else {
            assert_eq!(
                runtime.events(&scout).await.len(),
                before,
                "{} {number}",
                case.class
            );
        }
        if case.open.is_some() {
            // The control: a process that goes on with everything takes the run and the message.
            runtime.recover().await;
            runtime.wait_for_run(&scout).await;
        }
        runtime.close().await;
    }
}

#[test]
fn the_corpus_has_enough_cases_and_a_third_of_them_are_benign() {
    let Corpus { recovery, message } = corpus();
    let benign = recovery.iter().filter(|case| case.benign).count()
        + message.iter().filter(|case| case.benign).count();
    let all = recovery.len() + message.len();
    assert!(
        all >= 44 && benign * 3 >= all,
        "{all} cases, {benign} benign"
    );
}
