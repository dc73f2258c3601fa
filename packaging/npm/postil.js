#!/usr/bin/env node
// Starts the program that npm installed for this platform, with its input, output and exit status.
const { spawn } = require("node:child_process");

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
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  // On Windows the console tells every process that is started in it, and `kill` would leave it no time to end.
  process.on(signal, () => process.platform === "win32" || child.kill(signal));
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
