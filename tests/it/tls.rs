//! A server over TLS: only authorities that the system trusts are accepted; for others the message
//! gives a remedy.

use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};
use serde_json::json;

use crate::boxed;
use crate::cli::{Ended, Project, Run};

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority")
}

/// A server with one embedding model at `https://localhost:PORT`, certified by `authority`, and the
/// number of requests that it could read.
fn server(authority: &CertifiedIssuer<'static, KeyPair>) -> (String, Arc<AtomicUsize>) {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
    let certificate = params.signed_by(&key, authority).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = versions.expect("versions").with_no_client_auth();
    let config = Arc::new(config.with_single_cert(vec![certificate.der().clone()], key).expect("a configuration"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("https://localhost:{}/v1", listener.local_addr().expect("an address").port());
    let read = Arc::new(AtomicUsize::new(0));
    let count = read.clone();
    thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let Ok(mut connection) = ServerConnection::new(config.clone()) else { continue };
            let mut stream = Stream::new(&mut connection, &mut socket);
            let Some(got) = boxed::request(&mut stream) else { continue };
            count.fetch_add(1, Ordering::SeqCst);
            let answer = match got.path.as_str() {
                "/v1/models" => json!({ "data": [{ "id": "embed" }] }),
                _ => json!({ "data": [{ "index": 0, "embedding": [0.6, 0.8] }] }),
            };
            let answer = answer.to_string();
            // Fails if the client closes the connection early, which is fine.
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{answer}", answer.len());
            let _ = stream.flush();
        }
    });
    (url, read)
}

/// Adds the server while the system trusts only the authority `trusted`.
fn add(project: &Project, url: &str, trusted: &CertifiedIssuer<'static, KeyPair>) -> Ended {
    let file = project.beside("authority.pem");
    std::fs::write(&file, trusted.pem()).expect("a file");
    let models = project.beside("roles.toml").display().to_string();
    let run = Run::new(project, &["models", "add", url, "--role", "embedder", "--models-file", &models]);
    run.env("SSL_CERT_FILE", file).env("SSL_CERT_DIR", "").end()
}

#[test]
fn a_server_of_a_trusted_authority_is_asked_and_one_of_an_unknown_authority_is_not() {
    let (project, own, other) = (Project::todo(), authority(), authority());
    let (url, read) = server(&own);
    let refused = add(&project, &url, &other);
    assert_ne!(refused.code, Some(0), "{refused:#?}");
    assert!(refused.err.contains(&url) && refused.err.contains("certificate is not accepted"), "{refused:#?}");
    assert!(refused.err.contains("add its authority"), "{refused:#?}");
    assert_eq!(read.load(Ordering::SeqCst), 0, "nothing was sent");
    let added = add(&project, &url, &own).succeeded();
    assert!(added.out.contains("vectors of 2 numbers"), "{added:#?}");
}
