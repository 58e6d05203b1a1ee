//! Children that know what their parent knows, and children that are asked again.

use rooftree_protocol::EventBody;
use rooftree_providers::scripted::{call, say};
use serde_json::json;

use super::{plan, task, task_with};

#[tokio::test]
async fn a_fork_inherits_the_whole_conversation_and_the_cacheable_prefix() {
    let runtime = plan([
        say("")
            .agent("lead")
            .calls([call("Look", json!({"say": "the secret is 42"}))]),
        say("").agent("lead").calls([call(
            "InvokeAgent",
            json!({"agent_name": "fork", "prompt": "go on alone"}),
        )]),
        say("fork said: {{ results[0].text | first_line }}").agent("lead"),
        say("I know: 42").agent("lead").matching("^go on alone"),
    ])
    .build();
    let session = runtime.post("find the secret").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(end.text, "fork said: I know: 42");
    let requests = runtime.model.requests();
    let fork = requests
        .iter()
        .find(|request| request.session != session)
        .unwrap();
    let parent = requests
        .iter()
        .rfind(|request| request.session == session)
        .unwrap();
    // Byte for byte what the provider has read already: system prompt, tools, and the messages up to the fork.
    assert_eq!(fork.system, parent.system);
    assert_eq!(fork.tools, parent.tools);
    let shared = parent.messages.len() - 1;
    assert_eq!(fork.messages[..shared], parent.messages[..shared]);
    let rest = format!("{:?}", &fork.messages[shared..]);
    assert!(
        rest.contains("forked here") && rest.contains("go on alone"),
        "{rest}"
    );
    // Nothing was copied: the child's own journal begins after the place it branched off.
    let child = runtime.children(&session).await.remove(0);
    let fork = child.forked_from.unwrap();
    assert_eq!(fork.session, session);
    let own = runtime
        .events(&child.id)
        .await
        .into_iter()
        .filter(|event| event.session == child.id)
        .count();
    assert!(own < 6, "{own}");
    runtime.verify().await;
}

#[tokio::test]
async fn an_agent_that_is_asked_again_remembers_and_keeps_its_id() {
    let runtime = plan([
        say("").agent("lead").calls([task("helper", "remember 7")]),
        say("").agent("lead").calls([task_with(
            "helper",
            "what was it?",
            json!({"resume": "{{ results[0].text | find('ses_[a-z0-9]+') }}"}),
        )]),
        say("{{ results[0].text | first_line }}").agent("lead"),
        say("noted").agent("helper"),
        say("it was 7").agent("helper"),
    ])
    .build();
    let session = runtime.post("go").await;
    assert_eq!(runtime.wait_for_run(&session).await.text, "it was 7");
    assert_eq!(
        runtime.children(&session).await.len(),
        1,
        "no new session was opened"
    );
    let last = runtime
        .model
        .requests()
        .into_iter()
        .rfind(|request| &*request.agent == "helper")
        .unwrap();
    let read = format!("{:?}", last.messages);
    assert!(
        read.contains("remember 7") && read.contains("noted"),
        "{read}"
    );
}

#[tokio::test]
async fn only_the_one_who_started_an_agent_may_go_on_with_it() {
    let runtime = plan([
        say("").agent("lead").calls([task("helper", "x")]),
        say("{{ results[0].text | find('ses_[a-z0-9]+') }}").agent("lead"),
        say("ok").agent("helper"),
    ])
    .build();
    let session = runtime.post("go").await;
    let child = runtime.wait_for_run(&session).await.text;
    let runtime = runtime
        .reopen(plan([
            say("").agent("lead").calls([
                task_with("helper", "x", json!({"resume": child})),
                task_with("scout", "x", json!({"resume": child})),
                task_with("helper", "x", json!({"resume": "ses_nobody"})),
            ]),
            say("{% for r in results %}{{ r.text }}\n{% endfor %}").agent("lead"),
        ]))
        .await;
    let other = runtime.post("steal it").await;
    let text = runtime.wait_for_run(&other).await.text;
    assert!(text.contains("was not started by this agent"), "{text}");
    assert!(
        text.contains("belongs to agent 'helper', not to this one"),
        "{text}"
    );
    assert!(text.contains("there is no session `ses_nobody`"), "{text}");
}

#[tokio::test]
async fn a_message_to_a_peer_finds_its_latest_session() {
    let ask = |more: serde_json::Value| {
        let mut input = json!({"agentId": "helper", "content": "hello"});
        input
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        call("agents_message", input)
    };
    let runtime = plan([
        say("")
            .agent("lead")
            .calls([ask(json!({"session": "latest"}))]),
        say("").agent("lead").calls([ask(json!({}))]),
        say("").agent("lead").calls([ask(json!({}))]),
        say("")
            .agent("lead")
            .calls([ask(json!({"session": "create", "mode": "async"}))]),
        say("done").agent("lead"),
        say("hi").agent("helper").times(9),
    ])
    .build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let mut answers = Vec::new();
    for event in runtime.events(&session).await {
        if let EventBody::ToolCompleted(record) = event.body {
            answers.push(rooftree_protocol::message::text_of(&record.content));
        }
    }
    assert!(
        answers[0].contains("agent_session_error: agent 'helper' has no session yet"),
        "{}",
        answers[0]
    );
    let parsed: Vec<serde_json::Value> = answers[1..]
        .iter()
        .map(|text| serde_json::from_str(text).unwrap())
        .collect();
    assert_eq!(
        (&parsed[0]["created"], &parsed[1]["created"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(parsed[0]["sessionId"], parsed[1]["sessionId"]);
    assert_eq!(
        (&parsed[2]["mode"], &parsed[2]["status"]),
        (&json!("async"), &json!("started"))
    );
    assert_ne!(parsed[2]["sessionId"], parsed[1]["sessionId"]);
}
