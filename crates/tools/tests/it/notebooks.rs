//! NotebookEdit on files.

use serde_json::json;

use crate::desk::Desk;

#[tokio::test]
async fn a_cell_is_changed_and_the_file_around_it_is_not() {
    let desk = Desk::new();
    let before = "{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \"metadata\": {},\n   \"source\": [\n    \"old\"\n   ]\n  }\n ],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 4\n}\n";
    desk.put("a.ipynb", before);
    let edit = json!({"notebook_path": "a.ipynb", "cell_number": 0, "new_source": "new"});
    assert!(
        desk.failed("NotebookEdit", edit.clone())
            .await
            .contains("has not been read")
    );
    desk.done("Read", json!({"file_path": "a.ipynb"})).await;
    let output = desk.call("NotebookEdit", edit).await;
    assert_eq!(output.text(), "Changed a cell of a.ipynb (+1 −1 lines)");
    assert_eq!(desk.content("a.ipynb"), before.replace("old", "new"));
}

#[tokio::test]
async fn what_is_no_notebook_is_refused() {
    let desk = Desk::new();
    for (name, content, words) in [
        ("a.txt", "{}", "is not a notebook (.ipynb)"),
        ("b.ipynb", "x", "it is not a notebook"),
    ] {
        desk.put(name, content);
        desk.done("Read", json!({"file_path": name})).await;
        let text = desk
            .failed(
                "NotebookEdit",
                json!({"file_path": name, "edit_mode": "delete", "cell_id": "0"}),
            )
            .await;
        assert!(text.contains(words), "{text}");
    }
}
