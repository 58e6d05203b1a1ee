//! Table of the supported search services: names, keys, URLs.

use std::{str::FromStr, time::Duration};

use rooftree_protocol::{ErrorCode, Problem};

/// A search service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchBackend {
    /// A self-hosted or public SearXNG instance.
    SearXng,
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
    /// Exa.
    Exa,
    /// A model of Anthropic's with their search.
    Anthropic,
    /// A model of OpenAI's with their search.
    OpenAi,
    /// A Gemini model with Google's search.
    Google,
}

impl SearchBackend {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::SearXng,
        Self::Brave,
        Self::Tavily,
        Self::Exa,
        Self::Anthropic,
        Self::OpenAi,
        Self::Google,
    ];

    /// Services whose keys are for searching, in order of preference. A key for a model is not used for searches by
    /// default.
    pub const SEARCHING: [Self; 4] = [Self::SearXng, Self::Brave, Self::Tavily, Self::Exa];

    /// Whether a model does it.
    pub fn is_model(self) -> bool {
        !Self::SEARCHING.contains(&self)
    }

    /// Timeout: longer for models, which have to think as well.
    pub(super) fn timeout(self, usual: Duration) -> Duration {
        if self.is_model() { usual * 6 } else { usual }
    }

    /// Name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::SearXng => "searxng",
            Self::Brave => "brave",
            Self::Tavily => "tavily",
            Self::Exa => "exa",
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Google => "google",
        }
    }

    /// Display name.
    pub fn title(self) -> &'static str {
        match self {
            Self::SearXng => "SearXNG",
            Self::Brave => "Brave Search",
            Self::Tavily => "Tavily",
            Self::Exa => "Exa",
            Self::Anthropic => "Anthropic",
            Self::OpenAi => "OpenAI",
            Self::Google => "Google",
        }
    }

    /// The variable its key is in; none if it takes none.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::SearXng => None,
            Self::Brave => Some("BRAVE_API_KEY"),
            Self::Tavily => Some("TAVILY_API_KEY"),
            Self::Exa => Some("EXA_API_KEY"),
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::Google => Some("GEMINI_API_KEY"),
        }
    }

    /// Default base URL; none for SearXNG, which users host themselves.
    pub fn base_url(self) -> Option<&'static str> {
        match self {
            Self::SearXng => None,
            Self::Brave => Some("https://api.search.brave.com"),
            Self::Tavily => Some("https://api.tavily.com"),
            Self::Exa => Some("https://api.exa.ai"),
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::OpenAi => Some("https://api.openai.com"),
            Self::Google => Some("https://generativelanguage.googleapis.com"),
        }
    }
}

impl FromStr for SearchBackend {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        Self::ALL
            .into_iter()
            .find(|backend| backend.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| {
                Problem::new(
                    ErrorCode::InvalidConfig,
                    format!("there is no search service `{text}`"),
                )
                .fix(format!(
                    "known ones: {}",
                    Self::ALL.map(Self::name).join(", ")
                ))
            })
    }
}
