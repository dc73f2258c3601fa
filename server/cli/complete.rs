//! Completions: the script of a shell asks this program at each Tab, for only it knows the threads, the runs and the
//! tools of the workspace.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::CommandFactory as _;
use clap_complete::CompletionCandidate;
use clap_complete::engine::{PathCompleter, ValueCompleter as _};
use clap_complete::env::{CompleteEnv, Shells};

use super::args::{Args, Color};
use super::host::Terminal;
use super::out::Out;
use super::{Cx, Error};
use crate::present;
use crate::session::{Listed, Session};
use crate::store::RunStatus;
use crate::threads::Status;
use crate::tools::Registry;

/// A shell that asks sets it to its own name.
const ASKED: &str = "POSTIL_COMPLETE";
/// The newest runs that are offered.
const RUNS: usize = 100;
/// How long a Tab may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// Characters of what was said that stand beside an id.
const SAID: usize = 60;

/// bash ends a word at a colon or an equals sign, as in `ollama/qwen3:8b`, and puts what is chosen behind it. It hands
/// words over as they are typed, and quotes what is chosen only where it is told that these are names of files; it
/// ends those of folders with a slash itself then.
const WHOLE_WORDS: &str = r#"
_postil() {
    local -a whole=()
    local at word here=0 line=$COMP_LINE apart last=$2 one names=
    for at in "${!COMP_WORDS[@]}"; do
        word=${COMP_WORDS[at]} apart=
        if [[ $line == [[:space:]]* ]]; then apart=1; fi
        line=${line#"${line%%[![:space:]]*}"}
        line=${line#"$word"}
        if ((at == COMP_CWORD && BASH_VERSINFO[0] >= 4)) && [[ $word != [:=]* ]]; then word=$2; fi
        if [[ $word == *\\* && $word != [\'\"]* ]]; then IFS= read word <<<"$word"; fi
        if ((at == COMP_CWORD)) && [[ $word != [:=]* ]]; then last=$word; fi
        if [[ ! $apart ]] && ((at > 1 && at <= COMP_CWORD)) && [[ ${COMP_WORDS[at]} == [:=]* || ${COMP_WORDS[at - 1]} == *[:=] ]]; then
            whole[${#whole[@]} - 1]+=$word
        else
            whole+=("$word")
        fi
        if ((at == COMP_CWORD)); then here=$((${#whole[@]} - 1)); fi
    done
    local typed=${whole[here]}
    local COMP_WORDS=("${whole[@]}") COMP_CWORD=$here
    _clap_complete_postil "$1" "$typed" ""
    for one in ${COMPREPLY[@]+"${COMPREPLY[@]}"}; do
        if [[ -f $one || ($one == */ && -d $one) ]]; then names=1; fi
    done
    if [[ $names ]] && compopt -o filenames 2>/dev/null; then COMPREPLY=("${COMPREPLY[@]%/}"); fi
    COMPREPLY=(${COMPREPLY[@]+"${COMPREPLY[@]#"${typed%"$last"}"}"})
}
"#;

/// zsh alone knows what `~`, `$HOME` and an open quote stand for, so that it completes names of files itself, where postil
/// would have them: they have nothing beside them.
const NAMES: &str = r#"
function _postil_asked() {
    _CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$((CURRENT - 1)) POSTIL_COMPLETE=zsh postil -- "$@" 2>/dev/null
}
function _postil_words() {
    local -a found
    local one names= before=("${words[@]}")
    # What may stand here, whatever is typed.
    before[CURRENT]=
    for one in "${(@f)$(_postil_asked "${before[@]}")}"; do
        if [[ $one != *:* && -e $one ]]; then names=1; fi
    done
    if [[ ! $names ]]; then
        _clap_dynamic_completer_postil "$@"
        return
    fi
    found=("${(@f)$(_postil_asked "${words[@]}")}")
    found=(${(M)found:#*:*})
    if [[ -n $found ]]; then _describe -V values found; fi
    _files
}
"#;

/// fish hands the word over as it is typed, with its backslashes and quotes, the last of which may be open still; what it
/// is offered it writes in its own way.
const TYPED: &str = r#"
function _postil_typed
    set -l typed (commandline --current-token --cut-at-cursor)
    for end in '' '"' "'"
        string unescape -- $typed$end 2>/dev/null; and return
    end
    printf '%s\n' $typed
end
"#;

/// What the shell asked for; `None`: no shell has asked.
pub(super) fn answered() -> Option<ExitCode> {
    std::env::var_os(ASKED)?;
    let here = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(Args::command)
        .var(ASKED)
        .bin("postil")
        .completer("postil")
        .try_complete(std::env::args_os(), here.as_deref());
    match asked {
        Ok(true) => Some(ExitCode::SUCCESS),
        Ok(false) => None,
        Err(error) => {
            let _ = error.print();
            Some(ExitCode::from(2))
        }
    }
}

/// The script that has a shell ask.
pub(super) fn script(shell: clap_complete::Shell) -> std::io::Result<Vec<u8>> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    if let Some(asks) = shells.completer(&shell.to_string()) {
        asks.write_registration(ASKED, "postil", "postil", "postil", &mut script)?;
    }
    if shell == clap_complete::Shell::Bash {
        let text = String::from_utf8_lossy(&script);
        script = (text.replace("-F _clap_complete_postil ", "-F _postil ") + WHOLE_WORDS).into();
    }
    if shell == clap_complete::Shell::Zsh {
        let text = String::from_utf8_lossy(&script);
        let own = "compdef _postil_words postil";
        let text = text.replace("compdef _clap_dynamic_completer_postil postil", own);
        // Found by its name on `fpath` zsh runs it as the function at the first Tab, which would complete nothing.
        let first = "if [ \"$funcstack[1]\" = \"_postil\" ]; then _postil_words \"$@\"; fi\n";
        script = (text + NAMES + first).into();
    }
    if shell == clap_complete::Shell::Fish {
        let text = String::from_utf8_lossy(&script);
        script = (text.replace("(commandline --current-token)", "(_postil_typed)") + TYPED).into();
    }
    Ok(script)
}

/// What `look` finds, unless that takes so long that a person who pressed Tab would wait for it.
fn soon<T: Send + 'static>(look: impl FnOnce() -> Vec<T> + Send + 'static) -> Vec<T> {
    let (done, found) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(look()));
    found.recv_timeout(PATIENCE).unwrap_or_default()
}

/// The workspace of the line that is being typed.
fn session() -> Result<Arc<Session>, Error> {
    let words: Vec<OsString> = std::env::args_os()
        .skip_while(|word| word != "--")
        .collect();
    let cx = Cx {
        workspace: named(&words),
        no_cache: words.iter().any(|word| word == "--no-cache"),
        out: Out::new(false, true, Color::Never),
    };
    let host = Arc::new(Terminal::new(cx.out));
    Session::new(vec![cx.root()?], None, host, cx.folders()?)
}

/// The folder that `-C` has among `words`, in each way that it can be written. A shell hands its `~` over as it stands.
fn named(words: &[OsString]) -> Option<PathBuf> {
    let joined = |word: &OsString| {
        let text = word.to_str()?;
        let folder = text
            .strip_prefix("--workspace=")
            .or_else(|| Some(text.strip_prefix("-C")?.trim_start_matches('=')))?;
        Some(PathBuf::from(folder)).filter(|folder| !folder.as_os_str().is_empty())
    };
    let folder = words.iter().enumerate().find_map(|(at, word)| {
        match word == "-C" || word == "--workspace" {
            true => words.get(at + 1).map(PathBuf::from),
            false => joined(word),
        }
    })?;
    match (folder.strip_prefix("~"), std::env::home_dir()) {
        (Ok(below), Some(home)) => Some(home.join(below)),
        _ => Some(folder),
    }
}

/// `value`, and beside it what it is.
fn candidate(at: usize, value: &str, help: &str) -> CompletionCandidate {
    let help = present::short(&present::visible(help), SAID * 2);
    CompletionCandidate::new(value)
        .help(Some(help.into()))
        .display_order(Some(at))
}

fn of_status(wanted: Option<Status>) -> Vec<CompletionCandidate> {
    let threads = soon(|| {
        let list = session().and_then(|session| session.threads(None));
        list.map(|list| list.threads).unwrap_or_default()
    });
    let shown = threads.iter().filter_map(Listed::thread);
    shown
        .filter(|(_, thread)| wanted.is_none_or(|wanted| thread.status == wanted))
        .enumerate()
        .map(|(at, (file, thread))| {
            let mut said = thread.messages.iter().rev().map(|message| &message.text);
            let said = said.find(|said| !said.is_empty());
            let said = present::short(said.map_or("", String::as_str), SAID);
            let help = format!("{file}:{} {said}", thread.first_line() + 1);
            candidate(at, &thread.id, &help)
        })
        .collect()
}

pub(super) fn threads() -> Vec<CompletionCandidate> {
    of_status(None)
}

/// Those that an agent is to answer, and files and folders.
pub(super) fn pending_and_paths(typed: &OsStr) -> Vec<CompletionCandidate> {
    let begins = typed.as_encoded_bytes();
    let mut all = of_status(Some(Status::Pending));
    all.retain(|one| one.get_value().as_encoded_bytes().starts_with(begins));
    let paths = PathCompleter::any().complete(typed).into_iter();
    let behind = all.len();
    all.extend(paths.map(|path| path.display_order(Some(behind))));
    all
}

/// The newest first, and behind them those of no thread.
pub(super) fn runs() -> Vec<CompletionCandidate> {
    soon(|| session().map_or_else(|_| Vec::new(), |session| runs_of(&session)))
}

fn runs_of(session: &Session) -> Vec<CompletionCandidate> {
    let mut runs = session.runs(None, None, RUNS).unwrap_or_default();
    runs.sort_by_key(|(_, run)| run.thread_id.is_empty());
    let all = runs.iter().enumerate();
    all.map(|(at, (store, run))| {
        let asked = store.question(&run.id).ok().flatten();
        let asked = present::short(&asked.unwrap_or_default(), SAID);
        let what = match run.thread_id.is_empty() {
            true => &run.model,
            false => &run.file,
        };
        let help = format!("{} {what} {asked}", run.status.name());
        candidate(at, &run.id, &help)
    })
    .collect()
}

/// Who could answer, the best known first.
pub(super) fn models() -> Vec<CompletionCandidate> {
    soon(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let (Ok(runtime), Ok(session)) = (runtime, session()) else {
            return Vec::new();
        };
        let found = runtime.block_on(session.models(None)).models;
        let all = found.iter().enumerate();
        all.map(|(at, offer)| candidate(at, &offer.model, &offer.about))
            .collect()
    })
}

/// What a run may be.
pub(super) fn statuses() -> Vec<CompletionCandidate> {
    let all = RunStatus::ALL.iter();
    all.map(|status| CompletionCandidate::new(status.name()))
        .collect()
}

pub(super) fn tool_names() -> Vec<CompletionCandidate> {
    let registry = Registry::new(&Default::default());
    let line = |text: String| text.lines().next().unwrap_or_default().to_owned();
    let all = registry.tools().iter().enumerate();
    all.map(|(at, tool)| candidate(at, tool.name(), &line(tool.description())))
        .collect()
}
