//! Trust prompt at the terminal: asks once per content whether what a project brings may be used.

use rooftree_protocol::Problem;
use rooftree_runtime::definitions::SearchDirs;

use super::{TrustStatus, content::ProjectContent};
use crate::{
    environment::Environment,
    human_format::place,
    terminal::{
        confirm,
        line::{StyledLine, TextStyle},
        width, wrap,
    },
};

/// Files shown; more are counted.
const SHOWN: usize = 30;

/// Asks if there is something to ask, and remembers the answer.
pub async fn ask(environment: &Environment, places: &SearchDirs) -> Result<(), Problem> {
    if environment.everywhere.trust {
        return Ok(());
    }
    let status = super::status(environment, places);
    let is_open = matches!(status, TrustStatus::Unknown | TrustStatus::Changed(_));
    let (Some(root), true) = (places.root(), is_open) else {
        return Ok(());
    };
    let Some(content) = ProjectContent::of(places).filter(|content| !content.is_empty()) else {
        return Ok(());
    };
    let heading = match &status {
        TrustStatus::Changed(_) => format!(
            "{} has changed files that run programs or change agents",
            place(root)
        ),
        _ => format!(
            "{} contains files that run programs or change agents",
            place(root)
        ),
    };
    let mut lines = vec![StyledLine::of(TextStyle::Warning, "? ").with(TextStyle::Strong, heading)];
    lines.extend(listed(&status, &content));
    let advice =
        "  Look at it first if others wrote it. If you decline, everything else works without it.";
    let rows = wrap::rows(advice, width().saturating_sub(1));
    lines.extend(
        rows.into_iter()
            .map(|row| StyledLine::of(TextStyle::Dim, row)),
    );
    let colours = environment.colours(std::io::IsTerminal::is_terminal(&std::io::stderr()));
    if confirm::ask(&lines, "  use it? y/N › ", colours).await? {
        super::give(environment, root, &content).await
    } else {
        super::refuse(environment, root, &content).await
    }
}

/// What there is, or what is different, one line each.
pub fn listed(status: &TrustStatus, content: &ProjectContent) -> Vec<StyledLine> {
    let mut entries: Vec<(TextStyle, &str, &str)> = match status {
        TrustStatus::Changed(changes) => changes
            .iter()
            .map(|change| match change.is_new {
                true => (TextStyle::Good, "+", change.path.as_str()),
                false => (TextStyle::Warning, "~", change.path.as_str()),
            })
            .collect(),
        _ => content
            .acting
            .keys()
            .chain(&content.text)
            .map(|path| (TextStyle::Plain, "·", path.as_str()))
            .collect(),
    };
    let more = entries.len().saturating_sub(SHOWN);
    entries.truncate(SHOWN);
    let mut lines: Vec<StyledLine> = entries
        .into_iter()
        .map(|(look, sign, path)| {
            StyledLine::of(look, format!("    {sign} ")).with(TextStyle::Plain, path)
        })
        .collect();
    if more > 0 {
        lines.push(StyledLine::of(
            TextStyle::Dim,
            format!("    and {more} more: rooftree trust --show"),
        ));
    }
    lines
}
