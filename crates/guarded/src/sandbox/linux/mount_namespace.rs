//! Gives a command its own mount namespace, in which parts of the project are read-only or unreadable.

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::super::places::{self, Places};
use super::Confines;
use super::check;

/// The folder of shared memory; the command gets an empty one of its own.
pub const SHARED_AT: &CStr = c"/dev/shm";
/// Mount options of that folder.
const SHARED: &CStr = c"size=1g,mode=1777";
/// Mount flags of the empty folder that covers a hidden one.
const MASK: libc::c_ulong = libc::MS_RDONLY | libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
/// Capabilities that root keeps in a command: CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID,
/// SETUID. It loses those for mounting, loading modules, configuring networks, inspecting other
/// processes and so on.
const CAPABILITIES_KEPT: [libc::c_ulong; 7] = [0, 1, 3, 4, 5, 6, 7];
const DAC_OVERRIDE: libc::c_ulong = 1;
const CAPABILITIES_MAX: libc::c_ulong = 63;

pub struct Spaces {
    /// Writable, but cannot be moved or replaced.
    pinned: Vec<CString>,
    /// Read-only.
    kept: Vec<CString>,
    /// The program's own folder, and the folder that is mounted over it.
    own: Option<[CString; 2]>,
    /// Folders and files that cannot be read.
    masked_folders: Vec<CString>,
    masked_files: Vec<CString>,
    /// An empty file that nobody may read, mounted over a hidden file.
    blank: CString,
    /// Whether root keeps the right to read files whose mode forbids it.
    pub overrides: bool,
    /// Contents of `uid_map` and `gid_map`; `None` for root, which needs no user namespace.
    ids: Option<[CString; 2]>,
}

impl Spaces {
    pub fn new(places: &Places, confines: &Confines<'_>) -> io::Result<Spaces> {
        let names = |paths: &[PathBuf]| paths.iter().map(|path| name(path)).collect::<io::Result<Vec<_>>>();
        // SAFETY: both calls take no arguments and cannot fail.
        let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        let map = |id: u32| CString::new(format!("{id} {id} 1\n")).map_err(io::Error::other);
        let ids = if user == 0 { None } else { Some([map(user)?, map(group)?]) };
        let masked = places::hidden(confines.project, &confines.commands.hidden)?;
        let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = masked.into_iter().partition(|path| path.is_dir());
        let blank = confines.temp.join(".hidden");
        if !files.is_empty() {
            fs::write(&blank, "")?;
            fs::set_permissions(&blank, fs::Permissions::from_mode(0o0))?;
        }
        // Root needs that right in another user's project.
        let own = confines.project.metadata().is_ok_and(|about| about.uid() == 0);
        let overrides = !own || (folders.is_empty() && files.is_empty());
        let (masked_folders, masked_files) = (names(&folders)?, names(&files)?);
        let (pinned, kept, blank) = (names(&places.pinned)?, names(&places.kept)?, name(&blank)?);
        let own = match &places.own {
            Some(own) => Some([name(own)?, name(&of_people(own, confines.temp)?)?]),
            None => None,
        };
        Ok(Spaces { pinned, kept, own, masked_folders, masked_files, blank, overrides, ids })
    }

    /// Enters the namespace; runs between fork and exec.
    pub fn enter(&self) -> io::Result<()> {
        let user = if self.ids.is_some() { libc::CLONE_NEWUSER } else { 0 };
        // SAFETY: the call takes an integer; this process has one thread.
        check(unsafe { libc::unshare(libc::CLONE_NEWNS | user) }.into())?;
        if let Some([user, group]) = &self.ids {
            write(c"/proc/self/setgroups", b"deny")?;
            write(c"/proc/self/uid_map", user.as_bytes())?;
            write(c"/proc/self/gid_map", group.as_bytes())?;
        }
        // Mounts made from here on are invisible outside.
        mount(c"none", c"/", c"", libc::MS_REC | libc::MS_PRIVATE, c"")?;
        self.pinned.iter().try_for_each(|path| mount(path, path, c"", libc::MS_BIND | libc::MS_REC, c""))?;
        self.kept.iter().try_for_each(|path| keep(path, path))?;
        self.own.iter().try_for_each(|[own, shown]| keep(shown, own))?;
        self.masked_folders
            .iter()
            .try_for_each(|path| mount(c"monobloc", path, c"tmpfs", MASK, c"size=4k,mode=000"))?;
        self.masked_files.iter().try_for_each(|path| mount(&self.blank, path, c"", libc::MS_BIND, c""))?;
        mount(c"monobloc", SHARED_AT, c"tmpfs", libc::MS_NOSUID | libc::MS_NODEV, SHARED)
    }
}

/// Marks this process so that the system kills it before monobloc if memory runs out.
pub fn first_to_die() {
    let _ = write(c"/proc/self/oom_score_adj", b"1000");
}

fn name(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}

fn mount(from: &CStr, to: &CStr, kind: &CStr, flags: libc::c_ulong, data: &CStr) -> io::Result<()> {
    // SAFETY: every pointer points to a string that ends in a zero byte and outlives the call.
    check(unsafe { libc::mount(from.as_ptr(), to.as_ptr(), kind.as_ptr(), flags, data.as_ptr().cast()) }.into())
}

/// A folder with copies of the files in `own` that users write.
fn of_people(own: &Path, temp: &Path) -> io::Result<PathBuf> {
    let shown = temp.join(".own");
    fs::create_dir_all(&shown)?;
    for file in places::OF_PEOPLE.map(|file| own.join(file)).iter().filter(|file| file.is_file()) {
        fs::copy(file, shown.join(file.file_name().unwrap_or_default()))?;
    }
    Ok(shown)
}

/// Mounts `from` at `path`, read-only, including everything mounted below it.
fn keep(from: &CStr, path: &CStr) -> io::Result<()> {
    mount(from, path, c"", libc::MS_BIND | libc::MS_REC, c"")?;
    let read_only = libc::mount_attr { attr_set: libc::MOUNT_ATTR_RDONLY, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let size = size_of::<libc::mount_attr>();
    // SAFETY: the path ends in a zero byte, the kernel reads `size` bytes of a structure, and both
    // outlive the call.
    check(unsafe {
        libc::syscall(libc::SYS_mount_setattr, libc::AT_FDCWD, path.as_ptr(), libc::AT_RECURSIVE, &read_only, size)
    })
}

/// Drops most of root's capabilities. Ignores numbers that the kernel lacks or that are already
/// dropped.
pub fn drop_capabilities(overrides: bool) {
    let kept = |one: &libc::c_ulong| CAPABILITIES_KEPT.contains(one) && (overrides || *one != DAC_OVERRIDE);
    for capability in (0..=CAPABILITIES_MAX).filter(|one| !kept(one)) {
        // SAFETY: the call takes only integers.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    }
}

fn write(path: &CStr, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: the path ends in a zero byte, and the call reads only the slice's bytes; the file is
    // closed again.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        check(file.into())?;
        let written = check(libc::write(file, bytes.as_ptr().cast(), bytes.len()) as i64);
        libc::close(file);
        written
    }
}
