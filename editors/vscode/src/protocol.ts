// What the server tells of threads and turns, in its own words (docs/editors/protocol.md).

export interface Position {
    line: number;
    character: number;
}

export interface Range {
    start: Position;
    end: Position;
}

export interface Message {
    role: "author" | "agent";
    name: string | null;
    /** 0-based. */
    line: number;
    text: string;
}

export interface TurnOfThread {
    run_id: string;
    running: boolean;
    failed: boolean;
    message: string;
    /** It stands still until a question is answered. A server may be older than this. */
    waits?: boolean;
}

export interface Thread {
    id: string;
    status: "pending" | "awaiting_user";
    malformed: boolean;
    title: string;
    /** From the first marker to the end of the last message. */
    range: Range;
    messages: Message[];
    /** What its newest question offers to choose from, `(a) …`. A server may be older than this. */
    choices?: string[];
    /** The agent's words are the last, and ask something. A server may be older than this. */
    asks?: boolean;
    turn: TurnOfThread | null;
    /** The history has a run of it. */
    has_run: boolean;
    /** Its newest run changed files, and not all of that is undone. */
    has_changes: boolean;
    /** The turn that an undo takes back. A server may be older than this. */
    changed_turn?: number | null;
    /** Among them are others than its answer. A server may be older than this. */
    has_edits?: boolean;
    /** Its turn paused and goes on by `continue`. A server may be older than this. */
    is_paused?: boolean;
    /** Its file is in no folder of the workspace: nothing can be done with it. A server may be older than this. */
    is_outside?: boolean;
}

/** `postil/threads`: every thread of a file; none: it has none any more. */
export interface ThreadsParams {
    uri: string;
    version: number | null;
    threads: Thread[];
    /** Of another name of a file that is open already: the name under which its threads are told of. */
    shown_in?: string | null;
}

export interface Turn {
    id: string;
    thread_id: string;
    file: string;
    /** Where that is, in whichever of several roots. A server may be older than this. */
    uri?: string;
    status: string;
    started: string;
    rounds: number;
    tokens: number;
    /** US dollars. */
    cost: number;
    running: boolean;
    message: string | null;
    /** It stands still until a question is answered. A server may be older than this. */
    waits?: boolean;
    model: string;
    error: string | null;
}

/** One of `postil.workflowList`. */
export interface PastRun extends Pick<Turn, "id" | "file" | "status" | "started" | "rounds" | "cost"> {
    /** What was asked first. A server may be older than this. */
    question?: string | null;
}

/** `postil/turns`: those that run, and once more each that has ended. */
export interface TurnsParams {
    turns: Turn[];
}

export interface Round {
    seq: number;
    role: string | null;
    time: string;
    metadata: Record<string, unknown>;
    content: string;
    cut: boolean;
    /** The line of `content` at which the calls of tools begin. A server may be older than this. */
    calls_from?: number | null;
}

export interface Rounds {
    run: Turn | null;
    rounds: Round[];
    more: boolean;
}

export interface ChangedFile {
    file: string;
    uri: string;
    before: string | null;
    after: string | null;
}

/** `postil/review`: a change of one file that is made where the author agrees. */
export interface ProposedChange extends ChangedFile {
    run_id: string;
    /** The old name of a file that is renamed; `before` stands there. A server may be older than this. */
    from?: string | null;
    /** Lines. */
    added: number;
    removed: number;
    /** How many files are asked about together. */
    of: number;
}

export interface Changes {
    run_id: string;
    thread_id: string;
    /** Its number in the run; 0: none has changes. */
    turn: number;
    files: ChangedFile[];
}

/** What `why` answers: commits, the newest first, and the closed conversations that are tied to a line. */
export interface Why {
    file: string;
    /** 1-based. */
    line: number;
    commits: { author: string; summary: string }[];
    conversations: unknown[];
    notes: string[];
    markdown: string;
}

/** Who answers where a turn names nobody; `null`: whoever is named cannot be asked. */
export interface Answers {
    model: string | null;
    why: string;
}

/** What `models` answers. */
export interface Found {
    answers: Answers;
    models: { model: string; about: string }[];
}

/** What `selectModel` answers. `note`: why another one answers here all the same. */
export interface Selected {
    answers: Answers;
    file: string;
    note: string | null;
}

/** Before each of the server's commands, so that they cannot be mistaken for ours. */
export const PREFIX = "postil.server.";
