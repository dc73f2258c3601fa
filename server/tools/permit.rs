//! Permission of a call: rules first, then what was granted, then the author. Every question of a tool goes
//! through here, so that it stands there once, is withdrawn with its turn, and is a no when nobody is there.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use dashmap::DashMap;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};
use serde_json::{Map, Value};

use super::Context;
use crate::host::{Host, Level, Question, in_turn};
use crate::present::visible;
use crate::trust::{Call, Grant, Grants, Risk, Wanted};

/// What the author said to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    /// By an answer that came while it waited: it was not asked.
    Granted,
    Once,
    Run,
    Kept(Wanted),
    Refused,
    Nobody,
}

type Asking = Shared<BoxFuture<'static, Said>>;

/// The questions of a session, and what was answered for as long as a run lasts.
pub struct Gate {
    grants: Grants,
    /// By run id. In memory: who starts again is asked again.
    runs: Arc<DashMap<String, Vec<Grant>>>,
    /// Questions that wait, by their run and all that tells them apart.
    waiting: DashMap<(String, String), WeakShared<BoxFuture<'static, Said>>>,
    /// The same question of several runs, by all that tells it apart from others: they put it one after the
    /// other. Of those that wait for it, each holds its place.
    places: DashMap<String, Weak<Place>>,
    /// A run asks one question at a time, so that its answer counts for the next.
    one_by_one: DashMap<String, Arc<tokio::sync::Mutex<()>>>,
    /// Questions that nobody answered, each a sentence.
    unanswered: Mutex<Vec<String>>,
    acts: AtomicU64,
}

/// Where one question stands.
#[derive(Default)]
struct Place {
    turn: tokio::sync::Mutex<()>,
    /// How often it was refused or closed, and which of the two at last.
    refused: Mutex<(u64, Option<Said>)>,
}

impl Place {
    fn refused(&self) -> (u64, Option<Said>) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refuse(&self, said: Said) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        *refused = (refused.0 + 1, Some(said));
    }
}

/// One question to come.
struct Asked {
    text: String,
    choices: Vec<(String, Said)>,
    /// What an answer can grant; `None`: the act alone.
    about: Option<About>,
}

/// A call, kept for as long as its question stands.
struct About {
    run: String,
    tool: String,
    risk: Risk,
    argument: String,
    root: PathBuf,
    /// No grant counts for it.
    each_time: bool,
}

impl About {
    fn call(&self) -> Call<'_> {
        Call {
            tool: &self.tool,
            risk: self.risk,
            argument: &self.argument,
            root: &self.root,
        }
    }

    fn is_granted(&self, gate: &Gate) -> bool {
        !self.each_time && gate.is_granted(&self.run, &self.call())
    }

    /// Before the next question is put, for it may be answered by this.
    fn keep(&self, gate: &Gate, said: Said, host: &dyn Host) {
        match said {
            Said::Run => {
                if let Some(grant) = Grant::of(&self.call(), Wanted::Here) {
                    gate.runs.entry(self.run.clone()).or_default().push(grant);
                }
            }
            Said::Kept(wanted) => {
                if let Err(error) = gate.grants.keep(&self.call(), wanted) {
                    let text = format!(
                        "allowed this once, for the permission could not be kept: {error:#}"
                    );
                    host.message(Level::Warning, &text);
                }
            }
            Said::Granted | Said::Once | Said::Refused | Said::Nobody => {}
        }
    }
}

impl Gate {
    /// `data`: the folder where grants are kept.
    pub fn new(data: &Path) -> Arc<Self> {
        Arc::new(Self {
            grants: Grants::open(data),
            runs: Arc::default(),
            waiting: DashMap::new(),
            places: DashMap::new(),
            one_by_one: DashMap::new(),
            unanswered: Mutex::default(),
            acts: AtomicU64::new(0),
        })
    }

    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// Questions that nobody answered until now.
    pub fn unanswered(&self) -> Vec<String> {
        self.unanswered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The run is over: what was granted for it is.
    pub fn forget(&self, run: &str) {
        self.runs.remove(run);
        self.one_by_one.remove(run);
    }

    fn is_granted(&self, run: &str, call: &Call) -> bool {
        let in_run = self
            .runs
            .get(run)
            .is_some_and(|grants| grants.iter().any(|grant| grant.covers(call)));
        in_run || self.grants.allow(call)
    }

    fn place(&self, identity: &str) -> Arc<Place> {
        self.places.retain(|_, place| place.strong_count() > 0);
        let mut known = self.places.entry(identity.to_owned()).or_default();
        known.upgrade().unwrap_or_else(|| {
            let place = Arc::default();
            *known = Arc::downgrade(&place);
            place
        })
    }

    /// Asks, or joins the same question of the run that waits already. Where another run's stands there, this
    /// one comes after it, unless the answer counts for both: a grant that covers it, or a no. `identity`: all
    /// that tells it apart.
    ///
    /// # Errors
    /// Why it is a no.
    async fn ask(
        self: &Arc<Self>,
        cx: &Context,
        identity: String,
        asked: Asked,
    ) -> Result<(), String> {
        let (text, choices) = (asked.text.clone(), asked.choices.clone());
        let tool = asked.about.as_ref().map(|about| about.tool.clone());
        let said = self.put(cx, identity, asked).await;
        if said != Said::Granted && !cx.cancel.is_cancelled() {
            let taken = choices.iter().find(|(_, choice)| *choice == said);
            let answer = taken.map_or("Nobody answered", |(title, _)| title);
            record(cx, tool, answer, &text)?;
        }
        self.answered(cx, said, &text)
    }

    async fn put(self: &Arc<Self>, cx: &Context, identity: String, asked: Asked) -> Said {
        let key = (cx.run.clone(), identity);
        let waiting = self.waiting.get(&key).and_then(|known| known.upgrade());
        let asking: Asking = waiting.unwrap_or_else(|| {
            let gate = Arc::clone(self);
            let host = cx.host.clone();
            let turn = Arc::clone(&self.one_by_one.entry(cx.run.clone()).or_default());
            let place = self.place(&key.1);
            let asking = async move {
                let _turn = turn.lock().await;
                let (before, _) = place.refused();
                let _place = in_turn(&place.turn, &*host).await;
                if asked.about.as_ref().is_some_and(|it| it.is_granted(&gate)) {
                    return Said::Granted;
                }
                if let (now, Some(said)) = place.refused()
                    && now != before
                {
                    return said;
                }
                let said = show(&*host, &asked).await;
                if matches!(said, Said::Refused | Said::Nobody) {
                    place.refuse(said);
                }
                if let Some(about) = &asked.about {
                    about.keep(&gate, said, &*host);
                }
                said
            };
            let asking = asking.boxed().shared();
            if let Some(weak) = asking.downgrade() {
                self.waiting.insert(key.clone(), weak);
            }
            asking
        });
        // The question ends with the last who waits for it.
        let said = tokio::select! {
            said = asking => said,
            () = cx.cancel.cancelled() => Said::Nobody,
        };
        self.waiting
            .remove_if(&key, |_, weak| weak.upgrade().is_none());
        said
    }

    pub fn note_unanswered(&self, text: &str) {
        self.unanswered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(text.to_owned());
    }

    fn answered(&self, cx: &Context, said: Said, text: &str) -> Result<(), String> {
        match said {
            Said::Granted | Said::Once | Said::Run | Said::Kept(_) => Ok(()),
            Said::Refused => Err(format!("The author refused: {text}")),
            Said::Nobody => {
                if !cx.cancel.is_cancelled() {
                    self.note_unanswered(text);
                }
                Err(format!(
                    "Nobody answered the question, which counts as no: {text}"
                ))
            }
        }
    }
}

/// What was answered is a round of its own, written before anything follows from it.
fn record(cx: &Context, tool: Option<String>, answer: &str, text: &str) -> Result<(), String> {
    let Some(store) = &cx.store else {
        return Ok(());
    };
    let mut metadata = Map::new();
    metadata.extend(tool.map(|tool| (String::from("tool"), Value::from(tool))));
    metadata.insert(String::from("answer"), Value::from(answer));
    let recorded = store.append(&cx.run, "approval", metadata, text);
    recorded.map(drop).map_err(|error| {
        format!("Not carried out: the author's answer could not be recorded: {error}")
    })
}

async fn show(host: &dyn Host, asked: &Asked) -> Said {
    let question = Question {
        text: asked.text.clone(),
        choices: asked.choices.iter().map(|(text, _)| text.clone()).collect(),
        last_is_no: true,
    };
    match host.ask(question).await {
        Some(taken) => asked
            .choices
            .get(taken)
            .map_or(Said::Refused, |(_, said)| *said),
        None => Said::Nobody,
    }
}

/// Asks for a call that the rules leave open. `each_time`: why no grant counts for it. `input`: the whole of
/// it, for two calls about one thing may differ.
pub(super) async fn permit(
    cx: &Context,
    tool: &str,
    risk: Risk,
    argument: &str,
    input: &str,
    each_time: Option<&str>,
) -> Result<(), String> {
    let root = cx.tree.root().to_owned();
    let call = Call {
        tool,
        risk,
        argument,
        root: &root,
    };
    let gate = &cx.gate;
    if each_time.is_none() && gate.is_granted(&cx.run, &call) {
        return Ok(());
    }
    let (shown, whole) = quoted(argument);
    let verb = match risk {
        Risk::Read => "read",
        Risk::Write => "change",
        Risk::Run => "run",
        Risk::Send => "send to the web",
    };
    let folder = visible(&root.display().to_string()).replace('\n', "⏎");
    let mut text = format!("The agent wants to {verb} {shown} with {tool}, in {folder}.");
    if let Some(why) = each_time {
        text = format!("{text} {why}");
    }
    let mut choices = vec![(String::from("Allow once"), Said::Once)];
    // Nobody grants for longer what cannot be read in whole.
    if each_time.is_none() && whole {
        let kept = |text: &str, wanted| (text.to_owned(), Said::Kept(wanted));
        choices.push((String::from("Allow in this run"), Said::Run));
        choices.push(kept("Allow in this workspace", Wanted::Here));
        if let Some(pattern) = call.offer() {
            let text = format!("Allow {} in this workspace", quoted(&pattern).0);
            choices.push(kept(&text, Wanted::Pattern));
        }
        choices.push(kept("Always allow", Wanted::Everywhere));
    }
    choices.push((String::from("Refuse"), Said::Refused));
    let about = About {
        run: cx.run.clone(),
        tool: tool.to_owned(),
        risk,
        argument: argument.to_owned(),
        root: root.clone(),
        each_time: each_time.is_some(),
    };
    let asked = Asked {
        text,
        choices,
        about: Some(about),
    };
    let identity = format!(
        "{}\0{tool}\0{argument}\0{input}\0{}",
        root.display(),
        each_time.unwrap_or_default()
    );
    gate.ask(cx, identity, asked).await
}

/// Asks for one act that is asked each time, whatever was granted: a guarded file.
pub(super) async fn each_time(cx: &Context, text: String) -> Result<(), String> {
    let choices = vec![
        (String::from("Allow once"), Said::Once),
        (String::from("Refuse"), Said::Refused),
    ];
    let asked = Asked {
        text,
        choices,
        about: None,
    };
    // Each is a question of its own: two writes to one file are two acts.
    let act = cx.gate.acts.fetch_add(1, Ordering::Relaxed);
    let identity = format!("act {act}");
    cx.gate.ask(cx, identity, asked).await
}

/// Most characters of an argument in a question: half from its beginning, half from its end.
const SHOWN: usize = 800;

/// For a question: one line, nothing that steers or hides, and whether it is all there.
pub fn quoted(text: &str) -> (String, bool) {
    let mut line = String::new();
    // Line ends are shown: an editor that leaves them out would show another command.
    for c in text.chars() {
        match c {
            '\n' => line.push('⏎'),
            '\t' => line.push('⇥'),
            c if c.is_control() => line.push_str(&format!("⟨U+{:04X}⟩", u32::from(c))),
            c => line.push(c),
        }
    }
    let line = visible(&line);
    let length = line.chars().count();
    if length <= SHOWN {
        return (format!("`{line}`"), true);
    }
    let head: String = line.chars().take(SHOWN / 2).collect();
    let tail: String = line.chars().skip(length - SHOWN / 2).collect();
    let left_out = length - SHOWN;
    (
        format!("`{head} … ({left_out} characters are not shown) … {tail}`"),
        false,
    )
}
