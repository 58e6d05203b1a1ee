//! How what agents run is confined, from the settings down to a child's child: only ever tighter.

use std::{path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use proptest::{collection::vec, prelude::*, test_runner::TestRunner};
use rooftree_protocol::{
    AgentDefinition, Confinement, Effect, Network, Reading, SandboxMode, ToolKind, ToolSpec,
    event::EventBody, message::text_of,
};
use rooftree_providers::scripted::{call, say};
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder};
use rooftree_tools::{SandboxConfig, Tool, ToolContext, ToolInfo, ToolOutput, Toolset};
use serde_json::{Value, json};

use super::{agent, task};

fn any_mode() -> impl Strategy<Value = SandboxMode> {
    prop_oneof![
        Just(SandboxMode::Off),
        Just(SandboxMode::Auto),
        Just(SandboxMode::Required)
    ]
}

fn any_network() -> impl Strategy<Value = Network> {
    let names = [
        "a.io", "*.a.io", "b.a.io", "*.b.a.io", "c.b.a.io", "d.io", "*",
    ];
    let pattern = (0..names.len()).prop_map(move |at| names[at].parse().unwrap());
    prop_oneof![
        Just(Network::Off),
        Just(Network::On),
        vec(pattern, 0..4).prop_map(Network::hosts)
    ]
}

fn any_paths() -> impl Strategy<Value = Vec<PathBuf>> {
    let names = ["/a", "/a/b", "/a/bc", "/a/b/c", "/d", "/"];
    vec(
        (0..names.len()).prop_map(move |at| PathBuf::from(names[at])),
        0..4,
    )
}

fn any_confinement() -> impl Strategy<Value = Confinement> {
    let reading = prop_oneof![Just(Reading::AsCommands), Just(Reading::OnlyHere)];
    (any_mode(), any_network(), any_paths(), any_paths(), reading).prop_map(
        |(mode, network, writable, readable, reading)| Confinement {
            mode,
            network,
            writable,
            readable,
            reading,
        },
    )
}

#[test]
fn narrowing_is_monotone_and_loses_nothing_that_both_permit() {
    let definition = (
        proptest::option::of(any_mode()),
        proptest::option::of(any_network()),
    );
    let given = (
        any_confinement(),
        any_confinement(),
        any_confinement(),
        definition,
    );
    TestRunner::deterministic()
        .run(&given, |(one, other, third, (mode, network))| {
            let both = one.narrowed(&other);
            prop_assert!(both.is_within(&one) && both.is_within(&other), "{both:?}");
            prop_assert!(both.with(mode, network.as_ref()).is_within(&both));
            // Tighter above is never looser below.
            let tighter = one.narrowed(&third);
            prop_assert!(tighter.narrowed(&other).is_within(&both));
            // The loosest that is within both: whatever is within both is within it.
            if third.is_within(&one) && third.is_within(&other) {
                prop_assert!(third.is_within(&both), "{third:?} is not within {both:?}");
            }
            Ok(())
        })
        .unwrap();
}

/// Says how it is confined.
struct Mirror(ToolSpec);

const INFO: ToolInfo = ToolInfo::at_run_time(ToolKind::Execute, Effect::ReadOnly);

impl Tool for Mirror {
    fn info(&self) -> &ToolInfo {
        &INFO
    }

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, _: &str, input: Value) -> Result<Value, String> {
        Ok(input)
    }

    fn title(&self, _: &Value) -> String {
        "mirror".into()
    }

    fn run(&self, _: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let confinement = context.sandbox.unwrap().confinement;
        Box::pin(async move { ToolOutput::done(serde_json::to_string(&confinement).unwrap()) })
    }
}

fn mirror() -> Arc<dyn Tool> {
    let spec = json!({"name": "Mirror", "description": "", "input_schema": {"type": "object"}});
    Arc::new(Mirror(serde_json::from_value(spec).unwrap()))
}

/// What the mirror showed in a session.
async fn seen(runtime: &TestRuntime, session: &rooftree_protocol::SessionId) -> Confinement {
    let shown = runtime
        .events(session)
        .await
        .into_iter()
        .find_map(|event| match event.body {
            EventBody::ToolCompleted(record) if record.tool == "Mirror" => {
                Some(text_of(&record.content))
            }
            _ => None,
        });
    serde_json::from_str(&shown.unwrap()).unwrap()
}

#[tokio::test]
async fn a_child_is_confined_as_its_parent_is_and_as_its_definition_says() {
    let lead = AgentDefinition {
        network: Some(Network::Off),
        ..agent("lead")
    };
    // What a child would rather have does not count where it is looser.
    let loose = AgentDefinition {
        network: Some(Network::On),
        sandbox: Some(SandboxMode::Off),
        ..agent("loose")
    };
    let strict = AgentDefinition {
        sandbox: Some(SandboxMode::Required),
        ..agent("strict")
    };
    let mirrored = |name: &'static str| say("").agent(name).calls([call("Mirror", json!({}))]);
    let mut plan = TestRuntimeBuilder::new([
        mirrored("lead"),
        say("")
            .agent("lead")
            .calls([task("loose", "x"), task("strict", "y")]),
        say("done").agent("lead"),
        mirrored("loose"),
        say("ok").agent("loose"),
        mirrored("strict"),
        say("").agent("strict").calls([task("loose", "z")]),
        say("ok").agent("strict"),
        mirrored("loose"),
        say("ok").agent("loose"),
    ])
    .with_delegation(Toolset::new([mirror()]))
    .agent(lead)
    .agent(loose)
    .agent(strict);
    plan.limits.depth = Some(2);
    let general = Confinement {
        writable: vec!["/srv/cache".into()],
        ..Confinement::default()
    };
    plan.rights.sandbox = SandboxConfig {
        confinement: general.clone(),
        ..SandboxConfig::default()
    };
    let runtime = plan.build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let above = seen(&runtime, &session).await;
    assert_eq!(
        above,
        Confinement {
            network: Network::Off,
            ..general
        }
    );
    for child in runtime.children(&session).await {
        let below = seen(&runtime, &child.id).await;
        assert!(below.is_within(&above), "{}: {below:?}", child.agent);
        let is_strict = child.agent == "strict";
        assert_eq!(
            below.mode == SandboxMode::Required,
            is_strict,
            "{}",
            child.agent
        );
        for grandchild in runtime.children(&child.id).await {
            let beneath = seen(&runtime, &grandchild.id).await;
            assert_eq!(
                (grandchild.agent.as_str(), beneath.mode),
                ("loose", SandboxMode::Required)
            );
        }
    }
}
