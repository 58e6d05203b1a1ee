//! Changes of the page's reducer that the comparison must notice.

/// A piece of a script, and what it is replaced by.
pub struct Mutant {
    pub file: &'static str,
    pub from: &'static str,
    pub to: &'static str,
}

macro_rules! mutants {
    ($($file:literal: $from:literal => $to:literal),* $(,)?) => {
        /// All of them.
        pub const MUTANTS: &[Mutant] = &[$(Mutant { file: $file, from: $from, to: $to }),*];
    };
}

mutants![
    "reduce.js": "event.id <= (known?.head ?? 0)" => "event.id < (known?.head ?? 0)",
    "reduce.js": "  applyInquiry(tree, event, change);\n" => "",
    "reduce.js": "Math.max(session.head, snapshot.head)" => "session.head",
    "reduce.js": "tree.inquiries.push(...pending);" => "",
    "reduce.js": "      applyDraft(run, draft);\n" => "",
    "reduce.js": "  reportEnd(run, note, record);\n" => "",
    "reduce_run.js": "run.is_reply_whole || hasEnded(run)" => "hasEnded(run)",
    "reduce_run.js": "      run.verdict = event.data;\n" => "",
    "reduce_run.js": "last.to ??= at;" => "last.to = at;",
    "reduce_run.js": "if (reason !== 'child') {" => "{",
    "reduce_reply.js": "run.is_reply_whole = !isCut;" => "run.is_reply_whole = true;",
    "reduce_run.js": "  run.running = [];\n" => "",
    "reduce_run.js": "event.data.code === 'fallback'" => "false",
    "reduce_session.js": "      toldOf(session, event.data.task);\n" => "",
    "reduce_session.js": "session.compactions += 1;" => "",
    "reduce_session.js": "session.is_deleted = Boolean(meta.deleted_at);" => "",
    "reduce_session.js": "      session.todos = event.data.items;\n" => "",
    "reduce_parts.js": "list.length > limit" => "false",
    "reduce_parts.js": "return Array.from(line).slice(0, OUTPUT).join('');" => "return text;",
    "reduce_parts.js": "kind: started?.kind ?? null" => "kind: null",
    "reduce_parts.js": "sum.cost_complete &&=" => "sum.cost_complete ||=",
    "utf8.js": "bytes += unitBytes(text.charCodeAt(at));\n  }" => "bytes += 1;\n  }",
    "tree_index.js": "    list.splice(placeIn(tree, list, run), 0, run);\n" => "",
    "canonical_json.js": "writeFraction(value) : write(value)" => "write(value) : write(value)",
];
