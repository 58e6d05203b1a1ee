//! SemanticSearch over ten thousand files: the first search, one after an edit, and one of many.

use std::{cell::Cell, fs, path::Path};

use anyhow::{Result, ensure};
use rooftree_protocol::{CallId, Effect, SessionId};
use rooftree_tools::{Policy, PolicyRequest, SemanticSearchTool, Tool, ToolContext};
use serde_json::json;
use tempfile::TempDir;

use crate::{
    compare::measure_ours,
    machine,
    options::BenchOptions,
    program_dir::ProgramDir,
    row::{BenchRow, FigureTarget},
};

const FILES_PER_DIRECTORY: usize = 50;

/// What functions are about, so that words are as rare and as common as in real code.
const VERBS: [&str; 12] = [
    "load", "store", "parse", "render", "validate", "merge", "retry", "compress", "schedule",
    "encode", "resolve", "cancel",
];
const NOUNS: [&str; 15] = [
    "session", "invoice", "token", "request", "cursor", "packet", "journal", "shipment", "layout",
    "cache", "account", "schema", "window", "channel", "digest",
];

pub(super) fn measure(_: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let tree = TempDir::new()?;
    let cache = TempDir::new()?;
    let directories = options.amount(200, 20);
    plant(tree.path(), directories)?;
    let waiting = machine::single_thread_runtime()?;
    let build = measure_ours(options.rounds, || {
        machine::time_future(
            &waiting,
            search(
                &SemanticSearchTool::new(None),
                tree.path(),
                "retry an invoice",
            ),
        )
    })?;
    let tool = SemanticSearchTool::new(Some(cache.path().to_owned()));
    machine::time_future(&waiting, search(&tool, tree.path(), "retry an invoice"))?;
    let edits = Cell::new(0);
    let edited = measure_ours(options.rounds, || {
        edits.set(edits.get() + 1);
        fs::write(
            tree.path().join("part0/module0/file0.rs"),
            source(0, edits.get()),
        )?;
        machine::time_future(&waiting, search(&tool, tree.path(), "retry an invoice"))
    })?;
    let query = measure_ours(options.rounds, || {
        machine::time_future(
            &waiting,
            search(&tool, tree.path(), "where is a shipment schedule validated"),
        )
    })?;
    let kept = measure_ours(options.rounds, || {
        let tool = SemanticSearchTool::new(Some(cache.path().to_owned()));
        machine::time_future(&waiting, search(&tool, tree.path(), "retry an invoice"))
    })?;
    let files = directories * FILES_PER_DIRECTORY;
    let note = |what: &str| format!("{files} files; {what}");
    Ok(vec![
        BenchRow::time(
            "SemanticSearch, first search",
            build,
            FigureTarget::AtMost(10.0),
            note("all are read"),
        ),
        BenchRow::time(
            "SemanticSearch, index from disk",
            kept,
            FigureTarget::Watched,
            note("in a new process"),
        ),
        BenchRow::time(
            "SemanticSearch after an edit",
            edited,
            FigureTarget::Watched,
            note("one is read, all are looked at"),
        ),
        BenchRow::time(
            "SemanticSearch, one of many",
            query,
            FigureTarget::AtMost(0.2),
            note("all are looked at"),
        ),
    ])
}

/// Directories of fifty source files of some four kilobytes.
fn plant(root: &Path, directories: usize) -> Result<()> {
    for outer in 0..directories {
        let directory = root.join(format!("part{}/module{outer}", outer % 20));
        fs::create_dir_all(&directory)?;
        for file in 0..FILES_PER_DIRECTORY {
            fs::write(
                directory.join(format!("file{file}.rs")),
                source(outer, file),
            )?;
        }
    }
    Ok(())
}

/// A dozen functions.
fn source(outer: usize, file: usize) -> String {
    let pick = |words: &[&str], at: usize| {
        words
            .get(at % words.len())
            .copied()
            .unwrap_or_default()
            .to_owned()
    };
    let function = |n: usize| {
        let verb = pick(&VERBS, outer * 7 + file * 3 + n);
        let (noun, other) = (
            pick(&NOUNS, outer + file * 5 + n * 2),
            pick(&NOUNS, outer * 3 + file + n),
        );
        format!(
            "/// Tries to {verb} the {noun} before the {other} is gone.\n\
             pub fn {verb}_{noun}_{n}({other}: &Value{outer}) -> Result<Value{file}, Error> {{\n    \
             let {noun} = {other}.first().ok_or(Error::Missing)?;\n    \
             for step in {noun}.steps().filter(|step| step.is_open()) {{\n        \
             step.{verb}({n})?;\n    }}\n    Ok({noun}.into_value())\n}}\n\n"
        )
    };
    format!("//! Part {file} of module {outer}.\n\nuse crate::error::Error;\n\n")
        + &(0..12).map(function).collect::<String>()
}

async fn search(tool: &SemanticSearchTool, root: &Path, query: &str) -> Result<()> {
    let input = tool
        .normalise("SemanticSearch", json!({"query": query}))
        .map_err(anyhow::Error::msg)?;
    let name = tool.spec().name.as_str();
    let judged = PolicyRequest {
        tool: name,
        subject: Some("."),
        input: None,
        effect: Effect::ReadOnly,
        cwd: root,
    };
    let alone = ToolContext::detached(SessionId::from_entropy(1), CallId::from_entropy(1), root);
    let context = ToolContext {
        reach: Policy::default().reach(&judged),
        ..alone
    };
    let output = tool.run(input, context).await;
    ensure!(
        output.failure.is_none() && output.text().contains("(score"),
        "found nothing: {}",
        output.text()
    );
    Ok(())
}
