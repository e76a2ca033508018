//! A server in this process whose planner plays a script.

use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use monobloc::app::App;
use monobloc::base::Cancel;
use monobloc::config::Config;
use monobloc::engine::Engine;
use monobloc::engine::pool::Pool;
use monobloc::engine::scripted::Script;
use monobloc::models::{Role, dialect};
use monobloc::serve::{self, Options, Server};

use super::client::Client;
use crate::cli::Project;
use crate::clock::eventually;
use crate::models;

/// A server that runs until it is dropped.
pub struct Inside {
    pub client: Client,
    planner: Engine,
    cancel: Cancel,
    thread: Option<JoinHandle<()>>,
}

impl Inside {
    pub fn new(project: &Project, planner: Script) -> Inside {
        let config = Config { project: project.path(), model_dir: Some(models::folder()), ..Config::default() };
        let cancel = Cancel::new();
        let app = App::open(config, cancel.clone()).expect("an app");
        let registry = app.registry().expect("models");
        let hermes = dialect::by_name("hermes").expect("a dialect");
        let pool = Pool::scripted(vec![(Role::Planner, planner)], hermes).expect("a pool");
        let planner = pool.resident(Role::Planner).expect("a planner").engine.clone();
        let server = Server::with(app, registry, pool);
        let token_file = project.beside("token");
        let options = Options { listen: "127.0.0.1:0".parse().expect("an address"), token_file: token_file.clone() };
        let (sender, ready) = mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().expect("a runtime");
            let tell = |ready: serve::Ready| sender.send(ready.address).expect("the test waits");
            runtime.block_on(serve::run(server, &options, tell)).expect("it serves");
            runtime.shutdown_background();
        });
        let address = ready.recv().expect("it listens");
        let token = std::fs::read_to_string(token_file).expect("a token").trim().to_owned();
        Inside { client: Client { address, token }, planner, cancel, thread: Some(thread) }
    }

    /// Waits until a slot is in use.
    pub fn busy(&self) {
        eventually("no slot is held", || self.planner.slots().iter().any(Option::is_some));
    }

    /// Waits until no slot is in use and no request waits for one, including requests that gave up
    /// their slot to a later one.
    pub fn idle(&self) {
        let is_idle = || self.planner.waiting() == 0 && self.planner.slots().iter().all(Option::is_none);
        eventually("a slot is still held", is_idle);
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.cancel.cancel();
        // A panic of the server has already failed the test.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// A text without repetitions that has more tokens than any test waits for.
pub fn counting(to: usize) -> String {
    (1..=to).map(|number| format!("{number} ")).collect()
}
