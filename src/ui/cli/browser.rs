//! Opens an address in the desktop's browser, without showing it to other users of the machine.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use tempfile::{Builder, NamedTempFile};

/// The program that opens files on a Mac, and on other systems.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Opens `address`, which contains a secret; `None` without a desktop. Program arguments are
/// visible to everyone, so the browser gets a file that only its owner can read and that redirects
/// there. Dropping the returned value removes the file.
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
    // It ends once the address was passed to the browser, and its exit status must be read.
    std::thread::spawn(move || opener.wait());
    Ok(Some(file))
}

fn leading_to(address: &str) -> String {
    // A URL has no quotes, but in HTML `&copy` would be a sign.
    let address = address.replace('&', "&amp;");
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>monobloc</title>\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <meta http-equiv=\"refresh\" content=\"0; url={address}\"><a href=\"{address}\">Continue</a>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browser_is_led_to_the_whole_address() {
        let page = leading_to("https://a/b?c=1&copy=2");
        assert!(page.contains("url=https://a/b?c=1&amp;copy=2\">"), "{page}");
    }
}
