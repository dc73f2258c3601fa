#!/usr/bin/env node
// Starts the program that npm installed for this platform, with its input, output and exit status.
const { spawn } = require("node:child_process");
const { isatty } = require("node:tty");

const name = process.platform === "win32" ? "postil.exe" : "postil";
let program;
try {
  program = require.resolve(`postil-${process.platform}-${process.arch}/bin/${name}`);
} catch {
  console.error(
    `postil: there is no package postil-${process.platform}-${process.arch}: this platform has none, or npm was told to leave optional dependencies out. Install it with cargo instead.`,
  );
  process.exit(2);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// Ctrl-C in a terminal, and all that a console on Windows tells, comes to the child itself: passed on it would hear of it
// twice, and on Windows `kill` would leave it no time to end.
const inTerminal = [0, 1, 2].some((fd) => isatty(fd));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  const hears = process.platform === "win32" || (signal === "SIGINT" && inTerminal);
  process.on(signal, () => hears || child.kill(signal));
}
child.on("error", (error) => {
  console.error(`postil: ${program} cannot be run: ${error.message}`);
  process.exit(2);
});
child.on("exit", (code, signal) => {
  if (signal) {
    // So that whoever started this sees the same end.
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
