//! Servers that want to know something from people.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use rooftree_protocol::{Question, QuestionReply};
use rooftree_tools::{ToolContext, tool::Inquirer};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{
    http::Served,
    stand::{Stand, server},
};
use crate::desk::call;

/// Somebody who answers in this order, and remembers what was asked.
fn person(answers: &[&[(&str, &[&str])]]) -> (Inquirer, Arc<Mutex<Vec<Question>>>) {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let answer = |pairs: &&[(&str, &[&str])]| QuestionReply::Answered {
        answers: pairs
            .iter()
            .map(|(name, given)| ((*name).to_owned(), words(given)))
            .collect(),
    };
    let left: Mutex<VecDeque<QuestionReply>> = Mutex::new(answers.iter().map(answer).collect());
    let asked: Arc<Mutex<Vec<Question>>> = Arc::default();
    let heard = asked.clone();
    let inquirer: Inquirer = Arc::new(move |questions| {
        heard.lock().unwrap().extend(questions);
        let next = left.lock().unwrap().pop_front();
        Box::pin(async move { next.unwrap_or(QuestionReply::Declined { because: None }) })
    });
    (inquirer, asked)
}

/// What the server was told when it asked.
async fn told(stand: &Stand, ask: Inquirer) -> Value {
    let tools = stand.tools().await;
    let context = ToolContext {
        ask,
        ..stand.context()
    };
    let said = call(&tools, "mcp__s__ask", json!({}), context).await;
    assert_eq!(said.failure, None, "{}", said.text());
    serde_json::from_str(&said.text()).unwrap()
}

#[tokio::test]
async fn a_server_asks_whoever_the_call_is_for_in_every_manner() {
    let served = Served::start(&[]);
    for one in [server(&[]), server(&["--modern"]), served.server()] {
        let stand = Stand::new(&[("s", one)]);
        let (ada, asked) = person(&[&[("name", &["Ada"])]]);
        assert_eq!(
            told(&stand, ada).await,
            json!({"action": "accept", "content": {"name": "Ada"}})
        );
        let question = asked.lock().unwrap().remove(0);
        assert_eq!(question.text, "The MCP server `s` asks: Who are you?");
        assert!(question.free && question.choices.is_empty());
        let (silent, _) = person(&[]);
        assert_eq!(told(&stand, silent).await["action"], "decline");
        assert_eq!(
            told(&stand, rooftree_tools::tool::no_inquirer()).await["action"],
            "decline"
        );
        stand.servers.close().await;
    }
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_asked_for_again_and_not_for_ever() {
    let form = json!({"type": "object", "required": ["sure", "size", "count"], "properties": {
        "sure": {"type": "boolean"},
        "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
        "count": {"type": "integer", "maximum": 9},
        "why": {"type": "string", "description": "What for"}}});
    let stand = Stand::new(&[("s", server(&["--form", &form.to_string()]))]);
    let wrong: &[(&str, &[&str])] = &[("sure", &["yes"]), ("size", &["Large"]), ("count", &["10"])];
    let right: &[(&str, &[&str])] = &[("sure", &["yes"]), ("size", &["Large"]), ("count", &["9"])];
    let (person_, asked) = person(&[wrong, right]);
    let content = json!({"sure": true, "size": "l", "count": 9});
    assert_eq!(
        told(&stand, person_).await,
        json!({"action": "accept", "content": content})
    );
    let asked = asked.lock().unwrap().clone();
    let labels = |at: usize| {
        asked[at]
            .choices
            .iter()
            .map(|choice| choice.label.as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!(asked.len(), 8, "four questions, put twice");
    let at = |name: &str| {
        asked
            .iter()
            .position(|question| question.name == name)
            .unwrap()
    };
    assert_eq!(
        (labels(at("sure")), labels(at("size"))),
        (vec!["yes", "no"], vec!["Small", "Large"])
    );
    assert!(
        asked[4]
            .text
            .starts_with("That does not fit: `count` must be at most 9."),
        "{}",
        asked[4].text
    );
    let (stubborn, asked) = person(&[wrong, wrong, wrong, right]);
    assert_eq!(told(&stand, stubborn).await["action"], "cancel");
    assert_eq!(asked.lock().unwrap().len(), 12);
    stand.servers.close().await;
}

#[tokio::test]
async fn while_several_calls_are_under_way_only_a_question_that_belongs_to_one_is_put() {
    let served = Served::start(&[]);
    let table = [
        (server(&[]), "decline"),
        (server(&["--modern"]), "accept"),
        (served.server(), "accept"),
    ];
    for (one, action) in table {
        let stand = Stand::new(&[("s", one)]);
        let tools = stand.tools().await;
        let (waiting, stopped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        // The other call asks too, and its person never answers: that it waits for them shows that it is under way.
        let (reached, thinking) = (waiting.clone(), stopped.clone());
        let slow: Inquirer = Arc::new(move |_| {
            reached.notify_one();
            let thinking = thinking.clone();
            Box::pin(async move {
                thinking.notified().await;
                QuestionReply::Declined { because: None }
            })
        });
        let other = ToolContext {
            ask: slow,
            ..stand.context()
        };
        let other = tokio::spawn({
            let tools = tools.clone();
            async move { call(&tools, "mcp__s__ask", json!({}), other).await }
        });
        waiting.notified().await;
        let (ada, asked) = person(&[&[("name", &["Ada"])]]);
        assert_eq!(told(&stand, ada).await["action"], action);
        assert_eq!(asked.lock().unwrap().len(), usize::from(action == "accept"));
        stopped.notify_one();
        assert!(other.await.unwrap().text().contains("decline"));
        let codes: Vec<&str> = stand
            .offer()
            .await
            .notices
            .iter()
            .map(|notice| notice.code)
            .collect();
        assert_eq!(
            codes,
            if action == "accept" {
                vec![]
            } else {
                vec!["mcp_unasked"]
            }
        );
        stand.servers.close().await;
    }
}

#[tokio::test]
async fn a_page_to_visit_is_shown_with_its_whole_address_and_the_answer_is_the_persons() {
    let url = "https://login.a.test/authorize?client=7&state=x";
    let served = Served::start(&["--visit", url]);
    for one in [
        server(&["--visit", url]),
        server(&["--visit", url, "--modern"]),
        served.server(),
    ] {
        let stand = Stand::new(&[("s", one)]);
        for (said, action) in [
            ("done", "accept"),
            ("no", "decline"),
            ("not now", "cancel"),
            ("what?", "decline"),
        ] {
            let (ada, asked) = person(&[&[("page", &[said])]]);
            assert_eq!(told(&stand, ada).await, json!({"action": action}), "{said}");
            let question = asked.lock().unwrap().remove(0);
            assert!(
                question.text.contains(&format!("\n{url}\n")),
                "{}",
                question.text
            );
            assert!(
                question
                    .text
                    .contains("a page of login.a.test: Please log in."),
                "{}",
                question.text
            );
            let labels: Vec<&str> = question
                .choices
                .iter()
                .map(|choice| choice.label.as_str())
                .collect();
            assert_eq!(labels, ["done", "no", "not now"]);
        }
        let (silent, _) = person(&[]);
        assert_eq!(told(&stand, silent).await["action"], "decline");
        stand.servers.close().await;
    }
    let posing = Stand::new(&[("s", server(&["--visit", "https://bank.test@evil.test/"]))]);
    let (ada, asked) = person(&[&[("page", &["done"])]]);
    assert_eq!(told(&posing, ada).await["action"], "decline");
    assert!(
        asked.lock().unwrap().is_empty(),
        "nobody is shown what poses as something else"
    );
    posing.servers.close().await;
}

#[tokio::test]
async fn a_page_to_visit_is_not_visited_by_us_whatever_the_person_says() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/authorize", listener.local_addr().unwrap());
    let stand = Stand::new(&[("s", server(&["--visit", &url]))]);
    for said in ["done", "no", "not now"] {
        let (ada, asked) = person(&[&[("page", &[said])]]);
        told(&stand, ada).await;
        assert!(asked.lock().unwrap()[0].text.contains(&url), "it is shown");
    }
    stand.servers.close().await;
    // Whoever had come would stand in the queue.
    let came = listener.accept().map_err(|error| error.kind());
    assert!(
        matches!(came, Err(std::io::ErrorKind::WouldBlock)),
        "{came:?}"
    );
}
