// The text of a notebook's file, by its cells. Knows nothing of the editor.

interface Cell {
    source?: string | string[];
}

interface Shown {
    cells: Cell[];
}

/** One kind of line end: the editor shows a cell with that of its own. */
export const plain = (text: string): string => text.replace(/\r\n?/g, "\n");

const source = ({ source }: Cell): string => plain(Array.isArray(source) ? source.join("") : (source ?? ""));

/** What is there beside the words of its cells. */
const rest = (file: Shown): string => JSON.stringify({ ...file, cells: file.cells.map((cell) => ({ ...cell, source: null })) });

/** A cell that has other words in `after`; these are all that differs, or it is `undefined`. */
export function rewritten(before: string, after: string): { cells: number; changed: { index: number; was: string; text: string }[] } | undefined {
    try {
        const [was, now] = [JSON.parse(before) as Shown, JSON.parse(after) as Shown];
        if (rest(was) !== rest(now)) {
            return undefined;
        }
        const changed = now.cells.map((cell, index) => ({ index, was: source(was.cells[index] ?? {}), text: source(cell) })).filter(({ was, text }) => was !== text);
        return { cells: now.cells.length, changed };
    } catch {
        return undefined;
    }
}

/** What goes, by line and column, and what comes in its place: so that a cursor elsewhere stays where it is. */
export function difference(was: string, text: string): { start: [number, number]; end: [number, number]; text: string } {
    const most = Math.min(was.length, text.length);
    let head = 0;
    while (head < most && was[head] === text[head]) {
        head += 1;
    }
    let tail = 0;
    while (tail < most - head && was[was.length - 1 - tail] === text[text.length - 1 - tail]) {
        tail += 1;
    }
    const at = (offset: number): [number, number] => {
        const lines = was.slice(0, offset).split("\n");
        return [lines.length - 1, lines.at(-1)?.length ?? 0];
    };
    return { start: at(head), end: at(was.length - tail), text: text.slice(head, text.length - tail) };
}
