//! System calls of a command that the kernel reports to monobloc and holds until its reply (seccomp user
//! notification).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use seccompiler::{BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition};
use seccompiler::{SeccompFilter, SeccompRule};

use super::check;
use super::filter::failed;

/// Maximum length of a path in the kernel, including its zero byte.
const PATH_MAX: usize = libc::PATH_MAX as usize;
/// Size of a page. A read of another process's memory ends at a page boundary, because the next
/// page may not be mapped.
const PAGE: usize = 4096;

/// Return value of a filter: ask the listening program.
const ASK: u32 = libc::SECCOMP_RET_USER_NOTIF;
/// Instruction that returns a constant.
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// The name of an entry, as passed to a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    folder: RawFd,
    /// Address of the path in the process.
    path: u64,
}

/// A system call that creates, opens for writing, moves or deletes a folder entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    Open { at: At, flags: OFlags, mode: u32 },
    Folder { at: At, mode: u32 },
    Special { at: At, mode: u32 },
    Symlink { at: At, target: u64 },
    Remove { at: At, flags: u32 },
    Rename { from: At, to: At, flags: u32 },
    HardLink { from: At, to: At, flags: u32 },
}

/// The answer to a reported call.
pub enum Answer {
    /// The kernel carries out the call itself, within the rights of the process.
    Continue,
    Done,
    Failed(Errno),
    /// The process receives this file, already opened.
    File {
        file: OwnedFd,
        close_on_exec: bool,
    },
}

/// A call waiting for its answer.
pub struct Notice {
    id: u64,
    /// The calling thread.
    thread: u32,
    call: libc::seccomp_data,
}

/// This end of the connection over which the kernel reports calls.
pub struct Listener(OwnedFd);

/// A filter that reports the calls in [`Wish`]. Landlock refuses any that it misses.
pub fn program() -> io::Result<BpfProgram> {
    rules().and_then(reporting).map_err(failed)
}

fn reporting(rules: BTreeMap<i64, Vec<SeccompRule>>) -> Result<BpfProgram, BackendError> {
    // The library cannot express notifications, so another action serves as a placeholder at first.
    let stand_in = SeccompAction::Trace(0);
    let machine = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, stand_in.clone(), machine)?;
    let mut program: BpfProgram = filter.try_into()?;
    let stand_in = u32::from(stand_in);
    program.iter_mut().filter(|one| one.code == RETURN && one.k == stand_in).for_each(|one| one.k = ASK);
    Ok(program)
}

fn rules() -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = [
        libc::SYS_mkdirat,
        libc::SYS_mknodat,
        libc::SYS_symlinkat,
        libc::SYS_unlinkat,
        libc::SYS_renameat,
        libc::SYS_renameat2,
        libc::SYS_linkat,
    ]
    .map(|call| (call, Vec::new()))
    .into();
    rules.insert(libc::SYS_openat, for_writing(2)?);
    #[cfg(target_arch = "x86_64")]
    {
        let old = [
            libc::SYS_creat,
            libc::SYS_mkdir,
            libc::SYS_mknod,
            libc::SYS_symlink,
            libc::SYS_unlink,
            libc::SYS_rmdir,
            libc::SYS_rename,
            libc::SYS_link,
        ];
        rules.extend(old.map(|call| (call, Vec::new())));
        rules.insert(libc::SYS_open, for_writing(1)?);
    }
    Ok(rules)
}

/// Opening with these flags creates a file or may change one.
fn for_writing(flags: u8) -> Result<Vec<SeccompRule>, BackendError> {
    let among = |mask: i32, value: i32| {
        let is = SeccompCmpOp::MaskedEq(mask as u64);
        SeccompRule::new(vec![SeccompCondition::new(flags, SeccompCmpArgLen::Dword, is, value as u64)?])
    };
    Ok(vec![
        among(libc::O_CREAT, libc::O_CREAT)?,
        among(libc::O_ACCMODE, libc::O_WRONLY)?,
        among(libc::O_ACCMODE, libc::O_RDWR)?,
    ])
}

/// Installs the filter in this process permanently, and returns this end of the connection.
/// Allocates nothing, because it runs between fork and exec.
pub fn listen(program: &BpfProgram) -> io::Result<OwnedFd> {
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr() as *mut libc::sock_filter };
    // SAFETY: the kernel reads the instructions, which have the layout it expects and outlive the
    // call.
    let made = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &filter) };
    check(made)?;
    // SAFETY: the call has just opened it, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(made as RawFd) })
}

impl Listener {
    pub fn new(listener: OwnedFd) -> Listener {
        Listener(listener)
    }

    /// Waits for a call; `None` when no process is left to make one, or when notifications cannot
    /// be received.
    pub fn next(&self) -> Option<Notice> {
        // Each round waits for the kernel; another follows only after an interruption or a
        // withdrawn call.
        loop {
            let mut ready = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: the call gets one structure, which outlives it.
            let count = unsafe { libc::poll(&mut ready, 1, -1) };
            if count < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {
                continue;
            }
            if ready.revents & libc::POLLIN == 0 {
                return None;
            }
            // SAFETY: the structure consists of numbers, which may all be zero, as the kernel
            // requires.
            let mut got: libc::seccomp_notif = unsafe { std::mem::zeroed() };
            // SAFETY: the kernel writes one structure of this type, which outlives the call.
            let done = unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &mut got) };
            match check(done.into()) {
                Ok(()) => return Some(Notice { id: got.id, thread: got.pid, call: got.data }),
                // ENOENT: the process has been killed.
                Err(why) if matches!(why.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => {}
                Err(_) => return None,
            }
        }
    }

    /// Whether the process is still waiting. If not, another process may have its ID by now.
    pub fn waits(&self, notice: &Notice) -> bool {
        // SAFETY: the kernel reads one number, which outlives the call.
        unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &notice.id) == 0 }
    }

    pub fn answer(&self, notice: &Notice, answer: Answer) {
        let mut reply = libc::seccomp_notif_resp { id: notice.id, val: 0, error: 0, flags: 0 };
        match answer {
            Answer::Continue => reply.flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
            Answer::Done => {}
            Answer::Failed(why) => reply.error = -why.raw_os_error(),
            Answer::File { file, close_on_exec } => match self.hand_over(notice, file, close_on_exec) {
                Ok(number) => reply.val = number.into(),
                Err(why) => reply.error = -why.raw_os_error().unwrap_or(libc::EIO),
            },
        }
        // This fails if the process has been killed, which is fine. SAFETY: the kernel reads one
        // structure of this type, which outlives the call.
        unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &reply) };
    }

    /// Opens `file` in the process too and returns its descriptor there. The file is closed here
    /// before the process continues, because the process could not execute it while monobloc has it
    /// open for writing.
    fn hand_over(&self, notice: &Notice, file: OwnedFd, close_on_exec: bool) -> io::Result<libc::c_int> {
        let file_there = libc::seccomp_notif_addfd {
            id: notice.id,
            flags: 0,
            srcfd: file.as_raw_fd() as u32,
            newfd: 0,
            newfd_flags: if close_on_exec { libc::O_CLOEXEC as u32 } else { 0 },
        };
        // SAFETY: the kernel reads one structure of this type, which outlives the call.
        let number = unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ADDFD, &file_there) };
        check(number.into())?;
        Ok(number)
    }
}

impl Notice {
    /// The call as a [`Wish`]; `None` for a call that the filter does not report.
    pub fn wish(&self) -> Option<Wish> {
        let [a, b, c, d, e, _] = self.call.args;
        let at = |folder: u64, path: u64| At { folder: folder as RawFd, path };
        let here = |path: u64| At { folder: libc::AT_FDCWD, path };
        let flags = |flags: u64| OFlags::from_bits_retain(flags as u32);
        #[cfg(target_arch = "x86_64")]
        match i64::from(self.call.nr) {
            libc::SYS_open => return Some(Wish::Open { at: here(a), flags: flags(b), mode: c as u32 }),
            libc::SYS_creat => {
                let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::TRUNC;
                return Some(Wish::Open { at: here(a), flags, mode: b as u32 });
            }
            libc::SYS_mkdir => return Some(Wish::Folder { at: here(a), mode: b as u32 }),
            libc::SYS_mknod => return Some(Wish::Special { at: here(a), mode: b as u32 }),
            libc::SYS_symlink => return Some(Wish::Symlink { at: here(b), target: a }),
            libc::SYS_unlink => return Some(Wish::Remove { at: here(a), flags: 0 }),
            libc::SYS_rmdir => return Some(Wish::Remove { at: here(a), flags: libc::AT_REMOVEDIR as u32 }),
            libc::SYS_rename => return Some(Wish::Rename { from: here(a), to: here(b), flags: 0 }),
            libc::SYS_link => return Some(Wish::HardLink { from: here(a), to: here(b), flags: 0 }),
            _ => {}
        }
        match i64::from(self.call.nr) {
            libc::SYS_openat => Some(Wish::Open { at: at(a, b), flags: flags(c), mode: d as u32 }),
            libc::SYS_mkdirat => Some(Wish::Folder { at: at(a, b), mode: c as u32 }),
            libc::SYS_mknodat => Some(Wish::Special { at: at(a, b), mode: c as u32 }),
            libc::SYS_symlinkat => Some(Wish::Symlink { at: at(b, c), target: a }),
            libc::SYS_unlinkat => Some(Wish::Remove { at: at(a, b), flags: c as u32 }),
            libc::SYS_renameat => Some(Wish::Rename { from: at(a, b), to: at(c, d), flags: 0 }),
            libc::SYS_renameat2 => Some(Wish::Rename { from: at(a, b), to: at(c, d), flags: e as u32 }),
            libc::SYS_linkat => Some(Wish::HardLink { from: at(a, b), to: at(c, d), flags: e as u32 }),
            _ => None,
        }
    }

    /// The path at an address in the process.
    pub fn text(&self, address: u64) -> Option<OsString> {
        let mut bytes: Vec<u8> = Vec::new();
        while bytes.len() < PATH_MAX {
            let from = usize::try_from(address).ok()?.checked_add(bytes.len())?;
            let mut part = [0_u8; PAGE];
            let length = (PAGE - from % PAGE).min(PATH_MAX - bytes.len());
            let here = libc::iovec { iov_base: part.as_mut_ptr().cast(), iov_len: length };
            let there = libc::iovec { iov_base: from as *mut libc::c_void, iov_len: length };
            // SAFETY: the kernel writes at most `length` bytes into a buffer of that size, which
            // outlives the call.
            let read = unsafe { libc::process_vm_readv(self.thread as libc::pid_t, &here, 1, &there, 1, 0) };
            let part = part.get(..usize::try_from(read).ok().filter(|read| *read > 0)?)?;
            if let Some(end) = part.iter().position(|byte| *byte == 0) {
                bytes.extend_from_slice(&part[..end]);
                return Some(OsString::from_vec(bytes));
            }
            bytes.extend_from_slice(part);
        }
        None
    }

    /// Opens the folder of an entry as the process would, and returns the entry's name. `None` for
    /// `.`, `..` and `/`, and for a folder that cannot be opened this way.
    pub fn place(&self, at: At) -> Option<(OwnedFd, OsString)> {
        let path = PathBuf::from(self.text(at.path)?);
        // `file_name` drops a final `.`, but the kernel refuses these calls with one.
        let ends_in_dot = path.as_os_str().as_encoded_bytes().rsplit(|byte| *byte == b'/').next() == Some(b".");
        let name = path.file_name().filter(|_| !ends_in_dot)?.to_owned();
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(".".as_ref());
        let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let base = match at.folder {
            _ if path.is_absolute() => "/".to_owned(),
            libc::AT_FDCWD => format!("/proc/{}/cwd", self.thread),
            open => format!("/proc/{}/fd/{open}", self.thread),
        };
        let base = openat(CWD, base, folder, Mode::empty()).ok()?;
        // Links in /proc would lead to monobloc's folders.
        let opened = openat2(base, above, folder, Mode::empty(), ResolveFlags::NO_MAGICLINKS);
        Some((opened.ok()?, name))
    }

    /// The permissions that the process removes from everything it creates.
    pub fn umask(&self) -> Option<u32> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.thread)).ok()?;
        let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
        u32::from_str_radix(mask.trim(), 8).ok()
    }
}
