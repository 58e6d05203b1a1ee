//! What cannot be enforced for models that act by themselves, asked through whatever wraps them.

use std::sync::Arc;

use rooftree_protocol::PermissionMode;
use rooftree_providers::{
    Model, Provider, Rules, Workplace,
    cassette::{Names, Recorder},
    external::{self, External},
    lean::Lean,
    scripted::{Scripted, say},
};

#[test]
fn a_recorded_or_lean_program_says_the_same_as_the_program_and_other_models_say_nothing() {
    let rules = Rules { deny: vec!["Bash(git push *)".into()], ..Rules::default() };
    let workplace = Workplace { mode: PermissionMode::Auto, rules, ..Workplace::default() };
    let program = Arc::new(External::new(&external::PI, external::Options::default()));
    let said = program.unenforced(&["Read", "Bash"], &workplace);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[1].contains("`Bash(git push *)` does not reach into it"), "{said:?}");
    let home = tempfile::tempdir().unwrap();
    let choice = "pi-cli/default".parse().unwrap();
    let recorder = Recorder::create(&home.path().join("tape"), Names::default()).unwrap();
    let inner = program.clone();
    let recorded = recorder.opener(Arc::new(move |choice| Ok(Model::new(choice, inner.clone()))))(&choice);
    let wrapped: [Arc<dyn Provider>; 2] = [recorded.unwrap().provider, Arc::new(Lean::new(program, None))];
    for provider in wrapped {
        assert_eq!(provider.unenforced(&["Read", "Bash"], &workplace), said);
    }
    let scripted = Scripted::from_replies([say("hi")]).unwrap();
    assert!(scripted.unenforced(&["Bash"], &workplace).is_empty());
}
