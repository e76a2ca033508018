//! Changes to a named definition in languages that a query describes: by a model that writes code and by one that leads.

use monobloc::agent::run_turn;
use monobloc::engine::scripted::Script;
use monobloc::protocol::{Decision, Proposal, StepReport};

use crate::cli::Project;
use crate::scripted::{Witness, indexed, toolkit};

const JAVA: &str = "\
/** A kiln. */
public class Kiln {
    private int cone = 4;

    /** Heats it. */
    public int heat(int by) {
        return cone + by;
    }

    public int cool() {
        return cone;
    }
}
";

const RUBY: &str = "\
class Kiln
  def heat(by)
    @cone + by
  end

  private

  def warm?
    @cone > 0
  end
end
";

const C: &str = "\
#include <stdio.h>

#ifdef FAST
static int heat(int cone) { return cone * 2; }
#else
static int heat(int cone) { return cone; }
#endif

int cool(int cone)
{
    return cone - 1;
}
";

/// The file after `request`, the answer, and what the steps did.
async fn asked(planner: Script, (path, text): (&str, &str), request: &str) -> (String, String, Vec<StepReport>) {
    let project = Project::todo();
    std::fs::write(project.path().join(path), text).expect("a file");
    let toolkit = indexed(&project, toolkit(&project, planner, Script::saying("")));
    let host = Witness::new(|proposal: &Proposal| {
        let runs = format!("{proposal:?}").contains("run_command");
        if runs { Decision::Reject } else { Decision::Approve }
    });
    let finished = run_turn(&toolkit, request, &host).await.expect("a turn");
    (project.text(path), finished.answer, host.reports())
}

#[tokio::test]
async fn a_method_of_java_is_rewritten_by_its_name() {
    let code = "```java\npublic int heat(int by) {\n    return Math.min(cone + by, 10);\n}\n```";
    let script = Script::saying("").on("Write `Kiln.heat`", code).on("First name", "change Kiln.heat").writing();
    let request = "In Kiln.java heat() should return the min of its sum and 10";
    let (file, answer, _) = asked(script, ("Kiln.java", JAVA), request).await;
    assert_eq!(file, JAVA.replace("return cone + by", "return Math.min(cone + by, 10)"), "{answer}");
}

#[tokio::test]
async fn a_change_that_loses_a_method_of_java_is_not_written() {
    let code = "```java\npublic int heat(int by) {\n    return cone + by + 1;\n```";
    let script = Script::saying("").on("Write `Kiln.heat`", code).on("First name", "change Kiln.heat").writing();
    let (file, answer, _) = asked(script, ("Kiln.java", JAVA), "In Kiln.java heat() should add 1").await;
    assert!(file == JAVA && answer.contains("not done"), "{file}\n{answer}");
}

#[tokio::test]
async fn a_new_method_of_ruby_goes_above_the_private_ones() {
    let code = "```ruby\ndef rest\n  @cone = 0\nend\n```";
    let script = Script::saying("").on("Write the new", code).on("First name", "add Kiln.rest").writing();
    let (file, answer, _) = asked(script, ("kiln.rb", RUBY), "Add a method rest() to the class Kiln in kiln.rb").await;
    let heat = "    @cone + by\n  end\n";
    let expected = RUBY.replace(heat, &format!("{heat}\n  def rest\n    @cone = 0\n  end\n"));
    assert_eq!(file, expected, "{answer}");
}

#[tokio::test]
async fn a_leading_model_is_told_the_places_of_a_name_that_is_defined_twice() {
    let call = |name: &str, code: &str| format!("[edit(path=\"kiln.c\", definition=\"{name}\", code=\"{code}\")]");
    let planner = Script::saying(&call("heat", "static int heat(int cone) { return 3; }"))
        .on("changed kiln.c", "Cooling takes two.")
        .on("line 4, line 6", &call("cool", "int cool(int cone)\\n{\\n    return cone - 2;\\n}"))
        .acting();
    let (file, answer, reports) = asked(planner, ("kiln.c", C), "Make the kiln quicker").await;
    assert_eq!(file, C.replace("cone - 1", "cone - 2"), "{answer}");
    let ended: Vec<bool> =
        reports.iter().map(|report| report.status == monobloc::protocol::StepStatus::Succeeded).collect();
    assert_eq!(ended, [false, true], "{reports:?}");
}
