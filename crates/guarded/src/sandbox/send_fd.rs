//! Passes an open file from one process to another over a Unix socket (`SCM_RIGHTS`).

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, RawFd};

use super::entry::check;

/// Buffer for a control message with one descriptor, aligned as the system requires.
type Control = [u64; 4];
const ONE: u32 = size_of::<RawFd>() as u32;

/// Programs started by this process do not inherit the received file.
#[cfg(target_os = "linux")]
const KEPT_HERE: libc::c_int = libc::MSG_CMSG_CLOEXEC;
#[cfg(not(target_os = "linux"))]
const KEPT_HERE: libc::c_int = 0;

/// A message of one byte, with room for a descriptor.
fn message(byte: &mut libc::iovec, control: &mut Control) -> libc::msghdr {
    // SAFETY: the structure consists of numbers and pointers, all of which may be zero.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (byte, 1);
    message.msg_control = control.as_mut_ptr().cast();
    // SAFETY: this is only arithmetic.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(ONE) } as _;
    message
}

fn bytes(byte: &mut u8) -> libc::iovec {
    libc::iovec { iov_base: (byte as *mut u8).cast(), iov_len: 1 }
}

/// Sends `file`, which stays open here. Allocates nothing, because it runs between fork and exec.
pub fn send(connection: RawFd, file: RawFd) -> io::Result<()> {
    let (mut byte, mut control) = (0, Control::default());
    let mut part = bytes(&mut byte);
    let message = message(&mut part, &mut control);
    // SAFETY: the header lies in `control`, which is large enough for it and one descriptor and
    // outlives the call; so do the byte and the pointers to it.
    check(unsafe {
        let header = libc::CMSG_FIRSTHDR(&message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(ONE) as _;
        libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(file);
        libc::sendmsg(connection, &message, 0)
    } as i64)
}

/// The received file; `None` if the other side closes without sending one.
pub fn receive(connection: RawFd) -> Option<File> {
    let (mut byte, mut control) = (0, Control::default());
    let mut part = bytes(&mut byte);
    let mut message = message(&mut part, &mut control);
    // SAFETY: as above; the system writes no more than there is room for, and returns how much.
    // Nothing else owns the received descriptor.
    unsafe {
        if libc::recvmsg(connection, &mut message, KEPT_HERE) <= 0 {
            return None;
        }
        let header = libc::CMSG_FIRSTHDR(&message);
        let is_file = !header.is_null()
            && (*header).cmsg_type == libc::SCM_RIGHTS
            && (*header).cmsg_len as usize == libc::CMSG_LEN(ONE) as usize;
        is_file.then(|| File::from_raw_fd(libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned()))
    }
}
