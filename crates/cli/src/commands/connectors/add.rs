//! Adds and changes connectors. A secret is never an argument: it is typed unseen, read from standard input, or made.

use std::{
    io::{self, IsTerminal, Read},
    path::PathBuf,
};

use clap::{Args, ValueEnum};
use rooftree_protocol::{ErrorCode, PermissionMode, Problem, Timestamp};
use rooftree_server::connectors::{check_platform, check_settings, is_platform_known};
use rooftree_store::{ConnectorFields, ConnectorRow};
use serde_json::{Map, Value};

use super::{find, secret_account, taken, write};
use crate::{
    commands::{agents::note_unknown_agent, auth::read_hidden_line, token::local_owner},
    credentials::{ApiKey, Credentials},
    environment::Environment,
    exit::Exit,
    output,
};

/// Platforms there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum PlatformName {
    /// A bot of Telegram
    Telegram,
    /// A bot of Discord; only in a program that was compiled with the feature `discord`
    Discord,
    /// Signed HTTP requests, in and out
    Webhook,
    /// A program of your own that speaks the connector contract
    External,
}

impl PlatformName {
    fn word(self) -> &'static str {
        match self {
            Self::Telegram => "telegram",
            Self::Discord => "discord",
            Self::Webhook => "webhook",
            Self::External => "external",
        }
    }
}

/// Options of `connectors add`.
#[derive(Args, Debug)]
pub(super) struct ConnectorAddArguments {
    /// The platform
    #[arg(value_enum)]
    platform: PlatformName,
    /// What to call it; chat targets begin with it
    #[arg(long)]
    name: String,
    /// The agent whose sessions its chats are
    #[arg(long)]
    agent: String,
    /// Make a secret and print it, for webhooks and programs of your own
    #[arg(long)]
    generate_secret: bool,
    /// Keep it without asking the platform whether the secret is right
    #[arg(long)]
    unchecked: bool,
    #[command(flatten)]
    settings: ConnectorSettingArguments,
}

/// Options of `connectors set`.
#[derive(Args, Debug)]
pub(super) struct ConnectorSetArguments {
    /// The name of the connector
    name: String,
    /// The agent whose sessions its chats are
    #[arg(long)]
    agent: Option<String>,
    /// Start it
    #[arg(long, conflicts_with = "disable")]
    enable: bool,
    /// Do not start it
    #[arg(long)]
    disable: bool,
    #[command(flatten)]
    settings: ConnectorSettingArguments,
}

/// Options of `connectors secret`.
#[derive(Args, Debug)]
pub(super) struct ConnectorSecretArguments {
    /// The name of the connector
    name: String,
}

/// Settings of a connector.
#[derive(Args, Debug)]
struct ConnectorSettingArguments {
    /// Where the tools of its sessions work; the server's directory if absent
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    cwd: Option<PathBuf>,
    /// The most that may happen in its sessions without asking: plan, ask, accept-edits, auto
    #[arg(long, value_name = "MODE", value_parser = mode)]
    permission_mode: Option<PermissionMode>,
    /// Answer in this group; may be given several times
    #[arg(long = "group", value_name = "CHAT", allow_hyphen_values = true)]
    groups: Vec<String>,
    /// Do not answer in this group any more
    #[arg(long = "remove-group", value_name = "CHAT", allow_hyphen_values = true)]
    removed_groups: Vec<String>,
    /// Give each person of a group a session of his own
    #[arg(long)]
    per_user: bool,
    /// Telegram and Discord: the address of the API
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Telegram: let Telegram call this address instead of polling: https://…/hooks/NAME
    #[arg(long, value_name = "URL")]
    webhook_url: Option<String>,
    /// Webhook: where answers are sent. External: where the program listens
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Any other setting, as NAME=JSON; see docs/connectors.md
    #[arg(long = "setting", value_name = "NAME=JSON", value_parser = setting)]
    others: Vec<(String, Value)>,
}

fn mode(text: &str) -> Result<PermissionMode, String> {
    let spelled = text.replace('-', "_");
    serde_json::from_value(Value::String(spelled))
        .map_err(|_| format!("`{text}` is not a mode; write plan, ask, accept-edits or auto"))
}

fn setting(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=JSON")?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((name.to_owned(), value))
}

impl ConnectorSettingArguments {
    /// Puts what was given into the settings; what was not stays.
    fn put_into(self, platform: &str, settings: &mut Map<String, Value>) -> Result<(), Problem> {
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                settings.insert(name.to_owned(), value);
            }
        };
        let cwd = self.cwd.map(std::path::absolute).transpose();
        let cwd = cwd.map_err(|error| {
            Problem::new(ErrorCode::InvalidArguments, "the directory cannot be used")
                .cause(error.to_string())
        })?;
        put(
            "cwd",
            cwd.map(|cwd| Value::String(cwd.display().to_string())),
        );
        put(
            "mode",
            self.permission_mode
                .and_then(|mode| serde_json::to_value(mode).ok()),
        );
        put("per_user", self.per_user.then_some(Value::Bool(true)));
        put("base_url", self.base_url.map(Value::String));
        put("webhook_url", self.webhook_url.map(Value::String));
        put("url", self.url.map(Value::String));
        for (name, value) in self.others {
            settings.insert(name, value);
        }
        settings.retain(|_, value| !value.is_null());
        let known = settings.get("groups").and_then(Value::as_array).cloned();
        let mut groups: Vec<String> = known
            .unwrap_or_default()
            .iter()
            .filter_map(|group| group.as_str().map(str::to_owned))
            .chain(self.groups)
            .filter(|group| !self.removed_groups.contains(group))
            .collect();
        groups.dedup();
        if !groups.is_empty() || settings.contains_key("groups") {
            settings.insert("groups".into(), groups.into());
        }
        check_settings(platform, settings)
    }
}

/// Adds a connector: the secret is tried, then stored, then the row is written.
pub(super) async fn add(
    arguments: ConnectorAddArguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let who = local_owner()?.principal;
    require_platform(arguments.platform)?;
    let handle = environment.control()?;
    if find(&handle, &arguments.name).await.is_ok() {
        return Err(taken(&arguments.name));
    }
    let mut settings = Map::new();
    let platform = arguments.platform.word();
    arguments.settings.put_into(platform, &mut settings)?;
    let fields = ConnectorFields {
        platform: platform.to_owned(),
        agent: arguments.agent,
        settings,
        enabled: true,
    };
    let made = (arguments.generate_secret).then(generated).transpose()?;
    let is_made = made.is_some();
    let secret = match made {
        Some(secret) => secret,
        None => asked_secret(&arguments.name, environment).await?,
    };
    let row = ConnectorRow {
        tenant: who.tenant.clone(),
        name: arguments.name.to_lowercase(),
        fields: fields.clone(),
        revision: 0,
        by: who,
        created_at: Timestamp::default(),
        updated_at: Timestamp::default(),
        health: None,
        cursor: None,
    };
    let account = if arguments.unchecked {
        None
    } else {
        tried(&row, &secret).await?
    };
    keep(&row.name, secret.clone(), environment).await?;
    write(&handle, &row.name, Some(fields), None).await?;
    let known = account
        .map(|account| format!(" ({account})"))
        .unwrap_or_default();
    output::print(&format!("added {}{known}\n", row.name))?;
    if is_made {
        output::print(&format!("{}\n", secret.reveal()))?;
        output::print_note(environment, "keep the secret now: it is not shown again");
    }
    note_unknown_agent(environment, &row.fields.agent);
    let next = match arguments.platform {
        PlatformName::Webhook => format!(
            "requests go to POST /hooks/{} while `rooftree serve` runs",
            row.name
        ),
        PlatformName::Telegram | PlatformName::Discord | PlatformName::External => format!(
            "pair yourself: rooftree connectors pair {} --approver",
            row.name
        ),
    };
    output::print_note(environment, &next);
    Ok(Exit::DONE)
}

/// Refuses a platform before its secret is asked for.
fn require_platform(platform: PlatformName) -> Result<(), Problem> {
    if is_platform_known(platform.word()) {
        return Ok(());
    }
    let message = format!("this program has no connector for {}", platform.word());
    let fix = "compile it with `--features discord`, or write a program of your own: docs/connectors.md, External";
    Err(Problem::new(ErrorCode::InvalidArguments, message).fix(fix))
}

/// Changes a connector.
pub(super) async fn set(
    arguments: ConnectorSetArguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    local_owner()?;
    let handle = environment.control()?;
    let row = find(&handle, &arguments.name).await?;
    let mut fields = row.fields;
    let platform = &fields.platform;
    arguments
        .settings
        .put_into(platform, &mut fields.settings)?;
    let changed_agent = arguments.agent;
    fields.agent = changed_agent.clone().unwrap_or(fields.agent);
    fields.enabled = (fields.enabled || arguments.enable) && !arguments.disable;
    write(&handle, &row.name, Some(fields), Some(row.revision)).await?;
    output::print(&format!("changed {}\n", row.name))?;
    if let Some(agent) = changed_agent {
        note_unknown_agent(environment, &agent);
    }
    Ok(Exit::DONE)
}

/// Stores another secret. The row is written anew, so that the server starts the connector with it.
pub(super) async fn secret(
    arguments: ConnectorSecretArguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    local_owner()?;
    let handle = environment.control()?;
    let row = find(&handle, &arguments.name).await?;
    let secret = asked_secret(&row.name, environment).await?;
    tried(&row, &secret).await?;
    keep(&row.name, secret, environment).await?;
    write(&handle, &row.name, Some(row.fields), Some(row.revision)).await?;
    output::print(&format!("stored the secret of {}\n", row.name))?;
    Ok(Exit::DONE)
}

async fn tried(row: &ConnectorRow, secret: &ApiKey) -> Result<Option<String>, Problem> {
    let checked = check_platform(row, secret.reveal()).await;
    checked.map_err(|why| {
        let message = format!("the connector `{}` does not work", row.name);
        Problem::new(ErrorCode::InvalidArguments, message)
            .cause(why)
            .fix("nothing was stored; check the secret and the settings, or add --unchecked")
    })
}

async fn keep(name: &str, secret: ApiKey, environment: &Environment) -> Result<(), Problem> {
    let account = secret_account(name);
    let store = async { Credentials::of(environment).store(&account, secret) };
    environment.change_files("key.store", &account, store).await
}

/// Asks for a secret at the terminal, else reads standard input.
async fn asked_secret(name: &str, environment: &Environment) -> Result<ApiKey, Problem> {
    let text = if io::stdin().is_terminal() && !environment.everywhere.no_input {
        read_hidden_line(&format!("Token or secret of {name}: ")).await?
    } else {
        let mut text = String::new();
        let read = io::stdin().lock().read_to_string(&mut text);
        read.map_err(|error| {
            Problem::new(ErrorCode::InvalidArguments, "cannot read standard input")
                .cause(error.to_string())
        })?;
        text
    };
    ApiKey::new(text).ok_or_else(|| {
        Problem::new(
            ErrorCode::InvalidArguments,
            "the secret is empty; nothing was stored",
        )
        .fix("type it, or pipe it in: rooftree connectors add … < token.txt")
    })
}

fn generated() -> Result<ApiKey, Problem> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        Problem::new(ErrorCode::Internal, "this machine gives no random bytes")
            .cause(error.to_string())
    })?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    ApiKey::new(digits).ok_or_else(|| Problem::new(ErrorCode::Internal, "no secret was made"))
}
