// A model on loopback that answers by a script, in the wire format of Anthropic's Messages API.
import { createServer } from "node:http";

/** steps: `{ text }` or `{ calls: [[name, input], …] }`, with `held: true` given out at `release()`. */
export async function scripted(steps) {
    const left = [...steps];
    const requests = [];
    const waiting = [];
    let released = 0;
    const free = () => {
        if (released > 0) {
            released -= 1;
            return Promise.resolve();
        }
        return new Promise((resolve) => waiting.push(resolve));
    };
    const server = createServer(async (request, response) => {
        let body = "";
        for await (const part of request) body += part;
        requests.push(JSON.parse(body));
        const step = left.shift() ?? { text: "There is nothing more in the script." };
        if (step.held) await free();
        response.writeHead(200, { "content-type": "text/event-stream" });
        const send = (data) => response.write(`event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`);
        const usage = { input_tokens: step.tokens ?? 2400, output_tokens: 1, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
        send({ type: "message_start", message: { id: `msg_${requests.length}`, type: "message", role: "assistant", model: requests.at(-1).model, content: [], stop_reason: null, stop_sequence: null, usage } });
        const blocks = [];
        if (step.text) blocks.push([{ type: "text", text: "" }, { type: "text_delta", text: step.text }]);
        for (const [index, [name, given]] of (step.calls ?? []).entries()) {
            const start = { type: "tool_use", id: `toolu_${requests.length}_${index}`, name, input: {} };
            blocks.push([start, { type: "input_json_delta", partial_json: JSON.stringify(given) }]);
        }
        for (const [index, [start, delta]] of blocks.entries()) {
            send({ type: "content_block_start", index, content_block: start });
            send({ type: "content_block_delta", index, delta });
            send({ type: "content_block_stop", index });
        }
        send({ type: "message_delta", delta: { stop_reason: step.calls ? "tool_use" : "end_turn", stop_sequence: null }, usage: { output_tokens: 180 } });
        send({ type: "message_stop" });
        response.end();
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    return {
        requests,
        env: {
            ANTHROPIC_BASE_URL: `http://127.0.0.1:${server.address().port}`,
            ANTHROPIC_API_KEY: "dummy",
            POSTIL_MODEL: "anthropic/claude-sonnet-4-5",
        },
        release: () => {
            const next = waiting.shift();
            if (next) next();
            else released += 1;
        },
        stop: () => {
            server.closeAllConnections();
            server.close();
        },
    };
}
