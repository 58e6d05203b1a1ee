//! Finds the members of a process tree (children, descendants, parents) in `/proc`.
//!
//! A process is identified by its process ID and its start time, because process IDs are reused.

use std::{fs, io::Read, path::Path};

use nix::unistd::Pid;

/// The variable by which descendants are known: `owner's pid . owner's start . number`.
pub(crate) const MARK: &str = "ROOFTREE_SPAWN";

/// A process group, and the moment its leader started: together they are never reused
/// before the next boot of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// The group, which is the leader's process number.
    pub group: i32,
    /// When the leader started, in the kernel's ticks since boot.
    pub start: u64,
}

impl ProcessIdentity {
    /// The process of this number, as it is now.
    pub fn of(pid: i32) -> Option<Self> {
        read_stat(pid).map(|seen| Self {
            group: seen.pid,
            start: seen.start,
        })
    }
}

/// The owner a mark names.
pub(crate) fn owner_of(mark: &str) -> Option<ProcessIdentity> {
    let mut fields = mark.split('.');
    Some(ProcessIdentity {
        group: fields.next()?.parse().ok()?,
        start: fields.next()?.parse().ok()?,
    })
}

/// Whether this very process lives; one that only waits to be reaped does not.
pub fn is_alive(identity: ProcessIdentity) -> bool {
    read_stat(identity.group).is_some_and(|seen| seen.start == identity.start && !seen.is_zombie)
}

/// One line of the process table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessStat {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    /// The leader of its session.
    pub session: i32,
    pub start: u64,
    pub is_zombie: bool,
}

/// Reads one process; none if there is no such process.
pub(crate) fn read_stat(pid: i32) -> Option<ProcessStat> {
    // One read is enough: the kernel makes the line whole, and it is never as long as this.
    let mut line = [0; 1024];
    let length = fs::File::open(format!("/proc/{pid}/stat"))
        .ok()?
        .read(&mut line)
        .ok()?;
    let stat = String::from_utf8_lossy(line.get(..length)?);
    // The name may contain anything, also spaces and parentheses: fields begin after its last one.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<i32>().ok();
    Some(ProcessStat {
        pid,
        is_zombie: matches!(*fields.first()?, "Z" | "X"),
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        start: fields.get(19)?.parse().ok()?,
    })
}

/// A started process tree: its leader, the mark in the environment of its members, and the role of the leader.
#[derive(Clone, Debug)]
pub(crate) struct ProcessTree {
    pub leader: ProcessIdentity,
    pub mark: String,
    /// Whether the leader only keeps the program: it ends by itself when that has ended.
    pub is_kept: bool,
    /// Whether the leader is a guard of ours, which exits only after every descendant has ended.
    pub is_guarded: bool,
}

/// A leader and all that belong to it: its group, its descendants, and what bears its mark.
///
/// Members once seen are remembered: when a parent dies, its children can no longer be traced to it.
pub(crate) struct TreeMembers<'a> {
    tree: &'a ProcessTree,
    known: Vec<ProcessStat>,
}

impl<'a> TreeMembers<'a> {
    pub fn new(tree: &'a ProcessTree) -> Self {
        Self {
            tree,
            known: Vec::new(),
        }
    }

    pub fn tree(&self) -> &'a ProcessTree {
        self.tree
    }

    /// Those that live now.
    pub fn living(&mut self) -> &[ProcessStat] {
        let (ours, ProcessTree { leader, mark, .. }) = (Pid::this().as_raw(), self.tree);
        let is_candidate =
            |seen: &ProcessStat| seen.start >= leader.start && !seen.is_zombie && seen.pid != ours;
        let candidates = numbers_since(leader.group)
            .filter_map(read_stat)
            .filter(is_candidate);
        // A leader with another start is a stranger who got the number of ours after it ended.
        let is_group_ours = read_stat(leader.group).is_none_or(|seen| seen.start == leader.start);
        let is_known = |seen: &ProcessStat| {
            self.known
                .iter()
                .any(|known| (known.pid, known.start) == (seen.pid, seen.start))
        };
        let is_member = |seen: &ProcessStat| is_group_ours && seen.group == leader.group;
        let (found, others) =
            candidates.partition(|seen| is_member(seen) || is_known(seen) || bears(seen.pid, mark));
        self.known = with_descendants(found, others);
        &self.known
    }
}

fn with_descendants(mut found: Vec<ProcessStat>, mut others: Vec<ProcessStat>) -> Vec<ProcessStat> {
    loop {
        let is_child = |seen: &ProcessStat| found.iter().any(|parent| parent.pid == seen.parent);
        let (children, rest): (Vec<ProcessStat>, Vec<ProcessStat>) =
            others.into_iter().partition(is_child);
        if children.is_empty() {
            return found;
        }
        found.extend(children);
        others = rest;
    }
}

/// All that a process has started, directly or not, and that live.
pub(crate) fn descendants(pid: i32) -> Vec<ProcessStat> {
    let living = all_pids()
        .filter_map(read_stat)
        .filter(|seen| !seen.is_zombie);
    let (children, others) = living.partition(|seen| seen.parent == pid);
    with_descendants(children, others)
}

/// All that live in a group.
pub(crate) fn group_members(group: i32) -> Vec<ProcessStat> {
    all_pids()
        .filter_map(read_stat)
        .filter(|seen| seen.group == group && !seen.is_zombie)
        .collect()
}

/// The value of a variable in the environment a process was started with.
pub(crate) fn environment_variable(pid: i32, name: &str) -> Option<String> {
    let environment = fs::read(Path::new("/proc").join(pid.to_string()).join("environ")).ok()?;
    let prefix = format!("{name}=").into_bytes();
    let entry = environment
        .split(|byte| *byte == 0)
        .find(|entry| entry.starts_with(&prefix))?;
    Some(String::from_utf8_lossy(entry.get(prefix.len()..)?).into_owned())
}

fn bears(pid: i32, mark: &str) -> bool {
    environment_variable(pid, MARK).is_some_and(|found| found == mark)
}

/// How many numbers are tried one by one. Beyond that, reading the whole table is cheaper.
const TRIED: i32 = 64;

/// Numbers of processes that can be younger than `pid`. Numbers are given in rising order;
/// only after they wrapped around does everyone have to be looked at.
fn numbers_since(pid: i32) -> Box<dyn Iterator<Item = i32>> {
    let newest = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let newest: Option<i32> = newest
        .split_whitespace()
        .last()
        .and_then(|number| number.parse().ok());
    match newest {
        // Numbers of threads are among them; what they belong to is there anyway.
        Some(newest) if (pid..=pid.saturating_add(TRIED)).contains(&newest) => {
            Box::new(pid..=newest)
        }
        Some(newest) if newest >= pid => Box::new(all_pids().filter(move |number| *number >= pid)),
        _ => Box::new(all_pids()),
    }
}

/// The numbers of all processes there are.
pub(crate) fn all_pids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
