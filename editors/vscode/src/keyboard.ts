// Who has the keyboard after something was done in the margin. The window leaves it to nobody where a box or a button goes
// that had it, gives it to messages unasked, and tells no extension where it is.

import * as vscode from "vscode";

/** Milliseconds after which the author may be elsewhere than where something was pressed. */
const PROMPT = 1000;
/** Milliseconds without a key after which who writes in a text pauses. */
const PAUSE = 400;
/**
 * Milliseconds after which what was set is told to the window: by a timer of so many, so that what is asked for at the same
 * time goes there together with it; and when the window has surely done it.
 */
const TOLD = [100, 120];

/** The scheme of what is written in a box of the margin: a text editor to extensions, too. */
const BOX = "comment";

const { Keyboard: KEY } = vscode.TextEditorSelectionChangeKind;

function toText(): Thenable<unknown> {
    return vscode.commands.executeCommand("workbench.action.focusActiveEditorGroup");
}

export function isUnfolded(view: vscode.CommentThread): boolean {
    return view.collapsibleState === vscode.CommentThreadCollapsibleState.Expanded;
}

type Shown = Partial<Pick<vscode.CommentThread, "canReply" | "comments" | "contextValue" | "label" | "range">>;

export class Keyboard implements vscode.Disposable {
    /** When the author last pressed a key in a text. A click there may be one on a thread's mark, to write in its box. */
    private typed = 0;
    /** When the keyboard was last given to the text from a box or a button: what is told of it comes a little later. */
    private gone = 0;
    /** What is done now was put off until the author paused. */
    private late = false;
    private back: NodeJS.Timeout[] = [];
    private readonly subscription = vscode.window.onDidChangeTextEditorSelection(({ kind, textEditor }) => {
        if (textEditor.document.uri.scheme === BOX) {
            this.left();
        } else if (kind === KEY) {
            this.typed = Date.now();
        }
    });

    /** Does what takes the box or the button away that has the keyboard, which goes back to the text. */
    async leaving<T>(work: () => T | Promise<T>): Promise<T> {
        const begun = Date.now();
        const done = await work();
        if (Date.now() - begun < PROMPT) {
            this.gone = Date.now();
            await toText();
        }
        return done;
    }

    /** Milliseconds until the author pauses who writes in a text; 0: nobody does. */
    get pause(): number {
        return Math.max(0, this.typed + PAUSE - Date.now());
    }

    /** Does what was put off until then; who has gone into a box meanwhile stays there. */
    paused(work: () => void): void {
        this.late = this.typed > 0;
        work();
        this.late = false;
    }

    /** A box has it now. */
    left(): void {
        this.typed = 0;
        this.gone = 0;
        this.back.forEach(clearTimeout);
    }

    /**
     * Sets what is shown of a thread. Of one in which a message was pressed once, the window gives that message the keyboard
     * with whatever changes, and who writes in a text would write into nothing: so it is best told in a pause, and the
     * keyboard is given back.
     */
    tell(view: vscode.CommentThread, what: Shown): void {
        Object.assign(view, what);
        const isInText = this.late || this.pause > 0 || Date.now() < this.gone + PROMPT;
        if (isUnfolded(view) && isInText) {
            this.back.forEach(clearTimeout);
            this.back = TOLD.map((told) => setTimeout(() => void toText(), told));
        }
    }

    dispose(): void {
        this.back.forEach(clearTimeout);
        this.subscription.dispose();
    }
}
