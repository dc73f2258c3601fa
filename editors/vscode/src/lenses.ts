// Whether the editor shows the newest code lenses. VS Code waits a little before it asks for them: it forgets to where
// the text loses the keyboard meanwhile, and begins to wait anew whenever it is told that there are others. So it is told
// once, and again only where it has not come for long. Knows nothing of the editor.

/** Milliseconds in which the editor comes by itself; after each time in vain it gets twice as long. */
const FIRST = 2000;
/** It waits as long as its last answers took, which on a busy machine is longer; at most for a minute, then it does not want any. */
const LAST = 64_000;
/** How long it took to come last is believed up to here: it may have forgotten, too. */
const SLOW = 1500;

export interface Editor {
    /** The files that are seen, by URI. */
    visible(): string[];
    /** Tells it that there are other lenses. */
    tell(): void;
}

export class Lenses {
    /** Grows with everything that a lens may show. */
    private now = 0;
    /** When that was which changed all files, and which changed one. */
    private all = 0;
    private readonly changes = new Map<string, number>();
    /** What the lenses of a file that are shown tell of. */
    private readonly shown = new Map<string, number>();
    private wait = FIRST;
    /** When it began to wait, and how long it did so last. */
    private begun: number | undefined;
    private took = 0;
    private timer: NodeJS.Timeout | undefined;

    private readonly editor: Editor;

    constructor(editor: Editor) {
        this.editor = editor;
    }

    /** The server has other lenses. */
    refresh(): void {
        this.now += 1;
        this.all = this.now;
        if (this.timer === undefined) {
            this.editor.tell();
            this.expect();
        }
    }

    /** The text of a file changed, for which the editor comes by itself, or its threads. */
    changed(uri: string): void {
        this.now += 1;
        if (this.editor.visible().includes(uri)) {
            this.changes.set(uri, this.now);
            this.expect();
        }
    }

    /** Other files are seen than before: the editor comes by itself. */
    moved(): void {
        const seen = new Set(this.editor.visible());
        for (const uri of this.shown.keys()) {
            if (!seen.has(uri)) {
                this.shown.delete(uri);
                this.changes.delete(uri);
            }
        }
        if (this.timer === undefined && this.stale()) {
            this.expect();
        }
    }

    /** It comes: `answer` is what it gets, unless it goes away before that. */
    async asked<T>(uri: string, answer: () => Promise<T>, goneAway: () => boolean): Promise<T> {
        const asked = this.now;
        if (this.begun !== undefined) {
            this.took = Math.min(Date.now() - this.begun, SLOW);
            this.begun = undefined;
        }
        const lenses = await answer();
        if (!goneAway()) {
            this.shown.set(uri, asked);
            if (this.isStale(uri)) {
                // Not earlier, or it would throw this answer away.
                this.editor.tell();
                this.expect();
            } else if (!this.stale()) {
                this.dispose();
            }
        }
        return lenses;
    }

    private isStale(uri: string): boolean {
        return (this.shown.get(uri) ?? -1) < Math.max(this.all, this.changes.get(uri) ?? 0);
    }

    private stale(): boolean {
        return this.editor.visible().some((uri) => this.isStale(uri));
    }

    private expect(wait = Math.max(FIRST, 2 * this.took)): void {
        this.dispose();
        this.begun = Date.now();
        this.wait = wait;
        this.timer = setTimeout(() => {
            this.timer = undefined;
            if (this.wait <= LAST && this.stale()) {
                this.editor.tell();
                this.expect(this.wait * 2);
            }
        }, wait);
    }

    dispose(): void {
        clearTimeout(this.timer);
        this.timer = undefined;
    }
}
