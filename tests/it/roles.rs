//! The roles that models.toml may add: a request is given to the model for its complexity, an
//! answer to the model that judges.

use monobloc::agent::{Toolkit, probe, run_turn};
use monobloc::config::{Cognitive, When};
use monobloc::engine::pool::Pool;
use monobloc::engine::scripted::Script;
use monobloc::models::{Role, dialect};
use monobloc::protocol::{Decision, Proposal, TurnFinished};

use crate::cli::Project;
use crate::scripted::{Witness, indexed, toolkit};

/// A turn with a planner and these additional models.
async fn turn(request: &str, planner: Script, others: Vec<(Role, Script)>, when: When) -> TurnFinished {
    let project = Project::todo();
    let mute = || Script::saying("");
    let plain = indexed(&project, toolkit(&project, mute(), mute()));
    let scripts = [(Role::Planner, planner), (Role::Router, mute())].into_iter().chain(others).collect();
    let pool = Pool::scripted(scripts, dialect::by_name("chatml").expect("a dialect")).expect("a pool");
    let toolkit = Toolkit { pool, cognitive: Cognitive { when, ..Cognitive::default() }, ..plain };
    let host = Witness::new(|_: &Proposal| Decision::Reject);
    run_turn(&toolkit, request, &host).await.expect("a turn")
}

fn roles(finished: &TurnFinished) -> Vec<&str> {
    finished.usage.calls.iter().map(|call| call.role.as_str()).collect()
}

const SIMPLE: &str = "What is in config.toml?";
const COMPLEX: &str = "Compare why the design and the architecture need a refactor";
const HARDEST: &str = "Compare why the design, the architecture, the concurrency and the race need a refactor, investigate and \
                       diagnose the deadlock, then redesign, migrate, debug and optimise it";

#[tokio::test]
async fn the_complexity_of_a_request_picks_among_the_models_at_hand() {
    let named = |name: &str| Script::saying(&format!("I am the {name} one, and that is all.")).acting();
    let extra = || vec![(Role::Quick, named("quick")), (Role::Thinker, named("thinking"))];
    for (request, role, name) in
        [(SIMPLE, "quick", "quick"), (COMPLEX, "planner", "planning"), (HARDEST, "thinker", "thinking")]
    {
        let finished = turn(request, named("planning"), extra(), When::Off).await;
        assert!(roles(&finished).iter().all(|one| *one == role), "{request}: {:?}", roles(&finished));
        assert!(finished.answer.contains(&format!("I am the {name} one")), "{request}: {}", finished.answer);
    }
    // The planner plays the roles that are left out.
    for request in [SIMPLE, HARDEST] {
        let finished = turn(request, named("planning"), Vec::new(), When::Off).await;
        assert!(finished.answer.contains("I am the planning one"), "{request}: {}", finished.answer);
    }
}

#[tokio::test]
async fn the_verifier_judges_answers_where_there_is_one() {
    let planner = || {
        Script::saying("All is said in the file.").on("Judge the answer", "0.95\nvalid\nThe planner says so.").acting()
    };
    let judge = Script::saying("0.95\nvalid\nThe verifier says so.");
    let finished = turn(SIMPLE, planner(), vec![(Role::Verifier, judge)], When::On).await;
    assert_eq!(roles(&finished), ["planner", "verifier"], "{}", finished.answer);
    let finished = turn(SIMPLE, planner(), Vec::new(), When::On).await;
    assert_eq!(roles(&finished), ["planner", "planner"], "{}", finished.answer);
}

/// The models that carry out requests in place of the planner are measured in the same way.
#[tokio::test]
async fn the_probe_measures_the_further_roles() {
    let project = Project::todo();
    let mute = || Script::saying("");
    let plain = indexed(&project, toolkit(&project, mute(), mute()));
    let others = [Role::Quick, Role::Thinker, Role::Verifier].map(|role| (role, mute()));
    let scripts = [(Role::Planner, mute()), (Role::Router, mute())].into_iter().chain(others).collect();
    let pool = Pool::scripted(scripts, dialect::by_name("chatml").expect("a dialect")).expect("a pool");
    let toolkit = Toolkit { pool, ..plain };
    let host = Witness::new(|_: &Proposal| Decision::Reject);
    // Two failed readings decide, so no change is requested.
    for (role, readings) in [(Role::Quick, 2), (Role::Thinker, 2), (Role::Verifier, 0)] {
        let found = probe::whole(&toolkit, role, true, &host).await.expect("a measurement");
        assert!(found.choosing.is_known() && found.format.of > 0, "{role}: {found:?}");
        assert_eq!((found.reading.of, found.writing.of), (readings, 0), "{role}: {found:?}");
    }
    let roles: Vec<String> = toolkit.meter.usage().calls.into_iter().map(|call| call.role).collect();
    assert!(["quick", "thinker", "verifier"].iter().all(|role| roles.iter().any(|one| one == role)), "{roles:?}");
}
