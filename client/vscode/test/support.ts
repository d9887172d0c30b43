/** The real daemon in a home of its own, and waits that end. */
import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Daemon, type State } from "../src/daemon";
import type { DaemonEvent } from "../src/wire";

const DEADLINE_MS = 60_000;
const CHECKOUT = resolve(__dirname, "../../../..");
const LEADS_OUT = /^(AI_AGENT|ANTHROPIC_|CLAUDE|CODEX_|CURSOR_|GEMINI_|MEMORYD_|OPENCODE|XDG_)|_proxy$/i;

export class Home {
  // A Unix socket's path is short: not every TMPDIR has room for one.
  readonly root = realpathSync(mkdtempSync(join(process.platform === "darwin" ? "/tmp" : tmpdir(), "mv-")));
  readonly project = join(this.root, "shop");
  readonly socket = join(this.root, "run/memoryd.sock");
  private child: ChildProcess | undefined;
  private said = 0;

  constructor() {
    for (const folder of ["shop", "run", ".config", ".local/state", ".claude/projects"]) {
      mkdirSync(join(this.root, folder), { recursive: true, mode: 0o700 });
    }
  }

  get env(): NodeJS.ProcessEnv {
    const kept = Object.entries(process.env).filter(([name]) => !LEADS_OUT.test(name));
    return {
      ...Object.fromEntries(kept),
      HOME: this.root,
      XDG_CONFIG_HOME: join(this.root, ".config"),
      XDG_STATE_HOME: join(this.root, ".local/state"),
      XDG_RUNTIME_DIR: join(this.root, "run"),
      MEMORYD_FORBID_NETWORK: "1",
    };
  }

  /** Starts the daemon; it serves once a client is connected. */
  serve(): void {
    const command = process.env["MEMORYD_COMMAND"] ?? join(CHECKOUT, ".venv/bin/memoryd");
    this.child = spawn(command, ["serve"], { env: this.env, stdio: "ignore" });
  }

  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    const child = this.child;
    this.child = undefined;
    if (child && child.exitCode === null && child.signalCode === null) {
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.kill(signal);
      await within(gone, "the daemon to end");
    }
  }

  async remove(): Promise<void> {
    await this.stop("SIGKILL");
    rmSync(this.root, { recursive: true, force: true });
  }

  /** One turn of a session, as Claude Code records it. */
  say(text: string): void {
    const folder = join(this.root, ".claude/projects", this.project.replace(/[^A-Za-z0-9]/g, "-"));
    mkdirSync(folder, { recursive: true });
    const person = { promptSource: "typed", turnOrigin: "human", origin: { kind: "human" }, promptId: `p${this.said}` };
    const answer = { id: `m${this.said}`, role: "assistant", model: "m", stop_reason: "end_turn", usage: {} };
    const lines = [
      { type: "user", ...person, message: { role: "user", content: text } },
      { type: "assistant", message: { ...answer, content: [{ type: "text", text: "Understood." }] } },
    ].map((line) => this.recorded(line));
    appendFileSync(join(folder, "session.jsonl"), lines.join(""));
  }

  private recorded(line: object): string {
    const number = ++this.said;
    const common = {
      parentUuid: number > 1 ? `line-${number - 1}` : null,
      isSidechain: false,
      uuid: `line-${number}`,
      timestamp: `2026-11-16T01:00:${String(number).padStart(2, "0")}.000Z`,
      userType: "external",
      entrypoint: "cli",
      cwd: this.project,
      sessionId: "session",
      version: "2.1.325",
    };
    return JSON.stringify({ ...common, ...line }) + "\n";
  }
}

export function clientOf(home: Home, more: { deadlineMs?: number } = {}): Daemon {
  return new Daemon({ socketPath: () => home.socket, firstPauseMs: 20, longestPauseMs: 100, deadlineMs: 30_000, ...more });
}

/** Resolves when the connection is in this state. */
export function reaches(daemon: Daemon, state: State): Promise<void> {
  const reached = new Promise<void>((resolve) => {
    if (daemon.state === state) {
      resolve();
    }
    daemon.onState((now) => now === state && resolve());
  });
  return within(reached, `the state ${state}`);
}

export function hears(daemon: Daemon, kind: string): Promise<DaemonEvent> {
  const heard = new Promise<DaemonEvent>((resolve) => {
    daemon.onEvent((event) => event.kind === kind && resolve(event));
  });
  return within(heard, `the event ${kind}`);
}

export async function within<T>(promise: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited in vain for ${what}`)), DEADLINE_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

export function isThere(path: string): boolean {
  return existsSync(path);
}
