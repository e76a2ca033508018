//! System call filters (seccomp) for a sandboxed command: no sockets to the outside, no namespaces.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use super::mark;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Bit in the numbers of an x86-64 kernel's x32 calls, which must be filtered as well.
const X32: i64 = 0x4000_0000;

/// The filters, to be applied in order; each returns its own error.
pub fn programs(network: bool) -> io::Result<Vec<BpfProgram>> {
    let mut all = vec![
        // On ENOSYS the C library falls back to `clone`, whose flags a filter can read.
        program(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS).map_err(failed)?,
        spaces().and_then(|rules| program(rules, libc::EPERM)).map_err(failed)?,
    ];
    if !network {
        all.push(sockets().and_then(|rules| program(rules, libc::EACCES)).map_err(failed)?);
    }
    Ok(all)
}

/// The error for a filter that cannot be built, for example on an architecture that the library
/// does not support.
pub fn failed(error: BackendError) -> io::Error {
    io::Error::other(format!("no system call filter can be built here: {error}"))
}

fn program(mut rules: Rules, error: i32) -> Result<BpfProgram, BackendError> {
    if cfg!(target_arch = "x86_64") {
        let doubled: Rules = rules.iter().map(|(call, rules)| (call | X32, rules.clone())).collect();
        rules.extend(doubled);
    }
    let machine = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(error as u32), machine)?.try_into()
}

fn argument(index: u8, is: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, is, value)
}

/// Allows local stream sockets within the command, and netlink for device names. Refuses other
/// families, `connect`, and sockets that send without connecting: some local services obey every
/// program that can reach them.
fn sockets() -> Result<Rules, BackendError> {
    let family = |family: i32| argument(0, SeccompCmpOp::Ne, family as u64);
    let outside = SeccompRule::new(vec![family(libc::AF_UNIX)?, family(libc::AF_NETLINK)?])?;
    // This bit is set in SOCK_DGRAM, and in SOCK_RAW, which is treated the same here, but not in
    // SOCK_STREAM and SOCK_SEQPACKET.
    let datagrams = libc::SOCK_DGRAM as u64;
    let unaddressed = SeccompRule::new(vec![
        argument(0, SeccompCmpOp::Eq, libc::AF_UNIX as u64)?,
        argument(1, SeccompCmpOp::MaskedEq(datagrams), datagrams)?,
    ])?;
    Ok(BTreeMap::from([
        (libc::SYS_socket, vec![outside, unaddressed.clone()]),
        (libc::SYS_socketpair, vec![unaddressed]),
        (libc::SYS_connect, Vec::new()),
        // io_uring can create and connect sockets without the calls above.
        (libc::SYS_io_uring_setup, Vec::new()),
    ]))
}

/// Refuses namespaces, hiding (`PR_SET_DUMPABLE`), changes to the mark and to other processes'
/// limits, and access to the user's kernel keys.
fn spaces() -> Result<Rules, BackendError> {
    let with = |flag: u64| SeccompRule::new(vec![argument(0, SeccompCmpOp::MaskedEq(flag), flag)?]);
    let flags = [libc::CLONE_NEWNS as u64, libc::CLONE_NEWUSER as u64];
    let any = || flags.into_iter().map(with).collect::<Result<Vec<_>, _>>();
    let hides = SeccompRule::new(vec![
        argument(0, SeccompCmpOp::Eq, libc::PR_SET_DUMPABLE as u64)?,
        argument(1, SeccompCmpOp::Eq, 0)?,
    ])?;
    let mark = |index: u8| argument(index, SeccompCmpOp::Eq, u64::from(mark::LIMIT));
    let sets = || SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0);
    let marks = SeccompRule::new(vec![mark(1)?, sets()?])?;
    let of_others = SeccompRule::new(vec![argument(0, SeccompCmpOp::Ne, 0)?, sets()?])?;
    let mut rules = Rules::from([
        (libc::SYS_clone, any()?),
        (libc::SYS_unshare, any()?),
        (libc::SYS_setns, Vec::new()),
        (libc::SYS_prctl, vec![hides]),
        (libc::SYS_prlimit64, vec![marks, of_others]),
        (libc::SYS_setrlimit, vec![SeccompRule::new(vec![mark(0)?])?]),
    ]);
    rules.extend([libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key].map(|call| (call, Vec::new())));
    Ok(rules)
}
