//! The real program at work on a session, and the ways to stop it.

use std::{
    io::{BufRead, BufReader},
    os::unix::process::ExitStatusExt,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use crate::fixture::{PATIENCE, Scene};

/// A running program, killed when dropped.
pub struct Worker {
    child: Child,
    said: Receiver<String>,
    log: Vec<String>,
}

/// Where a worker got to.
#[derive(Debug, PartialEq, Eq)]
pub enum Reached {
    Stalled,
    Ended(ExitStatus),
}

/// How a worker ended and what it said.
#[derive(Debug)]
pub struct Ending {
    pub status: ExitStatus,
    pub log: String,
}

impl Ending {
    pub fn was_killed(&self) -> bool {
        self.status.signal() == Some(9)
    }

    pub fn assert_success(&self) {
        assert!(self.status.success(), "{}: {}", self.status, self.log);
    }
}

/// The program with arguments, in a scene.
pub fn program(scene: &Scene, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rooftree"));
    command.args(arguments).current_dir(scene.work());
    command
        .env("ROOFTREE_HOME", scene.home())
        .env("ROOFTREE_NOTES", scene.notes());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

impl Worker {
    /// Lets the program work off the session's inbox, with orders in its environment.
    pub fn start(scene: &Scene, orders: &[(&str, &str)]) -> Self {
        let arguments = [
            "run",
            "--session",
            scene.session.as_str(),
            "--permission-mode",
            "bypass",
        ];
        let mut command = program(scene, &arguments);
        command.envs(orders.iter().copied());
        Self::spawn(command)
    }

    /// Starts any program whose standard error is piped.
    pub fn spawn(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (tell, said) = mpsc::channel();
        thread::spawn(move || {
            stderr
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| tell.send(line))
        });
        Self {
            child,
            said,
            log: Vec::new(),
        }
    }

    /// Waits until it stands still where it was told to, or ends before.
    pub fn reach_stall(&mut self) -> Reached {
        loop {
            match self.said.recv_timeout(PATIENCE) {
                Ok(line) if line.starts_with("stalled ") => return Reached::Stalled,
                Ok(line) => self.log.push(line),
                Err(RecvTimeoutError::Disconnected) => {
                    return Reached::Ended(self.child.wait().unwrap());
                }
                Err(RecvTimeoutError::Timeout) => panic!("stuck: {:?}", self.log),
            }
        }
    }

    /// The same for a place that may have been passed before it was killed the last time: none if there is
    /// nothing left to do.
    pub fn reach_stall_while(&mut self, goes_on: impl Fn() -> bool) -> Option<Reached> {
        for _ in 0..PATIENCE.as_secs() * 4 {
            match self.said.recv_timeout(Duration::from_millis(250)) {
                Ok(line) if line.starts_with("stalled ") => return Some(Reached::Stalled),
                Ok(line) => self.log.push(line),
                Err(RecvTimeoutError::Disconnected) => {
                    return Some(Reached::Ended(self.child.wait().unwrap()));
                }
                Err(RecvTimeoutError::Timeout) if goes_on() => {}
                Err(RecvTimeoutError::Timeout) => return None,
            }
        }
        panic!("stuck: {:?}", self.log)
    }

    /// Lets it live a while, then kills it; says whether it was still alive.
    pub fn kill_after(mut self, while_: Duration) -> bool {
        thread::sleep(while_);
        let alive = self.child.try_wait().unwrap().is_none();
        self.kill();
        alive
    }

    /// `kill -9`, and waits until it is gone.
    pub fn kill(mut self) -> Ending {
        self.child.kill().unwrap();
        self.finish()
    }

    /// Waits for its own end.
    pub fn finish(mut self) -> Ending {
        loop {
            match self.said.recv_timeout(PATIENCE) {
                Ok(line) => self.log.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("stuck: {:?}", self.log),
            }
        }
        Ending {
            status: self.child.wait().unwrap(),
            log: self.log.join("\n"),
        }
    }

    /// Sends `STOP` or `CONT`: the process stands still as if its machine slept, or goes on.
    pub fn signal(&self, name: &str) {
        let order = format!("kill -{name} {}", self.child.id());
        assert!(
            Command::new("sh")
                .args(["-c", &order])
                .status()
                .unwrap()
                .success()
        );
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
