//! Asks the person at the terminal whether what a project brings may be used: once per content.

use rooftree_protocol::Problem;
use rooftree_runtime::definitions::Places;

use super::{Standing, content::Content};
use crate::{
    environment::Environment,
    terminal::{
        confirm,
        line::{Line, Look},
    },
    wording::place,
};

/// Files shown; more are counted.
const SHOWN: usize = 30;

/// Asks if there is something to ask, and remembers the answer.
pub async fn ask(environment: &Environment, places: &Places) -> Result<(), Problem> {
    if environment.everywhere.trust {
        return Ok(());
    }
    let standing = super::standing(environment, places);
    let is_open = matches!(standing, Standing::Unknown | Standing::Changed(_));
    let (Some(root), true) = (places.root(), is_open) else { return Ok(()) };
    let Some(content) = Content::of(places).filter(|content| !content.is_empty()) else { return Ok(()) };
    let heading = match &standing {
        Standing::Changed(_) => format!("{} has changed what it brings along", place(root)),
        _ => format!("{} brings along what can act or change how agents work", place(root)),
    };
    let mut lines = vec![Line::of(Look::Warning, "? ").with(Look::Strong, heading)];
    lines.extend(listed(&standing, &content));
    lines.push(Line::of(
        Look::Dim,
        "  Look at it first if others wrote it. Without it everything works, only without these.",
    ));
    let colours = environment.colours(std::io::IsTerminal::is_terminal(&std::io::stderr()));
    if confirm::ask(&lines, "  use it? y/N › ", colours).await? {
        super::give(environment, root, &content)
    } else {
        super::refuse(environment, root, &content)
    }
}

/// What there is, or what is different, one line each.
pub fn listed(standing: &Standing, content: &Content) -> Vec<Line> {
    let mut entries: Vec<(Look, &str, &str)> = match standing {
        Standing::Changed(changes) => changes
            .iter()
            .map(|change| match change.is_new {
                true => (Look::Good, "+", change.path.as_str()),
                false => (Look::Warning, "~", change.path.as_str()),
            })
            .collect(),
        _ => {
            content.acting.keys().chain(&content.text).map(|path| (Look::Plain, "·", path.as_str())).collect()
        }
    };
    let more = entries.len().saturating_sub(SHOWN);
    entries.truncate(SHOWN);
    let mut lines: Vec<Line> = entries
        .into_iter()
        .map(|(look, sign, path)| Line::of(look, format!("    {sign} ")).with(Look::Plain, path))
        .collect();
    if more > 0 {
        lines.push(Line::of(Look::Dim, format!("    and {more} more: rooftree trust --show")));
    }
    lines
}
