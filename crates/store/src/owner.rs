//! Identity of an owner process (host, boot, pid, start time), and whether it is still alive.
//!
//! A dead owner on this host is replaced at once; what cannot be told is taken for alive,
//! because then only time is lost: the lease ends it.

use std::fs;

use nix::unistd::gethostname;

use crate::Owner;

/// The process-id namespace every Linux starts with.
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

impl Owner {
    /// This process.
    pub fn this_process() -> Self {
        let pid = std::process::id();
        Self {
            host: host(),
            boot: boot(),
            pid,
            started: started("self").unwrap_or(0),
        }
    }

    /// Whether this owner is surely gone, as seen by `observer`, who must be this process or
    /// one that shares its host.
    pub fn is_dead_for(&self, observer: &Owner) -> bool {
        if self.host != observer.host || self.boot.is_empty() || observer.boot.is_empty() {
            return false;
        }
        if self.boot != observer.boot {
            return true;
        }
        // Without a readable /proc no process can be checked.
        started("self").is_some() && started(&self.pid.to_string()) != Some(self.started)
    }

    /// Whether this owner is surely alive and able to run: another process of `observer`'s host and boot, with the
    /// recorded start time, and not stopped by a signal. Its lease does not expire, because leases are compared with
    /// the wall clock, which can jump. A stopped process cannot renew its claim and is judged by its lease.
    pub fn is_running_for(&self, observer: &Owner) -> bool {
        let is_comparable =
            self.host == observer.host && !self.boot.is_empty() && self.boot == observer.boot;
        // Two runtimes in one process have the same owner: nothing tells whether the other one is still there.
        is_comparable
            && self.pid != observer.pid
            && status(&self.pid.to_string()).is_some_and(|(state, started)| {
                started == self.started && !matches!(state, 'T' | 't')
            })
    }
}

/// The host's name; inside a container also its process-id namespace, because process ids
/// of two namespaces must not be compared.
fn host() -> String {
    let name = gethostname()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    match fs::read_link("/proc/self/ns/pid") {
        Ok(space) if space.as_os_str() != FIRST_NAMESPACE => format!("{name}/{}", space.display()),
        _ => name,
    }
}

fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

/// When a process started, in ticks since boot; none if it is gone or only waits to be reaped.
fn started(pid: &str) -> Option<u64> {
    status(pid).map(|(_, started)| started)
}

/// The state of a process and when it started; none if it is gone or only waits to be reaped.
fn status(pid: &str) -> Option<(char, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name and may hold spaces and brackets itself.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields
        .next()?
        .chars()
        .next()
        .filter(|state| !matches!(state, 'Z' | 'X'))?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use nix::{
        sys::{
            signal::{Signal, kill},
            wait::{WaitPidFlag, waitpid},
        },
        unistd::Pid,
    };

    use super::*;

    #[test]
    fn this_process_is_alive_and_others_are_judged_by_what_is_known() {
        let me = Owner::this_process();
        let table = [
            ("myself", me.clone(), false),
            (
                "a reused process id",
                Owner {
                    started: me.started + 1,
                    ..me.clone()
                },
                true,
            ),
            (
                "an id nobody has",
                Owner {
                    pid: u32::MAX,
                    ..me.clone()
                },
                true,
            ),
            (
                "an earlier boot",
                Owner {
                    boot: "before".into(),
                    ..me.clone()
                },
                true,
            ),
            (
                "another host",
                Owner {
                    host: "elsewhere".into(),
                    pid: u32::MAX,
                    ..me.clone()
                },
                false,
            ),
        ];
        for (who, owner, dead) in table {
            assert_eq!(owner.is_dead_for(&me), dead, "{who}");
        }
    }

    #[test]
    fn s_l7_a_process_is_running_unless_it_is_stopped_gone_or_of_another_host_or_boot() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let me = Owner::this_process();
        let pid = child.id();
        let owner = Owner {
            pid,
            started: started(&pid.to_string()).unwrap(),
            ..me.clone()
        };
        assert!(owner.is_running_for(&me));
        let others = [
            ("this process", me.clone()),
            (
                "another host",
                Owner {
                    host: "elsewhere".into(),
                    ..owner.clone()
                },
            ),
            (
                "an earlier boot",
                Owner {
                    boot: "before".into(),
                    ..owner.clone()
                },
            ),
            (
                "an unknown boot",
                Owner {
                    boot: String::new(),
                    ..owner.clone()
                },
            ),
            (
                "a reused process id",
                Owner {
                    started: owner.started + 1,
                    ..owner.clone()
                },
            ),
        ];
        for (who, other) in others {
            assert!(!other.is_running_for(&me), "{who}");
        }
        let told = Pid::from_raw(i32::try_from(pid).unwrap());
        let signal = |signal: Signal, has_taken_effect: WaitPidFlag| {
            kill(told, signal).unwrap();
            waitpid(told, Some(has_taken_effect)).unwrap();
        };
        signal(Signal::SIGSTOP, WaitPidFlag::WUNTRACED);
        assert!(!owner.is_running_for(&me), "a stopped process");
        assert!(
            !owner.is_dead_for(&me),
            "a stopped process keeps its session until its lease is over"
        );
        signal(Signal::SIGCONT, WaitPidFlag::WCONTINUED);
        assert!(owner.is_running_for(&me), "a process that goes on");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!owner.is_running_for(&me));
    }

    #[test]
    fn a_child_that_was_killed_but_not_reaped_is_dead() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let me = Owner::this_process();
        let pid = child.id();
        let owner = Owner {
            pid,
            started: started(&pid.to_string()).unwrap(),
            ..me.clone()
        };
        assert!(!owner.is_dead_for(&me));
        child.kill().unwrap();
        while !owner.is_dead_for(&me) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(owner.is_dead_for(&me));
    }
}
