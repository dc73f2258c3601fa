//! The methods of the protocol, each a few lines to the modules beside this one.
#![expect(
    deprecated,
    reason = "newer revisions of the protocol have no logging; the clients of today do"
)]

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CompletionInfo, ContentBlock, CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams,
    GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Reference,
    ServerCapabilities, ServerConfig, SetLevelRequestParams, SubscribeRequestParams, Tool,
    ToolAnnotations, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};

use super::queue::Turn;
use super::resources::{self, Named};
use super::roots::Workspaces;
use super::subscriptions::Subscriptions;
use super::{Shared, pages, prompt, route, wire};
use crate::config::Folders;
use crate::verbs::{self, Answer, Effect, Failure, Verb};

/// How often a client that asked for progress hears that a call still runs.
const STILL_HERE: Duration = Duration::from_secs(2);

const INSTRUCTIONS: &str = "postil: conversations with an agent in code comments. `AUTHOR:` lines are a person's, \
`AGENT:` lines an agent's. get_threads lists the threads, respond_to_thread answers one; it writes the marker lines, \
so never write them yourself. The prompt answer_threads says how to answer all that are pending.";

/// Where what changes anything is not offered.
const ONLY_READS: &str = "postil: conversations with an agent in code comments. `AUTHOR:` lines are a person's, \
`AGENT:` lines an agent's. get_threads lists the threads. This server only reads: it answers and removes none, and \
the marker lines are never yours to write.";

/// What a call is for.
enum Purpose {
    /// An agent reads the answer: a long list is cut. Of a call that writes its place in the queue.
    Agent(Option<Arc<Turn>>),
    /// Lists and resources are made of it.
    List,
}

pub(super) struct Handler {
    shared: Shared,
    /// What changes anything is not offered.
    read_only: bool,
}

impl Handler {
    pub fn new(fallback: PathBuf, folders: Folders, read_only: bool) -> Self {
        Self {
            shared: Arc::new(Workspaces::new(fallback, folders)),
            read_only,
        }
    }

    fn offers(&self, verb: &Verb) -> bool {
        !self.read_only || !verb.effect.writes()
    }

    fn verb(&self, name: &str) -> Option<&'static Verb> {
        verbs::verb(name).filter(|verb| self.offers(verb))
    }

    pub fn shared(&self) -> Shared {
        self.shared.clone()
    }

    /// A call of a verb on the client's workspaces.
    async fn run(
        &self,
        verb: &Verb,
        arguments: &Value,
        context: &RequestContext<RoleServer>,
        purpose: Purpose,
    ) -> Result<Answer, Failure> {
        // A call may be faster than what `initialized` has us do.
        self.shared.log.connect(&context.peer);
        let cancelled = || Failure::new("cancelled", "the call was cancelled");
        let running = async {
            let (shared, cancel) = (&self.shared, &context.ct);
            let (is_list, turn) = match purpose {
                Purpose::Agent(turn) => (false, turn),
                Purpose::List => (true, None),
            };
            if let Some(turn) = &turn {
                tokio::select! {
                    biased;
                    // It is not begun yet.
                    () = cancel.cancelled() => return Err(cancelled()),
                    () = turn.comes() => {}
                }
            }
            // One that may wait for the person holds up no other.
            let _turn = turn.filter(|_| !verb.takes_long);
            let found = shared.places(&context.peer).await?;
            let (told, places) = (&shared.told, &found.places);
            told.check(shared, places, verb, arguments, cancel).await?;
            let (answer, whole) = match verb.name {
                "get_threads" if !is_list => {
                    pages::threads(shared, &found, arguments, cancel).await?
                }
                _ => {
                    let answer = route::call(shared, &found, verb, arguments, cancel).await?;
                    (answer, None)
                }
            };
            let whole = whole.as_ref().unwrap_or(&answer.value);
            told.note(places, verb, arguments, &answer.value, whole);
            Ok(answer)
        };
        let running = AssertUnwindSafe(running).catch_unwind();
        let running = async {
            running.await.unwrap_or_else(|_| {
                tracing::error!("a defect while {} was carried out", verb.name);
                Err(Failure::defect())
            })
        };
        tokio::select! {
            outcome = running => outcome,
            () = verb.given_up(&context.ct) => Err(cancelled()),
            () = progress(verb, context) => Err(Failure::defect()),
        }
    }

    /// The same for what lists and resources are made of.
    async fn read(
        &self,
        verb: &Verb,
        arguments: Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<Answer, ErrorData> {
        let answered = self.run(verb, &arguments, context, Purpose::List).await;
        answered.map_err(|failure| internal(&failure))
    }
}

/// Never ends: tells the client, if it asked for that, that the call still runs.
async fn progress(verb: &Verb, context: &RequestContext<RoleServer>) {
    let Some(token) = context.meta.get_progress_token() else {
        return std::future::pending().await;
    };
    let mut seconds = 0;
    loop {
        let told = ProgressNotificationParam::new(token.clone(), f64::from(seconds))
            .with_message(format!("{}, {seconds} s", verb.title));
        // It is gone: the call ends by itself.
        let _ = context.peer.notify_progress(told).await;
        tokio::time::sleep(STILL_HERE).await;
        seconds += 2;
    }
}

fn internal(failure: &Failure) -> ErrorData {
    ErrorData::internal_error(failure.message.clone(), Some(json!({"code": failure.code})))
}

fn tool(verb: &Verb) -> Tool {
    let schema = verb.schema().as_object().cloned().unwrap_or_default();
    let annotations = ToolAnnotations::with_title(verb.title)
        .read_only(!verb.effect.writes())
        .destructive(verb.effect == Effect::Removes)
        .idempotent(verb.effect != Effect::Removes)
        .open_world(false);
    Tool::new(verb.name, verb.description, schema)
        .with_title(verb.title)
        .with_annotations(annotations)
}

fn result(outcome: Result<Answer, Failure>) -> CallToolResult {
    match outcome {
        Ok(answer) => {
            let text = answer.text.unwrap_or_else(|| answer.value.to_string());
            let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
            result.structured_content = Some(answer.value);
            result
        }
        Err(failure) => {
            let mut result = CallToolResult::error(vec![ContentBlock::text(&failure.message)]);
            result.structured_content =
                Some(json!({"error": failure.message, "code": failure.code}));
            result
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_completions()
            .enable_logging()
            .build();
        let mut instructions = INSTRUCTIONS;
        if self.read_only {
            capabilities.prompts = None;
            instructions = ONLY_READS;
        }
        let me = Implementation::new("postil", env!("CARGO_PKG_VERSION"))
            .with_title("postil: conversations in the margins of code");
        ServerConfig::new(capabilities)
            .with_server_info(me)
            .with_instructions(instructions)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.shared.log.connect(&context.peer);
        // So that what is wrong with the roots is told before the first call.
        let _ = self.shared.places(&context.peer).await;
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        // That they did was seen in the order of the wire.
        let _ = self.shared.places(&context.peer).await;
        self.shared.log.list_changed();
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.shared.log.set_level(request.level);
        Ok(())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(
            verbs::ALL
                .into_iter()
                .filter(|verb| self.offers(verb))
                .map(tool)
                .collect(),
        ))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.verb(name).map(tool)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let purpose = Purpose::Agent(context.extensions.remove());
        let Some(verb) = self.verb(&request.name) else {
            let offered = verbs::ALL.iter().filter(|verb| self.offers(verb));
            let known: Vec<&str> = offered.map(|verb| verb.name).collect();
            let text = format!(
                "no tool is called {}; there are {}",
                request.name.escape_debug(),
                known.join(", ")
            );
            return Err(ErrorData::invalid_params(text, None));
        };
        let arguments = request.arguments.map_or(Value::Null, Value::Object);
        let outcome = self.run(verb, &arguments, &context, purpose).await;
        if outcome.is_ok() && verb.effect.writes() {
            self.shared.log.list_changed();
        }
        Ok(result(outcome).into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        // It tells how to answer.
        let all = match self.read_only {
            true => Vec::new(),
            false => vec![prompt::prompt()],
        };
        Ok(ListPromptsResult::with_all_items(all))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if self.read_only {
            let text = "there is no prompt: this server only reads";
            return Err(ErrorData::invalid_params(text, None));
        }
        if request.name != prompt::NAME {
            let text = format!("the one prompt is {}", prompt::NAME);
            return Err(ErrorData::invalid_params(text, None));
        }
        let given = request.arguments.unwrap_or_default();
        let path = given
            .get("path")
            .and_then(Value::as_str)
            .filter(|path| !path.is_empty());
        let mut arguments = json!({"status": "pending"});
        if let Some(path) = path {
            arguments["path"] = json!(path);
        }
        let (verb, purpose) = (&verbs::GET_THREADS, Purpose::Agent(None));
        let pending = self.run(verb, &arguments, &context, purpose).await;
        let pending = pending
            .map(|answer| answer.value)
            .map_err(|failure| failure.message);
        Ok(prompt::get(path, pending).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let threads = self.read(&verbs::GET_THREADS, json!({}), &context).await?;
        let mut all = resources::threads(&threads.value);
        // A history that cannot be opened is told by its own tools.
        if let Ok(runs) = self
            .read(&verbs::WORKFLOW_LIST, resources::list_runs(), &context)
            .await
        {
            all.extend(resources::runs(&runs.value));
        }
        let cursor = request.and_then(|request| request.cursor);
        let Some((page, next)) = resources::page(all, cursor.as_deref()) else {
            return Err(ErrorData::invalid_params(
                "the cursor is none of ours",
                None,
            ));
        };
        let mut result = ListResourcesResult::with_all_items(page);
        result.next_cursor = next;
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(
            resources::templates(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let not_found =
            |text: String| ErrorData::resource_not_found(text, Some(json!({"uri": uri})));
        let named =
            resources::parse(&uri).ok_or_else(|| not_found(String::from(resources::NAMES)))?;
        let (value, text) = match named {
            Named::Thread(id) => {
                let list = self.read(&verbs::GET_THREADS, json!({}), &context).await?;
                let thread = resources::thread(&list.value, id).map_err(not_found)?;
                (thread, None)
            }
            Named::Run(id) => {
                let (verb, of_run) = (&verbs::WORKFLOW_THREAD, json!({"run_id": id}));
                let page = self.run(verb, &of_run, &context, Purpose::List).await;
                let page = page.map_err(|failure| not_found(failure.message))?;
                (page.value, page.text)
            }
        };
        let contents = resources::contents(&uri, named, &value, text.as_deref());
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Subscriptions::add(&self.shared, &context.peer, &request.uri).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.shared.subscriptions.remove(&request.uri);
        Ok(())
    }

    /// `rmcp` gives us what it cannot read, too.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(wire::malformed(&request)
            .unwrap_or_else(|| ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None)))
    }

    /// Ids of threads and runs, for the templates; paths are for the client to complete.
    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let list = match &request.r#ref {
            Reference::Resource(template) if template.uri.starts_with("postil://thread/") => {
                self.read(&verbs::GET_THREADS, json!({}), &context)
                    .await?
                    .value
            }
            Reference::Resource(template) if template.uri.starts_with("postil://run/") => {
                self.read(&verbs::WORKFLOW_LIST, resources::list_runs(), &context)
                    .await?
                    .value
            }
            _ => Value::Null,
        };
        let items = list.get("threads").or_else(|| list.get("runs"));
        let begun = &request.argument.value;
        let ids = items
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|item| item.get("id")?.as_str())
            .filter(|id| id.starts_with(begun.as_str()))
            .map(str::to_owned);
        let all: Vec<String> = ids.collect();
        let total = u32::try_from(all.len()).ok();
        let more = all.len() > CompletionInfo::MAX_VALUES;
        let shown = all.into_iter().take(CompletionInfo::MAX_VALUES).collect();
        let completion = CompletionInfo::with_pagination(shown, total, more)
            .map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(CompleteResult::new(completion))
    }
}
