//! Seccomp filter: system calls a confined program cannot make, because they reach into other processes, change the
//! machine, or have been used for sandbox escapes.
//!
//! All other calls are allowed. An allow list would break programs that need calls nothing here foresaw, and files are
//! already protected by namespaces or Landlock rules.

use std::{collections::BTreeMap, sync::OnceLock};

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use super::{SandboxBackend, SandboxNetwork, SeccompProfile};

/// Refused whatever their arguments are.
const REFUSED: &[libc::c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[libc::c_long] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_kexec_file_load,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[libc::c_long] = &[];

/// Reach into what other programs of the user share, which only namespaces keep apart.
const SHARED: &[libc::c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Extended attributes: Landlock does not know them, so those of every file could be read and changed. The last
/// four have the same numbers on every machine and no names in `libc` yet.
const ATTRIBUTES: &[libc::c_long] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_fgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_flistxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    463,
    464,
    465,
    466,
];

/// Calls that set the rights of a file, and which of their arguments says them. The last one has no name yet.
const RIGHTS: &[(libc::c_long, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (452, 2),
];

/// Each of these flags of `clone` makes a namespace, where a program would have rights it lacks here.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// BPF instructions: return a constant (`BPF_RET | BPF_K`), and jump forward (`BPF_JMP | BPF_JA`).
const RETURN: u16 = 0x06;
const JUMP: u16 = 0x05;

/// On x86-64 every call has a second number, for programs with short pointers. It would slip through.
const SECOND_NUMBER: i64 = 0x4000_0000;

/// The program for one kind of sandbox; none if this machine cannot have one. One program instead of several: the kernel
/// compiles each when it is installed, and runs all of them at every system call.
pub(crate) fn seccomp_program(kind: SeccompProfile) -> Option<&'static BpfProgram> {
    static KINDS: [OnceLock<Option<BpfProgram>>; 8] = [const { OnceLock::new() }; 8];
    let SeccompProfile {
        backend,
        network,
        has_unix,
    } = kind;
    let bits = [
        backend == SandboxBackend::Landlock,
        network == SandboxNetwork::On,
        has_unix,
    ];
    let index = bits
        .into_iter()
        .fold(0, |index, bit| index * 2 + usize::from(bit));
    KINDS.get(index)?.get_or_init(|| compile(kind)).as_ref()
}

/// A program the way the kernel reads it.
pub(crate) fn bpf_bytes(program: &BpfProgram) -> Vec<u8> {
    let instruction = |step: &seccompiler::sock_filter| {
        let [a, b] = step.code.to_ne_bytes();
        let [c, d, e, f] = step.k.to_ne_bytes();
        [a, b, step.jt, step.jf, c, d, e, f]
    };
    program.iter().flat_map(instruction).collect()
}

fn compile(kind: SeccompProfile) -> Option<BpfProgram> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in REFUSED.iter().chain(REFUSED_HERE) {
        rules.insert(*call, Vec::new());
    }
    let makes_namespace = |flag: &libc::c_int| {
        let flag = u64::try_from(*flag).ok()?;
        rule([condition(0, SeccompCmpOp::MaskedEq(flag), flag)?])
    };
    rules.insert(
        libc::SYS_clone,
        NAMESPACES
            .iter()
            .map(makes_namespace)
            .collect::<Option<_>>()?,
    );
    // Injecting input into the terminal of another process.
    rules.insert(
        libc::SYS_ioctl,
        vec![rule([condition(1, SeccompCmpOp::Eq, libc::TIOCSTI)?])?],
    );
    rules.insert(libc::SYS_socket, refused_sockets(kind)?);
    for (call, argument) in RIGHTS {
        rules.insert(*call, refused_rights(kind.backend, *argument)?);
    }
    let mut unsupported = BTreeMap::new();
    if kind.backend == SandboxBackend::Landlock {
        rules.extend(SHARED.iter().map(|call| (*call, Vec::new())));
        // Limits of other processes: with them they can be stopped. 0 is the calling one.
        let is_other = condition(0, SeccompCmpOp::Ne, 0_u32)?;
        rules.insert(libc::SYS_prlimit64, vec![rule([is_other])?]);
        unsupported.extend(ATTRIBUTES.iter().map(|call| (*call, Vec::new())));
    }
    // Its flags are behind a pointer, where no filter can look. Who is told that it does not exist uses `clone`.
    let absent = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let mut programs = vec![
        refusing(rules, libc::EPERM)?,
        refusing(absent, libc::ENOSYS)?,
    ];
    if !unsupported.is_empty() {
        // As on a file system that has none: programs go on without them.
        programs.push(refusing(unsupported, libc::EOPNOTSUPP)?);
    }
    programs
        .into_iter()
        .rev()
        .reduce(|next, first| chain(first, next))
}

/// One program that runs the second where the first allows a call.
fn chain(first: BpfProgram, next: BpfProgram) -> BpfProgram {
    let length = first.len();
    let go_on = |(at, step): (usize, seccompiler::sock_filter)| {
        let is_allowing = step.code == RETURN && step.k == libc::SECCOMP_RET_ALLOW;
        match u32::try_from(length - at - 1) {
            Ok(k) if is_allowing => seccompiler::sock_filter {
                code: JUMP,
                jt: 0,
                jf: 0,
                k,
            },
            _ => step,
        }
    };
    let first = first.into_iter().enumerate().map(go_on);
    first.chain(next).collect()
}

/// Setuid programs run with the rights of their owner, whichever user starts them: for root, everything. Landlock
/// cannot tell files outside from others here, so there the group's rights cannot be given either.
fn refused_rights(backend: SandboxBackend, argument: u8) -> Option<Vec<SeccompRule>> {
    let group = (backend == SandboxBackend::Landlock).then_some(libc::S_ISGID);
    let bits = [libc::S_ISUID].into_iter().chain(group).map(u64::from);
    bits.map(|bit| rule([condition(argument, SeccompCmpOp::MaskedEq(bit), bit)?]))
        .collect()
}

/// Which kinds of sockets cannot be made.
///
/// Landlock cannot tell one Unix socket from another, and behind some of them are programs that
/// do what they are told: without namespaces there are none. In the network of the machine, sockets
/// without a file are those of the machine too, unless Landlock keeps them out.
fn refused_sockets(kind: SeccompProfile) -> Option<Vec<SeccompRule>> {
    let allowed: &[libc::c_int] = match (kind.backend, kind.network, kind.has_unix) {
        (SandboxBackend::Landlock, SandboxNetwork::Off, _) => return Some(Vec::new()),
        (SandboxBackend::Bubblewrap, _, true) => &[
            libc::AF_UNIX,
            libc::AF_INET,
            libc::AF_INET6,
            libc::AF_NETLINK,
        ],
        _ => &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
    };
    let is_other =
        |family: &libc::c_int| condition(0, SeccompCmpOp::Ne, u64::try_from(*family).ok()?);
    let conditions = allowed.iter().map(is_other).collect::<Option<Vec<_>>>()?;
    Some(vec![SeccompRule::new(conditions).ok()?])
}

fn condition(
    argument: u8,
    compare: SeccompCmpOp,
    value: impl Into<u64>,
) -> Option<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, compare, value.into()).ok()
}

fn rule<const COUNT: usize>(conditions: [SeccompCondition; COUNT]) -> Option<SeccompRule> {
    SeccompRule::new(conditions.into()).ok()
}

fn refusing(rules: BTreeMap<i64, Vec<SeccompRule>>, reason: libc::c_int) -> Option<BpfProgram> {
    let again = rules
        .iter()
        .map(|(call, rules)| (call + SECOND_NUMBER, rules.clone()));
    let again: Vec<_> = if cfg!(target_arch = "x86_64") {
        again.collect()
    } else {
        Vec::new()
    };
    let rules = rules.into_iter().chain(again).collect();
    let refuse = SeccompAction::Errno(u32::try_from(reason).ok()?);
    let here = std::env::consts::ARCH.try_into().ok()?;
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, here)
        .ok()?
        .try_into()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_sandbox_has_a_filter_that_the_kernel_would_take() {
        for backend in [SandboxBackend::Bubblewrap, SandboxBackend::Landlock] {
            for (network, has_unix) in [
                (SandboxNetwork::Off, true),
                (SandboxNetwork::On, true),
                (SandboxNetwork::On, false),
            ] {
                let program = seccomp_program(SeccompProfile {
                    backend,
                    network,
                    has_unix,
                })
                .unwrap();
                assert!(
                    (1..4_096).contains(&program.len()),
                    "{backend:?} {network:?}"
                );
                assert_eq!(bpf_bytes(program).len(), program.len() * 8);
                let errors = |errno: libc::c_int| {
                    let wanted = libc::SECCOMP_RET_ERRNO | u32::try_from(errno).unwrap();
                    let refuses =
                        |step: &&seccompiler::sock_filter| step.code == RETURN && step.k == wanted;
                    program.iter().any(|step| refuses(&step))
                };
                assert!(errors(libc::EPERM) && errors(libc::ENOSYS));
                assert_eq!(
                    errors(libc::EOPNOTSUPP),
                    backend == SandboxBackend::Landlock
                );
            }
        }
    }
}
