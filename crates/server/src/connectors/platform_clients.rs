//! Makes the client of a platform from a connector's row and its secret: Telegram, Discord, webhook, external connector.

use std::sync::Arc;

use rooftree_connectors::{
    BotCommand, ExternalConnector, ExternalRegistration, ExternalToken, PrivateAddresses,
    SendError, SharedConnector, SignatureStyle, TelegramConnector, TelegramMode, TelegramOptions,
    WebhookConnector, WebhookInbound, WebhookOptions, WebhookOutbound, WebhookSecret,
    WebhookTemplate, WebhookTemplates, sign_body,
};
#[cfg(feature = "discord")]
use rooftree_connectors::{DiscordConnector, DiscordOptions};
use rooftree_store::ConnectorRow;
use serde_json::{Map, Value};

use super::{
    chat_settings::ChatSettings, service_options::ConnectorFactory, slash_commands::CHAT_COMMANDS,
};

/// The secret of the connector with this name, from the credential store.
pub type ConnectorSecretFn = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// A factory of clients that finds secrets like this.
pub fn platform_factory(secret: ConnectorSecretFn) -> ConnectorFactory {
    Arc::new(move |row| {
        let secret = secret(&row.name).ok_or_else(|| {
            format!(
                "its secret is not in the credential store: rooftree connectors secret {}",
                row.name
            )
        })?;
        platform_client(row, &secret)
    })
}

/// The client of a connector; or why it cannot be made, without secrets.
pub fn platform_client(row: &ConnectorRow, secret: &str) -> Result<SharedConnector, String> {
    let settings = ChatSettings::of(&row.fields.settings).platform;
    let made = match row.fields.platform.as_str() {
        "telegram" => telegram(&settings, secret),
        #[cfg(feature = "discord")]
        "discord" => discord(&settings, secret, row.cursor.clone()),
        "webhook" => webhook(&settings, secret),
        "external" => external(&settings, secret),
        #[cfg(not(feature = "discord"))]
        "discord" => {
            let words = "this program was compiled without the feature `discord`";
            return Err(words.to_owned());
        }
        other => {
            return Err(format!(
                "the platform `{other}` is not known to this program"
            ));
        }
    };
    made.map_err(|error| error.message)
}

/// Whether this program was compiled with the client of a platform.
pub fn is_platform_known(platform: &str) -> bool {
    let is_discord = cfg!(feature = "discord") && platform == "discord";
    is_discord || matches!(platform, "telegram" | "webhook" | "external")
}

/// Tries a connector's settings and secret; says who the account is, where its platform tells.
pub async fn check_platform(row: &ConnectorRow, secret: &str) -> Result<Option<String>, String> {
    platform_client(row, secret)?;
    if row.fields.platform != "telegram" {
        return Ok(None);
    }
    let settings = ChatSettings::of(&row.fields.settings).platform;
    let bot = telegram_client(&settings, secret).map_err(|error| error.message)?;
    let identity = bot.identity().await.map_err(|error| error.message)?;
    Ok(Some(format!("@{}", identity.username)))
}

fn telegram(settings: &Map<String, Value>, token: &str) -> Result<SharedConnector, SendError> {
    Ok(Arc::new(telegram_client(settings, token)?))
}

#[cfg(feature = "discord")]
fn discord(
    settings: &Map<String, Value>,
    token: &str,
    cursor: Option<String>,
) -> Result<SharedConnector, SendError> {
    let defaults = DiscordOptions::default();
    let options = DiscordOptions {
        base_url: text(settings, "base_url").unwrap_or(defaults.base_url),
        cursor,
    };
    Ok(Arc::new(DiscordConnector::new(token, options)?))
}

fn telegram_client(
    settings: &Map<String, Value>,
    token: &str,
) -> Result<TelegramConnector, SendError> {
    let defaults = TelegramOptions::default();
    let commands = CHAT_COMMANDS.iter().map(|(name, _, what)| BotCommand {
        name: (*name).to_owned(),
        description: (*what).to_owned(),
    });
    let mode = match text(settings, "webhook_url") {
        Some(url) => TelegramMode::Webhook {
            url,
            secret: telegram_webhook_secret(token),
        },
        None => TelegramMode::Poll,
    };
    let options = TelegramOptions {
        base_url: text(settings, "base_url").unwrap_or(defaults.base_url),
        mode,
        commands: commands.collect(),
        is_paced: !is_set(settings, "unpaced"),
        ..TelegramOptions::default()
    };
    TelegramConnector::new(token, options)
}

/// What Telegram presents in its requests: derived from the token, so that it need not be kept.
fn telegram_webhook_secret(token: &str) -> String {
    let signed = sign_body(token, 0, b"telegram webhook");
    signed.trim_start_matches("v1=").to_owned()
}

fn webhook(settings: &Map<String, Value>, secret: &str) -> Result<SharedConnector, SendError> {
    let secret = WebhookSecret::new(secret)?;
    let template = |name: &str| {
        let text = text(settings, name);
        text.map(|text| WebhookTemplate::parse(&text)).transpose()
    };
    let style = match settings.get("signature").and_then(Value::as_str) {
        Some("body_only") => SignatureStyle::BodyOnly,
        _ => SignatureStyle::Timestamped,
    };
    let templates = WebhookTemplates {
        text: match template("text")? {
            Some(text) => text,
            None => WebhookTemplate::parse("{{text}}")?,
        },
        agent: template("agent_from")?,
        session: template("session_from")?,
        sender: template("sender_from")?,
        key: template("key_from")?,
    };
    let outbound = text(settings, "url").map(|url| WebhookOutbound {
        url,
        secret: secret.clone(),
        private: private(settings),
        is_deduplicating: is_set(settings, "deduplicating"),
    });
    let inbound = WebhookInbound {
        secret,
        style,
        templates,
    };
    let options = WebhookOptions {
        inbound: Some(inbound),
        outbound,
    };
    Ok(Arc::new(WebhookConnector::new(options)?))
}

fn external(settings: &Map<String, Value>, token: &str) -> Result<SharedConnector, SendError> {
    let capabilities = settings.get("capabilities").cloned();
    let capabilities = capabilities.unwrap_or_else(|| Value::Object(Map::new()));
    let capabilities = serde_json::from_value(capabilities).map_err(|error| {
        let words = format!("its capabilities cannot be read: {error}");
        SendError::new(rooftree_connectors::FailureClass::InvalidPayload, words)
    })?;
    let registration = ExternalRegistration {
        url: text(settings, "url").unwrap_or_default(),
        capabilities,
        private: private(settings),
    };
    let token = ExternalToken::new(token)?;
    Ok(Arc::new(ExternalConnector::new(registration, token)?))
}

fn private(settings: &Map<String, Value>) -> PrivateAddresses {
    if is_set(settings, "private_addresses") {
        PrivateAddresses::Allowed
    } else {
        PrivateAddresses::Refused
    }
}

fn text(settings: &Map<String, Value>, name: &str) -> Option<String> {
    let text = settings.get(name)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn is_set(settings: &Map<String, Value>, name: &str) -> bool {
    settings.get(name).and_then(Value::as_bool) == Some(true)
}
