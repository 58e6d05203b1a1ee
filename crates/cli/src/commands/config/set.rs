//! Changes one value in a settings file.

use std::path::PathBuf;

use clap::Args;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_stdx::atomic_file;
use toml::{Table, Value};

use crate::{
    environment::Environment,
    human_format::place,
    output,
    settings::{
        edit,
        layer::{LayerOrigin, SettingsLayer},
        layers,
    },
};

/// What to set, and where.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Its whole name, for example limits.max_turns
    #[arg(value_name = "KEY")]
    pub(super) key: String,
    /// As TOML has it; what is not TOML is text
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,
    /// In the file of the project
    #[arg(long, conflicts_with = "user")]
    project: bool,
    /// In your own file; this is so if nothing else is said
    #[arg(long)]
    user: bool,
}

/// Sets the value, unless the file could not be parsed any more.
pub fn set(
    arguments: &Arguments,
    layers: &[SettingsLayer],
    environment: &Environment,
) -> Result<(), Problem> {
    let typed = layers::typed(&format!("{}={}", arguments.key, arguments.value));
    let typed = SettingsLayer {
        path: "config set".into(),
        ..typed.map_err(|_| no_name(&arguments.key))?
    };
    // Validate what was typed before any file is read.
    typed.settings()?;
    let (path, value) = only(&typed.table).ok_or_else(|| not_one(&arguments.key))?;
    let origin = if arguments.project {
        LayerOrigin::Project
    } else {
        LayerOrigin::User
    };
    let file = file(origin, layers, environment);
    let known = layers.iter().find(|layer| layer.path == file);
    let text = known.map(|layer| layer.text.as_str()).unwrap_or_default();
    let text = edit::with(text, &path, &value).ok_or_else(|| {
        Problem::new(
            ErrorCode::InvalidConfig,
            format!("cannot set `{}` in {}", arguments.key, place(&file)),
        )
        .cause("it is written there in a way that cannot be changed without writing the file anew")
        .fix(format!("edit it: {} = {value}", arguments.key))
    })?;
    let table: Table = text.parse().map_err(|_| not_one(&arguments.key))?;
    let layer = SettingsLayer {
        origin,
        path: file.clone(),
        table,
        text,
    };
    layer.settings()?;
    atomic_file::replace_through_links(&file, layer.text.as_bytes()).map_err(|error| {
        Problem::new(
            ErrorCode::InvalidConfig,
            format!("cannot write {}", place(&file)),
        )
        .cause(error.to_string())
    })?;
    output::print_note(
        environment,
        &format!("{}: {} = {value}", place(&file), arguments.key),
    );
    // A stronger layer may still override the new value.
    let others = layers
        .iter()
        .filter(|known| known.path != layer.path)
        .cloned();
    let mut all: Vec<SettingsLayer> = others.chain([layer.clone()]).collect();
    all.sort_by_key(|layer| layer.origin);
    let told = layers::merged(&all)?
        .remarks
        .into_iter()
        .filter(|remark| remark.contains(&arguments.key));
    told.for_each(|remark| output::print_note(environment, &remark));
    Ok(())
}

/// The settings file of this layer: the user's or the project's.
fn file(origin: LayerOrigin, layers: &[SettingsLayer], environment: &Environment) -> PathBuf {
    if origin == LayerOrigin::User {
        return environment.settings.clone();
    }
    let project = layers
        .iter()
        .find(|layer| layer.origin == LayerOrigin::Project);
    project.map_or_else(
        || environment.cwd.join(".rooftree/config.toml"),
        |layer| layer.path.clone(),
    )
}

/// The one value of a table and its place, if there is only one.
fn only(table: &Table) -> Option<(Vec<String>, Value)> {
    let mut entries = table.iter();
    let (Some((name, value)), None) = (entries.next(), entries.next()) else {
        return None;
    };
    match value {
        Value::Table(inner) if !inner.is_empty() => {
            let (path, value) = only(inner)?;
            Some(([name.clone()].into_iter().chain(path).collect(), value))
        }
        value => Some((vec![name.clone()], value.clone())),
    }
}

fn no_name(key: &str) -> Problem {
    Problem::new(ErrorCode::InvalidArguments, format!("`{key}` is not the name of a setting"))
        .fix("rooftree config set limits.max_turns 20, for example; rooftree config show lists what is set")
}

fn not_one(key: &str) -> Problem {
    Problem::new(
        ErrorCode::InvalidArguments,
        format!("`{key}` is not one value"),
    )
    .fix("set its values one by one, each under its whole name")
}
