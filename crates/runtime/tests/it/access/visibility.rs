//! What each principal sees and changes of the sessions of others: queries, commands and subscriptions, as tables.

use rooftree_protocol::{
    AgentDefinition, Answer, Command, Effect, ErrorCode, EventBody, Origin, Part, PermissionId,
    PermissionMode, PermissionScope, Principal, ProcessId, QuestionId, QuestionReply, RuleKind,
    RuleScope, SessionId,
    command::{Address, CommandReply, Delivery, HandBackSummary, NewSession},
};
use rooftree_providers::scripted::{call, say};
use rooftree_runtime::EventFilter;
use rooftree_store::{RunFilter, SessionFilter, TaskFilter, UsageFilter, UsageGroup};
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder, owner};
use rooftree_tools::Toolset;
use serde_json::json;

use super::{bound, person};

/// A session of the lead that delegated to the helper, whose call waits for a permission.
struct Scene {
    runtime: TestRuntime,
    root: SessionId,
    child: SessionId,
    permission: PermissionId,
}

async fn scene(who: &Principal) -> Scene {
    let task = json!({"subagent_type": "helper", "prompt": "dig"});
    let tools = Toolset::new([ProbeTool::open("Change", Effect::LocalMutation)]);
    let plan = TestRuntimeBuilder::new([
        say("needle").agent("lead").calls([call("Task", task)]),
        say("needle")
            .agent("helper")
            .calls([call("Change", json!({}))]),
        say("dug").agent("helper"),
        say("done").agent("lead"),
    ]);
    let helper = AgentDefinition {
        description: "Helps.".into(),
        ..AgentDefinition::new("helper")
    };
    let plan = plan.with_delegation(tools).agent(helper);
    let runtime = plan.asking(PermissionMode::Ask).build();
    let post = Command::Post {
        to: Address::Create(new(&runtime, "lead")),
        parts: vec![Part::text("needle")],
        origin: Origin::User,
        key: None,
        delivery: Delivery::Queue,
        context: None,
    };
    let sent = runtime.handle.send(who, post).await.unwrap();
    let CommandReply::Accepted { session: root, .. } = sent else {
        panic!("{sent:?}")
    };
    runtime.wait_for_event(&root, "tool.started").await;
    let child = loop {
        if let Some(child) = runtime.children(&root).await.pop() {
            break child.id;
        }
        tokio::task::yield_now().await;
    };
    let asked = runtime.wait_for_event(&child, "permission.requested").await;
    let EventBody::PermissionRequested { id, .. } = &asked.body else {
        panic!()
    };
    let permission = id.clone();
    Scene {
        runtime,
        root,
        child,
        permission,
    }
}

fn new(runtime: &TestRuntime, agent: &str) -> NewSession {
    NewSession {
        agent: agent.into(),
        cwd: runtime.path().into(),
        name: None,
        model: None,
    }
}

/// How much of the scene each query shows.
async fn seen(scene: &Scene, who: &Principal) -> Vec<(&'static str, usize)> {
    let queries = scene.runtime.handle.queries(who);
    let (root, child) = (&scene.root, &scene.child);
    let task = scene
        .runtime
        .store()
        .tasks(TaskFilter::default())
        .await
        .unwrap();
    let task = task[0].id.clone();
    let some = |is_there: bool| usize::from(is_there);
    vec![
        (
            "session",
            some(queries.session(root).await.unwrap().is_some()),
        ),
        (
            "child",
            some(queries.session(child).await.unwrap().is_some()),
        ),
        (
            "sessions",
            queries
                .sessions(SessionFilter::default())
                .await
                .unwrap()
                .len(),
        ),
        (
            "page",
            queries
                .sessions_page(SessionFilter::default())
                .await
                .unwrap()
                .rows
                .len(),
        ),
        ("events", some(queries.events(root, 0, 9).await.is_ok())),
        (
            "child events",
            some(queries.all_events(child, 0).await.is_ok()),
        ),
        ("search", queries.search("needle", 1).await.unwrap().len()),
        (
            "runs",
            queries.runs(RunFilter::default()).await.unwrap().len(),
        ),
        (
            "usage",
            queries
                .usage(UsageFilter::by(UsageGroup::Agent))
                .await
                .unwrap()
                .len(),
        ),
        ("unfinished", queries.unfinished().await.unwrap().len()),
        (
            "is unfinished",
            some(queries.is_unfinished(child).await.is_ok()),
        ),
        ("owner", some(queries.owner(child).await.is_ok())),
        (
            "waiting",
            some(
                queries
                    .waiting(root, rooftree_protocol::Lane::Mail, 9)
                    .await
                    .is_ok(),
            ),
        ),
        (
            "inquiry",
            some(
                queries
                    .inquiry(scene.permission.as_str())
                    .await
                    .unwrap()
                    .is_some(),
            ),
        ),
        ("inquiries", queries.inquiries(None).await.unwrap().len()),
        ("below", queries.inquiries(Some(root)).await.unwrap().len()),
        ("task", some(queries.task(&task).await.unwrap().is_some())),
        (
            "tasks",
            queries.tasks(TaskFilter::default()).await.unwrap().len(),
        ),
        ("rules", queries.rules().await.unwrap().len()),
        ("undo", some(queries.undo_preview(root).await.is_ok())),
    ]
}

#[tokio::test]
async fn b18_queries_show_nothing_of_another_person_or_another_agent() {
    let ann = person("ann");
    let scene = scene(&ann).await;
    let rule = |scope| Command::AddRule {
        kind: RuleKind::Deny,
        rule: "Bash".into(),
        scope,
    };
    let session = RuleScope::Session(scene.root.clone());
    scene
        .runtime
        .handle
        .send(&ann, rule(session))
        .await
        .unwrap();
    scene.runtime.command(rule(RuleScope::Always)).await;
    let all = seen(&scene, &owner()).await;
    for (name, count) in &all {
        assert!(*count > 0, "the owner sees it: {name}");
    }
    for (who, about) in [
        (person("bob"), "another person"),
        (bound(&["helper"]), "a token for the agent below"),
        (bound(&["other"]), "a token for another agent"),
        (
            Principal {
                tenant: "other".into(),
                ..owner()
            },
            "another tenant",
        ),
        (
            Principal {
                person: "bob".into(),
                ..bound(&["lead"])
            },
            "another person's bound token",
        ),
    ] {
        let left: Vec<_> = seen(&scene, &who).await;
        let left: Vec<_> = left.into_iter().filter(|(_, count)| *count > 0).collect();
        assert!(left.is_empty(), "{about}: {left:?}");
    }
    let without_rule: Vec<_> = all
        .iter()
        .map(|(name, count)| (*name, count - usize::from(*name == "rules")))
        .collect();
    for (who, about) in [
        (ann.clone(), "her own"),
        (bound(&["LEAD"]), "a token for the root's agent"),
    ] {
        assert_eq!(seen(&scene, &who).await, without_rule, "{about}");
        assert!(
            scene
                .runtime
                .handle
                .queries(&who)
                .audit(0, 9)
                .await
                .unwrap()
                .is_empty()
        );
    }
    assert!(
        !scene
            .runtime
            .handle
            .queries(&owner())
            .audit(0, 9)
            .await
            .unwrap()
            .is_empty()
    );
}

/// Every command about the scene's sessions.
fn commands(scene: &Scene) -> Vec<Command> {
    let mut commands = Vec::new();
    for session in [&scene.root, &scene.child] {
        let id = || session.clone();
        let post = |to| Command::Post {
            to,
            parts: vec![Part::text("hello")],
            origin: Origin::User,
            key: None,
            delivery: Delivery::Silent,
            context: None,
        };
        commands.extend([
            post(Address::Id { id: id() }),
            post(Address::Latest {
                agent: "lead".into(),
            }),
            Command::Call {
                session: id(),
                call: rooftree_protocol::ToolCall {
                    id: rooftree_protocol::CallId::from_entropy(7),
                    tool: "Change".into(),
                    input: json!({}),
                },
            },
            Command::Resume { session: id() },
            Command::Cancel {
                session: id(),
                run: None,
            },
            Command::Clear {
                session: id(),
                unless_busy: true,
            },
            Command::Rename {
                session: id(),
                name: Some("mine".into()),
            },
            Command::Pin {
                session: id(),
                pinned: true,
            },
            Command::SetAttributes {
                session: id(),
                attributes: serde_json::Map::new(),
            },
            Command::SetModel {
                session: id(),
                model: None,
            },
            Command::SetMode {
                session: id(),
                mode: Some(PermissionMode::Bypass),
            },
            Command::Delete { session: id() },
            Command::Restore { session: id() },
            Command::Undo {
                session: id(),
                run: None,
            },
            Command::Fork {
                session: id(),
                at: None,
                name: None,
                agent: None,
                message: None,
            },
            Command::HandBack {
                session: id(),
                summary: HandBackSummary::Extract,
            },
            Command::StopProcess {
                session: id(),
                process: ProcessId::from_entropy(1),
            },
            Command::AddRule {
                kind: RuleKind::Allow,
                rule: "Bash".into(),
                scope: RuleScope::Session(id()),
            },
            Command::Permit {
                session: id(),
                permission: scene.permission.clone(),
                answer: Answer::allow(PermissionScope::Once),
            },
        ]);
    }
    commands
}

#[tokio::test]
async fn b18_commands_change_nothing_of_another_person_or_another_agent() {
    let scene = scene(&person("ann")).await;
    let handle = &scene.runtime.handle;
    let before = scene.runtime.events(&scene.root).await.len();
    for who in [
        person("bob"),
        bound(&["helper"]),
        bound(&["other"]),
        Principal {
            tenant: "other".into(),
            ..owner()
        },
    ] {
        for command in commands(&scene) {
            let about = format!("{who:?}: {command:?}");
            assert!(handle.send(&who, command).await.is_err(), "{about}");
        }
        for scope in [RuleScope::Always, RuleScope::Project("/".into())] {
            let rule = Command::AddRule {
                kind: RuleKind::Allow,
                rule: "Bash".into(),
                scope,
            };
            assert!(handle.send(&who, rule).await.is_err(), "{who:?}");
        }
        let open = Command::Open(new(&scene.runtime, "lead"));
        let is_bound = who.agents.is_some();
        assert_eq!(handle.send(&who, open).await.is_err(), is_bound, "{who:?}");
    }
    let session = handle
        .queries(&owner())
        .session(&scene.root)
        .await
        .unwrap()
        .unwrap();
    assert!(session.name.is_none() && session.deleted_at.is_none() && session.pinned_at.is_none());
    assert_eq!(scene.runtime.events(&scene.root).await.len(), before);
    let asked = handle.queries(&owner()).inquiries(None).await.unwrap();
    assert!(asked[0].answer.is_none(), "nobody answered");
}

#[tokio::test]
async fn only_the_owner_answers_and_rules_for_more_than_a_session() {
    let ann = person("ann");
    let scene = scene(&ann).await;
    let handle = &scene.runtime.handle;
    let permit = |scope| Command::Permit {
        session: scene.child.clone(),
        permission: scene.permission.clone(),
        answer: Answer::allow(scope),
    };
    for scope in [PermissionScope::Project, PermissionScope::Always] {
        for who in [&ann, &bound(&["lead"])] {
            let refused = handle.send(who, permit(scope)).await.unwrap_err();
            assert_eq!(refused.problem().code, ErrorCode::ToolDenied, "{scope:?}");
        }
    }
    scene
        .runtime
        .command(Command::AddRule {
            kind: RuleKind::Deny,
            rule: "Bash".into(),
            scope: RuleScope::Always,
        })
        .await;
    for who in [&ann, &bound(&["lead"])] {
        handle
            .send(who, Command::RemoveRule { number: 1 })
            .await
            .unwrap();
    }
    let rules = handle.queries(&owner()).rules().await.unwrap();
    assert_eq!(rules.len(), 1, "it is not theirs to remove");
    handle
        .send(&ann, permit(PermissionScope::Once))
        .await
        .unwrap();
    scene.runtime.wait_for_run(&scene.root).await;
    let unknown = Command::Reply {
        question: QuestionId::from_entropy(1),
        reply: QuestionReply::Declined { because: None },
    };
    assert!(handle.send(&ann, unknown).await.is_err());
}

#[tokio::test]
async fn b18_subscriptions_tell_nothing_of_another_person_or_another_agent() {
    let ann = person("ann");
    let scene = scene(&ann).await;
    let handle = &scene.runtime.handle;
    let watch = |session: &SessionId| EventFilter {
        session: session.clone(),
        after: 0,
    };
    for session in [&scene.root, &scene.child] {
        for who in [
            person("bob"),
            bound(&["helper"]),
            Principal {
                tenant: "other".into(),
                ..owner()
            },
        ] {
            let mut events = handle.subscribe(&who, watch(session));
            assert!(events.next().await.is_err(), "{who:?}");
            assert!(events.next().await.is_err(), "and not later either");
            assert!(events.next_stored().await.is_err(), "{who:?}");
            let mut tree = handle.subscribe_tree(&who, watch(session));
            assert!(
                tree.next().await.is_err() && tree.next().await.is_err(),
                "{who:?}"
            );
        }
        for who in [&ann, &bound(&["lead"]), &owner()] {
            assert!(handle.subscribe(who, watch(session)).next().await.is_ok());
            assert!(
                handle
                    .subscribe_tree(who, watch(session))
                    .next()
                    .await
                    .is_ok()
            );
        }
    }
}

#[tokio::test]
async fn b18_agents_of_one_person_reach_no_session_of_another() {
    let send = |to: &str| call("SendMessage", json!({"to": to, "text": "leak"}));
    let plan = TestRuntimeBuilder::new([
        say("mine").agent("helper").times(9),
        say("").agent("lead").calls([
            send("diary"),
            send("{{ user.text }}"),
            send("helper"),
            send("foreground"),
            call(
                "agents_message",
                json!({"agentId": "helper", "content": "leak"}),
            ),
        ]),
        say("done").agent("lead"),
    ]);
    let helper = AgentDefinition {
        description: "Helps.".into(),
        ..AgentDefinition::new("helper")
    };
    let runtime = plan
        .with_delegation(Toolset::default())
        .agent(helper)
        .build();
    let owners = runtime.post_as("helper", "private").await;
    runtime.wait_for_run(&owners).await;
    runtime
        .command(Command::Rename {
            session: owners.clone(),
            name: Some("diary".into()),
        })
        .await;
    let post = Command::Post {
        to: Address::Create(new(&runtime, "lead")),
        parts: vec![Part::text(owners.to_string())],
        origin: Origin::User,
        key: None,
        delivery: Delivery::Queue,
        context: None,
    };
    let sent = runtime.handle.send(&person("ann"), post).await.unwrap();
    let CommandReply::Accepted { session, .. } = sent else {
        panic!("{sent:?}")
    };
    runtime.wait_for_run(&session).await;
    let said = runtime.transcript(&session).await;
    let private = runtime.transcript(&owners).await;
    assert!(!private.contains("leak"), "{private}\n{said}");
    let inbox = runtime
        .store()
        .waiting(&owners, rooftree_protocol::Lane::Boundary, 9);
    assert!(inbox.await.unwrap().is_empty(), "{said}");
    let inbox = runtime
        .store()
        .waiting(&owners, rooftree_protocol::Lane::Mail, 9);
    assert!(inbox.await.unwrap().is_empty(), "{said}");
}
