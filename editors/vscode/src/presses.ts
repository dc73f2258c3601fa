// Which press is the second one of a double click. What was pressed first may have gone, or become another button, and
// the second is not for what came in its place. Knows nothing of the editor.

/** Milliseconds between the presses of a double click. */
export const DOUBLE = 500;

/** Where a row stands among those of its view. */
export interface Place {
    view: string;
    index: number;
    /** How many rows there are. */
    of: number;
}

export class Presses {
    private last: { on: string; place: Place | undefined; at: number } = { on: "", place: undefined, at: 0 };

    /** Whether a press on `on`, in the row at `place`, is for what was pressed just now, or for what came where that stood. */
    isSecond(on: string, place?: Place, now = Date.now()): boolean {
        const { last } = this;
        if (now - last.at < DOUBLE && (on === last.on || (place && last.place && cameTo(place, last.place)))) {
            return true;
        }
        this.last = { on, place, at: now };
        return false;
    }
}

/** Whether a row is seen where another was: at its index, or, in a view that was scrolled to its end, above that by as many as went. */
function cameTo(now: Place, was: Place): boolean {
    const up = was.index - now.index;
    return now.view === was.view && up >= 0 && up <= Math.max(0, was.of - now.of);
}

/** A row by its id, and where it stands among those of its view. */
export interface Row {
    id: string;
    place: Place | undefined;
}

/** The row with `id` among those of a view, which are named by their ids. */
export function rowOf(view: string, rows: string[], id: string): Row {
    const index = rows.indexOf(id);
    return { id, place: index < 0 ? undefined : { view, index, of: rows.length } };
}
