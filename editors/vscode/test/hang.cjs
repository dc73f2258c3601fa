const { readFileSync, readdirSync } = require("node:fs");

/**
 * Stops a process; comes back when none of its threads runs any more.
 * The signal is taken by one thread, and until that one gets its turn the others go on and answer.
 */
exports.hang = async (pid) => {
    process.kill(Number(pid), "SIGSTOP");
    const tasks = `/proc/${pid}/task`;
    const stopped = (task) => /\) (\S)/.exec(readFileSync(`${tasks}/${task}/stat`, "utf8"))?.[1] === "T";
    while (!readdirSync(tasks).every(stopped)) {
        await new Promise((resolve) => setTimeout(resolve, 5));
    }
};
