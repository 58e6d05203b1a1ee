//! Checks whether an agent could make a call here, and why, without executing it or prompting the user.

use std::sync::Arc;

use clap::Args;
use rooftree_protocol::{ErrorCode, PermissionMode, Problem};
use rooftree_runtime::{assembly::known_tools, definitions::Skill, effective_rights};
use rooftree_tools::{PermissionRule, Policy, SkillRestriction};
use serde_json::json;

use crate::{
    assemble::CliOverrides,
    commands::{
        run::{known, permission_mode_parser},
        sessions::find::{self, LookupScope},
    },
    configured_models::ConfiguredModels,
    environment::Environment,
    exit::Exit,
    explain_policy::{
        self, ConsultedHook, ExplainedCall, ExplainedDecision, KnownTools, PolicyExplanation,
    },
    listing::PageOutput,
    mcp_servers, output,
    project_agents::{self, ProjectAgents},
    settings,
    terminal::sanitize::clean_line,
};

/// Options of `can`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The agent
    #[arg(value_name = "AGENT")]
    agent: String,
    /// The tool
    #[arg(value_name = "TOOL")]
    tool: String,
    /// Its arguments as a JSON object, or what it is about: a path, a command
    #[arg(value_name = "ARGUMENTS", allow_hyphen_values = true)]
    arguments: Option<String>,
    /// As if run with this mode
    #[arg(long, value_name = "MODE", value_parser = permission_mode_parser())]
    permission_mode: Option<PermissionMode>,
    /// As if run with this rule; may be repeated
    #[arg(long, value_name = "RULE")]
    allow: Vec<PermissionRule>,
    /// As if run with this rule; may be repeated
    #[arg(long, value_name = "RULE")]
    deny: Vec<PermissionRule>,
    /// As if this skill were followed
    #[arg(long, value_name = "NAME")]
    skill: Option<String>,
    /// With the rules of this session too
    #[arg(short, long, value_name = "ID|NAME")]
    session: Option<String>,
    #[command(flatten)]
    output: PageOutput,
}

/// Prints the verdict; the exit code is 0 for allowed, 6 for a permission prompt, 1 for denied.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let settings = settings::load(environment)?;
    let models = Arc::new(ConfiguredModels::of(environment, &settings)?);
    let project = ProjectAgents::find(environment, &settings, &models, None)?;
    let definition = project.definitions.find(&arguments.agent)?;
    let (mut rules, mut sessions) = (Vec::new(), Vec::new());
    if let Some(store) = environment.queries()? {
        rules = store.rules().await.map_err(|error| error.problem())?;
        if let Some(session) = &arguments.session {
            sessions.push(find::session(&store, session, LookupScope::Live).await?.id);
        }
    }
    let guarding = effective_rights::guarding(&project.hooks, &project.definitions);
    let followed = match &arguments.skill {
        Some(name) => vec![SkillRestriction::of(
            &skill(&project, name)?.note(&known_tools()),
        )],
        None => Vec::new(),
    };
    let gathered = mcp_servers::gather(
        environment,
        &project_agents::places(environment),
        &settings,
        &[],
    )?;
    let (allow, deny) = (known(&arguments.allow)?, known(&arguments.deny)?);
    let typed = CliOverrides {
        mode: arguments.permission_mode,
        allow,
        deny,
        ..CliOverrides::default()
    };
    let (overrides, pinned) = typed.without_pinned(&settings);
    for remark in &pinned {
        output::print_note(environment, remark);
    }
    let base = Policy {
        mode: overrides
            .mode
            .or(settings.permission.mode)
            .unwrap_or_default(),
        allow: overrides
            .allow
            .into_iter()
            .chain(settings.permission.allow)
            .collect(),
        ask: settings
            .permission
            .ask
            .into_iter()
            .chain(guarding)
            .collect(),
        deny: overrides
            .deny
            .into_iter()
            .chain(settings.permission.deny)
            .collect(),
        followed,
    };
    let policy = effective_rights::policy(base, &definition, &rules, &sessions, &environment.cwd);
    let known = KnownTools::of(
        &known_tools(),
        &gathered.servers(environment),
        &project.definitions,
        &definition,
    )?;
    let input = explain_policy::arguments(&known, &arguments.tool, arguments.arguments.as_deref())?;
    let call = || ExplainedCall {
        tool: &arguments.tool,
        input: input.clone(),
        cwd: &environment.cwd,
        effect: None,
    };
    let mut judgement = explain_policy::explain_call(&known, &policy, &gathered.confining, call())?;
    if judgement.decision != ExplainedDecision::Deny {
        judgement.hooks = explain_policy::consulted_hooks(
            &known,
            &project.hooks,
            &definition,
            policy.mode,
            &call(),
        )?;
    }
    let text = if arguments.output.is_json() {
        output::json_page(
            &json!({ "agent": definition.name, "mode": policy.mode, "judgement": judgement }),
        )?
    } else {
        in_words(&definition.name, &judgement)
    };
    output::print(&text)?;
    Ok(match judgement.decision {
        ExplainedDecision::Allow => Exit::DONE,
        ExplainedDecision::Ask => Exit::PERMISSION,
        ExplainedDecision::Deny => Exit::FAILED,
    })
}

fn skill(project: &ProjectAgents, name: &str) -> Result<Skill, Problem> {
    let around = project.project_context.current();
    let skills = &around.skills;
    around.skill(name).cloned().ok_or_else(|| {
        let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
        let there_are = match names.as_slice() {
            [] => "leave --skill out: there are no skills here".to_owned(),
            names => format!("skills there are: {}", names.join(", ")),
        };
        Problem::new(
            ErrorCode::InvalidArguments,
            format!("there is no skill `{name}`"),
        )
        .fix(there_are)
    })
}

fn in_words(agent: &str, judgement: &PolicyExplanation) -> String {
    let subject = judgement
        .subject
        .as_deref()
        .map(clean_line)
        .unwrap_or_default();
    let mut text = format!("{agent} › {} {subject}", judgement.tool)
        .trim_end()
        .to_owned();
    text += &format!(
        "\n{}: {}\n",
        judgement.decision.word(),
        clean_line(&judgement.reason)
    );
    for step in &judgement.steps {
        text += &format!("  {}\n", clean_line(step));
    }
    for ConsultedHook { hook, place } in &judgement.hooks {
        let hook = clean_line(hook);
        text += &format!(
            "  a hook would be asked first, and could refuse or change it: `{hook}` in {place}\n"
        );
    }
    text
}
