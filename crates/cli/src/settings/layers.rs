//! Collects the settings layers, lowest precedence first: system, user, project, command line, and settings
//! pinned by the administrator.

use std::path::{Path, PathBuf};

use rooftree_protocol::Problem;

use super::{
    Settings, cli_layer,
    flatten::flatten,
    layer::{LayerOrigin, SettingsLayer},
    other_programs,
};
use crate::environment::Environment;

/// All layers.
pub fn all(environment: &Environment) -> Result<Vec<SettingsLayer>, Problem> {
    let project = project_file(&environment.cwd).filter(|path| *path != environment.settings);
    let files = [
        (
            LayerOrigin::System,
            Some(environment.system.join("config.toml")),
        ),
        (LayerOrigin::User, Some(environment.settings.clone())),
        (LayerOrigin::Project, project),
    ];
    let mut layers = Vec::new();
    for (origin, path) in files
        .into_iter()
        .filter_map(|(origin, path)| Some((origin, path?)))
    {
        layers.extend(SettingsLayer::read(origin, path)?);
    }
    layers.extend(other_programs::layers(&environment.cwd));
    layers.extend(cli_layer::layer(&environment.everywhere.config)?);
    layers.extend(SettingsLayer::read(
        LayerOrigin::Managed,
        environment.system.join("managed.toml"),
    )?);
    Ok(layers)
}

/// A layer in which `KEY=VALUE` is said.
pub fn typed(one: &str) -> Result<SettingsLayer, Problem> {
    cli_layer::one(one)
}

/// A layer in which a key is set to a placeholder, to validate that the key exists.
pub fn probe_layer(key: &str) -> Result<SettingsLayer, Problem> {
    cli_layer::one(&format!("{key}=?"))
}

/// Merges the layers, the weakest first.
pub fn merged(layers: &[SettingsLayer]) -> Result<Settings, Problem> {
    layers
        .iter()
        .try_fold(Settings::default(), |settings, layer| settings.with(layer))
}

impl Settings {
    /// Merges one more layer on top.
    pub fn with(self, layer: &SettingsLayer) -> Result<Self, Problem> {
        let said = layer.settings()?;
        Ok(match layer.origin {
            LayerOrigin::System | LayerOrigin::User => self.overlaid(said),
            LayerOrigin::Typed => {
                let typed = flatten(&layer.table)
                    .into_iter()
                    .map(|(key, _)| key)
                    .collect();
                Self {
                    typed,
                    ..self.overlaid(said)
                }
            }
            LayerOrigin::Project => self.narrowed_by(said, &layer.path),
            LayerOrigin::Managed => self.pinned_by(said, layer),
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

    fn layer(origin: LayerOrigin, text: &str) -> SettingsLayer {
        let path = PathBuf::from(format!("{origin:?}"));
        SettingsLayer {
            origin,
            path,
            table: text.parse().unwrap(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn the_stronger_word_counts_and_what_is_denied_stays_denied() {
        let settings = merged(&[
            layer(
                LayerOrigin::System,
                "model = 'a/a'\n[permission]\nmode = 'plan'\ndeny = ['Bash(rm *)']\n[limits]\nmax_turns = 5\n\
                 [providers.x]\nbase_url = 'http://one'\nkey_env = 'K'",
            ),
            layer(
                LayerOrigin::User,
                "model = 'b/b'\n[permission]\nmode = 'auto'\nallow = ['Read']\n[providers.x]\nbase_url = 'http://two'",
            ),
            layer(LayerOrigin::Project, "permission.deny = ['Write']\nlimits.max_turns = 3"),
            layer(LayerOrigin::Typed, "model = 'c/c'\n[limits]\nmax_turns = 50"),
        ])
        .unwrap();
        assert_eq!(
            (settings.models.default.as_deref(), settings.permission.mode),
            (Some("c/c"), Some(PermissionMode::Auto))
        );
        assert_eq!(
            settings.limits.max_turns,
            Some(50),
            "what is typed goes before the project"
        );
        let denied: Vec<String> = settings
            .permission
            .deny
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(denied, ["Bash(rm *)", "Write"]);
        let provider = &settings.models.providers["x"];
        assert_eq!(
            (provider.base_url.as_deref(), provider.key_env.as_deref()),
            (Some("http://two"), Some("K"))
        );
    }

    #[test]
    fn what_is_pinned_holds_whatever_anybody_says() {
        let settings = merged(&[
            layer(
                LayerOrigin::User,
                "[permission]\nmode = 'auto'\nallow = ['Bash']\ndeny = ['Write']",
            ),
            layer(
                LayerOrigin::Typed,
                "model = 'c/c'\n[permission]\nmode = 'bypass'\nallow = ['Write']",
            ),
            layer(
                LayerOrigin::Managed,
                "[permission]\nmode = 'ask'\nallow = ['Read']\ndeny = ['WebFetch']",
            ),
        ])
        .unwrap();
        assert_eq!(
            (settings.permission.mode, settings.models.default.as_deref()),
            (Some(PermissionMode::Ask), Some("c/c"))
        );
        let words = |rules: &[rooftree_tools::PermissionRule]| {
            rules.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(words(&settings.permission.allow), ["Read"]);
        assert_eq!(
            words(&settings.permission.deny),
            ["Write", "WebFetch"],
            "more may be denied"
        );
        assert!(settings.is_pinned("permission.mode") && !settings.is_pinned("model"));
        let remarks = settings.remarks.join("\n");
        assert!(
            remarks.contains("permission.mode is ignored") && !remarks.contains("model"),
            "{remarks}"
        );
    }
}
