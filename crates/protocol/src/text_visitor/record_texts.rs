//! Visits the texts in journal records of replies, calls and runs.

use super::{TextEdit, list, optional, parts, path, problem, text, value};
use crate::{
    ToolCall,
    event::{
        Compaction, CompactionKind, Denial, PolicyNote, ReplyPart, ReplyRecord, Report, RunEnd,
        SkillNote, ToolRecord, Verdict,
    },
    file_undo::{FilePreimage, FileUndo, PriorContent, UndoStep, UndoneFile},
    tool_call::FileNote,
};

pub(super) fn reply(reply: &mut ReplyRecord, edit: TextEdit<'_>) {
    let ReplyRecord {
        message: _,
        text: said,
        parts,
        model: _,
        stop: _,
        usage: _,
        request: _,
    } = reply;
    text(said, edit);
    parts.iter_mut().for_each(|part| reply_part(part, edit));
}

fn reply_part(part: &mut ReplyPart, edit: TextEdit<'_>) {
    match part {
        ReplyPart::Text { text: said } => text(said, edit),
        ReplyPart::Thinking {
            text: thought,
            signature,
        } => {
            if let Some(changed) = edit(thought) {
                *thought = changed;
                // The signature covers the text as it was. With other text the provider would reject it.
                *signature = None;
            }
        }
        ReplyPart::Call(ToolCall { id: _, tool, input }) => {
            text(tool, edit);
            value(input, edit);
        }
        ReplyPart::Opaque {
            provider: _,
            item: _,
        } => {}
    }
}

pub(super) fn tool(record: &mut ToolRecord, edit: TextEdit<'_>) {
    let ToolRecord {
        call: _,
        tool,
        title,
        outcome: _,
        content,
        duration_ms: _,
        full: _,
        files,
        diff,
        task: _,
        inside: _,
        input,
        skill,
        usage: _,
    } = record;
    if let Some(input) = input {
        value(input, edit);
    }
    if let Some(skill) = skill {
        self::skill(skill, edit);
    }
    text(tool, edit);
    text(title, edit);
    parts(content, edit);
    files.iter_mut().for_each(|note| file(note, edit));
    optional(diff, edit);
}

pub(super) fn skill(note: &mut SkillNote, edit: TextEdit<'_>) {
    let SkillNote {
        name: _,
        allow,
        deny,
    } = note;
    list(allow.as_deref_mut().unwrap_or_default(), edit);
    list(deny, edit);
}

pub(super) fn policy(note: &mut PolicyNote, edit: TextEdit<'_>) {
    let PolicyNote {
        mode: _,
        allow,
        ask,
        deny,
        skills,
        wary,
    } = note;
    skills.iter_mut().for_each(|note| skill(note, edit));
    [allow, ask, deny]
        .into_iter()
        .for_each(|rules| list(rules, edit));
    optional(wary, edit);
}

pub(super) fn preimage(file: &mut FilePreimage, edit: TextEdit<'_>) {
    let FilePreimage {
        path: place,
        was,
        becomes: _,
    } = file;
    path(place, edit);
    match was {
        PriorContent::NotStored { because } => text(because, edit),
        PriorContent::Stored {
            blob: _,
            hash: _,
            mode: _,
        }
        | PriorContent::Absent => {}
    }
}

pub(super) fn undo(undo: &mut FileUndo, edit: TextEdit<'_>) {
    let FileUndo {
        run: _,
        title,
        files,
        remarks,
    } = undo;
    text(title, edit);
    list(remarks, edit);
    for UndoneFile { path: place, step } in files {
        path(place, edit);
        if let UndoStep::Skip { because } = step {
            text(because, edit);
        }
    }
}

fn file(note: &mut FileNote, edit: TextEdit<'_>) {
    let FileNote {
        path: place,
        action: _,
        hash: _,
        added: _,
        removed: _,
    } = note;
    path(place, edit);
}

pub(super) fn verdict(verdict: &mut Verdict, edit: TextEdit<'_>) {
    let Verdict {
        attempt: _,
        passed: _,
        again: _,
        attempts: _,
        reports,
        usage: _,
    } = verdict;
    self::reports(reports, edit);
}

fn reports(reports: &mut [Report], edit: TextEdit<'_>) {
    for Report {
        name,
        passed: _,
        said,
        task: _,
    } in reports
    {
        text(name, edit);
        text(said, edit);
    }
}

pub(super) fn compaction(compaction: &mut Compaction, edit: TextEdit<'_>) {
    let Compaction {
        how,
        kept: _,
        before: _,
        after: _,
        usage: _,
    } = compaction;
    match how {
        CompactionKind::Summary { summary } => text(summary, edit),
        CompactionKind::Trimmed { chars: _ } => {}
    }
}

pub(super) fn run_end(end: &mut RunEnd, edit: TextEdit<'_>) {
    let RunEnd {
        status: _,
        task,
        text: said,
        turns: _,
        calls: _,
        usage: _,
        duration_ms: _,
        files,
        explored,
        findings,
        tools,
        steps,
        delegated: _,
        workspace,
        verified: _,
        failed_checks,
        outside: _,
        denials,
        error,
    } = end;
    text(task, edit);
    text(said, edit);
    reports(failed_checks, edit);
    for found in findings {
        path(&mut found.path, edit);
        text(&mut found.text, edit);
    }
    files.iter_mut().for_each(|note| file(note, edit));
    explored.iter_mut().for_each(|place| path(place, edit));
    list(tools, edit);
    list(steps, edit);
    if let Some(note) = workspace {
        text(&mut note.diffstat, edit);
        note.files.iter_mut().for_each(|place| path(place, edit));
    }
    for Denial {
        call: _,
        tool,
        title,
        reason,
    } in denials
    {
        [tool, title, reason]
            .into_iter()
            .for_each(|one| text(one, edit));
    }
    if let Some(error) = error {
        problem(error, edit);
    }
}
