//! Tries one mutant in a copy of the repository and judges what the tests say.

use std::{
    fs::{self, File},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use super::Mutant;
use crate::repository::Repository;

/// A test that takes longer than this hangs: it did not pass.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// What became of a mutant.
pub enum Verdict {
    Caught,
    Survived,
    /// It shows nothing, for example because it does not compile.
    Invalid(String),
}

impl Verdict {
    /// The word for it in the report.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Caught => "caught",
            Self::Survived => "SURVIVED",
            Self::Invalid(_) => "INVALID",
        }
    }
}

/// What a run of `cargo test` came to.
struct Tested {
    is_green: bool,
    is_late: bool,
    output: String,
}

impl Tested {
    /// A run without a single test is no verdict on the mutant.
    fn verdict(&self) -> Verdict {
        match (self.is_green, self.is_late) {
            (_, true) => Verdict::Caught,
            _ if tests_run(&self.output) == 0 => {
                Verdict::Invalid(format!("no test ran\n{}", self.output))
            }
            (true, _) => Verdict::Survived,
            (false, _) => Verdict::Caught,
        }
    }
}

/// How many tests the test binaries say that they run.
fn tests_run(output: &str) -> u64 {
    let counted = output
        .lines()
        .filter_map(|line| line.strip_prefix("running ")?.split_once(" test"));
    counted
        .filter_map(|(count, _)| count.parse::<u64>().ok())
        .sum()
}

/// The copy of the repository in which mutants are tried, with a build directory of its own.
pub struct Tree {
    original: PathBuf,
    root: PathBuf,
}

impl Tree {
    /// The copy that belongs to a repository.
    pub fn beside(repository: &Repository) -> Self {
        let original = repository.root().to_owned();
        Self {
            root: original.join("target/mutants/tree"),
            original,
        }
    }

    /// Changes the code as the mutant says and runs its test.
    pub fn attempt(&self, mutant: &Mutant) -> Result<Verdict> {
        self.refresh()?;
        let path = self.root.join(&mutant.file);
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", mutant.file))?;
        if text.matches(mutant.find.as_str()).count() != 1 {
            bail!(
                "`find` of mutant {} does not stand exactly once in {}",
                mutant.id,
                mutant.file
            );
        }
        fs::write(&path, text.replacen(&mutant.find, &mutant.replace, 1))?;
        Ok(self
            .cargo_test(&mutant.test)?
            .map_or_else(Verdict::Invalid, |tested| tested.verdict()))
    }

    /// Why a test shows nothing, if it does not pass while no mutant is in place.
    pub fn fails_unchanged(&self, test: &str) -> Result<Option<String>> {
        self.refresh()?;
        let tested = match self.cargo_test(test)? {
            Ok(tested) => tested,
            Err(output) => return Ok(Some(output)),
        };
        Ok(match tested.verdict() {
            Verdict::Survived => None,
            Verdict::Invalid(why) => Some(why),
            Verdict::Caught => Some(format!(
                "its test fails without the mutant too\n{}",
                tested.output
            )),
        })
    }

    /// Brings the copy to the state of the repository. Unchanged files keep their times, so builds stay incremental.
    fn refresh(&self) -> Result<()> {
        let repository = Repository::open(&self.original)?;
        let hidden = [".cargo/config.toml"];
        let paths = repository
            .files()
            .chain(hidden.into_iter().filter(|path| repository.has(path)));
        for path in paths {
            let (from, to) = (self.original.join(path), self.root.join(path));
            let wanted = fs::read(&from).with_context(|| format!("read {path}"))?;
            if fs::read(&to).is_ok_and(|there| there == wanted) {
                continue;
            }
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(&to, wanted).with_context(|| format!("write {}", to.display()))?;
            fs::set_permissions(&to, fs::metadata(&from)?.permissions())?;
        }
        Ok(())
    }

    /// Builds the test and runs it; what the compiler says if it cannot be built. Only the run is limited in time.
    fn cargo_test(&self, test: &str) -> Result<Result<Tested, String>> {
        let built = self.cargo(&format!("test --no-run {test}"), Duration::MAX)?;
        if !built.is_green {
            return Ok(Err(built.output));
        }
        self.cargo(&format!("test {test}"), TIME_LIMIT).map(Ok)
    }

    fn cargo(&self, arguments: &str, limit: Duration) -> Result<Tested> {
        let log = self.root.with_file_name("output.txt");
        let file = File::create(&log).with_context(|| format!("create {}", log.display()))?;
        let mut command = Command::new("cargo");
        command
            .args(arguments.split_whitespace())
            .current_dir(&self.root)
            .process_group(0);
        command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file);
        let ended = wait(command.spawn().context("start cargo")?, limit)?;
        let is_green = ended.is_some_and(|status| status.success());
        Ok(Tested {
            is_green,
            is_late: ended.is_none(),
            output: text(&log)?,
        })
    }
}

/// Output of tests need not be UTF-8.
fn text(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The status the process ended with; nothing if it was killed at the time limit, with all processes of its group.
fn wait(mut child: Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().context("wait for cargo")? {
            return Ok(Some(status));
        }
        if started.elapsed() > limit {
            let group = format!("-{}", child.id());
            Command::new("kill")
                .args(["-KILL", "--", &group])
                .status()
                .context("kill a test that hangs")?;
            child.wait().context("wait for cargo")?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(50));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(is_green: bool, output: &str) -> &'static str {
        Tested {
            is_green,
            is_late: false,
            output: output.to_owned(),
        }
        .verdict()
        .word()
    }

    #[test]
    fn a_filter_that_matches_no_test_makes_the_mutant_invalid() {
        assert_eq!(
            verdict(true, "running 0 tests\n\nrunning 0 tests\n"),
            "INVALID"
        );
        assert_eq!(verdict(true, ""), "INVALID");
        assert_eq!(
            verdict(true, "running 0 tests\n\nrunning 1 test\n"),
            "SURVIVED"
        );
        assert_eq!(verdict(false, "running 12 tests\n"), "caught");
    }

    #[test]
    fn a_test_that_hangs_has_noticed_the_mutant() {
        let late = Tested {
            is_green: false,
            is_late: true,
            output: "running 1 test\n".to_owned(),
        };
        assert_eq!(late.verdict().word(), "caught");
    }
}
