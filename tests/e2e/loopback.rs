//! Programs that nobody here wrote, in a network that is nothing but loopback, beside a scripted model
//! (`tests/fixtures/mcp_model.py`, which starts them). Their environment is a throw-away home, their keys are
//! the word `dummy`.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::harness::Workspace;

/// What makes nothing but a question to the model, and logs nobody in.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("CI", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_TELEMETRY", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
    ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
    ("ANTHROPIC_API_KEY", "dummy"),
    ("OPENAI_API_KEY", "dummy"),
    ("ANTHROPIC_BASE_URL", "http://127.0.0.1:{port}"),
];

/// The program; its arguments are to be added. `{port}` in them and in the environment is the model's. `None`, and
/// a note: this system gives us no such network.
pub fn command(workspace: &Workspace, name: &str, program: impl AsRef<Path>) -> Option<Command> {
    let makes = |flag: &&str| {
        let made = Command::new("unshare")
            .args([*flag, "true"])
            .stderr(Stdio::null())
            .status();
        made.is_ok_and(|status| status.success())
    };
    let Some(flag) = ["-n", "-rn"].into_iter().find(makes) else {
        let _ = writeln!(std::io::stderr(), "skipped: {name} (no network namespace)");
        return None;
    };
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_model.py");
    let mut command = workspace.command("unshare");
    command
        .args([flag, "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"])
        .arg("python3")
        .arg(model)
        .arg(program.as_ref())
        .envs(ENVIRONMENT.iter().copied())
        .env("MODEL_LOG", log(workspace));
    Some(command)
}

/// What the model was given, one line of JSON each.
pub fn log(workspace: &Workspace) -> std::path::PathBuf {
    workspace.path("../model.log")
}
