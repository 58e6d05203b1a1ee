//! Kills process trees: SIGTERM, a short grace period, then SIGKILL.

use std::{thread, time::Duration};

use nix::{
    sys::signal::{Signal, kill, killpg},
    unistd::Pid,
};
use tokio::time::{Instant, sleep};

use crate::{
    ExitReason,
    process_tree::{
        MARK, ProcessIdentity, ProcessStat, ProcessTree, TreeMembers, all_pids,
        environment_variable, group_members, is_alive, owner_of,
    },
};

/// How long a program may take to end by itself.
const GRACE: Duration = Duration::from_secs(2);

/// How long the system may take to end what was killed.
const REAPING: Duration = Duration::from_secs(2);

/// Ends everything that belongs to a leader. Returns when it is gone.
///
/// A guard that exited (`ending`) has left nothing; one that was killed may have, and the process table is read.
pub(crate) async fn end_tree(tree: &ProcessTree, ending: Option<ExitReason>) {
    if tree.is_guarded && matches!(ending, Some(ExitReason::Exited(_))) {
        return;
    }
    let mut family = TreeMembers::new(tree);
    // Almost always the leader was alone: then this is one look and no waiting.
    if family.living().is_empty() {
        return;
    }
    signal(&mut family, Signal::SIGTERM);
    signal(&mut family, Signal::SIGCONT);
    if is_gone_within(&mut family, GRACE).await {
        return;
    }
    let deadline = Instant::now() + REAPING;
    while Instant::now() < deadline {
        // Again and again: what is being killed may be starting others.
        signal(&mut family, Signal::SIGKILL);
        if is_gone_within(&mut family, Duration::from_millis(100)).await {
            return;
        }
    }
}

/// Kills everything that belongs to a leader, at once and without waiting.
pub(crate) fn kill_tree(tree: &ProcessTree) {
    let mut family = TreeMembers::new(tree);
    // A few rounds, because a tree that is starting others may outrun one.
    for _ in 0..3 {
        if signal(&mut family, Signal::SIGKILL) == 0 {
            return;
        }
    }
}

/// Kills everything that any crashed process of ours left behind; says how many there were.
///
/// Invariant: only what bears our mark, with an owner that is dead, is killed.
pub fn kill_leftovers() -> usize {
    let is_orphan = |pid: &i32| {
        let owner = environment_variable(*pid, MARK).and_then(|mark| owner_of(&mark));
        owner.is_some_and(|owner| !is_alive(owner))
    };
    let mut swept = 0;
    // A few rounds, because what is being killed may be starting others.
    for _ in 0..3 {
        let orphans: Vec<i32> = all_pids().filter(is_orphan).collect();
        if orphans.is_empty() {
            break;
        }
        swept += orphans.len();
        orphans
            .into_iter()
            .for_each(|pid| send(pid, Signal::SIGKILL));
        thread::sleep(Duration::from_millis(5));
    }
    swept
}

/// Kills a group that an earlier, crashed process of ours left behind; says whether there was one.
///
/// Invariant: nothing is killed that only happens to have the same number. Either the leader
/// lives and started when ours did, or it is gone and a member bears the mark of an owner
/// that is dead.
pub fn kill_group(group: i32, leader_start: u64) -> bool {
    if group <= 1 {
        return false;
    }
    let leader = ProcessIdentity {
        group,
        start: leader_start,
    };
    let is_orphan = |seen: &ProcessStat| {
        let owner = environment_variable(seen.pid, MARK).and_then(|mark| owner_of(&mark));
        seen.start >= leader_start && owner.is_some_and(|owner| !is_alive(owner))
    };
    let is_leader_ours = is_alive(leader);
    let ours: Vec<ProcessStat> = group_members(group)
        .into_iter()
        .filter(|seen| is_leader_ours || is_orphan(seen))
        .collect();
    let marks: Vec<String> = ours
        .iter()
        .filter_map(|seen| environment_variable(seen.pid, MARK))
        .collect();
    for seen in &ours {
        send(seen.pid, Signal::SIGKILL);
    }
    for mark in marks {
        kill_tree(&ProcessTree {
            leader,
            mark,
            is_kept: false,
            is_guarded: false,
        });
    }
    for _ in 0..100 {
        if ours.iter().all(|seen| {
            !is_alive(ProcessIdentity {
                group: seen.pid,
                start: seen.start,
            })
        }) {
            break;
        }
        thread::sleep(Duration::from_millis(5));
    }
    !ours.is_empty()
}

/// Signals the group and all relatives outside of it; says how many there were.
fn signal(family: &mut TreeMembers<'_>, signal: Signal) -> usize {
    let ProcessTree {
        leader, is_kept, ..
    } = family.tree();
    // List the members before any of them dies: afterwards it is unknown whose children they were.
    let found = family.living();
    // With a keeper everything inside dies at once, so it is spared as long as one is polite.
    let is_spared = *is_kept && signal != Signal::SIGKILL;
    // The group in one call, which also reaches members that are being born right now.
    if !is_spared && is_alive(*leader) {
        let _ = killpg(Pid::from_raw(leader.group), signal);
    }
    for seen in found
        .iter()
        .filter(|seen| !is_spared || seen.pid != leader.group)
    {
        send(seen.pid, signal);
    }
    found.len()
}

/// A process that ended in between is no error.
fn send(pid: i32, signal: Signal) {
    let _ = kill(Pid::from_raw(pid), signal);
}

async fn is_gone_within(family: &mut TreeMembers<'_>, while_: Duration) -> bool {
    let deadline = Instant::now() + while_;
    let mut pause = Duration::from_millis(1);
    loop {
        if family.living().is_empty() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}
