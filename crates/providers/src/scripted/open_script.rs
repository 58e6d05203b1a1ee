//! Opens `scripted/PATH` for the catalog: each file is parsed and validated once (cache).

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{Model, catalog::ModelOpener};

use super::{ScriptedModel, SleepFn};

/// Opener for scripted models. Relative paths are resolved against `directory`.
///
/// A script with errors is not cached and is read again the next time, so that fixing
/// it does not need a restart.
pub fn opener(directory: impl Into<PathBuf>, sleeper: SleepFn) -> ModelOpener {
    let directory = directory.into();
    let opened: Mutex<HashMap<PathBuf, ScriptedModel>> = Mutex::default();
    Arc::new(move |choice| {
        let path = directory.join(&choice.model);
        let mut opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
        let scripted = match opened.get(&path) {
            Some(known) => known.clone(),
            None => {
                let read = ScriptedModel::from_file(&path, Arc::clone(&sleeper))?.without_log();
                opened.insert(path, read.clone());
                read
            }
        };
        let window = scripted.window();
        Ok(Model {
            window,
            ..Model::new(choice, Arc::new(scripted))
        })
    })
}
