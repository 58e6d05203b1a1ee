//! Questions to people and their answers: permissions for calls, and questions of agents.
//!
//! Only a typed answer counts. A claim about permission in a model's reply or a file is just text.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An answer to a permission question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Yes or no.
    pub decision: PermissionDecision,
    /// For how long.
    #[serde(default)]
    pub scope: PermissionScope,
    /// Words to the model, with a no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// What was shown to whoever answers. If it is given, it must be the digest of the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl Answer {
    /// An allow answer with this scope.
    pub fn allow(scope: PermissionScope) -> Self {
        Self {
            decision: PermissionDecision::Allow,
            scope,
            because: None,
            digest: None,
        }
    }

    /// A deny answer, with a message to the model if there is one.
    pub fn deny(because: Option<String>) -> Self {
        let (decision, scope) = (PermissionDecision::Deny, PermissionScope::Once);
        Self {
            decision,
            scope,
            because,
            digest: None,
        }
    }
}

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionDecision {
    /// Let it happen.
    Allow,
    /// Do not.
    Deny,
}

/// For how long an answer holds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PermissionScope {
    /// This one call.
    #[default]
    Once,
    /// Calls matching the rule shown, in this conversation and by whoever works for it.
    Session,
    /// Calls matching the rule shown, in this project.
    Project,
    /// Calls matching the rule shown, everywhere.
    Always,
}

/// One thing an agent wants to know from a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// Under which name it is answered: a word or two, unique among those asked together.
    pub name: String,
    /// The question itself.
    pub text: String,
    /// What can be chosen; nothing if words are wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// Whether several may be chosen.
    #[serde(default)]
    pub several: bool,
    /// Whether words of one's own are welcome besides the choices.
    #[serde(default)]
    pub free: bool,
}

/// Something that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// What it is called.
    pub label: String,
    /// What it means.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// What a person answers to an agent's questions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum QuestionReply {
    /// What was chosen or written, by the questions' names.
    Answered {
        /// All of them.
        answers: BTreeMap<String, Vec<String>>,
    },
    /// No answer is given.
    Declined {
        /// In words, if there are any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because: Option<String>,
    },
}

/// An answer of either kind, as it is kept until the one who asked has read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum InquiryResponse {
    /// To a permission question.
    Permission(Answer),
    /// To an agent's questions.
    Question(QuestionReply),
}
