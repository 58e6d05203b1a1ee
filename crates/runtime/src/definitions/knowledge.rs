//! What a loader must be told by whoever knows settings, tools and variables.

use std::{fmt, sync::Arc};

use rooftree_protocol::{ModelChoice, Problem};

/// Says which model a name means.
pub type ModelNaming = Arc<dyn Fn(&str) -> Result<ModelChoice, Problem> + Send + Sync>;
/// Says what a variable of the environment is.
pub type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Models, tools and variables, as whoever starts the program knows them. Cheap to clone.
#[derive(Clone)]
pub struct Knowledge {
    /// Which model a name means.
    pub naming: ModelNaming,
    /// The tools there are: canonical name first, then its other names.
    pub tools: Arc<[Vec<String>]>,
    /// Variables, for `${NAME}`.
    pub variables: Variables,
}

impl Default for Knowledge {
    /// Models must be written out, no tool is there, no variable is set.
    fn default() -> Self {
        Self { naming: Arc::new(|name| name.parse()), tools: Arc::new([]), variables: Arc::new(|_| None) }
    }
}

impl fmt::Debug for Knowledge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Knowledge").field("tools", &self.tools.len()).finish_non_exhaustive()
    }
}

impl Knowledge {
    /// The canonical name of a tool that is there, by any of its names.
    pub(super) fn tool(&self, name: &str) -> Option<&str> {
        let has = |names: &&Vec<String>| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        self.tools.iter().find(has).and_then(|names| names.first()).map(String::as_str)
    }

    /// Whether a glob means any tool that is there.
    pub(super) fn matches_any(&self, glob: &str) -> bool {
        let Ok(glob) = globset::Glob::new(&glob.to_lowercase()) else { return false };
        let matcher = glob.compile_matcher();
        self.tools.iter().flatten().any(|name| matcher.is_match(name.to_lowercase()))
    }

    /// `${NAME}` and `${NAME:-default}` replaced; says which variables are not set.
    pub(super) fn expand(&self, text: &str) -> (String, Vec<String>) {
        let (mut expanded, mut missing, mut rest) = (String::new(), Vec::new(), text);
        while let Some((before, after)) = rest.split_once("${") {
            expanded += before;
            let Some((inside, behind)) = after.split_once('}') else {
                expanded += "${";
                rest = after;
                continue;
            };
            let (name, default) =
                inside.split_once(":-").map_or((inside, None), |(name, or)| (name, Some(or)));
            match (self.variables)(name).filter(|value| default.is_none() || !value.is_empty()) {
                Some(value) => expanded += &value,
                None => {
                    expanded += default.unwrap_or_default();
                    missing.extend(default.is_none().then(|| name.to_owned()));
                }
            }
            rest = behind;
        }
        (expanded + rest, missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_and_missing_ones_named() {
        let knowledge = Knowledge {
            variables: Arc::new(|name| (name == "TOKEN").then(|| "t".to_owned())),
            ..Knowledge::default()
        };
        let table: [(&str, &str, &[&str]); 5] = [
            ("Bearer ${TOKEN}!", "Bearer t!", &[]),
            ("${HOST:-localhost}:${PORT:-1}", "localhost:1", &[]),
            ("${NONE}", "", &["NONE"]),
            ("${TOKEN:-x}", "t", &[]),
            ("$TOKEN ${", "$TOKEN ${", &[]),
        ];
        for (written, wanted, missing) in table {
            let (text, unset) = knowledge.expand(written);
            assert_eq!(
                (text.as_str(), unset),
                (wanted, missing.iter().map(|name| (*name).to_owned()).collect())
            );
        }
    }
}
