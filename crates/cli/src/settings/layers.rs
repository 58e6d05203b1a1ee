//! Where settings come from, the weakest first: the machine's, the user's, the project's, what was typed,
//! and what whoever keeps the machine has pinned.

use std::path::{Path, PathBuf};

use rooftree_protocol::Problem;

use super::{
    Settings,
    layer::{Layer, Standing},
    leaves::leaves,
    other_programs, typed,
};
use crate::environment::Environment;

/// All there are.
pub fn all(environment: &Environment) -> Result<Vec<Layer>, Problem> {
    let project = project_file(&environment.cwd).filter(|path| *path != environment.settings);
    let files = [
        (Standing::System, Some(environment.system.join("config.toml"))),
        (Standing::User, Some(environment.settings.clone())),
        (Standing::Project, project),
    ];
    let mut layers = Vec::new();
    for (standing, path) in files.into_iter().filter_map(|(standing, path)| Some((standing, path?))) {
        layers.extend(Layer::read(standing, path)?);
    }
    layers.extend(other_programs::layers(&environment.cwd));
    layers.extend(typed::layer(&environment.everywhere.config)?);
    layers.extend(Layer::read(Standing::Managed, environment.system.join("managed.toml"))?);
    Ok(layers)
}

/// A layer in which `KEY=VALUE` is said.
pub fn typed(one: &str) -> Result<Layer, Problem> {
    typed::one(one)
}

/// A layer in which a key is set, to whatever, for whoever wants to know if it can be.
pub fn trying(key: &str) -> Result<Layer, Problem> {
    typed::one(&format!("{key}=?"))
}

/// What they amount to.
pub fn together(layers: &[Layer]) -> Result<Settings, Problem> {
    layers.iter().try_fold(Settings::default(), |settings, layer| settings.with(layer))
}

impl Settings {
    /// With what one more layer says.
    pub fn with(self, layer: &Layer) -> Result<Self, Problem> {
        let said = layer.settings()?;
        Ok(match layer.standing {
            Standing::System | Standing::User => self.overlaid(said),
            Standing::Typed => {
                let typed = leaves(&layer.table).into_iter().map(|(key, _)| key).collect();
                Self { typed, ..self.overlaid(said) }
            }
            Standing::Project => self.narrowed_by(said, &layer.path),
            Standing::Managed => self.pinned_by(said, layer),
        })
    }
}

/// The nearest `.rooftree/config.toml` from here up to the root of the repository.
fn project_file(directory: &Path) -> Option<PathBuf> {
    for place in directory.ancestors() {
        let file = place.join(".rooftree/config.toml");
        if file.is_file() {
            return Some(file);
        }
        if place.join(".git").exists() {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::PermissionMode;

    use super::*;

    fn layer(standing: Standing, text: &str) -> Layer {
        let path = PathBuf::from(format!("{standing:?}"));
        Layer { standing, path, table: text.parse().unwrap(), text: text.to_owned() }
    }

    #[test]
    fn the_stronger_word_counts_and_what_is_denied_stays_denied() {
        let settings = together(&[
            layer(
                Standing::System,
                "model = 'a/a'\n[permission]\nmode = 'plan'\ndeny = ['Bash(rm *)']\n[limits]\nmax_turns = 5\n\
                 [providers.x]\nbase_url = 'http://one'\nkey_env = 'K'",
            ),
            layer(
                Standing::User,
                "model = 'b/b'\n[permission]\nmode = 'auto'\nallow = ['Read']\n[providers.x]\nbase_url = 'http://two'",
            ),
            layer(Standing::Project, "permission.deny = ['Write']\nlimits.max_turns = 3"),
            layer(Standing::Typed, "model = 'c/c'\n[limits]\nmax_turns = 50"),
        ])
        .unwrap();
        assert_eq!((settings.model.as_deref(), settings.mode), (Some("c/c"), Some(PermissionMode::Auto)));
        assert_eq!(settings.max_turns, Some(50), "what is typed goes before the project");
        let denied: Vec<String> = settings.deny.iter().map(ToString::to_string).collect();
        assert_eq!(denied, ["Bash(rm *)", "Write"]);
        let provider = &settings.providers["x"];
        assert_eq!(
            (provider.base_url.as_deref(), provider.key_env.as_deref()),
            (Some("http://two"), Some("K"))
        );
    }

    #[test]
    fn what_is_pinned_holds_whatever_anybody_says() {
        let settings = together(&[
            layer(Standing::User, "[permission]\nmode = 'auto'\nallow = ['Bash']\ndeny = ['Write']"),
            layer(Standing::Typed, "model = 'c/c'\n[permission]\nmode = 'bypass'\nallow = ['Write']"),
            layer(Standing::Managed, "[permission]\nmode = 'ask'\nallow = ['Read']\ndeny = ['WebFetch']"),
        ])
        .unwrap();
        assert_eq!((settings.mode, settings.model.as_deref()), (Some(PermissionMode::Ask), Some("c/c")));
        let words =
            |rules: &[rooftree_tools::Rule]| rules.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(words(&settings.allow), ["Read"]);
        assert_eq!(words(&settings.deny), ["Write", "WebFetch"], "more may be denied");
        assert!(settings.is_pinned("permission.mode") && !settings.is_pinned("model"));
        let remarks = settings.remarks.join("\n");
        assert!(remarks.contains("permission.mode is ignored") && !remarks.contains("model"), "{remarks}");
    }
}
