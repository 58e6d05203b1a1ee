//! Says why a call that was made, or was not, was decided as it was: from the journal, and judged again
//! by the engine that decided it, under the policy that held then.

mod find;
mod past;

use std::sync::Arc;

use clap::Args;
use rooftree_protocol::{EventBody, Outcome, PermissionDecision, Problem, Session};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_tools::{Confining, Policy, mcp::Servers};
use serde::Serialize;

use self::past::Past;
use crate::{
    commands::{agents::tools, sessions::to_read},
    environment::Environment,
    exit::Exit,
    household::{self, Household},
    judging::{self, Call, Judgement, Known},
    minds::Minds,
    output, servers, settings,
    terminal::{
        clean::clean_line,
        wording::{duration, ending, short},
    },
    wording::ago,
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
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// One decision, told.
#[derive(Serialize)]
struct Account {
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
    judged: Option<Judgement>,
}

/// Tells it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let store = to_read(environment)?.ok_or_else(|| find::nothing(&arguments.event))?;
    let found = find::calls(store.as_ref(), &arguments.event, arguments.session.as_deref()).await?;
    let here = Here::look(environment)?;
    let told = found.calls.iter().map(|past| here.account(&found.session, past));
    let accounts = told.collect::<Result<Vec<Account>, Problem>>()?;
    let text = if arguments.json {
        output::json_page(&accounts)?
    } else {
        accounts.iter().map(in_words).collect::<Vec<_>>().join("\n")
    };
    output::print(&text)?;
    Ok(Exit::DONE)
}

/// What a past call is judged with: the tools that are known, whoever has them.
struct Here {
    household: Household,
    servers: Servers,
    sandbox: Confining,
}

impl Here {
    fn look(environment: &Environment) -> Result<Self, Problem> {
        let settings = settings::load(environment)?;
        let minds = Arc::new(Minds::of(environment, &settings)?);
        let household = Household::find(environment, &settings, &minds, None)?;
        let gathered = servers::gather(environment, &household::places(environment), &settings, &[])?;
        Ok(Self { household, servers: gathered.servers(environment), sandbox: gathered.confining })
    }

    fn account(&self, session: &Session, past: &Past) -> Result<Account, Problem> {
        Ok(Account {
            session: short(&session.id).to_owned(),
            agent: past.agent.clone(),
            call: past.call.id.to_string(),
            tool: past.tool().to_owned(),
            input: past.call.input.clone(),
            decided: decided(past),
            people: people(past),
            policy: past.note.clone(),
            judged: past.policy().map(|policy| self.judged(session, past, &policy)).transpose()?.flatten(),
        })
    }

    /// The engine's word on it; none if its tool is not known here any more.
    fn judged(&self, session: &Session, past: &Past, policy: &Policy) -> Result<Option<Judgement>, Problem> {
        // An agent that is gone brought nothing along that is still here.
        let definition = self.household.definitions.find(&past.agent).unwrap_or_default();
        // Whether the agent had it was decided then, and the journal tells.
        let known = Known::of(&tools(), &self.servers, &self.household.definitions, &definition)?;
        let known = known.unscoped();
        let (input, effect) = (past.call.input.clone(), past.effect);
        let call = Call { tool: &past.call.tool, input, cwd: &session.cwd, effect };
        Ok(judging::judge(&known, policy, &self.sandbox, call).ok())
    }
}

/// What came of it.
fn decided(past: &Past) -> String {
    match (&past.permitted, &past.record) {
        (Some(permitted), _) if !permitted.is_empty() => format!("made, because {permitted}"),
        (Some(_), _) => "made".into(),
        (None, Some(record)) => {
            let words = rooftree_protocol::message::text_of(&record.content);
            let first = words.lines().next().unwrap_or_default();
            match record.outcome {
                Outcome::Denied => format!("not made: {first}"),
                _ => format!("not made, and nobody decided about it: {first}"),
            }
        }
        (None, None) => "not decided yet".into(),
    }
}

/// Who was asked, and what they said.
fn people(past: &Past) -> Vec<String> {
    let now = SystemClock.now();
    let mut lines = Vec::new();
    if let Some((at, EventBody::PermissionRequested { id, reason, rule, .. })) = &past.asked {
        let why = reason.split_once("; --").map_or(reason.as_str(), |(why, _)| why);
        lines.push(format!("{} was asked {}: {why}", ending(id.as_str()), ago(now, *at)));
        match &past.answered {
            Some((when, answer, by)) => {
                let word = if answer.decision == PermissionDecision::Allow { "yes" } else { "no" };
                let scope = format!("{:?}", answer.scope).to_lowercase();
                let after = duration(u64::try_from(when.since(*at).as_millis()).unwrap_or(u64::MAX));
                let because = answer.because.as_ref().map(|words| format!(": {words}")).unwrap_or_default();
                lines.push(format!("{by} said {word} ({scope}) after {after}{because}"));
                if past.made_rule() {
                    lines.push(format!("that made the rule {rule}"));
                }
            }
            None => lines.push("nobody has answered".into()),
        }
    }
    lines
}

fn in_words(account: &Account) -> String {
    let subject = account.judged.as_ref().and_then(|judged| judged.subject.clone()).unwrap_or_default();
    let heading = format!("{} › {} {}", account.agent, account.tool, clean_line(&subject));
    let mut text = format!("{}\n  {} in session {}\n", heading.trim_end(), account.call, account.session);
    text += &format!("{}\n", clean_line(&account.decided));
    for line in &account.people {
        text += &format!("  {}\n", clean_line(line));
    }
    match (&account.judged, &account.policy) {
        (Some(judged), Some(policy)) => {
            let mode = serde_json::to_value(policy.mode).ok();
            let mode = mode.as_ref().and_then(|mode| mode.as_str()).unwrap_or_default().to_owned();
            text += &format!(
                "the policy of that run, mode {mode}, says {}: {}\n",
                judged.decision.word(),
                clean_line(&judged.reason)
            );
            if let Some(read) = &policy.wary {
                text +=
                    &format!("  it was narrowed to that mode, for the agent had read {}\n", clean_line(read));
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
