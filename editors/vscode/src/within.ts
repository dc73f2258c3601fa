// Whether a place is inside a folder, by their names alone. Knows nothing of the editor.

import * as path from "node:path";

export function isWithin(place: string, folders: string[], at: path.PlatformPath = path): boolean {
    return folders.some((folder) => {
        const way = at.relative(folder, place);
        return way !== ".." && !way.startsWith(`..${at.sep}`) && !at.isAbsolute(way);
    });
}
