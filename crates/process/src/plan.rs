//! All that is needed to start a program, spelled out before it is started.
//!
//! Whoever becomes the program may not allocate any more, so nothing is left to be made then.

use std::{
    collections::BTreeMap,
    env,
    ffi::{CString, OsStr, OsString},
    fs::File,
    io,
    os::{
        fd::OwnedFd,
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::Path,
};

use crate::{Input, Spawn, tree::MARK};

/// Where programs are looked for if nothing says where.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A start, spelled out.
pub(crate) struct Plan {
    /// The files to be tried, in order.
    pub(crate) files: Vec<CString>,
    pub(crate) arguments: Vec<CString>,
    pub(crate) variables: Vec<CString>,
    pub(crate) directory: CString,
    pub(crate) input: OwnedFd,
    pub(crate) output: OwnedFd,
    pub(crate) errors: OwnedFd,
}

/// The program's ends of its pipes for what it writes.
pub(crate) struct Outlets {
    pub(crate) output: OwnedFd,
    pub(crate) errors: OwnedFd,
}

impl Plan {
    /// Spells a start out; gives also our end of the program's input, if it has one.
    pub(crate) fn new(spawn: &Spawn, mark: &str, outlets: Outlets) -> io::Result<(Self, Option<OwnedFd>)> {
        let mut variables = spawn.environment.resolve(env::vars_os());
        variables.insert(MARK.into(), mark.into());
        let (input, feeding) = match &spawn.input {
            Input::Nothing => (File::open("/dev/null")?.into(), None),
            Input::From(reader) => (reader.try_clone()?, None),
            Input::Bytes(_) => {
                let (reader, writer) = io::pipe()?;
                (reader.into(), Some(writer.into()))
            }
        };
        let plan = Self {
            files: files(&spawn.program, variables.get(OsStr::new("PATH")))?,
            arguments: [&spawn.program]
                .into_iter()
                .chain(&spawn.args)
                .map(spelled)
                .collect::<io::Result<_>>()?,
            variables: spelled_variables(variables)?,
            directory: spelled(spawn.cwd.as_os_str())?,
            input,
            output: outlets.output,
            errors: outlets.errors,
        };
        Ok((plan, feeding))
    }
}

/// A name is looked for in the directories of PATH, a path is taken as it is.
fn files(program: &OsStr, path: Option<&OsString>) -> io::Result<Vec<CString>> {
    if program.as_bytes().contains(&b'/') {
        return Ok(vec![spelled(program)?]);
    }
    let path = path.map_or(OsStr::new(PATH), OsString::as_os_str);
    env::split_paths(path).map(|directory| spelled(Path::new(&directory).join(program))).collect()
}

fn spelled_variables(variables: BTreeMap<OsString, OsString>) -> io::Result<Vec<CString>> {
    let spell = |(mut name, value): (OsString, OsString)| {
        name.push("=");
        name.push(value);
        spelled(name)
    };
    variables.into_iter().map(spell).collect()
}

fn spelled(text: impl AsRef<OsStr>) -> io::Result<CString> {
    CString::new(text.as_ref().to_owned().into_vec())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a NUL character is in it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_for_and_a_path_is_taken_as_it_is() {
        let table = [
            ("sh", Some("/a:/b/c"), vec!["/a/sh", "/b/c/sh"]),
            ("sh", Some(":/b"), vec!["sh", "/b/sh"]),
            ("./sh", Some("/a"), vec!["./sh"]),
            ("sh", None, vec!["/usr/local/bin/sh", "/usr/bin/sh", "/bin/sh"]),
        ];
        for (program, path, wanted) in table {
            let path = path.map(OsString::from);
            let found = files(OsStr::new(program), path.as_ref()).unwrap();
            let found: Vec<&str> = found.iter().map(|file| file.to_str().unwrap()).collect();
            assert_eq!(found, wanted, "{program} in {path:?}");
        }
    }

    #[test]
    fn what_cannot_be_spelled_is_refused() {
        assert!(spelled("a\0b").is_err());
    }
}
