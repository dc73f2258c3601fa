// The settings that the server asks for. Only what somebody set: a default of this extension would stand before what
// postil.toml or the user's config.toml says.

export interface Inspected {
    globalValue?: unknown;
    workspaceValue?: unknown;
}

/**
 * The section `postil` as the server reads it, and in it under `$user` what the author set for themselves, which may be
 * wider than what a workspace may set. `keys` are those of its schema, without `postil.`.
 */
export function explicit(keys: readonly string[], inspect: (key: string) => Inspected | undefined): Record<string, unknown> {
    const section: Record<string, unknown> = {};
    const own: Record<string, unknown> = {};
    for (const key of keys) {
        const found = inspect(key);
        if (isSet(found?.globalValue)) {
            put(own, key.split("."), found?.globalValue);
        }
        if (isSet(found?.workspaceValue)) {
            put(section, key.split("."), found?.workspaceValue);
        }
    }
    return { ...section, $user: own };
}

/** An empty box is one that nobody filled in. */
function isSet(value: unknown): boolean {
    return value !== undefined && value !== null && value !== "";
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
