// A language server that knows `initialize` and the end, and nothing of postil's own; `dying`: one of any protocol, that
// ends when it has answered.
const dying = process.argv[2] === "dying";
let bytes = Buffer.alloc(0);
process.stdin.on("data", (more) => {
    bytes = Buffer.concat([bytes, more]);
    for (;;) {
        const head = /^(?:[^\r]*\r\n)*?Content-Length: (\d+)\r\n(?:[^\r]+\r\n)*\r\n/.exec(bytes.toString("latin1"));
        const end = head && head[0].length + Number(head[1]);
        if (!head || bytes.length < end) return;
        const { id, method } = JSON.parse(bytes.subarray(head[0].length, end));
        bytes = bytes.subarray(end);
        if (method === "exit") process.exit(0);
        if (id === undefined) continue;
        const result = method === "initialize" ? { capabilities: { textDocumentSync: 1, ...(dying && { experimental: { postil: { protocol: 1000 } } }) }, serverInfo: { name: "postil", version: "0.0.1" } } : null;
        const answer = JSON.stringify({ jsonrpc: "2.0", id, result });
        process.stdout.write(`Content-Length: ${Buffer.byteLength(answer)}\r\n\r\n${answer}`, () => dying && process.exit(3));
    }
});
process.stdin.on("end", () => process.exit(0));
