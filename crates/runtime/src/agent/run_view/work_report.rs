//! Report of the work of a run, folded from its calls: files, diffs, tools, steps.

use std::{collections::VecDeque, path::PathBuf, sync::Arc};

use rooftree_protocol::{
    event::ToolRecord,
    tool_call::{FileAction, FileNote},
};
use rooftree_providers::{ModelMessage, agent_program::ProgramActivity};

/// Steps that are remembered.
const STEPS: usize = 50;
/// Files looked at that are remembered.
const EXPLORED: usize = 200;
/// Bytes of diffs that are remembered.
const DIFFS: usize = 32 * 1024;

/// What a run was asked for and what it did so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkReport {
    /// What it was asked for, in this run.
    pub requests: Vec<Arc<ModelMessage>>,
    /// Files it changed so far.
    pub files: Vec<FileNote>,
    /// How it changed them, as unified diffs; the first ones if they are many.
    pub diff: String,
    /// Files it looked at so far.
    pub explored: Vec<PathBuf>,
    /// Tools it used so far, in the order of first use.
    pub tools: Vec<String>,
    /// What it did last, in a few words each.
    pub steps: VecDeque<String>,
}

impl WorkReport {
    pub(super) fn note(&mut self, record: &ToolRecord) {
        if let Some(diff) = &record.diff {
            self.note_diff(diff);
        }
        self.note_step(record);
        for note in record.files.iter().filter(|note| note.action.is_change()) {
            match self.files.iter_mut().find(|known| known.path == note.path) {
                Some(known) => {
                    let (added, removed) = (known.added + note.added, known.removed + note.removed);
                    *known = FileNote {
                        added,
                        removed,
                        ..note.clone()
                    };
                }
                None => self.files.push(note.clone()),
            }
        }
    }

    /// Notes what a program did with a tool of its own.
    pub(super) fn note_activity(&mut self, activity: ProgramActivity<'_>) {
        self.note_tool(activity.tool, activity.title);
    }

    fn note_tool(&mut self, tool: &str, title: &str) {
        if !self.tools.iter().any(|known| known == tool) {
            self.tools.push(tool.to_owned());
        }
        if self.steps.len() == STEPS {
            self.steps.pop_front();
        }
        self.steps
            .push_back(format!("{tool} {title}").trim().to_owned());
    }

    fn note_step(&mut self, record: &ToolRecord) {
        self.note_tool(&record.tool, &record.title);
        for note in record
            .files
            .iter()
            .filter(|note| matches!(note.action, FileAction::Read | FileAction::Found))
        {
            if self.explored.len() < EXPLORED && !self.explored.contains(&note.path) {
                self.explored.push(note.path.clone());
            }
        }
    }

    fn note_diff(&mut self, diff: &str) {
        let room = DIFFS.saturating_sub(self.diff.len());
        if room == 0 {
            return;
        }
        self.diff.push_str(
            diff.get(..diff.floor_char_boundary(room))
                .unwrap_or_default(),
        );
        self.diff.push_str(if diff.len() > room {
            "\n[more was changed]"
        } else {
            "\n"
        });
    }
}
