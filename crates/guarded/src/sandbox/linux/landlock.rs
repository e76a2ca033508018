//! Landlock: restricts which files a process may open, by folder.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::super::places::May;
use super::check;

/// Rights over files, as the kernel numbers them (linux/landlock.h).
mod right {
    pub const EXECUTE: u64 = 1 << 0;
    pub const WRITE_FILE: u64 = 1 << 1;
    pub const READ_FILE: u64 = 1 << 2;
    pub const READ_DIR: u64 = 1 << 3;
    pub const MAKE_CHAR: u64 = 1 << 6;
    pub const MAKE_BLOCK: u64 = 1 << 11;
    pub const TRUNCATE: u64 = 1 << 14;
    pub const IOCTL_DEV: u64 = 1 << 15;
    /// All rights of version 1.
    pub const FIRST: u64 = (1 << 13) - 1;
    /// Moving between folders.
    pub const REFER: u64 = 1 << 13;
    /// The rights that apply to a file that is not a folder.
    pub const OF_FILE: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
}

/// From this version on, signals and abstract Unix sockets reach only the command's own processes.
const SCOPED: u64 = 0b11;
const VERSION_SCOPED: i64 = 6;
/// The first version that covers truncating a file: Linux 6.2.
const VERSION_LEAST: i64 = 3;

const CREATE_VERSION: libc::c_uint = 1;
const RULE_PATH_BENEATH: libc::c_int = 1;

#[repr(C)]
struct RulesetAttr {
    files: u64,
    net: u64,
    scoped: u64,
}

#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

pub struct Ruleset {
    rules: OwnedFd,
    /// Rights granted by `allow_mounted`.
    shared: u64,
}

/// The kernel's Landlock version; 0 if it has none.
pub fn version() -> i64 {
    // SAFETY: with this flag the call takes no structure and returns a number.
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, 0, 0, CREATE_VERSION) }.max(0)
}

/// Whether the kernel can prevent a command from sending signals to processes other than its own.
pub fn scopes_signals() -> bool {
    version() >= VERSION_SCOPED
}

pub fn usable() -> Result<(), String> {
    match version() {
        0 => Err("files cannot be confined: this kernel has no Landlock, or it is off (lsm=landlock,…)".to_owned()),
        old if old < VERSION_LEAST => Err(format!(
            "files are not fully confined: this kernel's Landlock is version {old}, but {VERSION_LEAST} is needed (Linux 6.2)"
        )),
        _ => Ok(()),
    }
}

impl Ruleset {
    /// Rules for the paths in `open`, and for `entries`, which may be changed unless they are
    /// links.
    pub fn new(open: &[(PathBuf, May)], entries: impl Iterator<Item = PathBuf>) -> io::Result<Ruleset> {
        let name = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other);
        let version = version();
        let mut known = right::FIRST;
        for (since, rights) in [(2, right::REFER), (3, right::TRUNCATE), (5, right::IOCTL_DEV)] {
            known |= if version >= since { rights } else { 0 };
        }
        let attr = RulesetAttr { files: known, net: 0, scoped: if version >= VERSION_SCOPED { SCOPED } else { 0 } };
        // An older kernel has fewer fields.
        let size = if version >= VERSION_SCOPED { size_of::<RulesetAttr>() } else { size_of::<u64>() };
        // SAFETY: the kernel reads `size` bytes of a structure that outlives the call.
        let made = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &attr, size, 0) };
        check(made)?;
        // SAFETY: the call has just opened it, and nothing else owns it.
        let ruleset = Ruleset { rules: unsafe { OwnedFd::from_raw_fd(made as i32) }, shared: 0 };
        for (path, may) in open {
            ruleset.allow(&name(path)?, 0, rights(*may) & known)?;
        }
        for path in entries {
            ruleset.allow(&name(&path)?, libc::O_NOFOLLOW, rights(May::Write) & known)?;
        }
        Ok(Ruleset { shared: rights(May::Write) & known, ..ruleset })
    }

    /// Adds a rule. Skips a path that cannot be opened, and a link if `flags` forbids following it.
    /// Allocates nothing.
    fn allow(&self, name: &CStr, flags: libc::c_int, rights: u64) -> io::Result<()> {
        // SAFETY: the name ends in a zero byte and outlives the call.
        let opened = unsafe { libc::open(name.as_ptr(), libc::O_PATH | libc::O_CLOEXEC | flags) };
        if opened < 0 {
            return Ok(());
        }
        // SAFETY: the call has just opened it, and nothing else owns it.
        let parent = unsafe { OwnedFd::from_raw_fd(opened) };
        // SAFETY: the structure consists of numbers, all of which may be zero; the call writes one
        // such structure.
        let (mut about, ruleset) = (unsafe { std::mem::zeroed::<libc::stat>() }, self.rules.as_raw_fd());
        // SAFETY: as above.
        check(unsafe { libc::fstat(parent.as_raw_fd(), &mut about) }.into())?;
        let of_its_kind = match about.st_mode & libc::S_IFMT {
            libc::S_IFLNK => return Ok(()),
            libc::S_IFDIR => u64::MAX,
            _ => right::OF_FILE,
        };
        let rule = PathBeneath { allowed: rights & of_its_kind, parent: parent.as_raw_fd() };
        // SAFETY: the kernel reads one structure of this type, which outlives the call.
        check(unsafe { libc::syscall(libc::SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0) })
    }

    /// Allows writing to a folder that was mounted after the rules were made.
    pub fn allow_mounted(&self, name: &CStr) -> io::Result<()> {
        self.allow(name, 0, self.shared)
    }

    /// Restricts this process and everything it starts, permanently.
    pub fn enter(&self) -> io::Result<()> {
        // SAFETY: the call takes only integers.
        check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.rules.as_raw_fd(), 0) })
    }
}

fn rights(may: May) -> u64 {
    const READ: u64 = right::EXECUTE | right::READ_FILE | right::READ_DIR;
    let write = right::FIRST & !(right::MAKE_CHAR | right::MAKE_BLOCK) | right::REFER | right::TRUNCATE;
    match may {
        May::Read => READ,
        May::Write => write,
        May::Use => write | right::IOCTL_DEV,
    }
}
