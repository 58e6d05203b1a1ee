//! Over random trees of delegations, messages, forks, resumes, recoveries, imports and rule changes no agent has more
//! rights after a step than before it: per tool, path, host and mode.

use std::{path::Path, sync::Arc};

use proptest::{collection::vec, prelude::*, sample::subsequence};
use rooftree_protocol::{
    Above, AgentDefinition, CallId, Effect, Mandate, ParentCall, PermissionMode, RunBounds, RunId,
    SessionId, Timestamp,
    event::{PolicyNote, RunMode},
};
use rooftree_store::{RuleKind, RuleRow, RuleScope};
use rooftree_tools::{PermissionRule, Policy, PolicyRequest};

use super::{RightsBounds, RightsCeiling, narrowed};
use crate::saved_rules::ApplicableRules;

const MODES: [PermissionMode; 5] = [
    PermissionMode::Plan,
    PermissionMode::Ask,
    PermissionMode::AcceptEdits,
    PermissionMode::Auto,
    PermissionMode::Bypass,
];

const RULES: [&str; 9] = [
    "Write(src/**)",
    "Write",
    "Read(/etc/**)",
    "Bash(git log *)",
    "Bash",
    "WebFetch(domain:example.com)",
    "WebFetch(domain:*.example.org)",
    "Task(explore)",
    "mcp__one",
];

/// Calls by which rights are compared: tools, paths, hosts.
const CALLS: [(&str, &str, Effect); 10] = [
    ("Read", "src/a.rs", Effect::ReadOnly),
    ("Read", "/etc/hosts", Effect::ReadOnly),
    ("Write", "src/a.rs", Effect::LocalMutation),
    ("Write", "/srv/a", Effect::LocalMutation),
    ("Bash", "git log -1", Effect::Destructive),
    ("Bash", "rm -r src", Effect::Destructive),
    ("WebFetch", "https://example.com/a", Effect::RemoteAction),
    ("WebFetch", "https://a.example.org/", Effect::RemoteAction),
    ("Task", "explore", Effect::ReadOnly),
    ("mcp__one__push", "", Effect::RemoteAction),
];

/// How freely each call is judged.
fn rights(policy: &Policy) -> Vec<u8> {
    let freedom = |(tool, subject, effect): &(&str, &str, Effect)| {
        let subject = Some(*subject).filter(|subject| !subject.is_empty());
        let about = PolicyRequest {
            tool,
            subject,
            input: None,
            effect: *effect,
            cwd: Path::new("/work"),
        };
        policy.judge(&about).freedom()
    };
    CALLS.iter().map(freedom).collect()
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let rules = || subsequence(RULES.to_vec(), 0..=4);
    (
        0..MODES.len(),
        rules(),
        subsequence(RULES.to_vec(), 0..=2),
        subsequence(RULES.to_vec(), 0..=2),
    )
        .prop_map(|(mode, allow, ask, deny)| {
            let parsed = |rules: Vec<&str>| {
                rules
                    .into_iter()
                    .map(|rule| PermissionRule::parse(rule).unwrap())
                    .collect()
            };
            let (allow, ask, deny) = (parsed(allow), parsed(ask), parsed(deny));
            Policy {
                mode: MODES[mode],
                allow,
                ask,
                deny,
                ..Policy::default()
            }
        })
}

/// What happens to a run.
#[derive(Clone, Debug)]
enum Step {
    /// It asks another agent, whose definition has this mode; a message and a fork pass on rights alike.
    Delegate(Option<PermissionMode>),
    /// Another process, with this policy, continues it.
    Continue(Policy),
    /// A person makes this rule by hand.
    Allow(&'static str),
    /// A person takes the newest rule away.
    Remove,
    /// Its definition gets this mode.
    Redefine(Option<PermissionMode>),
}

fn any_step() -> impl Strategy<Value = Step> {
    let mode = || proptest::option::of((0..MODES.len()).prop_map(|at| MODES[at]));
    prop_oneof![
        mode().prop_map(Step::Delegate),
        any_policy().prop_map(Step::Continue),
        (0..RULES.len()).prop_map(|at| Step::Allow(RULES[at])),
        Just(Step::Remove),
        mode().prop_map(Step::Redefine),
    ]
}

fn note(policy: &Policy) -> PolicyNote {
    let written = |rules: &[PermissionRule]| rules.iter().map(ToString::to_string).collect();
    let (allow, ask, deny) = (
        written(&policy.allow),
        written(&policy.ask),
        written(&policy.deny),
    );
    PolicyNote {
        mode: policy.mode,
        allow,
        ask,
        deny,
        ..PolicyNote::default()
    }
}

/// The mandate that delegation writes for a child.
fn mandate(policy: &Policy, above: &[SessionId]) -> Mandate {
    let PolicyNote {
        mode,
        allow,
        ask,
        deny,
        ..
    } = note(policy);
    let named = |session: &SessionId| Above {
        agent: "lead".into(),
        session: session.clone(),
    };
    Mandate {
        parent: ParentCall {
            session: above.last().unwrap().clone(),
            run: RunId::from_entropy(1),
            call: CallId::from_entropy(1),
        },
        root: RunId::from_entropy(1),
        title: String::new(),
        mode: RunMode::Foreground,
        above: above.iter().map(named).collect(),
        tools: Vec::new(),
        permission_mode: mode,
        allow,
        ask,
        deny,
        skills: Vec::new(),
        sandbox: None,
        model: None,
        max_turns: None,
        depth_limit: None,
        max_cost_usd: None,
        workspace: None,
        quiet: false,
        thoroughness: None,
    }
}

fn definition(mode: Option<PermissionMode>) -> Arc<AgentDefinition> {
    Arc::new(AgentDefinition {
        permission_mode: mode,
        ..AgentDefinition::new("x")
    })
}

/// A run on its way through a random tree.
struct RightsWalk {
    process: Policy,
    rules: Vec<RuleRow>,
    definitions: Vec<Arc<AgentDefinition>>,
    mandate: Option<Mandate>,
    ceiling: Option<RightsCeiling>,
    sessions: Vec<SessionId>,
}

impl RightsWalk {
    fn policy(&self) -> Policy {
        let applicable = ApplicableRules {
            rules: &self.rules,
            sessions: &self.sessions,
            home: Path::new("/work"),
        };
        let (definitions, mandate) = (self.definitions.as_slice(), self.mandate.as_ref());
        narrowed(
            self.process.clone(),
            &applicable,
            RightsBounds {
                definitions,
                mandate,
                ceiling: self.ceiling.as_ref(),
            },
        )
    }

    /// The run begins, or its journal tells its policy anew.
    fn record(&mut self) {
        let policy = Policy::recorded(&note(&self.policy()));
        self.ceiling = Some(RightsCeiling {
            policy,
            bounds: RunBounds::unrecorded(),
            since: Timestamp(0),
        });
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Delegate(mode) => {
                self.mandate = Some(mandate(&self.policy(), &self.sessions));
                self.sessions
                    .push(SessionId::from_entropy(self.sessions.len() as u128 + 1));
                (self.definitions, self.ceiling) = (vec![definition(mode)], None);
            }
            Step::Continue(process) => self.process = process,
            Step::Allow(rule) => {
                let (scope, by, at) = (RuleScope::Always, "ann".to_owned(), Timestamp(1));
                let (number, kind) = (self.rules.len() as i64, RuleKind::Allow);
                self.rules.push(RuleRow {
                    number,
                    kind,
                    rule: rule.into(),
                    scope,
                    by,
                    at,
                });
            }
            Step::Remove => drop(self.rules.pop()),
            Step::Redefine(mode) => self.definitions.push(definition(mode)),
        }
        self.record();
    }
}

proptest! {
    #[test]
    fn rights_after_any_step_are_at_most_the_rights_before(
        process in any_policy(), mode in proptest::option::of(0..MODES.len()), steps in vec(any_step(), 1..9),
    ) {
        let definitions = vec![definition(mode.map(|at| MODES[at]))];
        let sessions = vec![SessionId::from_entropy(1)];
        let mut walk = RightsWalk { process, rules: Vec::new(), definitions, mandate: None, ceiling: None, sessions };
        walk.record();
        for step in steps {
            let (before, mode) = (rights(&walk.policy()), walk.policy().mode);
            walk.take(step.clone());
            let after = walk.policy();
            prop_assert!(after.mode <= mode, "{step:?}: {mode:?} → {:?}", after.mode);
            for (call, (before, after)) in CALLS.iter().zip(before.iter().zip(rights(&after))) {
                prop_assert!(after <= *before, "{step:?} gives {call:?}");
            }
        }
    }

    #[test]
    fn an_imported_session_begins_with_the_rights_of_the_process_and_nothing_else(process in any_policy()) {
        let sessions = vec![SessionId::from_entropy(1)];
        let definitions = vec![definition(None)];
        let walk = RightsWalk { process, rules: Vec::new(), definitions, mandate: None, ceiling: None, sessions };
        prop_assert_eq!(rights(&walk.policy()), rights(&walk.process));
    }

    #[test]
    fn an_answer_is_the_only_thing_that_adds_to_a_run(process in any_policy(), at in 0..RULES.len()) {
        let sessions = vec![SessionId::from_entropy(1)];
        let definitions = vec![definition(None)];
        let mut walk = RightsWalk { process, rules: Vec::new(), definitions, mandate: None, ceiling: None, sessions };
        walk.record();
        walk.take(Step::Allow(RULES[at]));
        let rule = PermissionRule::parse(RULES[at]).unwrap();
        let had = walk.process.allow.contains(&rule);
        prop_assert_eq!(walk.policy().allow.contains(&rule), had, "made by hand");
        walk.rules[0].by = crate::saved_rules::by_answer("ann");
        prop_assert!(walk.policy().allow.contains(&rule), "answered");
    }
}
