//! Asks an authorisation server for its endpoints: its metadata, by RFC 8414 or OpenID Connect.

use serde::Deserialize;
use url::Url;

use super::reach::{Reach, shown};
use super::resource::Found;
use crate::config::Address;

/// An authorisation server whose metadata were checked.
pub struct Authority {
    pub(super) found: Found,
    /// Its name for itself, which its answers may repeat.
    pub(super) issuer: String,
    /// Whether its answers must repeat the name (RFC 9207).
    pub(super) signs_answers: bool,
    pub(super) authorize: Address,
    pub(super) token: Address,
    pub(super) register: Option<Address>,
    pub(super) revoke: Option<Address>,
    /// Whether it gives tokens that outlive the session only if asked for this scope.
    pub(super) has_offline_scope: bool,
    /// How a client with a secret may prove itself; `None` if the metadata do not say.
    pub(super) proofs: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    registration_endpoint: Option<String>,
    revocation_endpoint: Option<String>,
    scopes_supported: Option<Vec<String>>,
    code_challenge_methods_supported: Option<Vec<String>>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    authorization_response_iss_parameter_supported: Option<bool>,
}

impl Authority {
    /// Asks the authorisation server that a server names.
    pub async fn of(found: Found) -> Result<Authority, String> {
        let mut misses = found.misses.clone();
        for place in places(&found.at) {
            let answered = found.reach.get(&place).await?;
            match answered.json::<Metadata>() {
                Some(metadata) => return Authority::read(found, &place, metadata),
                None => misses.push(format!("{place}: {}", answered.refusal(&[]))),
            }
        }
        Err(format!("the authorisation server {} does not describe itself ({})", found.at, misses.join("; ")))
    }

    fn read(found: Found, place: &Address, metadata: Metadata) -> Result<Authority, String> {
        let issuer = metadata.issuer;
        if !is_same(&issuer, &found.issuer) {
            let (issuer, wanted) = (shown(&issuer, &[]), shown(&found.issuer, &[]));
            return Err(format!("{place} describes another authorisation server, `{issuer}`, instead of `{wanted}`"));
        }
        let methods = metadata.code_challenge_methods_supported.unwrap_or_default();
        if !methods.iter().any(|method| method == "S256") {
            return Err(format!(
                "the authorisation server {issuer} does not say that it protects codes by PKCE (S256), so nobody can \
                 sign in there safely; give its token by `headers`",
                issuer = shown(&issuer, &[])
            ));
        }
        let reach = &found.reach;
        let needed = |name: &str, text: Option<String>| match text {
            Some(text) => reach.address(name, &text),
            None => Err(format!("{place} has no {name}")),
        };
        let scopes = metadata.scopes_supported.unwrap_or_default();
        Ok(Authority {
            authorize: needed("authorization_endpoint", metadata.authorization_endpoint)?,
            token: needed("token_endpoint", metadata.token_endpoint)?,
            register: optional(reach, "registration_endpoint", metadata.registration_endpoint)?,
            revoke: optional(reach, "revocation_endpoint", metadata.revocation_endpoint)?,
            issuer,
            signs_answers: metadata.authorization_response_iss_parameter_supported.unwrap_or_default(),
            has_offline_scope: scopes.iter().any(|scope| scope == "offline_access"),
            proofs: metadata.token_endpoint_auth_methods_supported,
            found,
        })
    }

    /// The hosts of its endpoints to which the user has to agree first. `registers` says whether a
    /// client is to be registered.
    pub fn not_agreed(&self, registers: bool) -> Vec<String> {
        let register = self.register.as_ref().filter(|_| registers);
        let all = [Some(&self.authorize), Some(&self.token), register, self.revoke.as_ref()];
        let mut hosts: Vec<String> =
            all.into_iter().flatten().filter_map(|at| self.found.reach.not_agreed(at)).collect();
        hosts.sort();
        hosts.dedup();
        hosts
    }

    /// The host where the user signs in and another one that gets its answer, if nothing proves
    /// that they belong together. Otherwise a false server could name somebody else's sign-in, and
    /// exchange the code from there itself.
    pub fn split(&self) -> Option<(String, String)> {
        let (asks, gets) = (self.authorize.origin(), self.token.origin());
        (asks != gets && !self.signs_answers).then_some((asks, gets))
    }
}

fn optional(reach: &Reach, name: &str, text: Option<String>) -> Result<Option<Address>, String> {
    text.map(|text| reach.address(name, &text)).transpose()
}

/// The URLs of the metadata, in the order of the specification.
fn places(issuer: &Address) -> Vec<Address> {
    let (origin, path) = (issuer.origin(), issuer.url().path().trim_end_matches('/'));
    let mut texts = vec![
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        texts.push(format!("{origin}{path}/.well-known/openid-configuration"));
    }
    texts.iter().filter_map(|text| Address::new(text).ok()).collect()
}

/// Whether two names mean the same authorisation server: `https://box` and `https://box/` do.
fn is_same(one: &str, other: &str) -> bool {
    one == other || matches!((Url::parse(one), Url::parse(other)), (Ok(one), Ok(other)) if one == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_are_looked_for_by_both_standards() {
        let check = |issuer: &str, expected: &[&str]| {
            let places: Vec<String> = places(&Address::new(issuer).unwrap()).iter().map(ToString::to_string).collect();
            assert_eq!(places, expected);
        };
        let (oauth, openid) =
            ("https://a/.well-known/oauth-authorization-server", "https://a/.well-known/openid-configuration");
        check("https://a", &[oauth, openid]);
        let (inside, behind) = (format!("{openid}/t1"), "https://a/t1/.well-known/openid-configuration");
        check("https://a/t1/", &[&format!("{oauth}/t1"), &inside, behind]);
    }

    #[test]
    fn only_the_slash_of_a_bare_host_may_differ_in_the_name_of_an_issuer() {
        assert!(is_same("https://a", "https://a/") && is_same("https://a/t", "https://a/t"));
        assert!(!is_same("https://a/t", "https://a/t/") && !is_same("https://a", "https://b") && !is_same("x", "y"));
    }
}
