//! Checks a server URL as written by a user.

use url::Url;

/// The expected form of a URL, for error messages.
const WAY: &str = "write it as http://HOST:PORT/v1 or https://HOST/v1";

/// The base URL of an API at `text`; adds the path `/v1` if there is none. The error text continues
/// a sentence after "which" or after the name of a value, and never contains a password.
pub fn server_url(text: &str) -> Result<Url, String> {
    let mut url = Url::parse(text.trim()).map_err(|error| format!("is not a URL ({error}); {WAY}"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "has a user name or password in it; leave it out, and give a key with key_file or key_env".to_owned()
        );
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("begins with `{}:`; {WAY}", url.scheme()));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(format!("has `?` or `#` in it; {WAY}"));
    }
    if url.port() == Some(0) {
        return Err(format!("has port 0; {WAY}"));
    }
    // Users paste either the API's full address or only the server's.
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/chat/completions").unwrap_or(path).to_owned();
    url.set_path(if path.is_empty() { "/v1" } else { &path });
    Ok(url)
}
