//! What verifiers run, and an agent that would like to have it do something else.

use std::{fs, sync::Arc};

use futures::future::BoxFuture;
use rooftree_protocol::{Confinement, Effect, SandboxMode, ToolKind, ToolSpec};
use rooftree_providers::scripted::{call, say};
use rooftree_runtime::ProjectContext;
use rooftree_testkit::TestRuntimeBuilder;
use rooftree_tools::{
    BackgroundProcesses, SandboxConfig, Tool, ToolContext, ToolInfo, ToolOutput, Toolset,
};
use serde_json::{Value, json};

use super::{AgentDefinition, attempts, command};

/// A shell that says how it is confined.
struct Mirror(ToolSpec);

const INFO: ToolInfo = ToolInfo::at_run_time(ToolKind::Execute, Effect::Destructive);

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
        let confinement = context.sandbox.map(|sandbox| sandbox.confinement);
        Box::pin(async move { ToolOutput::done(serde_json::to_string(&confinement).unwrap()) })
    }
}

fn checked(plan: TestRuntimeBuilder, command_line: &str) -> TestRuntimeBuilder {
    let lead = AgentDefinition {
        verifiers: vec!["check".into()],
        ..AgentDefinition::new("lead")
    };
    let verifiers = [("check".to_owned(), command(command_line, true))].into();
    let project_context = ProjectContext {
        verifiers,
        ..ProjectContext::default()
    }
    .into();
    TestRuntimeBuilder {
        project_context,
        ..plan.agent(lead)
    }
}

#[tokio::test]
async fn s_a7_a_verifier_is_confined_as_the_commands_of_the_agent_are() {
    let spec = json!({"name": "Bash", "description": "", "input_schema": {"type": "object"}});
    let shell: Arc<dyn Tool> = Arc::new(Mirror(serde_json::from_value(spec).unwrap()));
    let general = Confinement {
        mode: SandboxMode::Required,
        ..Confinement::default()
    };
    let mut plan = checked(
        TestRuntimeBuilder::new([say("done").times(9)]).tools(Toolset::new([shell])),
        "cargo test",
    );
    plan.rights.sandbox = SandboxConfig {
        confinement: general.clone(),
        ..SandboxConfig::default()
    };
    let runtime = plan.build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let said = runtime
        .events(&session)
        .await
        .into_iter()
        .find_map(|event| match event.body {
            rooftree_protocol::EventBody::RunVerified(verdict) => {
                Some(verdict.reports[0].said.clone())
            }
            _ => None,
        });
    let seen: Option<Confinement> = serde_json::from_str(&said.unwrap()).unwrap();
    assert_eq!(seen, Some(general));
}

#[tokio::test]
async fn s_a7_a_script_that_changed_since_the_start_verifies_nothing() {
    let project = tempfile::tempdir().unwrap();
    fs::write(project.path().join("check.sh"), "exit 0\n").unwrap();
    for (content, good) in [("exit 0\n", true), ("touch evil; exit 0\n", false)] {
        let entries = [
            say("").calls([call(
                "Write",
                json!({"file_path": "check.sh", "content": content}),
            )]),
            say("done").times(9),
        ];
        let tools = rooftree_tools::builtin(Arc::new(BackgroundProcesses::new(|| 1)));
        let mut plan = checked(TestRuntimeBuilder::new(entries).tools(tools), "sh check.sh");
        plan.hooks.project = Some(project.path().to_owned());
        plan.hooks.cwd = Some(project.path().to_owned());
        let runtime = plan.build();
        let session = runtime.post("go").await;
        assert_eq!(
            runtime.wait_for_run(&session).await.verified,
            Some(good),
            "{content}"
        );
        assert!(!runtime.path().join("evil").exists(), "it was run");
        assert_eq!(attempts(&runtime, &session).await.first(), Some(&(1, good)));
    }
}
