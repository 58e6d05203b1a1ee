//! A notebook's text with one cell changed. Pure.
//!
//! Written the way Jupyter does, with one space of indent and keys in their order, so that a
//! diff shows the cell and nothing else.

use serde::Serialize;
use serde_json::{Value, json, ser::PrettyFormatter};

use crate::text_file::hash;

/// What is to happen to which cell.
pub(super) enum CellEdit {
    Replace {
        cell: String,
        source: String,
        cell_type: Option<String>,
    },
    Insert {
        after: Option<String>,
        source: String,
        cell_type: String,
    },
    Delete {
        cell: String,
    },
}

/// The notebook's text after an edit.
pub(super) fn change(text: &str, wish: CellEdit) -> Result<String, String> {
    let mut notebook: Value =
        serde_json::from_str(text).map_err(|error| format!("it is not a notebook: {error}."))?;
    let has_ids = number(&notebook, "nbformat") * 100 + number(&notebook, "nbformat_minor") >= 405;
    let cells = notebook.get_mut("cells").and_then(Value::as_array_mut);
    let cells = cells.ok_or_else(|| "it is not a notebook: it has no cells.".to_owned())?;
    match wish {
        CellEdit::Delete { cell } => drop(cells.remove(position(cells, &cell)?)),
        CellEdit::Insert {
            after,
            source,
            cell_type,
        } => {
            let at = after.map_or(Ok(0), |cell| position(cells, &cell).map(|at| at + 1))?;
            let id = has_ids.then(|| new_id(&source, cells));
            cells.insert(at, new_cell(&source, &cell_type, id));
        }
        CellEdit::Replace {
            cell,
            source,
            cell_type,
        } => {
            let at = position(cells, &cell)?;
            if let Some(cell) = cells.get_mut(at) {
                replace(cell, &source, cell_type.as_deref());
            }
        }
    }
    written(&notebook, text.ends_with('\n'))
}

fn number(notebook: &Value, name: &str) -> u64 {
    notebook.get(name).and_then(Value::as_u64).unwrap_or(0)
}

/// Where the cell with this id is, or the one with this number.
fn position(cells: &[Value], cell: &str) -> Result<usize, String> {
    let by_id = cells
        .iter()
        .position(|one| one.get("id").and_then(Value::as_str) == Some(cell));
    let by_number = || {
        cell.trim_start_matches("cell-")
            .parse::<usize>()
            .ok()
            .filter(|at| *at < cells.len())
    };
    by_id
        .or_else(by_number)
        .ok_or_else(|| format!("there is no cell `{cell}`; it has {} cells.", cells.len()))
}

fn replace(cell: &mut Value, source: &str, cell_type: Option<&str>) {
    let Some(cell) = cell.as_object_mut() else {
        return;
    };
    let is_text = cell.get("source").is_some_and(Value::is_string);
    cell.insert(
        "source".to_owned(),
        if is_text {
            json!(source)
        } else {
            lines(source)
        },
    );
    if let Some(cell_type) = cell_type {
        cell.insert("cell_type".to_owned(), json!(cell_type));
    }
    if cell.get("cell_type").and_then(Value::as_str) == Some("code") {
        // What it once printed is not what this source prints.
        cell.insert("execution_count".to_owned(), Value::Null);
        cell.insert("outputs".to_owned(), json!([]));
    } else {
        cell.shift_remove("execution_count");
        cell.shift_remove("outputs");
    }
}

/// Keys in the order Jupyter writes them, which is that of the alphabet.
fn new_cell(source: &str, cell_type: &str, id: Option<String>) -> Value {
    let mut cell = serde_json::Map::new();
    cell.insert("cell_type".to_owned(), json!(cell_type));
    if cell_type == "code" {
        cell.insert("execution_count".to_owned(), Value::Null);
    }
    if let Some(id) = id {
        cell.insert("id".to_owned(), json!(id));
    }
    cell.insert("metadata".to_owned(), json!({}));
    if cell_type == "code" {
        cell.insert("outputs".to_owned(), json!([]));
    }
    cell.insert("source".to_owned(), lines(source));
    Value::Object(cell)
}

/// An id that no other cell of the notebook has; deterministic for a given notebook and source.
fn new_id(source: &str, cells: &[Value]) -> String {
    let everything = format!("{source}{}", json!(cells));
    hash(everything.as_bytes()).chars().take(8).collect()
}

/// A source as Jupyter keeps it: a list of lines with their ends.
fn lines(source: &str) -> Value {
    json!(source.split_inclusive('\n').collect::<Vec<_>>())
}

fn written(notebook: &Value, has_end: bool) -> Result<String, String> {
    let mut bytes = Vec::new();
    let mut serializer =
        serde_json::Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(b" "));
    notebook
        .serialize(&mut serializer)
        .map_err(|error| format!("it cannot be written: {error}."))?;
    if has_end {
        bytes.push(b'\n');
    }
    String::from_utf8(bytes).map_err(|error| format!("it cannot be written: {error}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notebook(cells: &str, minor: u64) -> String {
        let text = format!(
            r#"{{"cells": {cells}, "metadata": {{"z": 1, "a": 2}}, "nbformat": 4, "nbformat_minor": {minor}}}"#
        );
        written(&serde_json::from_str(&text).unwrap(), true).unwrap()
    }

    const CELLS: &str = r##"[
        {"cell_type": "markdown", "id": "top", "metadata": {}, "source": ["# Größe"]},
        {"cell_type": "code", "execution_count": 3, "id": "calc", "metadata": {}, "outputs": [{"x": 1.0}], "source": ["1"]}
    ]"##;

    #[test]
    fn a_cell_is_replaced_by_id_or_number_and_its_output_goes() {
        for cell in ["calc", "1", "cell-1"] {
            let wish = CellEdit::Replace {
                cell: cell.into(),
                source: "a\nb".into(),
                cell_type: None,
            };
            let changed: Value =
                serde_json::from_str(&change(&notebook(CELLS, 5), wish).unwrap()).unwrap();
            assert_eq!(changed["cells"][1]["source"], json!(["a\n", "b"]));
            assert_eq!(changed["cells"][1]["outputs"], json!([]));
            assert_eq!(changed["cells"][1]["id"], json!("calc"));
        }
    }

    #[test]
    fn the_rest_stays_byte_for_byte() {
        let before = notebook(CELLS, 5);
        let inserted = change(
            &before,
            CellEdit::Insert {
                after: Some("top".into()),
                source: "x".into(),
                cell_type: "code".into(),
            },
        );
        let inserted = inserted.unwrap();
        assert_ne!(inserted, before);
        assert_eq!(
            change(&inserted, CellEdit::Delete { cell: "1".into() }).unwrap(),
            before
        );
    }

    #[test]
    fn a_new_cell_has_an_id_only_where_the_format_knows_ids() {
        for (minor, has_id) in [(4, false), (5, true)] {
            let wish = CellEdit::Insert {
                after: None,
                source: "x".into(),
                cell_type: "markdown".into(),
            };
            let changed: Value =
                serde_json::from_str(&change(&notebook("[]", minor), wish).unwrap()).unwrap();
            assert_eq!(changed["cells"][0].get("id").is_some(), has_id);
            assert!(changed["cells"][0].get("outputs").is_none());
        }
    }

    #[test]
    fn what_cannot_be_changed_is_named() {
        let table = [
            ("[]", "not a notebook"),
            ("{}", "no cells"),
            (r#"{"cells": []}"#, "no cell `9`; it has 0 cells"),
        ];
        for (text, words) in table {
            let error = change(text, CellEdit::Delete { cell: "9".into() }).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
