// Entry of every npm script: plain JavaScript without dependencies, for it runs before anything is installed and on Node 20.
// Installs what is missing, builds what is stale, then runs the real script on the pinned Node.
//
//   node src/dev/bootstrap.mjs start|test|bench|skillgate|lifecycle [arguments]
//   node src/dev/bootstrap.mjs run <script> [arguments]     without the build
//
// The npm scripts begin with `exec`, so that a signal to npm reaches this process and not a shell that would keep it to itself.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
const MODULES = join(ROOT, "node_modules");
const PARENT_CHECK_MS = 500;
const WINDOWS = process.platform === "win32";

/** Scripts whose output the gateway imports or serves. Each decides by itself whether it is current. */
const BUILD_STEPS = [
  "src/dev/meter/build.ts",
  "src/dev/schema/build.ts",
  "src/dev/sigstore/build.ts",
  "src/dev/dashboard/build.ts",
  "src/dev/demo/build.ts",
];

/** What each runs: a script and what it is given first. */
const TASKS = {
  start: ["src/dev/start.ts"],
  test: ["src/dev/test.ts"],
  bench: ["bench/run.ts"],
  skillgate: ["src/local/skillgate.ts"],
  lifecycle: [
    "node_modules/vitest/vitest.mjs",
    "run",
    "--project=e2e",
    "--reporter=verbose",
    "test/e2e/lifecycle.test.ts",
  ],
};

/**
 * True when every package of package-lock.json is installed in its locked version. npm writes its own record of what it
 * installed at the end of an installation, so an interrupted one counts as none. Packages for other platforms may be absent.
 */
function isInstalled() {
  try {
    const wanted = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")).packages;
    const present = JSON.parse(readFileSync(join(MODULES, ".package-lock.json"), "utf8")).packages;
    return Object.entries(wanted).every(
      ([path, entry]) => path === "" || entry.optional || present[path]?.version === entry.version,
    );
  } catch {
    return false;
  }
}

/** Runs a command to its end with our terminal; answers its exit code. What comes before the script itself leaves stdout to it. */
function run(command, args, { shell = false, script = false, cwd = ROOT } = {}) {
  return new Promise((settle) => {
    const child = spawn(command, args, {
      cwd,
      env: environment(),
      shell,
      // The channel tells the child when this process is gone, even killed.
      stdio: script ? ["inherit", "inherit", "inherit", "ipc"] : ["inherit", 2, "inherit"],
    });
    // A terminal signals the whole group, `kill` only this process: pass it on, the child takes a second one calmly.
    const forward = (signal) => child.kill(signal);
    const signals = WINDOWS ? ["SIGINT"] : ["SIGINT", "SIGTERM", "SIGHUP"];
    for (const signal of signals) process.on(signal, forward);
    // npm that was killed leaves its child behind: nobody would ever stop it.
    const parent = process.ppid;
    const watch = setInterval(() => {
      if (process.ppid !== parent) child.kill("SIGTERM");
    }, PARENT_CHECK_MS);
    const finish = (code) => {
      clearInterval(watch);
      for (const signal of signals) process.off(signal, forward);
      settle(code);
    };
    child.on("error", (error) => {
      console.error(`Cannot run ${command}: ${error.message}`);
      finish(1);
    });
    child.on("exit", (code, signal) => finish(code ?? 128 + (constants.signals[signal] ?? 0)));
  });
}

/** Our tools neither report nor look for updates, and keep their logs in the project. */
function environment() {
  return {
    ...process.env,
    PATH: `${join(MODULES, ".bin")}${delimiter}${process.env.PATH ?? ""}`,
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_LOG_PATH: join(ROOT, ".dev/logs"),
    WRANGLER_HIDE_BANNER: "true",
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    NO_UPDATE_NOTIFIER: "1",
    DO_NOT_TRACK: "1",
  };
}

async function install() {
  console.error("Installing packages…");
  const args = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
  const npm = process.env.npm_execpath;
  if (npm?.endsWith("js")) return run(process.execPath, [npm, ...args]);
  return run("npm", args, { shell: WINDOWS });
}

/** The pinned Node, or the running one where that is new enough and install scripts were not run. */
function nodeBinary() {
  const pinned = join(MODULES, "node/bin", WINDOWS ? "node.exe" : "node");
  if (existsSync(pinned)) return pinned;
  return Number(process.versions.node.split(".")[0]) >= 24 ? process.execPath : null;
}

async function main([task, ...rest]) {
  const [script, ...first] = task === "run" ? rest.splice(0, 1) : (TASKS[task] ?? []);
  if (script === undefined) {
    console.error(
      "Usage: node src/dev/bootstrap.mjs start|test|bench|skillgate|lifecycle [arguments] | run <script> [arguments]",
    );
    return 2;
  }
  if (!isInstalled()) {
    const code = await install();
    if (code !== 0) return code;
  }
  const node = nodeBinary();
  if (node === null) {
    console.error(
      "The pinned Node 24 is missing: its package needs its install script. Run `npm ci` with scripts allowed, or use Node 24.",
    );
    return 1;
  }
  mkdirSync(join(ROOT, ".dev"), { recursive: true });
  if (task !== "run") {
    for (const step of BUILD_STEPS) {
      const code = await run(node, [step]);
      if (code !== 0) return code;
    }
  }
  // npm runs a script at the root; a command's files are named from where its caller is.
  const cwd = task === "skillgate" ? (process.env.INIT_CWD ?? process.cwd()) : ROOT;
  return run(node, [resolve(ROOT, script), ...first, ...rest], { script: true, cwd });
}

process.exitCode = await main(process.argv.slice(2));
