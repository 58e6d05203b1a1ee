//! Parses the model a definition asks for: by name, by provider and name, by effort, by kind of agent.

use rooftree_protocol::{Effort, ErrorCode, ModelChoice};

use super::{
    DefinitionBuilder,
    chat_config::{COMPATIBLE, compatible_provider},
};
use crate::definitions::{
    fields::DefinitionField,
    syntax_tree::{SourceSpan, SyntaxEntry},
};

/// The tier of a vendor's usual model.
const STANDARD: &str = "standard";

impl DefinitionBuilder<'_> {
    pub(super) fn thinks(&mut self, field: DefinitionField, entry: &SyntaxEntry) {
        match field {
            DefinitionField::Model => {
                self.thinking.model = self.text(entry).map(|text| (text, entry.node.at))
            }
            DefinitionField::Provider => {
                self.thinking.provider = self.text(entry).map(|text| (text, entry.node.at))
            }
            DefinitionField::Effort => self.effort(entry),
            DefinitionField::Kind => self.kind(entry),
            DefinitionField::Chat => self.chat(entry),
            _ => {
                let what =
                    self.placed("where an external agent is reached stands in the settings".into());
                let help = format!("write [external.{}] in config.toml", self.definition.name);
                self.complaints
                    .warning("W0102", Some(entry.at), what, &help);
            }
        }
    }

    fn effort(&mut self, entry: &SyntaxEntry) {
        let effort = match entry.node.text().map(str::to_lowercase).as_deref() {
            Some("minimal" | "low") => Effort::Low,
            Some("medium") => Effort::Medium,
            Some("high") => Effort::High,
            Some(more @ ("xhigh" | "max")) => {
                let what = self.placed(format!("`{more}` is taken as `high`"));
                self.complaints.warning(
                    "W0117",
                    Some(entry.node.at),
                    what,
                    "there is nothing above it",
                );
                Effort::High
            }
            _ => return self.wrong(entry, "one of low, medium, high"),
        };
        self.thinking.effort = Some(effort);
    }

    /// `type` of the assistant, `kind` of others.
    fn kind(&mut self, entry: &SyntaxEntry) {
        match entry.node.text() {
            Some("chat" | "local") => {}
            Some("external") => {
                self.thinking.model =
                    Some((format!("external/{}", self.definition.name), entry.node.at));
            }
            _ => self.wrong(entry, "chat or external"),
        }
    }

    /// `chat` of the assistant: who thinks, and with what.
    fn chat(&mut self, entry: &SyntaxEntry) {
        let Some(entries) = entry.node.entries() else {
            return self.wrong(entry, "a map");
        };
        for inner in entries {
            match inner.key.as_str() {
                "provider" => {
                    self.thinking.provider = self.text(inner).map(|text| (text, inner.node.at))
                }
                "model" => self.thinking.model = self.text(inner).map(|text| (text, inner.node.at)),
                "models" => self.first_model(inner),
                "config" => self.chat_config(inner),
                "effort" => self.effort(inner),
                _ => self.not_yet(inner),
            }
        }
    }

    /// Of several models the first one.
    pub(super) fn first_model(&mut self, entry: &SyntaxEntry) {
        let first = self
            .words(entry)
            .and_then(|models| models.into_iter().next());
        self.thinking.model = first
            .map(|text| (text, entry.node.at))
            .or(self.thinking.model.take());
    }

    /// Puts together what was said about the model.
    pub(super) fn choose_model(&mut self) {
        let mut thinking = std::mem::take(&mut self.thinking);
        if let Some((provider, _)) = &mut thinking.provider
            && provider == COMPATIBLE
            && self.has_own_server
        {
            *provider = compatible_provider(&self.definition.name);
        }
        let inherits = |(text, _): &(String, SourceSpan)| text.eq_ignore_ascii_case("inherit");
        match (
            thinking.model.filter(|model| !inherits(model)),
            thinking.provider,
        ) {
            (None, None) => {}
            (None, Some((provider, at))) => self.of_provider(&provider, at),
            (Some((model, at)), None) => self.named(&model, at),
            (Some((model, at)), Some((provider, _))) => {
                let is_whole = model
                    .split_once('/')
                    .is_some_and(|(before, _)| before == provider);
                let name = if is_whole {
                    model
                } else {
                    format!("{provider}/{model}")
                };
                self.named(&name, at);
            }
        }
        match (&mut self.definition.model, thinking.effort) {
            (_, None) => {}
            (Some(model), effort) => model.effort = effort,
            // The model it gets from elsewhere.
            (None, effort) => self.definition.effort = effort,
        }
    }

    fn named(&mut self, name: &str, at: SourceSpan) {
        match (self.loader_context.model_resolver)(name) {
            Ok(choice) => {
                self.assumed(name, &choice, at);
                self.definition.model = Some(choice);
            }
            Err(problem) if problem.code == ErrorCode::Unauthorized => {
                let what = self.placed(format!("model `{name}` cannot be had now"));
                let help = problem.fix.unwrap_or_default();
                self.complaints.warning(
                    "W0108",
                    Some(at),
                    what,
                    &format!("the one of the asking agent is used; {help}"),
                );
            }
            Err(problem) => {
                let what = self.placed(problem.message);
                self.complaints
                    .error("E0313", Some(at), what, &problem.fix.unwrap_or_default());
            }
        }
    }

    /// Warns how a name without a provider was interpreted.
    fn assumed(&mut self, name: &str, choice: &ModelChoice, at: SourceSpan) {
        let is_word = name.chars().all(|letter| letter.is_ascii_alphabetic());
        if !name.contains('/') && !is_word && !name.starts_with(&format!("{}:", choice.provider)) {
            let what = self.placed(format!("model `{name}` has no provider; assuming {choice}"));
            self.complaints
                .warning("W0107", Some(at), what, "write it as provider/model");
        }
    }

    /// The usual model of a provider: the one a program answers with by itself, or a vendor's standard model.
    fn of_provider(&mut self, provider: &str, at: SourceSpan) {
        if provider.ends_with("-cli") {
            return self.named(&format!("{provider}/default"), at);
        }
        let usual = format!("{provider}/{STANDARD}");
        match (self.loader_context.model_resolver)(&usual) {
            // A name that is no tier of this provider comes back as it is.
            Ok(choice) if choice.model == STANDARD => {}
            _ => return self.named(&usual, at),
        }
        let what = self.placed(format!("provider `{provider}` needs a `model` beside it"));
        self.complaints.warning(
            "W0118",
            Some(at),
            what,
            "without one the model of the asking agent is used",
        );
    }
}
