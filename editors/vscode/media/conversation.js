// Draws the rounds of a run as they come. Everything is put in as text: nothing of it is markup.
(() => {
    const vscode = acquireVsCodeApi();
    // By `run` it is opened again when the window is. Hidden it is no page any more: where it was read, and what was
    // unfolded or folded there, is kept for when it is seen again.
    const { top = 0, end = false, turned = [] } = vscode.getState() ?? {};
    const kept = { run: document.body.dataset.run, top, end, turned };
    vscode.setState(kept);
    let back = top > 0;
    const at = (id) => document.getElementById(id);
    const make = (name, kind, text) => {
        const element = document.createElement(name);
        if (kind) element.className = kind;
        if (text !== undefined) element.textContent = text;
        return element;
    };
    at("cancel").addEventListener("click", () => vscode.postMessage({ is: "cancel" }));
    at("review").addEventListener("click", () => vscode.postMessage({ is: "review" }));

    const WHO = { user: "Author", assistant: "Agent", tool: "Tool", reply: "Answer in the file", system: "postil", error: "Failed" };
    const number = new Intl.NumberFormat("en");
    const money = (dollars) => (dollars > 0 ? `$${dollars.toFixed(dollars < 0.1 ? 4 : 2)}` : "");

    /** A tool's result, or a call, folded where it is long; the lines of a diff in its colours. */
    const body = (text) => {
        const pre = make("pre");
        const diff = /^(@@ |--- |\+\+\+ )/m.test(text);
        if (!diff) {
            pre.textContent = text;
            return pre;
        }
        for (const line of text.split("\n")) {
            const kind = /^(\+\+\+|---|@@)/.test(line) ? "place" : line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "";
            pre.append(make("span", kind, `${line}\n`));
        }
        return pre;
    };
    /** What is folded is one text, for a search to find; its lines are made when it is unfolded: of a long run they are very many. */
    const uncolored = new WeakMap();
    const unfold = (details) => {
        const text = uncolored.get(details);
        if (!details.open || text === undefined) return;
        uncolored.delete(details);
        details.lastChild.replaceWith(body(text));
    };
    const folded = (title, text, open) => {
        const details = make("details");
        details.open = open;
        details.append(make("summary", "", title), open ? body(text) : make("pre", "", text));
        if (!open) uncolored.set(details, text);
        details.addEventListener("toggle", () => unfold(details));
        return details;
    };
    /** The input of an edit as what goes and what comes. */
    const call = (line) => {
        const [, name, input] = /^([a-z_]+) (\{.*\})$/s.exec(line) ?? [];
        if (!name) return undefined;
        try {
            const given = JSON.parse(input);
            const rest = Object.entries(given).filter(([key]) => !["old_string", "new_string"].includes(key));
            const title = `${name}  ${rest.map(([key, value]) => `${key}: ${typeof value === "string" ? value.split("\n")[0].slice(0, 80) : JSON.stringify(value)}`).join(", ")}`;
            if (typeof given.old_string !== "string" || typeof given.new_string !== "string") {
                return folded(title, JSON.stringify(given, null, 2), false);
            }
            const marked = (mark, text) => text.split("\n").map((one) => mark + one).join("\n");
            return folded(title, `@@ ${given.path ?? ""} @@\n${marked("-", given.old_string)}\n${marked("+", given.new_string)}`, true);
        } catch {
            return undefined;
        }
    };

    /** A place in a file, which a press leads to. */
    const place = (file, line) => {
        const button = make("button", "link", `${file}${line ? `:${line}` : ""}`);
        button.addEventListener("click", () => vscode.postMessage({ is: "open", file, line }));
        return button;
    };

    /** Whether what comes below is followed: who has scrolled up is reading. */
    const isBelow = () => window.innerHeight + window.scrollY >= document.body.scrollHeight - 40;
    let rest;
    window.addEventListener("scroll", () => {
        clearTimeout(rest);
        rest = setTimeout(() => vscode.setState(Object.assign(kept, { top: window.scrollY, end: isBelow() })), 50);
    });

    const draw = (round) => {
        const role = round.role ?? "unknown";
        const box = make("section", `round ${role}`);
        // By headings a screen reader goes from one to the next.
        const who = make("h2", "who");
        const meta = round.metadata;
        who.append(make("b", "", role === "tool" && meta.tool ? meta.tool : (WHO[role] ?? role)));
        const facts = [];
        if (meta.model) facts.push(meta.model);
        if (meta.input_tokens !== undefined) facts.push(`${number.format(meta.input_tokens)} in, ${number.format(meta.output_tokens ?? 0)} out`);
        if (meta.cost) facts.push(money(meta.cost));
        if (meta.duration_ms !== undefined) facts.push(`${(meta.duration_ms / 1000).toFixed(1)} s`);
        if (meta.is_error) facts.push("refused or failed");
        for (const fact of facts) who.append(make("span", "", fact));
        if (meta.file) who.append(place(meta.file, meta.line));
        box.append(who);
        const text = round.content + (round.cut ? "\n… (more in: postil workflow thread)" : "");
        if (role === "tool") {
            box.append(folded(text.split("\n")[0].slice(0, 120) || "(nothing)", text, false));
        } else if (role === "assistant") {
            let plain = [];
            const flush = () => {
                if (plain.join("").trim() !== "") box.append(body(plain.join("\n").trim()));
                plain = [];
            };
            // The model may say what looks like a call.
            const from = round.calls_from ?? Infinity;
            for (const [at, line] of text.split("\n").entries()) {
                const element = at >= from ? call(line) : undefined;
                if (element) {
                    flush();
                    box.append(element);
                } else {
                    plain.push(line);
                }
            }
            flush();
        } else {
            box.append(body(text));
        }
        for (const [index, details] of box.querySelectorAll("details").entries()) {
            const key = `${round.seq}.${index}`;
            if (kept.turned.includes(key)) details.open = !details.open;
            // At once: it is scrolled to where it was read.
            unfold(details);
            details.firstChild.addEventListener("click", () => {
                kept.turned = kept.turned.includes(key) ? kept.turned.filter((one) => one !== key) : [...kept.turned, key];
                vscode.setState(kept);
            });
        }
        return box;
    };

    /** A button that goes hands the keyboard on. */
    const hide = (button, hidden) => {
        const had = document.activeElement === button;
        button.hidden = hidden;
        if (had && hidden) document.querySelector("header button:not([hidden])")?.focus();
    };

    window.addEventListener("message", ({ data }) => {
        if (data.is === "failed") {
            at("doing").ariaLive = "polite";
            at("doing").textContent = data.why;
            at("facts").textContent = at("facts").textContent.replace(/^running · /, "");
            hide(at("cancel"), true);
        }
        if (data.is !== "rounds") return;
        const rounds = at("rounds");
        if (data.first) {
            // What was there before is not read out; what comes is.
            rounds.ariaLive = "off";
            rounds.replaceChildren();
        }
        const { run } = data;
        const below = isBelow();
        // Made anew it would lose the keyboard.
        if (at("title").textContent !== run.file) at("title").replaceChildren(place(run.file));
        const facts = [run.running ? "running" : run.status, run.model, `${number.format(run.rounds)} rounds`, `${number.format(run.tokens)} tokens`, money(run.cost)];
        at("facts").textContent = facts.filter(Boolean).join(" · ");
        // What it counts while it works is not read out each time; the rounds are.
        at("doing").ariaLive = run.running ? "off" : "polite";
        at("doing").textContent = run.running ? (run.message ?? "") : (run.error ?? "");
        hide(at("review"), run.running ? !data.reviewed : (run.has_edits ?? run.has_changes) === false);
        hide(at("cancel"), !run.running);
        rounds.append(...data.rounds.map(draw));
        if (!data.more) setTimeout(() => (rounds.ariaLive = "polite"));
        if (back) {
            window.scrollTo(0, end ? document.body.scrollHeight : top);
            back = data.more;
        } else if (below && !data.first) {
            window.scrollTo(0, document.body.scrollHeight);
        }
    });
    vscode.postMessage({ is: "ready" });
})();
