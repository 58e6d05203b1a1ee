//! Explains the decision about a past call: from the journal, and judged again by the policy engine under the
//! policy that was in force.

mod find;
mod past_call;

use std::sync::Arc;

use clap::Args;
use rooftree_protocol::{EventBody, Outcome, PermissionDecision, Problem, Session};
use rooftree_runtime::{Clock, SystemClock, assembly::known_tools};
use rooftree_tools::{Policy, SandboxConfig, mcp::McpServerPool};
use serde::Serialize;

use self::past_call::PastCall;
use crate::{
    configured_models::ConfiguredModels,
    environment::Environment,
    exit::Exit,
    explain_policy::{self, ExplainedCall, KnownTools, PolicyExplanation},
    human_format::ago,
    listing::PageOutput,
    mcp_servers, output,
    project_agents::{self, ProjectAgents},
    settings,
    terminal::{
        run_text::{duration, ending, short},
        sanitize::clean_line,
    },
};

/// Options of `why`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which decision: call_…, per_…, the end of such an id, or SESSION:NUMBER of an event
    #[arg(value_name = "EVENT")]
    event: String,
    /// Look only in this session
    #[arg(short, long, value_name = "ID|NAME")]
    session: Option<String>,
    #[command(flatten)]
    output: PageOutput,
}

/// One decision, told.
#[derive(Serialize)]
struct DecisionReport {
    session: String,
    agent: String,
    call: String,
    tool: String,
    input: serde_json::Value,
    /// What came of it, in words.
    decided: String,
    /// What people had to do with it, in order.
    people: Vec<String>,
    /// The recorded policy.
    policy: Option<rooftree_protocol::event::PolicyNote>,
    /// What the engine says about it under that policy.
    judged: Option<PolicyExplanation>,
}

/// Tells it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let store = environment
        .queries()?
        .ok_or_else(|| find::nothing(&arguments.event))?;
    let found = find::calls(&store, &arguments.event, arguments.session.as_deref()).await?;
    let here = WhyContext::look(environment)?;
    let told = found
        .calls
        .iter()
        .map(|past| here.account(&found.session, past));
    let accounts = told.collect::<Result<Vec<DecisionReport>, Problem>>()?;
    let text = if arguments.output.is_json() {
        output::json_page(&accounts)?
    } else {
        accounts.iter().map(in_words).collect::<Vec<_>>().join("\n")
    };
    output::print(&text)?;
    Ok(Exit::DONE)
}

/// The context in which a past call is judged again: all known tools, whichever agent has them.
struct WhyContext {
    project: ProjectAgents,
    servers: McpServerPool,
    sandbox: SandboxConfig,
}

impl WhyContext {
    fn look(environment: &Environment) -> Result<Self, Problem> {
        let settings = settings::load(environment)?;
        let models = Arc::new(ConfiguredModels::of(environment, &settings)?);
        let project = ProjectAgents::find(environment, &settings, &models, None)?;
        let gathered = mcp_servers::gather(
            environment,
            &project_agents::places(environment),
            &settings,
            &[],
        )?;
        Ok(Self {
            project,
            servers: gathered.servers(environment),
            sandbox: gathered.confining,
        })
    }

    fn account(&self, session: &Session, past: &PastCall) -> Result<DecisionReport, Problem> {
        Ok(DecisionReport {
            session: short(&session.id).to_owned(),
            agent: past.agent.clone(),
            call: past.call.id.to_string(),
            tool: past.tool().to_owned(),
            input: past.call.input.clone(),
            decided: decided(past),
            people: people(past),
            policy: past.note.clone(),
            judged: past
                .policy()
                .map(|policy| self.judged(session, past, &policy))
                .transpose()?
                .flatten(),
        })
    }

    /// The engine's word on it; none if its tool is not known here any more.
    fn judged(
        &self,
        session: &Session,
        past: &PastCall,
        policy: &Policy,
    ) -> Result<Option<PolicyExplanation>, Problem> {
        // An agent that is gone brought nothing along that is still here.
        let definition = self
            .project
            .definitions
            .find(&past.agent)
            .unwrap_or_default();
        // Whether the agent had it was decided then, and the journal tells.
        let known = KnownTools::of(
            &known_tools(),
            &self.servers,
            &self.project.definitions,
            &definition,
        )?;
        let known = known.unscoped();
        let (input, effect) = (past.call.input.clone(), past.effect);
        let call = ExplainedCall {
            tool: &past.call.tool,
            input,
            cwd: &session.cwd,
            effect,
        };
        Ok(explain_policy::explain_call(&known, policy, &self.sandbox, call).ok())
    }
}

/// What came of it.
fn decided(past: &PastCall) -> String {
    match (&past.permitted, &past.record) {
        (Some(permitted), _) if !permitted.is_empty() => format!("made, because {permitted}"),
        (Some(_), _) => "made".into(),
        (None, Some(record)) => {
            let words = rooftree_protocol::message::text_of(&record.content);
            let first = words.lines().next().unwrap_or_default();
            match record.outcome {
                Outcome::Denied => format!("not made: {first}"),
                _ => format!("not made, and not decided about: {first}"),
            }
        }
        (None, None) => "not decided yet".into(),
    }
}

/// Who was asked, and what they said.
fn people(past: &PastCall) -> Vec<String> {
    let now = SystemClock.now();
    let mut lines = Vec::new();
    if let Some((
        at,
        EventBody::PermissionRequested {
            id, reason, rule, ..
        },
    )) = &past.asked
    {
        let why = reason
            .split_once("; --")
            .map_or(reason.as_str(), |(why, _)| why);
        lines.push(format!(
            "{} was asked {}: {why}",
            ending(id.as_str()),
            ago(now, *at)
        ));
        match &past.answered {
            Some((when, answer, by)) => {
                let word = if answer.decision == PermissionDecision::Allow {
                    "yes"
                } else {
                    "no"
                };
                let scope = format!("{:?}", answer.scope).to_lowercase();
                let after =
                    duration(u64::try_from(when.since(*at).as_millis()).unwrap_or(u64::MAX));
                let because = answer
                    .because
                    .as_ref()
                    .map(|words| format!(": {words}"))
                    .unwrap_or_default();
                lines.push(format!("{by} said {word} ({scope}) after {after}{because}"));
                if past.made_rule() {
                    lines.push(format!("that made the rule {rule}"));
                }
            }
            None => lines.push("no answer yet".into()),
        }
    }
    lines
}

fn in_words(account: &DecisionReport) -> String {
    let subject = account
        .judged
        .as_ref()
        .and_then(|judged| judged.subject.clone())
        .unwrap_or_default();
    let heading = format!(
        "{} › {} {}",
        account.agent,
        account.tool,
        clean_line(&subject)
    );
    let mut text = format!(
        "{}\n  {} in session {}\n",
        heading.trim_end(),
        account.call,
        account.session
    );
    text += &format!("{}\n", clean_line(&account.decided));
    for line in &account.people {
        text += &format!("  {}\n", clean_line(line));
    }
    match (&account.judged, &account.policy) {
        (Some(judged), Some(policy)) => {
            let mode = serde_json::to_value(policy.mode).ok();
            let mode = mode
                .as_ref()
                .and_then(|mode| mode.as_str())
                .unwrap_or_default()
                .to_owned();
            text += &format!(
                "the policy of that run, mode {mode}, says {}: {}\n",
                judged.decision.word(),
                clean_line(&judged.reason)
            );
            if let Some(read) = &policy.wary {
                text += &format!(
                    "  it was narrowed to that mode, for the agent had read {}\n",
                    clean_line(read)
                );
            }
            for step in judged.steps.iter().skip(1) {
                text += &format!("  {}\n", clean_line(step));
            }
        }
        (None, Some(_)) => text += "the call cannot be judged again: its tool is not here\n",
        (_, None) => text += "the journal does not tell the policy of that run\n",
    }
    text
}
