//! An answer as a value: checked, and mended once.

use rooftree::{ErrorCode, JsonSchema, testing::say};
use serde::Deserialize;

use crate::fixture::{script, scripted};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Plan {
    /// What to do, in order.
    steps: Vec<String>,
}

fn plan(steps: &[&str]) -> Plan {
    Plan {
        steps: steps.iter().map(ToString::to_string).collect(),
    }
}

#[tokio::test]
async fn the_schema_is_told_and_the_answer_is_a_value() {
    let model = script([say("```json\n{\"steps\": [\"test\", \"ship\"]}\n```")]);
    let asked = rooftree::query("Plan it").provider("scripted", model.clone());
    assert_eq!(
        asked.extract::<Plan>().await.unwrap(),
        plan(&["test", "ship"])
    );
    let requests = model.requests();
    let request = format!("{:?}", requests.first().unwrap().messages);
    assert!(
        request.contains("Plan it") && request.contains("What to do, in order."),
        "{request}"
    );
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_mended_once() {
    let entries = [
        say("First test, then ship."),
        say("{\"steps\": [\"ship\"]}"),
    ];
    assert_eq!(
        scripted("Plan it", entries)
            .extract::<Plan>()
            .await
            .unwrap(),
        plan(&["ship"])
    );
}

#[tokio::test]
async fn an_answer_that_never_fits_is_an_error_that_says_why() {
    let entries = [say("No."), say("{\"stops\": []}"), say("{\"steps\": []}")];
    let error = scripted("Plan it", entries)
        .extract::<Plan>()
        .await
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArguments);
    assert!(
        error.to_string().contains("missing field `steps`"),
        "{error}"
    );
    assert_eq!(error.partial(), Some("{\"stops\": []}"));
}
