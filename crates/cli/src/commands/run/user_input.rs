//! Builds the user's message from arguments, standard input and attached files, before anything is stored.

use std::{
    ffi::OsStr,
    io::{IsTerminal, Read, Write},
    os::{fd::AsFd, unix::ffi::OsStrExt},
    path::Path,
    time::Duration,
};

use nix::sys::stat::{SFlag, fstat, stat};
use rooftree_client::RuntimeClient;
use rooftree_protocol::{
    Limits, Part, Problem, ReservedTag, SkillNote, reserved_tags::escape_tags,
};

use super::{Arguments, InputFormat, attachment::Attachment, begin::UserPost, usage};
use crate::{environment::Environment, output};

/// How long standard input may be silent before a note says that it is being waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// What there is to say.
#[derive(Debug)]
pub enum UserInput {
    /// Nothing: what is unfinished goes on.
    Nothing,
    Message(UserMessage),
}

/// A message that is not stored yet.
#[derive(Debug)]
pub struct UserMessage {
    text: String,
    attachments: Vec<Attachment>,
    /// The tools that its run may use, if it is the text of a command file that says so.
    restriction: Option<SkillNote>,
}

impl UserMessage {
    /// A message that was typed: files named with `@path` inside it are attached.
    pub fn typed(text: String, directory: &Path) -> Result<Self, Problem> {
        let files = inline_files(&text, directory).into_iter();
        let attachments = files.map(|path| Attachment::read(directory, path));
        Ok(Self {
            attachments: attachments.collect::<Result<_, _>>()?,
            restriction: None,
            text,
        })
    }

    /// The same with other words.
    pub fn with_text(text: String, message: Self) -> Self {
        Self { text, ..message }
    }

    /// The same for a run that may use only these tools.
    pub fn narrowed(self, restriction: Option<SkillNote>) -> Self {
        Self {
            restriction,
            ..self
        }
    }

    /// Its words.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What to post; bytes are put into the store.
    pub async fn post(self, client: &dyn RuntimeClient) -> Result<UserPost, Problem> {
        let mut parts = Vec::new();
        if !self.text.is_empty() {
            parts.push(Part::text(self.text));
        }
        for attachment in self.attachments {
            parts.push(attachment.part(client).await?);
        }
        let restriction = self.restriction;
        Ok(UserPost { parts, restriction })
    }
}

/// Puts together what was typed, what stands on standard input and what is attached. If that is
/// nothing, what the agent begins with is said for the person.
pub fn read_user_input(
    arguments: &Arguments,
    environment: &Environment,
    initial: Option<&str>,
) -> Result<UserInput, Problem> {
    let mut words = Vec::new();
    let mut attachments = Vec::new();
    let mut dash = false;
    for word in &arguments.words {
        if word == "-" {
            dash = true;
        } else if let Some(path) = attached(word, &environment.cwd) {
            attachments.push(Attachment::read(&environment.cwd, path)?);
        } else {
            let word = word.to_str().ok_or_else(|| {
                usage("the prompt is not valid UTF-8")
                    .fix("attach the file instead: @FILE, or convert it with iconv")
            })?;
            words.push(word.to_owned());
        }
    }
    let prompt = words.join(" ").trim().to_owned();
    for path in inline_files(&prompt, &environment.cwd) {
        attachments.push(Attachment::read(&environment.cwd, path)?);
    }
    note_missing_files(&prompt, &environment.cwd, environment);
    let below = if reads_input(arguments, environment, dash) {
        read_input()?
    } else {
        String::new()
    };
    let text = match (prompt.is_empty(), below.trim().is_empty()) {
        (_, true) => prompt,
        (true, false) => below.trim_end().to_owned(),
        (false, false) => {
            // What is piped in must not be able to end its element and go on as the person's own words.
            let below = escape_tags(below.trim_end(), &[ReservedTag::closing("stdin")]);
            format!("{prompt}\n\n<stdin>\n{below}\n</stdin>")
        }
    };
    if !text.is_empty() || !attachments.is_empty() {
        return Ok(UserInput::Message(UserMessage {
            text,
            attachments,
            restriction: None,
        }));
    }
    let may_be_silent = arguments.session.is_some() || arguments.latest;
    if may_be_silent || arguments.input_format == InputFormat::StreamJson {
        return Ok(UserInput::Nothing);
    }
    if let Some(initial) = initial {
        return Ok(UserInput::Message(UserMessage {
            text: initial.to_owned(),
            attachments: Vec::new(),
            restriction: None,
        }));
    }
    Err(usage("there is nothing to say")
        .fix("rooftree run \"…\", or pipe the message in, or --continue"))
}

/// `@path`, unless it is a phrase that merely begins with `@` and names no file.
fn attached<'a>(word: &'a OsStr, directory: &Path) -> Option<&'a Path> {
    let path = Path::new(OsStr::from_bytes(word.as_bytes().strip_prefix(b"@")?));
    let is_phrase =
        word.as_bytes().iter().any(u8::is_ascii_whitespace) && !directory.join(path).exists();
    (!is_phrase && !path.as_os_str().is_empty()).then_some(path)
}

/// The files that a sentence names with `@path`, each once. A name without a file is only a name: `@anna`, `@types/node`.
pub fn inline_files<'a>(text: &'a str, directory: &Path) -> Vec<&'a Path> {
    let mut found: Vec<&Path> = Vec::new();
    let words = text.split(|c: char| c.is_whitespace() || "([\"'".contains(c));
    for word in words.filter_map(|word| word.strip_prefix('@')) {
        let trimmed = word.trim_end_matches(|end: char| end.is_ascii_punctuation() && end != '/');
        let names = [word, trimmed].into_iter().map(Path::new);
        let mut files = names.filter(|path| directory.join(path).is_file());
        if let Some(path) = files.next().filter(|path| !found.contains(path)) {
            found.push(path);
        }
    }
    found
}

/// Says which words look like files to be attached and are none here. They stay words.
pub fn note_missing_files(text: &str, directory: &Path, environment: &Environment) {
    for word in missing_files(text, directory) {
        let words = format!("there is no file {word} here, so `@{word}` is only text");
        output::print_note(environment, &words);
    }
}

/// Names behind `@` with the ending of a file, to which there is no file.
fn missing_files<'a>(text: &'a str, directory: &Path) -> Vec<&'a str> {
    let words = text.split(|c: char| c.is_whitespace() || "([\"'".contains(c));
    words
        .filter_map(|word| word.strip_prefix('@'))
        .map(|word| word.trim_end_matches(|end: char| end.is_ascii_punctuation()))
        .filter(|word| !word.contains('@') && !directory.join(word).exists())
        .filter(|word| {
            let ending = Path::new(word).extension().and_then(OsStr::to_str);
            ending.is_some_and(|ending| {
                (1..=5).contains(&ending.len())
                    && ending.chars().all(|sign| sign.is_ascii_alphanumeric())
            })
        })
        .collect()
}

fn reads_input(arguments: &Arguments, environment: &Environment, dash: bool) -> bool {
    let piped = !std::io::stdin().is_terminal() && !environment.everywhere.no_input;
    arguments.input_format == InputFormat::Text && (dash || piped)
}

/// Reads standard input to its end. If that takes long, a note says that it is being waited for, because a
/// pipe may have been left open by mistake.
fn read_input() -> Result<String, Problem> {
    let limit = Limits::default().attachment_bytes;
    let read = move || {
        let mut bytes = Vec::new();
        // A closed standard input is an empty one.
        let _ = std::io::stdin()
            .lock()
            .take(limit + 1)
            .read_to_end(&mut bytes);
        bytes
    };
    let bytes = if never_waits(std::io::stdin()) {
        read()
    } else {
        read_aside(read)
    };
    if bytes.len() as u64 > limit {
        return Err(
            usage(format!("standard input is longer than {limit} bytes"))
                .fix("put it into a file and attach it with @FILE, or let the agent read it"),
        );
    }
    String::from_utf8(bytes)
        .map_err(|_| usage("standard input is not text").fix("attach it instead: @FILE"))
}

/// Whether reading from here never waits for another program: a file, or `/dev/null`.
fn never_waits(input: impl AsFd) -> bool {
    let null = stat("/dev/null").map(|null| null.st_rdev);
    fstat(input).is_ok_and(|input| {
        let kind = SFlag::from_bits_truncate(input.st_mode) & SFlag::S_IFMT;
        kind == SFlag::S_IFREG || (kind == SFlag::S_IFCHR && null == Ok(input.st_rdev))
    })
}

/// Reads in a thread of its own, and says so if that takes long.
fn read_aside(read: impl FnOnce() -> Vec<u8> + Send + 'static) -> Vec<u8> {
    let (tx, rx) = std::sync::mpsc::channel();
    std::thread::spawn(move || tx.send(read()));
    let bytes = rx.recv_timeout(PATIENCE).or_else(|_| {
        let _ = writeln!(
            std::io::stderr(),
            "reading standard input until it ends (--no-input leaves it alone) …"
        );
        rx.recv()
    });
    bytes.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_5_a_file_and_no_input_are_read_without_a_thread() {
        let file = tempfile::tempfile().unwrap();
        let nothing = std::fs::File::open("/dev/null").unwrap();
        let (pipe, _other_end) = std::io::pipe().unwrap();
        assert!(never_waits(file) && never_waits(nothing) && !never_waits(pipe));
        let zeros = std::fs::File::open("/dev/zero").unwrap();
        assert!(!never_waits(zeros), "it does not end");
    }

    #[test]
    fn n_13_files_named_inside_a_sentence_are_found_once() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "a").unwrap();
        std::fs::write(folder.path().join("b.md"), "b").unwrap();
        let text = "Compare @a.txt with (@b.md), @a.txt again; @nosuch, me@a.txt and @.";
        assert_eq!(
            inline_files(text, folder.path()),
            [Path::new("a.txt"), Path::new("b.md")]
        );
    }

    #[test]
    fn names_that_end_as_files_do_and_name_none_are_told() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "a").unwrap();
        let text = "See @a.txt, @b.txt, (@c/d.md). Ask @anna or @types/node, me@a.org, @x@y.org";
        assert_eq!(missing_files(text, folder.path()), ["b.txt", "c/d.md"]);
    }

    #[test]
    fn an_at_sign_attaches_unless_it_begins_a_phrase() {
        let nowhere = Path::new("/nonexistent");
        let table = [
            ("@a.txt", Some("a.txt")),
            ("@a b c", None),
            ("@", None),
            ("mail@x.org", None),
        ];
        for (word, path) in table {
            assert_eq!(
                attached(OsStr::new(word), nowhere),
                path.map(Path::new),
                "{word}"
            );
        }
    }
}
