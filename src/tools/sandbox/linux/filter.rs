//! System calls that a confined command does not get: sockets, and the ways out of its namespace.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Numbers of the x32 calls of an x86-64 kernel, which are doors of their own.
const X32: i64 = 0x4000_0000;

/// To be applied one after the other: each has one error to give.
pub fn programs(network: bool) -> io::Result<Vec<BpfProgram>> {
    let failed = |error: BackendError| io::Error::other(format!("no system call filter can be made here: {error}"));
    let mut all = vec![
        // The C library takes this for an old kernel and uses `clone`, whose flags can be read here.
        program(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS).map_err(failed)?,
        spaces().and_then(|rules| program(rules, libc::EPERM)).map_err(failed)?,
    ];
    if !network {
        all.push(sockets().and_then(|rules| program(rules, libc::EACCES)).map_err(failed)?);
    }
    Ok(all)
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

/// Sockets for talk within the command, and to ask the kernel for the names of its devices, stay; what connects one to
/// another program does not, nor what sends without connecting: there are services that do anything for whoever can
/// speak to them.
fn sockets() -> Result<Rules, BackendError> {
    let family = |family: i32| argument(0, SeccompCmpOp::Ne, family as u64);
    let outside = SeccompRule::new(vec![family(libc::AF_UNIX)?, family(libc::AF_NETLINK)?])?;
    // SOCK_DGRAM and SOCK_RAW, which is the same here, have this bit; SOCK_STREAM and SOCK_SEQPACKET have not.
    let datagrams = libc::SOCK_DGRAM as u64;
    let unaddressed = SeccompRule::new(vec![
        argument(0, SeccompCmpOp::Eq, libc::AF_UNIX as u64)?,
        argument(1, SeccompCmpOp::MaskedEq(datagrams), datagrams)?,
    ])?;
    Ok(BTreeMap::from([
        (libc::SYS_socket, vec![outside, unaddressed.clone()]),
        (libc::SYS_socketpair, vec![unaddressed]),
        (libc::SYS_connect, Vec::new()),
        // Rings can make and connect sockets without the calls above.
        (libc::SYS_io_uring_setup, Vec::new()),
    ]))
}

/// A namespace is how its processes are found again; nobody leaves it, nor hides in it.
fn spaces() -> Result<Rules, BackendError> {
    let with = |flag: u64| SeccompRule::new(vec![argument(0, SeccompCmpOp::MaskedEq(flag), flag)?]);
    let flags = [libc::CLONE_NEWNS as u64, libc::CLONE_NEWUSER as u64];
    let any = || flags.into_iter().map(with).collect::<Result<Vec<_>, _>>();
    let hides = SeccompRule::new(vec![
        argument(0, SeccompCmpOp::Eq, libc::PR_SET_DUMPABLE as u64)?,
        argument(1, SeccompCmpOp::Eq, 0)?,
    ])?;
    Ok(BTreeMap::from([
        (libc::SYS_clone, any()?),
        (libc::SYS_unshare, any()?),
        (libc::SYS_setns, Vec::new()),
        (libc::SYS_prctl, vec![hides]),
    ]))
}
