//! Asks a server where one signs in to it: its protected resource metadata (RFC 9728).

use serde::Deserialize;
use url::Url;

use super::challenge::Challenge;
use super::reach::{Reach, shown};
use crate::config::Address;

/// The first part of the paths at which a server describes itself.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// A server that demands a sign-in, and the authorisation server that it names.
pub struct Found {
    pub(super) reach: Reach,
    /// The name by which tokens are bound to the server.
    pub(super) resource: String,
    /// The authorisation server, as written in the metadata and as a URL.
    pub(super) issuer: String,
    pub(super) at: Address,
    pub(super) scopes: Vec<String>,
    /// Why the server's own description was not found, if it is assumed to be the authorisation
    /// server itself.
    pub(super) misses: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    resource: Option<String>,
    authorization_servers: Option<Vec<String>>,
    scopes_supported: Option<Vec<String>>,
}

impl Found {
    /// Asks the server, and nobody else. `challenge` is its answer to a request without a token.
    /// `issuer` is the only authorisation server that may get the client of the settings: a server
    /// that names another one, such as itself, may want its secret.
    pub async fn at(reach: Reach, challenge: &Challenge, issuer: Option<&Address>) -> Result<Found, String> {
        let found = Found::named(reach, challenge, issuer).await?;
        match issuer.filter(|issuer| !is_same(issuer, &found.at)) {
            None => Ok(found),
            Some(issuer) => Err(format!(
                "{} has its users sign in at `{}`, but `issuer` in the settings is `{issuer}`; neither the client nor its \
                 secret was sent. Change `issuer` only if the client was registered there",
                found.reach.server,
                shown(&found.issuer, &[])
            )),
        }
    }

    /// A server without metadata is its own authorisation server, as in the specification of March
    /// 2025, if it demanded a token.
    async fn named(reach: Reach, challenge: &Challenge, wanted: Option<&Address>) -> Result<Found, String> {
        let server = reach.server.clone();
        let (places, mut misses) = places(&server, challenge);
        for place in places {
            let answered = reach.get(&place).await?;
            match answered.json::<Metadata>() {
                Some(metadata) if metadata.resource.is_some() || metadata.authorization_servers.is_some() => {
                    return Found::read(reach, challenge, &place, metadata, wanted);
                }
                _ => misses.push(format!("{place}: {}", answered.refusal(&[]))),
            }
        }
        if challenge.status != 401 {
            return Err(format!(
                "{server} does not demand a sign-in (status {}) and names no authorisation server ({})",
                challenge.status,
                misses.join("; ")
            ));
        }
        let issuer = server.origin();
        let at = reach.address("its authorisation server", &issuer)?;
        Ok(Found { resource: canonical(&server), issuer, at, scopes: challenge_scopes(challenge), misses, reach })
    }

    /// Among several authorisation servers, takes the `wanted` one, or else the first.
    fn read(
        reach: Reach,
        challenge: &Challenge,
        place: &Address,
        metadata: Metadata,
        wanted: Option<&Address>,
    ) -> Result<Found, String> {
        let resource = metadata.resource.unwrap_or_default();
        if !is_within(&reach.server, &resource) {
            return Err(format!("{place} is about `{}`, not about {}", shown(&resource, &[]), reach.server));
        }
        let issuers = metadata.authorization_servers.unwrap_or_default();
        let is_wanted = |one: &&String| {
            wanted.is_some_and(|wanted| Address::new(one).is_ok_and(|address| is_same(&address, wanted)))
        };
        let Some(issuer) = issuers.iter().find(is_wanted).or(issuers.first()).cloned() else {
            return Err(format!("{place} names no authorisation server"));
        };
        let at = reach.address("its authorisation server", &issuer)?;
        let mut scopes = challenge_scopes(challenge);
        if scopes.is_empty() {
            scopes = metadata.scopes_supported.unwrap_or_default();
        }
        Ok(Found { reach, resource, issuer, at, scopes, misses: Vec::new() })
    }

    /// The host of the authorisation server, if the user has to agree to it first.
    pub fn not_agreed(&self) -> Option<String> {
        self.reach.not_agreed(&self.at)
    }
}

/// The scopes of a challenge go to the authorisation server, so any will do.
fn challenge_scopes(challenge: &Challenge) -> Vec<String> {
    challenge.scope.as_deref().unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// The URLs at which the metadata may be, in the order of the specification, and why others are not
/// among them: the server is not believed when it names another host for the description of itself.
fn places(server: &Address, challenge: &Challenge) -> (Vec<Address>, Vec<String>) {
    let (mut places, mut misses) = (Vec::new(), Vec::new());
    if let Some(named) = &challenge.metadata {
        match Address::new(named) {
            Ok(place) if place.origin() == server.origin() => places.push(place),
            _ => misses.push(format!("{}: not on the server's host", shown(named, &[]))),
        }
    }
    let path = server.url().path().trim_end_matches('/');
    for path in [format!("{WELL_KNOWN}{path}"), WELL_KNOWN.to_owned()] {
        if let Ok(place) = Address::new(&format!("{}{path}", server.origin()))
            && !places.iter().any(|known| known.url() == place.url())
        {
            places.push(place);
        }
    }
    (places, misses)
}

/// The name of a server without metadata: its URL without query and closing slash.
fn canonical(server: &Address) -> String {
    server.to_string().trim_end_matches('/').to_owned()
}

/// Whether two URLs name the same authorisation server. A closing slash does not matter, because
/// users write the URL with and without it.
fn is_same(one: &Address, other: &Address) -> bool {
    let plain = |address: &Address| address.url().as_str().trim_end_matches('/').to_owned();
    plain(one) == plain(other)
}

/// Whether `resource` is the server, or a folder of URLs that it is in.
fn is_within(server: &Address, resource: &str) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let (path, own) = (resource.path().trim_end_matches('/'), server.url().path());
    let rest = own.strip_prefix(path);
    resource.origin() == server.url().origin() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_are_looked_for_where_the_server_says_then_at_its_path_then_at_its_root() {
        let check = |named: Option<&str>, server: &str, expected: &[&str]| {
            let challenge = Challenge { metadata: named.map(str::to_owned), ..Challenge::default() };
            let (places, misses) = places(&Address::new(server).unwrap(), &challenge);
            let places: Vec<String> = places.iter().map(ToString::to_string).collect();
            assert_eq!(places, expected);
            assert_eq!(misses.len(), usize::from(named.is_some_and(|named| !named.starts_with("https://box/"))));
        };
        let (path, root) = (
            "https://box/.well-known/oauth-protected-resource/a/mcp",
            "https://box/.well-known/oauth-protected-resource",
        );
        check(None, "https://box/a/mcp", &[path, root]);
        check(None, "https://box", &[root]);
        check(Some(root), "https://box/a/mcp", &[root, path]);
        check(Some("https://box/about"), "https://box/", &["https://box/about", root]);
        check(Some("https://other/about"), "https://box/", &[root]);
        check(Some("nonsense"), "https://box/", &[root]);
    }

    #[test]
    fn a_closing_slash_makes_no_other_authorisation_server() {
        let same = |one: &str, other: &str| is_same(&Address::new(one).unwrap(), &Address::new(other).unwrap());
        assert!(same("https://a/t", "https://A/t/") && same("https://a", "https://a/"));
        assert!(
            !same("https://a/t", "https://a/T")
                && !same("https://a/t", "https://a")
                && !same("https://a", "http://localhost")
        );
    }

    #[test]
    fn a_token_is_bound_to_the_server_or_to_what_contains_it() {
        let check = |resource: &str, expected: bool| {
            assert_eq!(is_within(&Address::new("https://box/a/mcp").unwrap(), resource), expected, "{resource}");
        };
        for (resource, expected) in [
            ("https://box/a/mcp", true),
            ("https://BOX/a/", true),
            ("https://box", true),
            ("https://box/a/mc", false),
            ("https://box/a/mcp/more", false),
            ("https://other/a/mcp", false),
            ("http://box/a/mcp", false),
            ("https://box:8443/a/mcp", false),
            ("", false),
        ] {
            check(resource, expected);
        }
    }
}
