#!/usr/bin/env node
// Starts the program that npm installed for this platform, with its input, output and exit status.
const { spawn } = require("node:child_process");
const { existsSync } = require("node:fs");

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
// What asks to end often comes to the child itself as well, which takes both for one request. On Windows it always does,
// and `kill` would leave it no time to end.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => process.platform === "win32" || child.kill(signal));
}
child.on("error", (error) => {
  // Of a file that is there, what is not is the loader of the libc that it was linked with.
  const isForeign = error.code === "ENOENT" && existsSync(program);
  const why = isForeign ? "it is made for another libc than this system has. Install it with cargo instead." : error.message;
  console.error(`postil: ${program} cannot be run: ${why}`);
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
