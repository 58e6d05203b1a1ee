//! Looks up the values that completion offers: agents, sessions, models, runs, tasks, requests, servers, settings.

use std::sync::Arc;

use rooftree_runtime::{Queries, assembly::known_tools};
use rooftree_store::{RunFilter, SessionFilter, TaskFilter};

use super::{Candidate, parse::ValueKind};
use crate::{
    configured_models::ConfiguredModels,
    environment::Environment,
    human_format::place,
    mcp_servers,
    project_agents::{self, ProjectAgents},
    settings::{self, Settings, known_keys},
    terminal::run_text::{ending, short},
};

/// More than this many are not offered: a list must stay readable.
const MOST: usize = 100;

/// The values of a kind; none if they cannot be looked up now.
pub async fn of(kind: ValueKind, environment: &Environment) -> Vec<Candidate> {
    let found = match kind {
        ValueKind::Agent => agents(environment),
        ValueKind::Model => models(environment),
        ValueKind::Provider => providers(environment),
        ValueKind::Server => servers(environment),
        ValueKind::Setting => Some(settings_keys()),
        ValueKind::Tool => Some(tools()),
        ValueKind::Session | ValueKind::Run | ValueKind::Task | ValueKind::Request => {
            match environment.queries() {
                Ok(Some(store)) => stored(kind, &store).await,
                _ => None,
            }
        }
    };
    found.unwrap_or_default()
}

fn configured(environment: &Environment) -> Option<(Settings, Arc<ConfiguredModels>)> {
    let settings = settings::load(environment).ok()?;
    let models = Arc::new(ConfiguredModels::of(environment, &settings).ok()?);
    Some((settings, models))
}

fn agents(environment: &Environment) -> Option<Vec<Candidate>> {
    let (settings, models) = configured(environment)?;
    let project = ProjectAgents::find(environment, &settings, &models, None).ok()?;
    let all = project.definitions.all();
    let visible = all.iter().filter(|definition| !definition.hidden);
    let candidate = |definition: &Arc<rooftree_protocol::AgentDefinition>| {
        Candidate::new(definition.name.clone(), definition.description.clone())
    };
    Some(visible.map(candidate).collect())
}

fn models(environment: &Environment) -> Option<Vec<Candidate>> {
    let (settings, models) = configured(environment)?;
    let usable: Vec<&str> = models
        .usable()
        .iter()
        .map(|profile| profile.name.as_str())
        .collect();
    let mut known: Vec<Candidate> = Vec::new();
    for facts in models.catalog.known().iter() {
        let about = if usable.contains(&facts.provider()) {
            "has a key"
        } else {
            ""
        };
        known.push(Candidate::new(facts.id.clone(), about));
    }
    let aliases = settings.models.aliases.iter();
    known.extend(aliases.map(|(name, means)| Candidate::new(name.clone(), means.clone())));
    known.sort_by_key(|candidate| candidate.about.is_empty());
    Some(known)
}

fn providers(environment: &Environment) -> Option<Vec<Candidate>> {
    let (_, models) = configured(environment)?;
    let profiles = models.profiles.iter();
    Some(
        profiles
            .map(|profile| Candidate::new(profile.name.clone(), ""))
            .collect(),
    )
}

fn servers(environment: &Environment) -> Option<Vec<Candidate>> {
    let settings = settings::load(environment).ok()?;
    let places = project_agents::places(environment);
    let gathered = mcp_servers::gather(environment, &places, &settings, &[]).ok()?;
    let known = gathered.servers.iter();
    Some(
        known
            .map(|(name, server)| Candidate::new(name.clone(), place(&server.place)))
            .collect(),
    )
}

fn settings_keys() -> Vec<Candidate> {
    known_keys()
        .into_iter()
        .map(|key| Candidate::new(key, ""))
        .collect()
}

fn tools() -> Vec<Candidate> {
    let tools = known_tools();
    tools
        .iter()
        .map(|tool| Candidate::new(tool.spec().name.clone(), ""))
        .collect()
}

async fn stored(kind: ValueKind, store: &Queries) -> Option<Vec<Candidate>> {
    match kind {
        ValueKind::Session => sessions(store).await,
        ValueKind::Run => {
            let filter = RunFilter {
                roots: true,
                limit: MOST,
                ..RunFilter::default()
            };
            let runs = store.runs(filter).await.ok()?;
            let candidate = |row: rooftree_store::RunRow| {
                let run = row.started.run?;
                Some(Candidate::new(ending(run.as_str()), row.started.agent))
            };
            Some(runs.into_iter().filter_map(candidate).collect())
        }
        ValueKind::Task => {
            let tasks = store.tasks(TaskFilter::default()).await.ok()?;
            let newest = tasks.into_iter().take(MOST);
            Some(
                newest
                    .map(|task| Candidate::new(ending(task.id.as_str()), task.title))
                    .collect(),
            )
        }
        _ => {
            let open = store.inquiries(None).await.ok()?;
            Some(
                open.into_iter()
                    .map(|inquiry| Candidate::new(ending(&inquiry.id), inquiry.agent))
                    .collect(),
            )
        }
    }
}

/// By the end of the id, and by name where there is one.
async fn sessions(store: &Queries) -> Option<Vec<Candidate>> {
    let filter = SessionFilter {
        top_level: Some(true),
        limit: MOST,
        ..SessionFilter::default()
    };
    let mut known = Vec::new();
    for session in store.sessions(filter).await.ok()? {
        let about = format!(
            "{} · {} · {}",
            session.agent,
            place(&session.cwd),
            session.last_snippet
        );
        known.push(Candidate::new(short(&session.id), about.clone()));
        known.extend(session.name.map(|name| Candidate::new(name, about)));
    }
    Some(known)
}
