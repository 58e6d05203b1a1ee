//! Inputs of the definition loader: model names, tool names, variable lookup.

use std::{fmt, sync::Arc};

use rooftree_protocol::{ModelChoice, Problem};

/// Says which model a name means.
pub type ModelNaming = Arc<dyn Fn(&str) -> Result<ModelChoice, Problem> + Send + Sync>;
/// Says what a variable of the environment is.
pub type VariableLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Models, tools and variables, as configured at the start of the program. Cheap to clone.
#[derive(Clone)]
pub struct LoaderContext {
    /// Which model a name means.
    pub model_resolver: ModelNaming,
    /// The tools there are: canonical name first, then its other names.
    pub tools: Arc<[Vec<String>]>,
    /// Variables, for `${NAME}`.
    pub variables: VariableLookup,
}

impl Default for LoaderContext {
    /// Models must be written out, no tool is there, no variable is set.
    fn default() -> Self {
        Self {
            model_resolver: Arc::new(|name| name.parse()),
            tools: Arc::new([]),
            variables: Arc::new(|_| None),
        }
    }
}

impl fmt::Debug for LoaderContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Knowledge")
            .field("tools", &self.tools.len())
            .finish_non_exhaustive()
    }
}

impl LoaderContext {
    /// The canonical name of a tool that is there, by any of its names.
    pub(super) fn tool(&self, name: &str) -> Option<&str> {
        let has = |names: &&Vec<String>| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        self.tools
            .iter()
            .find(has)
            .and_then(|names| names.first())
            .map(String::as_str)
    }

    /// Whether a glob means any tool that is there.
    pub(super) fn matches_any(&self, glob: &str) -> bool {
        let Ok(glob) = globset::Glob::new(&glob.to_lowercase()) else {
            return false;
        };
        let matcher = glob.compile_matcher();
        self.tools
            .iter()
            .flatten()
            .any(|name| matcher.is_match(name.to_lowercase()))
    }

    /// The canonical names of tools that a glob means only by their other names; none if it matches a canonical one.
    pub(super) fn tools_by_alias(&self, glob: &str) -> Vec<String> {
        let Ok(glob) = globset::Glob::new(&glob.to_lowercase()) else {
            return Vec::new();
        };
        let matcher = glob.compile_matcher();
        let is_match = |name: &String| matcher.is_match(name.to_lowercase());
        if self
            .tools
            .iter()
            .filter_map(|names| names.first())
            .any(is_match)
        {
            return Vec::new();
        }
        let meant = self.tools.iter().filter(|names| names.iter().any(is_match));
        meant.filter_map(|names| names.first().cloned()).collect()
    }

    /// `${NAME}` and `${NAME:-default}` replaced; says which variables are not set.
    pub(super) fn expand(&self, text: &str) -> (String, Vec<String>) {
        rooftree_tools::mcp::expand(text, &*self.variables)
    }
}
