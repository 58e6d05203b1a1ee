//! Templates: facts out of the conversation, typed inputs, and loud complaints.

use rooftree_protocol::event::ReplyPart;
use rooftree_providers::{
    Error,
    scripted::{ScriptedModel, call, say},
};
use serde_json::{Value, json};

use crate::conversation::{Conversation, calls, script, with};

/// Two files were read, one of them in vain; then a directory was listed.
async fn after_two_turns() -> Conversation {
    let model = ScriptedModel::from_replies([
        say("reading").calls([
            call("Read", json!({"file_path": "src/main.rs"})),
            call("Read", json!({"file_path": "gone.rs"})),
        ]),
        say("").calls([call("List", json!({}))]),
    ])
    .unwrap();
    let talk = with("lead").user("Tell me about src.").go_on(&model).await;
    let talk = talk.results(&["fn main() {\n    run(42)\n}\n", "!no such file"]);
    talk.go_on(&model)
        .await
        .results(&["{\"files\": [\"a.rs\", \"b.rs\"]}"])
}

#[tokio::test]
async fn a_template_finds_its_facts_in_the_conversation() {
    let table = [
        ("{{ agent }} {{ turn }} {{ attempt }}", "lead 3 0"),
        ("{{ user.text | lower }}", "tell me about src."),
        ("{{ results | count }} of {{ all | count }}", "1 of 3"),
        ("{{ all[0].text | first_line }}", "fn main() {"),
        ("{{ all[0].text | line(2) | trim }}", "run(42)"),
        ("{{ all[0].text | line(-1) }}", "}"),
        ("{{ all[0].text | lines | count }} lines", "3 lines"),
        ("{{ all[0].text | find('run.([0-9]+)') }}", "42"),
        ("{{ all[0].text | find('fn \\w+') }}", "fn main"),
        ("{{ all[0].text | find_all('[0-9]') | join('+') }}", "4+2"),
        (
            "{{ all[1].ok }} {{ all[0].ok }} {{ last.ok }}",
            "False True True",
        ),
        (
            "{{ all[0].tool }} {{ all[0].input.file_path | basename }}",
            "Read main.rs",
        ),
        (
            "{{ (last.text | json).files | join(' and ') }}",
            "a.rs and b.rs",
        ),
        ("{{ calls[0].tool }} {{ tools | count }}", "List 0"),
        ("{{ user.text | cut(7) }}", "Tell me…"),
        (
            "{{ all[0].text | line(9) | default('nothing') }}",
            "nothing",
        ),
        (
            "{% for one in all if not one.ok %}{{ one.text }}{% endfor %}",
            "!no such file",
        ),
        (
            "plain { braces } and <tags> & \"quotes\"",
            "plain { braces } and <tags> & \"quotes\"",
        ),
        (r#"braces: {{ "{{" }}"#, "braces: {{"),
        ("kept: {{ 1 + 1 }}\n", "kept: 2\n"),
    ];
    let talk = after_two_turns().await;
    for (template, expected) in table {
        let model = ScriptedModel::from_replies([say(template).turn(3)]).unwrap();
        assert_eq!(talk.hear(&model).await, expected, "{template}");
    }
}

#[tokio::test]
async fn an_input_that_is_one_expression_keeps_its_type() {
    let input = json!({
        "offset": "{{ all[0].text | find('[0-9]+') | int }}",
        "files": "{{ (last.text | json).files }}",
        "deep": [{"text": "line {{ turn }}"}],
        "flag": true,
    });
    let model =
        ScriptedModel::from_replies([say("").turn(3).calls([call("Grep", input)])]).unwrap();
    let talk = after_two_turns().await.go_on(&model).await;
    let made = calls(talk.messages.last().unwrap());
    let expected: Value = json!({"offset": 42, "files": ["a.rs", "b.rs"], "deep": [{"text": "line 3"}], "flag": true});
    assert_eq!(made[0].input.to_string(), expected.to_string());
}

#[tokio::test]
async fn a_template_that_cannot_be_filled_in_names_its_line() {
    let table = [
        ("text = '{{ results[0].text }}'", "test.toml:2:8: template"),
        (
            "text = '{{ user.name }}'",
            "test.toml:2:8: `{{ user.name }}` has no value here",
        ),
        (
            "text = \"\"\"\nfine\nnot {{ user.name }}\"\"\"",
            "test.toml:4:1: template `not {{ user.name }}`",
        ),
        (
            "text = '{{ user.text | nonsense }}'",
            "test.toml:2:8: template",
        ),
        ("text = 'x {{ user.text | json }}'", "the text is not JSON"),
        (
            "text = 'x {{ user.text | find(\"(\") }}'",
            "`(` is not a regular expression",
        ),
        (
            "text = ''\n[[reply.call]]\ntool = 'T'\ninput = { a = '{{ user.name }}' }",
            "test.toml:5:15:",
        ),
    ];
    for (entry, message) in table {
        let model = script(&format!("[[reply]]\n{entry}"));
        let error = with("lead").user("hi").ask(&model).await.unwrap_err();
        assert!(
            matches!(error, Error::Refused(_)) && !error.is_retryable(),
            "{entry}"
        );
        assert!(error.to_string().contains(message), "{entry}\n{error}");
    }
}

#[tokio::test]
async fn an_empty_text_is_no_part_of_the_reply() {
    let model =
        script("[[reply]]\ntext = '{% if false %}never{% endif %}'\n[[reply.call]]\ntool = 'T'");
    let reply = with("lead").user("hi").ask(&model).await.unwrap();
    assert!(
        matches!(reply.parts.as_slice(), [ReplyPart::Call(_)]),
        "{:?}",
        reply.parts
    );
}
