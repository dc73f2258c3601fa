// The entry. It draws the empty views and leaves the rest to after the window has started.

import * as vscode from "vscode";
import { Comments } from "./comments";
import { register, reveal } from "./commands";
import { Conversations } from "./conversation";
import { Drafts } from "./drafts";
import { Endings } from "./endings";
import { Known } from "./known";
import { Models } from "./models";
import { Offered } from "./offered";
import { Questions } from "./questions";
import { Reviews } from "./review";
import { Server } from "./server";
import { explicit } from "./settings";
import { Status } from "./status";
import { ThreadTree } from "./tree";
import { Whys } from "./why";

/** When the first line of the bundle ran; esbuild.mjs puts it there. */
declare const postilBegun: number;
/** Milliseconds until all of it had run. Until `activate` is called others have their turn. */
const loading = performance.now() - postilBegun;

let server: Server | undefined;

/** For tests, and for whoever wants to know. */
export interface Api {
    /** Milliseconds that this extension's own code took until the end of `activate`. */
    activation: number;
    known: Known;
    comments: Comments;
    server: Server;
    reviews: Reviews;
    conversations: Conversations;
    questions: Questions;
    status: Status;
    tree: ThreadTree;
}

export function activate(context: vscode.ExtensionContext): Api {
    const begun = performance.now();
    const log = vscode.window.createOutputChannel("postil", { log: true });
    const manifest = context.extension.packageJSON as { contributes: { configuration: { properties: Record<string, { markdownDescription?: string }> }[] } };
    const running: Server = new Server(context, log, {
        settings: () => {
            const properties = manifest.contributes.configuration[0]?.properties ?? {};
            const configuration = vscode.workspace.getConfiguration("postil");
            const keys = Object.keys(properties).map((key) => key.slice("postil.".length));
            return explicit(keys, (key) => configuration.inspect(key));
        },
        shows: (what) => vscode.workspace.getConfiguration("postil.editor").get<unknown>(what) !== false,
        review: (change, token) => reviews.ask(change, token),
        reviewed: (argument) => {
            const { uri, thread_id } = (argument ?? {}) as { uri?: string; thread_id?: string };
            const run = known.byId(thread_id ?? "", uri)?.thread.turn?.run_id;
            return run !== undefined && known.isReviewed(run) ? run : undefined;
        },
        pressed: (verb, argument) => pressed(verb, argument),
    });
    server = running;
    const known: Known = new Known(running);
    const comments = new Comments(context, known, running);
    const drafts = new Drafts(context, log, (text) => comments.edited(text));
    const tree = new ThreadTree(context, known);
    const reviews: Reviews = new Reviews(running, known);
    const whys: Whys = new Whys(running);
    const questions = new Questions(running, known, (located) => reveal(located, comments));
    const conversations: Conversations = new Conversations(context, running, known, (located) => reveal(located, comments));
    const models = new Models(running);
    const status = new Status(running, known, models);
    const { commands, pressed } = register({ server: running, known, comments, drafts, tree, conversations, models, questions, reviews, whys });
    context.subscriptions.push(
        log,
        running,
        known,
        comments,
        drafts,
        tree,
        questions,
        reviews,
        whys,
        conversations,
        models,
        status,
        new Offered(known),
        new Endings(
            running,
            known,
            (located) => reveal(located, comments),
            (run) => conversations.isSeen(run),
        ),
        commands,
        vscode.window.onDidChangeWindowState(({ focused }) => {
            // From the terminal in which it was built anew.
            if (focused) {
                void running.notice();
            }
        }),
        vscode.workspace.onDidGrantWorkspaceTrust(() => {
            running.trustChanged();
        }),
        vscode.workspace.onDidChangeConfiguration((change) => {
            if (change.affectsConfiguration("postil.path")) {
                void running.restart();
            }
        }),
    );
    // Without a folder there is nothing to look through until a file is opened.
    const isFile = (document: vscode.TextDocument): boolean => document.uri.scheme === "file";
    const isOnDisk = ({ uri }: vscode.WorkspaceFolder): boolean => uri.scheme === "file";
    if ((vscode.workspace.workspaceFolders ?? []).some(isOnDisk) || vscode.workspace.textDocuments.some(isFile)) {
        setImmediate(() => void running.start());
    } else {
        const first = vscode.Disposable.from(
            vscode.workspace.onDidOpenTextDocument((document) => {
                begin(isFile(document));
            }),
            vscode.workspace.onDidChangeWorkspaceFolders(({ added }) => {
                begin(added.some(isOnDisk));
            }),
        );
        const begin = (there: boolean): void => {
            if (there) {
                first.dispose();
                void running.start();
            }
        };
        context.subscriptions.push(first);
    }
    const activation = loading + performance.now() - begun;
    log.info(`activated in ${activation.toFixed(1)} ms`);
    return { activation, known, comments, server: running, reviews, conversations, questions, status, tree };
}

export async function deactivate(): Promise<void> {
    await server?.stop();
}
