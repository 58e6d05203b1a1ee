//! Maps keys to answers of a permission prompt, and renders the line that is left when it is answered.

use rooftree_protocol::{Answer, PermissionDecision, PermissionScope};

use super::{
    super::line::{StyledLine, TextStyle},
    PermissionPrompt,
};

/// What a key means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptKeyAction {
    /// Settles the question.
    Answer(Answer),
    /// Wants to say why not.
    SayWhy,
    /// Wants to see all of it.
    ShowAll,
}

impl PermissionPrompt {
    /// What a key means here; none if nothing.
    pub fn choice(&self, key: char) -> Option<PromptKeyAction> {
        let allow = |scope| {
            let is_offered = scope == PermissionScope::Once || self.scopes.contains(&scope);
            is_offered.then(|| self.bound(Answer::allow(scope)))
        };
        match key.to_ascii_lowercase() {
            'y' => allow(PermissionScope::Once),
            's' => allow(PermissionScope::Session),
            'p' => allow(PermissionScope::Project),
            'a' => allow(PermissionScope::Always),
            // A bare Enter must never permit anything.
            'n' => Some(self.bound(Answer::deny(None))),
            'f' => Some(PromptKeyAction::SayWhy),
            'v' => Some(PromptKeyAction::ShowAll),
            _ => None,
        }
    }

    /// What to say about a key that is no answer.
    pub fn wrong_key(&self, key: char) -> StyledLine {
        let named = match key {
            '\n' | '\r' => "Enter".to_owned(),
            '?' => "?".to_owned(),
            key if key.is_control() => "that key".to_owned(),
            key => format!("`{key}`"),
        };
        let keys = "ynfspa".chars().filter(|key| self.choice(*key).is_some());
        let mut keys: Vec<String> = keys.map(String::from).collect();
        let last = keys.pop().unwrap_or_default();
        StyledLine::of(
            TextStyle::Warning,
            format!(
                "  {named} is no answer: press {} or {last}; v shows all of it",
                keys.join(", ")
            ),
        )
    }

    /// What to say if a command is to be allowed of which not all was shown.
    pub fn not_shown() -> StyledLine {
        let words = "  not all of it was shown: press v to see it first";
        StyledLine::of(TextStyle::Warning, words)
    }

    /// No, with words to the model if there are any.
    pub fn refusal(&self, words: &str) -> Answer {
        let because = Some(words.trim().to_owned()).filter(|words| !words.is_empty());
        Answer {
            digest: self.shown_digest(),
            ..Answer::deny(because)
        }
    }

    fn bound(&self, answer: Answer) -> PromptKeyAction {
        PromptKeyAction::Answer(Answer {
            digest: self.shown_digest(),
            ..answer
        })
    }

    /// What was shown is what is answered.
    fn shown_digest(&self) -> Option<String> {
        Some(self.digest.clone()).filter(|digest| !digest.is_empty())
    }

    /// What is left of the card when it is answered.
    pub fn answered(&self, answer: &Answer) -> StyledLine {
        let (icon, look, said) = match (answer.decision, answer.scope) {
            (PermissionDecision::Allow, PermissionScope::Once) => {
                ("✓ ", TextStyle::Good, "yes, once".to_owned())
            }
            (PermissionDecision::Allow, PermissionScope::Session) => (
                "✓ ",
                TextStyle::Good,
                format!("yes, this session: {}", self.rule),
            ),
            (PermissionDecision::Allow, PermissionScope::Project) => (
                "✓ ",
                TextStyle::Good,
                format!("yes, in this project: {}", self.rule),
            ),
            (PermissionDecision::Allow, PermissionScope::Always) => {
                ("✓ ", TextStyle::Good, format!("yes, always: {}", self.rule))
            }
            (PermissionDecision::Deny, _) => ("✗ ", TextStyle::Warning, "no".to_owned()),
        };
        let said = match &answer.because {
            Some(words) => format!("{said}: {words}"),
            None => said,
        };
        self.closed(icon, look, &said)
    }

    /// The line that is left of the prompt when another client or its timeout has settled it.
    pub fn settled(&self, by: &str) -> StyledLine {
        let said = match by {
            "expired" => "no answer in time".to_owned(),
            "cancelled" => "not needed any more".to_owned(),
            by => format!("answered by {by} elsewhere"),
        };
        self.closed("· ", TextStyle::Dim, &said)
    }

    fn closed(&self, icon: &str, look: TextStyle, said: &str) -> StyledLine {
        // What was said comes first: a narrow terminal cuts the rest.
        StyledLine::of(look, format!("{icon}{said}"))
            .with(TextStyle::Dim, format!(" — {}: ", self.agent))
            .with(TextStyle::Plain, self.subject())
    }
}
