//! Runs schemathesis over all routes with every scope: no server error, no undocumented status. The suite makes its
//! environment and names the program in `SCHEMATHESIS`; without it there is nothing to run.

use rooftree_protocol::AccessScope;
use rooftree_testkit::{TestRuntimeBuilder, scripted::say};

use crate::api_scene::ApiScene;

/// Seconds for each scope.
const SECONDS: &str = "18";
/// What is looked at in each answer.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";

#[tokio::test(flavor = "multi_thread")]
async fn schemathesis_finds_no_server_error_and_no_undocumented_status() {
    let Ok(program) = std::env::var("SCHEMATHESIS") else {
        return;
    };
    let api = ApiScene::start(TestRuntimeBuilder::new([say("Yes.").times(u32::MAX)])).await;
    let session = api.runtime.post("hi").await;
    api.runtime.wait_for_run(&session).await;
    let document = api.runtime.path().join("openapi.json");
    std::fs::write(&document, rooftree_server::openapi().to_string()).unwrap();
    for scope in AccessScope::ALL {
        let mut command = tokio::process::Command::new(&program);
        command
            .arg("run")
            .arg(&document)
            .args(["--url", &format!("http://{}", api.address)])
            .args([
                "--header",
                &format!("Authorization: Bearer {}", api.token(scope)),
            ])
            .args(["--checks", CHECKS])
            .args(["--phases", "examples,coverage,fuzzing"])
            .args(["--max-time", SECONDS, "--max-examples", "20"])
            .args(["--seed", "1", "--no-color", "--request-timeout", "20"])
            .args(["--generation-database", "none"])
            .current_dir(api.runtime.path());
        let run = command.output().await.unwrap();
        let said = String::from_utf8_lossy(&run.stdout);
        let errors = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{scope}: {said}\n{errors}");
    }
    api.stop.cancel();
}
