// The settings that the server asks for. Only what somebody set: a default of this extension would stand before what
// postil.toml or the user's config.toml says.

export interface Inspected {
    globalValue?: unknown;
    workspaceValue?: unknown;
    workspaceFolderValue?: unknown;
}

/** The section `postil` as the server reads it. `keys` are those of its schema, without `postil.`. */
export function explicit(keys: readonly string[], inspect: (key: string) => Inspected | undefined): Record<string, unknown> {
    const section: Record<string, unknown> = {};
    for (const key of keys) {
        const found = inspect(key);
        const value = found?.workspaceFolderValue ?? found?.workspaceValue ?? found?.globalValue;
        if (value !== undefined) {
            put(section, key.split("."), value);
        }
    }
    return section;
}

function put(into: Record<string, unknown>, path: string[], value: unknown): void {
    const [first, ...rest] = path;
    if (first === undefined) {
        return;
    }
    if (rest.length === 0) {
        into[first] = value;
        return;
    }
    const inner = (into[first] ?? {}) as Record<string, unknown>;
    into[first] = inner;
    put(inner, rest, value);
}
