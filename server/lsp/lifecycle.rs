//! The life of a connection: initialize, what is registered then, folders, settings, watched files, the end.

use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tower_lsp::jsonrpc::Error;

use super::host::EditorHost;
use super::{Ended, Server, capabilities, from_proto, names, navigation, refresh, watching};
use crate::bridge;
use crate::config::{self, PROJECT_FILE};
use crate::host::Level;
use crate::os;
use crate::present;
use crate::session::{STORM, Session};

/// Stands for the announcement of what is forwarded, among what was told.
const FORWARDED: &str = "postil: forwarded";
/// Stands for the warning of settings that are not in their section, among what was told.
const MISPLACED: &str = "postil: misplaced settings";

/// The most wrong settings that one message tells of.
const TOLD: usize = 3;

/// How often the parent is looked for where the system cannot tell of its end.
const PARENT_POLL: Duration = Duration::from_millis(400);

/// Answers `initialize`. Reads the parameters as they came, so that a client which knows more than this server
/// (or less than it should) is served.
pub(super) fn initialize(server: &Arc<Server>, params: Value) -> Result<Value, Error> {
    let client = capabilities::Client::read(&params);
    let roots = roots(&params);
    let host = Arc::new(EditorHost::new(server));
    let session = Session::new(Vec::new(), None, host, server.folders.clone())?;
    session.spare_home();
    let trusted = params
        .pointer("/initializationOptions/trusted")
        .and_then(Value::as_bool);
    set_trusted(server, trusted);
    for root in roots {
        match root {
            Ok(root) => add_folder(server, &session, root),
            Err(named) if from_proto::is_elsewhere(&named) => {
                tracing::info!("the folder {named} is on no disk");
            }
            Err(named) => leave_out(server, &named, "it is no `file:` URI"),
        }
    }
    let forwarded = navigation::proxies(&session);
    if forwarded {
        server.told.insert(FORWARDED.to_owned());
    }
    let mut announced = capabilities::announce(&client, forwarded);
    // Where the user writes what no editor may set: a model's key and address, permissions.
    announced["experimental"] = json!({"postil": {
        "protocol": capabilities::PROTOCOL,
        "configFile": server.folders.config_file().to_string_lossy(),
    }});
    session.children.set_client(
        params.get("capabilities").cloned().unwrap_or_default(),
        client.encoding,
    );
    let progress = Arc::downgrade(server);
    session
        .children
        .set_forward(Arc::new(move |method, mut params| {
            if let Some(server) = progress.upgrade() {
                // Partial results.
                names::to_client(&server, &mut params);
                server.client.report(method, params);
            }
        }));
    // Set once: a second initialize was refused before.
    let _ = server.capabilities.set(client);
    let _ = server.session.set(session);
    take_calls(server);
    if let Some(parent) = params.get("processId").and_then(Value::as_i64) {
        end_with(server, parent);
    }
    Ok(
        json!({"capabilities": announced, "serverInfo": {"name": "postil", "version": env!("CARGO_PKG_VERSION")}}),
    )
}

/// Ends the connection when the process `parent` does. On Windows nothing tells of a process but polling lists of them;
/// its end closes its side of the connection, which is seen at once.
pub(super) fn end_with(server: &Arc<Server>, parent: i64) {
    // What can be no process is none.
    if cfg!(not(unix)) || !(1..=i64::from(i32::MAX)).contains(&parent) {
        return;
    }
    // One of several connections may end long before its editor does.
    let server = Arc::downgrade(server);
    std::thread::spawn(move || {
        wait_for_end(parent);
        if let Some(server) = server.upgrade() {
            tracing::info!("process {parent}, for which this server works, is gone");
            server.end(Ended::ParentDied);
        }
    });
}

/// The workspace folders, in the words of old clients too. The error is what was named and can be no folder.
fn roots(params: &Value) -> Vec<Result<PathBuf, String>> {
    let root = |uri: &str| from_proto::named(uri).ok_or_else(|| uri.to_owned());
    let folders = params
        .get("workspaceFolders")
        .and_then(Value::as_array)
        .filter(|folders| !folders.is_empty());
    if let Some(folders) = folders {
        let uris = folders
            .iter()
            .filter_map(|folder| folder.get("uri")?.as_str());
        return uris.map(root).collect();
    }
    let text = |name: &str| params.get(name).and_then(Value::as_str);
    let by_path = || text("rootPath").map(|path| Ok(PathBuf::from(path)));
    let root = match text("rootUri").map(root) {
        Some(Ok(root)) => Some(Ok(root)),
        other => by_path().or(other),
    };
    root.into_iter().collect()
}

/// The author opened that folder, and would not know why its threads are not there.
fn leave_out(server: &Server, named: &str, why: &str) {
    tracing::warn!("the folder {named} is left out: {why}");
    let mut left_out = server
        .left_out
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    left_out.push(present::visible(&format!("`{named}` ({why})")));
}

fn tell_left_out(server: &Server) {
    let mut left_out = server
        .left_out
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let all = std::mem::take(&mut *left_out);
    drop(left_out);
    if !all.is_empty() {
        let text = format!("left out of the workspace: {}", all.join("; "));
        super::host::message(server, Level::Warning, &text);
    }
}

fn trusted(server: &Server) -> MutexGuard<'_, Option<bool>> {
    server
        .trusted
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

fn set_trusted(server: &Server, answer: Option<bool>) {
    *trusted(server) = answer;
}

/// The author answered the editor's own question anew (VS Code's Workspace Trust).
fn trust_changed(server: &Server, params: &Value) {
    let Some(answer) = params.get("trusted").and_then(Value::as_bool) else {
        return tracing::warn!("postil/didChangeTrust without `trusted`, which is true or false");
    };
    set_trusted(server, Some(answer));
    let Some(session) = server.session.get() else {
        return;
    };
    for workspace in session.workspaces() {
        session.trust_for_session(workspace.root(), answer);
    }
}

fn add_folder(server: &Server, session: &Session, root: PathBuf) {
    // First, so that nobody has to look whether the user trusts it for good.
    if let Some(trusted) = *trusted(server) {
        session.trust_for_session(&root, trusted);
    }
    if let Err(error) = session.add_folder(&root) {
        let why = match root.exists() {
            false => String::from("there is no such folder"),
            true if !root.is_dir() => String::from("it is no folder"),
            true => error.to_string(),
        };
        return leave_out(server, &root.to_string_lossy(), &why);
    }
    let canonical = os::resolved(&root);
    server.documents.add_folder(root, canonical);
}

/// `postil mcp` finds this server, for each of its folders.
fn take_calls(server: &Server) {
    let Some(session) = server.session.get() else {
        return;
    };
    for workspace in session.workspaces() {
        let root = workspace.root();
        server
            .bridges
            .entry(root.to_owned())
            .or_insert_with(|| bridge::listen(session, root, &server.runtime));
    }
}

/// `false`: not a notification that is handled here.
pub(super) fn notification(server: &Arc<Server>, method: &str, params: Value) -> bool {
    match method {
        "initialized" => initialized(server),
        "workspace/didChangeConfiguration" => configuration_changed(server, params),
        "workspace/didChangeWorkspaceFolders" => folders_changed(server, &params),
        "workspace/didChangeWatchedFiles" => {
            files_changed(
                server,
                from_proto::files(&params),
                from_proto::made(&params),
            );
        }
        "workspace/didRenameFiles" => files_renamed(server, &params),
        "window/workDoneProgress/cancel" => cancel_progress(server, &params),
        "postil/didChangeTrust" => trust_changed(server, &params),
        "$/setTrace" => {}
        _ => return false,
    }
    true
}

fn initialized(server: &Arc<Server>) {
    tell_left_out(server);
    let server = server.clone();
    server.runtime.clone().spawn(async move {
        let mut registrations = Vec::from_iter(watching::registration(&server));
        if server.capabilities().watch_configuration {
            registrations.push(
                json!({"id": "postil-settings", "method": "workspace/didChangeConfiguration",
                "registerOptions": {"section": "postil"}}),
            );
        }
        register(&server, registrations).await;
        pull_settings(&server).await;
        publish_all(&server).await;
        watching::watch_ourselves(&server);
    });
}

async fn register(server: &Server, registrations: Vec<Value>) {
    if registrations.is_empty() {
        return;
    }
    let params = json!({"registrations": registrations});
    let asked = server.client.request("client/registerCapability", params);
    if let Err(error) = asked.await {
        tracing::warn!("the client did not register: {error}");
    }
}

/// Threads of closed files too.
async fn publish_all(server: &Arc<Server>) {
    let server = server.clone();
    // The walk reads the whole tree.
    let walked = tokio::task::spawn_blocking(move || {
        let Some(session) = server.session.get() else {
            return;
        };
        server.publisher.later(session.files_with_threads());
        let recalled = session.recall_turns();
        if !recalled.is_empty() {
            server.publisher.later(recalled);
            // A file that the client asked for before does not show them yet.
            refresh::all(&server);
        }
        settings_changed(&server, session);
        os::return_memory();
    });
    if walked.await.is_err() {
        tracing::error!("a defect while the workspace was walked");
    }
}

/// An editor tells its settings only after what `initialize` announced: what they add is registered then.
fn announce_more(server: &Arc<Server>, session: &Session) {
    let client = server.capabilities();
    if client.registers.is_empty()
        || !navigation::proxies(session)
        || !server.told.insert(FORWARDED.to_owned())
    {
        return;
    }
    let registrations = client.registers.iter().map(|proxied| {
        let mut options = proxied.options();
        options["documentSelector"] = Value::Null;
        json!({"id": format!("postil-{}", proxied.method), "method": proxied.method, "registerOptions": options})
    });
    let registrations = registrations.collect();
    let server = server.clone();
    let runtime = server.runtime.clone();
    runtime.spawn(async move { register(&server, registrations).await });
}

/// Another program may have written settings meanwhile (an answer may have told its author to), and the user's own are
/// watched by nobody.
pub(super) fn refresh_settings(server: &Arc<Server>, session: &Session) {
    if session.refresh_settings() {
        settings_changed(server, session);
    }
}

/// Problems of settings are shown where they are. Whoever has that file not open is told of each, once.
pub(super) fn settings_changed(server: &Arc<Server>, session: &Session) {
    announce_more(server, session);
    let mut untold = Vec::new();
    let workspaces = session.workspaces();
    for workspace in &workspaces {
        let file = workspace.root().join(PROJECT_FILE);
        let is_open = server.documents.uri(&file).is_some();
        for problem in &workspace.loaded().problems {
            if is_open && problem.file.as_ref() == Some(&file) {
                continue;
            }
            // Not by its line, which moves.
            let place = problem.file.as_deref().map(Path::display);
            let place = place.map_or_else(String::new, |place| place.to_string());
            if !server.told.insert(place + &problem.message) {
                continue;
            }
            let told = problem.sentence();
            // In one line there is little room, and of one folder alone it goes without saying.
            let folder = format!("{}{MAIN_SEPARATOR}", workspace.root().display());
            let short = told.strip_prefix(&folder).filter(|_| workspaces.len() == 1);
            let told = present::one_line(short.unwrap_or(&told));
            untold.push((told, problem.file.is_some()));
        }
        server.publisher.urgent(file);
    }
    // One, for of several many an editor shows the last alone.
    let left = untold.split_off(untold.len().min(TOLD));
    let mut told: Vec<String> = untold.into_iter().map(|(told, _)| told).collect();
    if !left.is_empty() {
        let more = left.len();
        told.push(match left.iter().all(|(_, in_file)| *in_file) {
            true => format!("{more} more: `postil doctor` lists them"),
            // The editor's it does not know.
            false => format!("{more} more, of the editor's settings too"),
        });
    }
    if !told.is_empty() {
        session.host.message(Level::Warning, &told.join("; "));
    }
}

/// The settings as the client gives them now. What is no object changes nothing, but `null`: it has none
/// (LSP 3.17 §Configuration Request), or none any more.
fn configure(server: &Arc<Server>, section: Value) {
    let Some(session) = server.session.get() else {
        return;
    };
    let mut section = match section {
        Value::Null => json!({}),
        section @ Value::Object(_) => section,
        _ => return,
    };
    // An editor that does not tell a workspace's settings from the user's may hand on what a workspace says is theirs.
    if !server.capabilities().knows_own_settings
        && let Some(section) = section.as_object_mut()
    {
        section.remove(config::OWN);
    }
    if session.configure(section) {
        server.watching.tell([], true);
    }
    settings_changed(server, session);
}

async fn pull_settings(server: &Arc<Server>) {
    if !server.capabilities().configuration {
        return;
    }
    match server
        .client
        .request(
            "workspace/configuration",
            json!({"items": [{"section": "postil"}]}),
        )
        .await
    {
        Ok(Value::Array(mut sections)) if !sections.is_empty() => {
            configure(server, sections.swap_remove(0));
        }
        Ok(_) => {}
        Err(error) => tracing::info!("the client has no settings for us: {error}"),
    }
}

/// Clients that answer `workspace/configuration` are asked; others send the settings along. Either way what stands
/// beside the section `postil` is passed over, which its author is told.
fn configuration_changed(server: &Arc<Server>, mut params: Value) {
    if let Some(name) = params.get("settings").and_then(config::misplaced)
        && let Some(session) = server.session.get()
        && server.told.insert(String::from(MISPLACED))
    {
        let text = format!(
            "the editor's settings have `{name}` where it counts for nothing: put it, and what else is meant for this server, below `postil`, as `postil.{name}`"
        );
        session.host.message(Level::Warning, &text);
    }
    if server.capabilities().configuration {
        let server = server.clone();
        server
            .runtime
            .clone()
            .spawn(async move { pull_settings(&server).await });
        return;
    }
    if let Some(settings) = params
        .get_mut("settings")
        .and_then(|all| all.as_object_mut())
    {
        configure(server, settings.remove("postil").unwrap_or_default());
    }
}

fn folders_changed(server: &Arc<Server>, params: &Value) {
    let Some(session) = server.session.get() else {
        return;
    };
    let folders = |name: &str| -> Vec<PathBuf> {
        let list = params
            .pointer("/event")
            .and_then(|event| event.get(name))
            .and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(|folder| from_proto::named(folder.get("uri")?.as_str()?))
            .collect()
    };
    for gone in folders("removed") {
        let Some(folder) = server.documents.remove_folder(&gone) else {
            continue;
        };
        session.remove_folder(&folder);
        server.watching.forget(&folder);
        server.bridges.remove(&folder);
        server.publisher.withdraw(&folder, server.margin.told());
    }
    for new in folders("added") {
        add_folder(server, session, new);
    }
    tell_left_out(server);
    take_calls(server);
    let server = server.clone();
    server.runtime.clone().spawn(async move {
        register(&server, Vec::from_iter(watching::registration(&server))).await;
        publish_all(&server).await;
        // The ids of threads are of the file's path in its folder.
        refresh::all(&server);
        watching::watch_ourselves(&server);
    });
}

/// `paths`, `made` of them: as the client names them.
pub(super) fn files_changed(server: &Arc<Server>, paths: Vec<PathBuf>, made: Vec<PathBuf>) {
    let watched = server.clone();
    let is_storm = paths.len() > STORM;
    let tell = move || {
        // The whole tree is looked at then, links with it.
        let resolved = |paths: Vec<PathBuf>| match is_storm {
            true => os::resolved_folders(paths),
            false => os::resolved_all(paths),
        };
        if let Some(session) = watched.session.get() {
            session.children.made(resolved(made));
        }
        let mut paths = resolved(paths);
        // git's own files are no text of the author's; its index says what it tracks.
        paths.retain(|path| {
            path.file_name().is_some_and(|name| name == "index")
                || !path.components().any(|part| part.as_os_str() == ".git")
        });
        if !paths.is_empty() {
            watched.watching.tell(paths, false);
        }
    };
    // Of a checkout the system is asked thousands of times: no key waits for that.
    match is_storm {
        true => drop(server.runtime.spawn_blocking(tell)),
        false => tell(),
    }
}

fn files_renamed(server: &Arc<Server>, params: &Value) {
    let files = params.get("files").and_then(Value::as_array);
    let path = |file: &Value, name: &str| from_proto::path(file.get(name)?.as_str()?);
    let pairs: Vec<(PathBuf, PathBuf)> = files
        .into_iter()
        .flatten()
        .filter_map(|file| Some((path(file, "oldUri")?, path(file, "newUri")?)))
        .collect();
    if pairs.is_empty() {
        return;
    }
    let server = server.clone();
    server.runtime.clone().spawn_blocking(move || {
        let Some(session) = server.session.get() else {
            return;
        };
        for (old, new) in pairs {
            session.renamed(&old, &new);
            server.watching.tell([old, new], false);
        }
    });
}

fn cancel_progress(server: &Arc<Server>, params: &Value) {
    let Some(run) = params
        .get("token")
        .and_then(Value::as_str)
        .and_then(super::host::run_of_token)
        .map(str::to_owned)
    else {
        return;
    };
    let Some(session) = server.session.get().cloned() else {
        return;
    };
    server.runtime.spawn(async move {
        if let Err(error) = session.cancel(&run).await {
            tracing::info!("run {run} was not cancelled: {error}");
        }
    });
}

/// Turns are ended and recorded before `shutdown` is answered.
pub(super) async fn shutdown(server: &Server) {
    server.publisher.end_news();
    if let Some(session) = server.session.get() {
        session.leave().await;
    }
}

/// Waits until a process is gone, or has ended and waits to be collected by its parent. Blocking.
fn wait_for_end(process: i64) {
    #[cfg(target_os = "linux")]
    {
        use rustix::event::{PollFd, PollFlags, poll};
        use rustix::process::{Pid, PidfdFlags, pidfd_open};
        let id = i32::try_from(process).ok().and_then(Pid::from_raw);
        match id.map(|id| pidfd_open(id, PidfdFlags::empty())) {
            Some(Ok(descriptor)) => loop {
                match poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], None) {
                    Ok(_) => return,
                    Err(rustix::io::Errno::INTR) => {}
                    Err(_) => break,
                }
            },
            Some(Err(rustix::io::Errno::SRCH)) => return,
            // An old kernel, or one that forbids it.
            _ => {}
        }
    }
    while is_alive(process) {
        std::thread::sleep(PARENT_POLL);
    }
}

#[cfg(unix)]
fn is_alive(process: i64) -> bool {
    let id = i32::try_from(process)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    // A process of somebody else is alive too.
    id.is_some_and(|id| {
        !matches!(
            rustix::process::test_kill_process(id),
            Err(rustix::io::Errno::SRCH)
        )
    })
}

#[cfg(not(unix))]
fn is_alive(_: i64) -> bool {
    true
}
