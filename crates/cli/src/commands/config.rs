//! Shows settings and where each value comes from. One file per action.

mod set;
mod settings_table;

use clap::{Args, Subcommand};
use rooftree_protocol::{ErrorCode, Problem};
use serde_json::{Value, json};

use self::settings_table::{SettingEffect, SettingRow};
use crate::{
    environment::Environment,
    exit::Exit,
    human_format::place,
    listing::{self, ListOutput, PageOutput},
    output,
    settings::{defaults::default_value, layer::SettingsLayer, layers},
    table::{ColumnShrink, TextTable},
};

/// Options of `config`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

/// What to do with settings.
#[derive(Debug, Subcommand)]
enum Action {
    /// Show what is set
    Show {
        /// With where each value comes from, and what it overrides
        #[arg(long)]
        origin: bool,
        #[command(flatten)]
        output: ListOutput,
    },
    /// Print one value
    Get {
        /// Its whole name, for example limits.max_turns
        #[arg(value_name = "KEY")]
        key: String,
        #[command(flatten)]
        output: PageOutput,
    },
    /// Change one value in a file, and nothing else that is written there
    Set(set::Arguments),
    /// Show where settings are looked for, the weakest first
    Path {
        #[command(flatten)]
        output: PageOutput,
    },
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let layers = layers::all(environment)?;
    // Errors in any layer are reported before anything else.
    let remarks = layers::merged(&layers)?.remarks;
    match arguments.action {
        Action::Show { origin, output } => {
            let mut settings = settings_table::settings(&layers)?;
            if !origin {
                settings.retain(|setting| setting.effect == SettingEffect::Counts);
            }
            listing::print(
                &settings,
                output.format,
                listing::look(environment),
                |settings| table(settings, origin),
            )?;
            remarks
                .iter()
                .for_each(|remark| output::print_note(environment, remark));
            if settings.is_empty() {
                output::print_note(environment, "nothing is set; everything is as usual");
            }
        }
        Action::Get { key, output } => {
            let mut settings = settings_table::settings(&layers)?;
            settings
                .retain(|setting| setting.key == key && setting.effect == SettingEffect::Counts);
            if settings.is_empty() {
                return usually(&key, &layers, environment, output);
            }
            if output.is_json() {
                let values: Vec<&toml::Value> =
                    settings.iter().map(|setting| &setting.value).collect();
                // A rule list that several files add to has several values.
                let page = match values.as_slice() {
                    [one] => output::json_page(one)?,
                    several => output::json_page(&several)?,
                };
                output::print(&page)?;
                return Ok(Exit::DONE);
            }
            let lines = settings
                .iter()
                .map(|setting| format!("{}\n", setting.plain()));
            output::print(&lines.collect::<String>())?;
        }
        Action::Set(arguments) => {
            let work = async { set::set(&arguments, &layers, environment) };
            let key = &arguments.key;
            environment.change_files("settings.set", key, work).await?;
        }
        Action::Path { output } => {
            let places = [
                environment.system.join("config.toml"),
                environment.settings.clone(),
                environment.cwd.join(".rooftree/config.toml"),
                environment.system.join("managed.toml"),
            ];
            let known = |path| layers.iter().any(|layer| layer.path == path);
            if output.is_json() {
                let rows = places.map(|path| json!({ "there": known(path.clone()), "path": path }));
                output::print(&output::json_page(&rows)?)?;
                return Ok(Exit::DONE);
            }
            for path in places {
                let state = if known(path.clone()) {
                    ""
                } else {
                    "  (not there)"
                };
                output::print(&format!("{}{state}\n", path.display()))?;
            }
        }
    }
    Ok(Exit::DONE)
}

/// Prints the default value of a key that no layer sets.
fn usually(
    key: &str,
    layers: &[SettingsLayer],
    environment: &Environment,
    output: PageOutput,
) -> Result<Exit, Problem> {
    let Some(usual) = default_value(key) else {
        return Err(unset(key, layers));
    };
    if output.is_json() {
        output::print(&output::json_page(&usual)?)?;
        return Ok(Exit::DONE);
    }
    let (line, what) = match &usual {
        Value::Null => (String::new(), "there is no limit"),
        Value::String(text) => (format!("{text}\n"), "this is the default"),
        other => (format!("{other}\n"), "this is the default"),
    };
    output::print(&line)?;
    output::print_note(environment, &format!("`{key}` is not set: {what}"));
    Ok(Exit::DONE)
}

/// Tells an unknown key from a known key that is not set.
fn unset(key: &str, layers: &[SettingsLayer]) -> Problem {
    let typed = layers::probe_layer(key).map(|layer| SettingsLayer {
        path: "config get".into(),
        ..layer
    });
    match typed.and_then(|typed| typed.settings()) {
        // It is known, and any text was no value for it.
        Err(problem) if !problem.message.contains("unknown key") => not_set(key, layers),
        Err(problem) => problem,
        Ok(_) => not_set(key, layers),
    }
}

fn not_set(key: &str, layers: &[SettingsLayer]) -> Problem {
    let looked: Vec<String> = layers.iter().map(|layer| place(&layer.path)).collect();
    Problem::new(ErrorCode::InvalidArguments, format!("`{key}` is not set"))
        .cause(format!(
            "it is in none of {}",
            if looked.is_empty() {
                "the files".into()
            } else {
                looked.join(", ")
            }
        ))
        .fix("rooftree config show lists what is; rooftree config path where it can be")
}

fn table(settings: &[SettingRow], origin: bool) -> TextTable {
    if !origin {
        let mut table =
            TextTable::new([("KEY", ColumnShrink::Stiff), ("VALUE", ColumnShrink::Soft)]);
        settings
            .iter()
            .for_each(|setting| table.row([setting.key.clone(), setting.shown()]));
        return table;
    }
    let mut table = TextTable::new([
        ("KEY", ColumnShrink::Stiff),
        ("VALUE", ColumnShrink::Soft),
        ("FROM", ColumnShrink::Stiff),
        ("", ColumnShrink::Stiff),
    ]);
    for setting in settings {
        table.row([
            setting.key.clone(),
            setting.shown(),
            setting.from.clone(),
            setting.note.clone(),
        ]);
    }
    table
}

impl listing::ListItem for SettingRow {
    fn id(&self) -> String {
        self.key.clone()
    }
}

impl SettingRow {
    /// The value as a program would want it.
    fn plain(&self) -> String {
        match &self.value {
            toml::Value::String(text) => text.clone(),
            other => json!(other).to_string(),
        }
    }
}
