//! A strict agent on a model that does things by itself.

use std::sync::Arc;

use rooftree_protocol::{AgentDefinition, ErrorCode, RunStatus};
use rooftree_providers::{
    ModelRequest, Provider, ReplyStream, Workplace,
    scripted::{ScriptedModel, say},
};
use rooftree_testkit::TestRuntimeBuilder;

/// Answers from a script, and says that it can do more than it was told.
struct Willful(ScriptedModel);

impl Provider for Willful {
    fn stream(&self, request: ModelRequest) -> ReplyStream {
        self.0.stream(request)
    }

    fn unenforced(&self, tools: &[&str], _workplace: &Workplace) -> Vec<String> {
        vec![format!(
            "it has a shell of its own beside {} tools",
            tools.len()
        )]
    }
}

#[tokio::test]
async fn it_refuses_to_start_and_says_why_and_one_that_is_not_strict_does_not() {
    for strict in [true, false] {
        let lead = AgentDefinition {
            strict,
            ..AgentDefinition::new("lead")
        };
        let mut plan = TestRuntimeBuilder::new([say("unused")]).agent(lead);
        plan.provider = Some(Box::new(|_| {
            Arc::new(Willful(
                ScriptedModel::from_replies([say("hello")]).unwrap(),
            )) as Arc<dyn Provider>
        }));
        let runtime = plan.build();
        let session = runtime.post("go").await;
        let end = runtime.wait_for_run(&session).await;
        if strict {
            assert_eq!(end.status, RunStatus::Failed);
            let problem = end.error.unwrap();
            assert_eq!(problem.code, ErrorCode::ToolNotAllowed);
            assert!(problem.cause.unwrap().contains("a shell of its own"));
        } else {
            assert_eq!(
                (end.status, end.text.as_str()),
                (RunStatus::Completed, "hello")
            );
        }
    }
}
