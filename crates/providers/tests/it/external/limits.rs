//! Unenforced permissions of models that act by themselves, reported through every wrapper.

use std::sync::Arc;

use rooftree_protocol::PermissionMode;
use rooftree_providers::{
    CallRules, Model, Provider, Workplace,
    agent_program::{self, ProgramProvider},
    cassette::{CassetteRecorder, Placeholders},
    lean::LeanProvider,
    scripted::{ScriptedModel, say},
};

#[test]
fn a_recorded_or_lean_program_says_the_same_as_the_program_and_other_models_say_nothing() {
    let rules = CallRules {
        deny: vec!["Bash(git push *)".into()],
        ..CallRules::default()
    };
    let workplace = Workplace {
        mode: PermissionMode::Auto,
        rules,
        ..Workplace::default()
    };
    let program = Arc::new(ProgramProvider::new(
        &agent_program::PI,
        agent_program::ProgramOptions::default(),
    ));
    let said = program.unenforced(&["Read", "Bash"], &workplace);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[1].contains("`Bash(git push *)` does not reach into it"),
        "{said:?}"
    );
    let home = tempfile::tempdir().unwrap();
    let choice = "pi-cli/default".parse().unwrap();
    let recorder =
        CassetteRecorder::create(&home.path().join("tape"), Placeholders::default()).unwrap();
    let inner = program.clone();
    let recorded = recorder.opener(Arc::new(move |choice| {
        Ok(Model::new(choice, inner.clone()))
    }))(&choice);
    let wrapped: [Arc<dyn Provider>; 2] = [
        recorded.unwrap().provider,
        Arc::new(LeanProvider::new(program, None)),
    ];
    for provider in wrapped {
        assert_eq!(provider.unenforced(&["Read", "Bash"], &workplace), said);
    }
    let scripted = ScriptedModel::from_replies([say("hi")]).unwrap();
    assert!(scripted.unenforced(&["Bash"], &workplace).is_empty());
}
