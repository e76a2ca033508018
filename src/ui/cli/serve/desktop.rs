//! Opens an address in the browser of the desktop, without showing it to other users of the machine.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use tempfile::{Builder, NamedTempFile};

/// The program that opens files on a Mac, and on other systems.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Opens `address`, which holds a secret; `None` without a desktop. Arguments of programs are visible to everybody, so the
/// browser is given a file that its owner alone can read and that leads there. The file goes with what is returned.
pub fn open(address: &str) -> Result<Option<NamedTempFile>> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !cfg!(target_os = "macos") && !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") {
        return Ok(None);
    }
    let way_out = "the page was not opened; open the address above in a browser";
    let mut file = Builder::new().prefix("monobloc-").suffix(".html").tempfile().context(way_out)?;
    file.write_all(leading_to(address).as_bytes()).context(way_out)?;
    let mut opener = Command::new(OPENER);
    opener.arg(file.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut opener = opener.spawn().with_context(|| format!("{OPENER} cannot be started: {way_out}"))?;
    // It ends when it has told the browser; somebody has to take note of that.
    std::thread::spawn(move || opener.wait());
    Ok(Some(file))
}

fn leading_to(address: &str) -> String {
    format!(
        "<!doctype html><meta charset=\"utf-8\"><title>monobloc</title>\
         <meta http-equiv=\"refresh\" content=\"0; url={address}\"><a href=\"{address}\">monobloc</a>\n"
    )
}
