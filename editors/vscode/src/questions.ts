// A question of the agent that has answers to choose from: a notification with a button for each. The margin has the
// same, below the question.

import * as vscode from "vscode";
import type { Known, Located } from "./known";
import { inform } from "./say";
import type { Server } from "./server";
import { KEY, buttons, question, unadorned } from "./threads";

interface Choice {
    uri: string;
    thread_id: string;
    text: string;
}

/** What the link below a question names. */
interface Link extends Choice {
    key: string;
}

export class Questions implements vscode.Disposable {
    private readonly subscription: vscode.Disposable;

    constructor(
        private readonly server: Server,
        private readonly known: Known,
        private readonly reveal: (located: Located) => Promise<void>,
    ) {
        this.subscription = known.onQuestion((located) => void this.ask(located));
    }

    private async ask(located: Located): Promise<void> {
        const choices = located.thread.choices ?? [];
        const uri = located.uri.toString();
        const text = `postil: ${question(located.thread)}`;
        const [show, choose] = ["Show Thread", "Choose …"];
        const labels = buttons(located.thread);
        const pressed = await inform(text, ...(labels ?? [choose]), show);
        if (pressed === show) {
            await this.reveal(this.known.byId(located.thread.id, uri) ?? located);
            return;
        }
        const listed = labels === undefined && pressed === choose;
        const items = choices.map((choice) => ({ label: unadorned(choice), choice }));
        const answer = listed ? (await vscode.window.showQuickPick(items, { title: unadorned(text) }))?.choice : choices[labels?.indexOf(pressed ?? "") ?? -1];
        if (answer !== undefined) {
            await this.choose({ uri, thread_id: located.thread.id, text: answer });
        }
    }

    /** The link below a question was pressed. */
    async follow(link: Partial<Link> | undefined): Promise<void> {
        const { key, uri = "", thread_id = "", text = "" } = link ?? {};
        // A link that a file or an agent wrote answers nothing.
        await this.choose({ uri, thread_id: key === KEY ? thread_id : "", text });
    }

    /** The author's answer, and on goes the turn. */
    private async choose({ uri, thread_id: id, text }: Choice): Promise<void> {
        const located = this.known.byId(id, uri);
        if (!located?.thread.choices?.includes(text)) {
            void inform("postil: this question was answered already, or is no longer in the file.");
            return;
        }
        await this.server.run("choose", { uri: located.uri.toString(), thread_id: id, text });
    }

    dispose(): void {
        this.subscription.dispose();
    }
}
