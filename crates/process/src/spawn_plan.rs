//! Everything needed to start a program (paths, arguments, environment, descriptors), prepared before the clone.
//!
//! After the clone the child may not allocate, so nothing is left to be built then.

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
    path::{Path, PathBuf},
};

use crate::{
    ProcessInput, SpawnRequest,
    process_tree::MARK,
    sandbox::{CommandMessage, Sandbox, SandboxBackend, helper, unconfined_command},
    sandboxed_spawn::{
        ResourceLimit, SandboxedCommand, find_program, forker_command, sandboxed_command,
    },
};

/// Where programs are looked for if nothing says where.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Where the system's loader looks for libraries first.
const LIBRARIES: &str = "LD_LIBRARY_PATH";

/// A start, spelled out.
pub(crate) struct SpawnPlan {
    /// The files to be tried, in order.
    pub(crate) files: Vec<CString>,
    pub(crate) arguments: Vec<CString>,
    pub(crate) variables: Vec<CString>,
    pub(crate) directory: CString,
    pub(crate) input: OwnedFd,
    pub(crate) output: OwnedFd,
    pub(crate) errors: OwnedFd,
    /// Also stay open.
    pub(crate) inherited: Vec<OwnedFd>,
    pub(crate) limits: Vec<ResourceLimit>,
}

/// The program's ends of its pipes for what it writes.
pub(crate) struct OutputPipes {
    pub(crate) output: OwnedFd,
    pub(crate) errors: OwnedFd,
}

impl SpawnPlan {
    /// Spells a start out; gives also our end of the program's input, if it has one.
    pub(crate) fn new(
        spawn: &SpawnRequest,
        backend: Option<SandboxBackend>,
        mark: &str,
        outlets: OutputPipes,
    ) -> io::Result<(Self, Option<OwnedFd>)> {
        let mut variables = variables(spawn);
        variables.insert(MARK.into(), mark.into());
        let files = files(&spawn.program, variables.get(OsStr::new("PATH")))?;
        let start = match spawn.sandbox.as_deref().zip(backend) {
            None => PreparedCommand::bare(spawn, files)?,
            Some((sandbox, backend)) => {
                let file = found_file(&spawn.cwd, &files)?;
                PreparedCommand::confined(sandboxed_command(spawn, sandbox, backend, file)?)?
            }
        };
        variables.extend(start.variables);
        let (input, feeding) = input_ends(&spawn.input)?;
        let plan = Self {
            files: start.files,
            arguments: start.arguments,
            variables: spelled_variables(variables)?,
            directory: spelled(spawn.cwd.as_os_str())?,
            input,
            output: outlets.output,
            errors: outlets.errors,
            inherited: start.inherited,
            limits: start.limits,
        };
        Ok((plan, feeding))
    }

    /// The start of a forker. Commands bring their own streams and environment.
    pub(crate) fn for_forker(
        sandbox: &Sandbox,
        backend: SandboxBackend,
        socket: OwnedFd,
        mark: &str,
    ) -> io::Result<Self> {
        let start = PreparedCommand::confined(forker_command(sandbox, backend, socket)?)?;
        // Bubblewrap and the helper may need it to start at all.
        let libraries = env::var_os(LIBRARIES).map(|value| (LIBRARIES.into(), value));
        let variables = [(MARK.into(), mark.into())].into_iter().chain(libraries);
        let null = || File::options().read(true).write(true).open("/dev/null");
        Ok(Self {
            files: start.files,
            arguments: start.arguments,
            variables: spelled_variables(variables.collect())?,
            directory: spelled("/")?,
            input: null()?.into(),
            output: null()?.into(),
            errors: null()?.into(),
            inherited: start.inherited,
            limits: start.limits,
        })
    }
}

impl CommandMessage {
    /// A start in a sandbox, as its forker is told.
    pub(crate) fn new(
        spawn: &SpawnRequest,
        sandbox: &Sandbox,
        backend: SandboxBackend,
        mark: &str,
    ) -> io::Result<Self> {
        let mut variables = variables(spawn);
        variables.insert(MARK.into(), mark.into());
        let files = files(&spawn.program, variables.get(OsStr::new("PATH")))?;
        let temporary = sandbox
            .temporary
            .clone()
            .filter(|_| backend == SandboxBackend::Landlock);
        let temporary = temporary.map_or("/tmp".into(), PathBuf::into_os_string);
        variables.insert("TMPDIR".into(), temporary);
        let words: Vec<OsString> = [&spawn.program]
            .into_iter()
            .chain(&spawn.args)
            .cloned()
            .collect();
        // Refused here as it is for a start of its own.
        words.iter().try_for_each(|word| spelled(word).map(drop))?;
        Ok(Self {
            directory: spawn.cwd.clone().into(),
            file: found_file(&spawn.cwd, &files)?,
            words,
            variables: variables.into_iter().collect(),
        })
    }
}

/// The program's end of its input, and ours if there is something to be written.
pub(crate) fn input_ends(input: &ProcessInput) -> io::Result<(OwnedFd, Option<OwnedFd>)> {
    Ok(match input {
        ProcessInput::Nothing => (File::open("/dev/null")?.into(), None),
        ProcessInput::From(reader) => (reader.try_clone()?, None),
        ProcessInput::Bytes(_) => {
            let (reader, writer) = io::pipe()?;
            (reader.into(), Some(writer.into()))
        }
    })
}

/// What differs between a bare start and one in a sandbox.
#[derive(Default)]
struct PreparedCommand {
    files: Vec<CString>,
    arguments: Vec<CString>,
    inherited: Vec<OwnedFd>,
    limits: Vec<ResourceLimit>,
    variables: Vec<(OsString, OsString)>,
}

impl PreparedCommand {
    /// With a guard around it where there is a helper: it ends what has left the group, the session and the
    /// environment behind, also when this process is killed.
    fn bare(spawn: &SpawnRequest, files: Vec<CString>) -> io::Result<Self> {
        let words: Vec<OsString> = [&spawn.program]
            .into_iter()
            .chain(&spawn.args)
            .cloned()
            .collect();
        let (files, words) = if helper().is_some() {
            let file = found_file(&spawn.cwd, &files)?;
            let (helper, words) = unconfined_command(file, words).ok_or(io::ErrorKind::NotFound)?;
            let first = helper.clone().into_os_string();
            (
                vec![spelled(helper)?],
                [first].into_iter().chain(words).collect(),
            )
        } else {
            (files, words)
        };
        let arguments = words.iter().map(spelled).collect::<io::Result<_>>()?;
        Ok(Self {
            files,
            arguments,
            ..Self::default()
        })
    }

    fn confined(confined: SandboxedCommand) -> io::Result<Self> {
        let SandboxedCommand {
            program,
            arguments,
            inherited,
            limits,
            temporary,
        } = confined;
        let words = [program.as_os_str()]
            .into_iter()
            .chain(arguments.iter().map(OsString::as_os_str));
        let arguments = words.map(spelled).collect::<io::Result<_>>()?;
        let temporary = temporary.map_or("/tmp".into(), PathBuf::into_os_string);
        let variables = vec![("TMPDIR".into(), temporary)];
        Ok(Self {
            files: vec![spelled(&program)?],
            arguments,
            inherited,
            limits,
            variables,
        })
    }
}

/// The file that a search along PATH finds, looked for once for all that follows.
fn found_file(cwd: &Path, files: &[CString]) -> io::Result<OsString> {
    let paths: Vec<&OsStr> = files
        .iter()
        .map(|file| OsStr::from_bytes(file.as_bytes()))
        .collect();
    find_program(cwd, &paths)
}

/// What the program finds in its environment. In a sandbox only what is listed is inherited, and what people
/// want to be passed on whatever it is.
fn variables(spawn: &SpawnRequest) -> BTreeMap<OsString, OsString> {
    let kept = &spawn.environment.inheritance.keep;
    let is_listed = |name: &OsStr| match &spawn.sandbox {
        None => true,
        Some(sandbox) => {
            let name = name.to_string_lossy();
            sandbox
                .environment
                .iter()
                .chain(kept)
                .any(|listed| is_meant(listed, &name))
        }
    };
    spawn
        .environment
        .resolve(env::vars_os().filter(|(name, _)| is_listed(name)))
}

fn is_meant(listed: &str, name: &str) -> bool {
    listed
        .strip_suffix('*')
        .map_or(listed == name, |beginning| name.starts_with(beginning))
}

/// A name is looked for in the directories of PATH, a path is taken as it is.
fn files(program: &OsStr, path: Option<&OsString>) -> io::Result<Vec<CString>> {
    if program.as_bytes().contains(&b'/') {
        return Ok(vec![spelled(program)?]);
    }
    let path = path.map_or(OsStr::new(PATH), OsString::as_os_str);
    env::split_paths(path)
        .map(|directory| spelled(Path::new(&directory).join(program)))
        .collect()
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
            (
                "sh",
                None,
                vec!["/usr/local/bin/sh", "/usr/bin/sh", "/bin/sh"],
            ),
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
