/**
 * The connection to the daemon. It knows nothing of the editor.
 *
 * - One connection carries the requests and the events. When it ends it is made again, at once when
 *   somebody asks for something, else after a pause that grows to some seconds.
 * - A request has a deadline. One that only reads is sent once more if the daemon restarted under
 *   it; one that changes something is not, since it may have been done.
 * - Nothing is sent to a socket that is not this user's own. Node cannot ask whose process listens
 *   there, so the owner of the socket and of its folder must do.
 */
import { stat } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { dirname } from "node:path";
import {
  createMessageConnection,
  type MessageConnection,
  ResponseError,
  SocketMessageReader,
  SocketMessageWriter,
} from "vscode-jsonrpc/node";
import * as failures from "./failures";
import { Failure } from "./failures";
import { type DaemonEvent, EVENT_KINDS, type Method, type Params, type Result } from "./wire";

export type State = "connecting" | "connected" | "absent" | "unusable";

export interface Options {
  /** Asked again before each attempt; may throw. */
  readonly socketPath: () => string;
  readonly log?: (line: string) => void;
  readonly deadlineMs?: number;
  readonly firstPauseMs?: number;
  readonly longestPauseMs?: number;
}

const READS: ReadonlySet<Method> = new Set<Method>([
  "ping",
  "recall",
  "memory/list",
  "memory/get",
  "memory/history",
  "inbox/list",
  "dream/status",
]);

interface Link {
  readonly rpc: MessageConnection;
  readonly socket: Socket;
}

export class Daemon {
  private link: Link | undefined;
  private attempt: Promise<Link> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private pauseMs: number;
  private isDisposed = false;
  private current: State = "connecting";
  private failure: Failure | undefined;
  private readonly stateListeners = new Set<(state: State) => void>();
  private readonly eventListeners = new Set<(event: DaemonEvent) => void>();

  constructor(private readonly options: Options) {
    this.pauseMs = this.firstPauseMs;
  }

  get state(): State {
    return this.current;
  }

  /** Why it is not connected. */
  get lastFailure(): Failure | undefined {
    return this.failure;
  }

  /** Calls the listener at every change; returns what ends that. */
  onState(listener: (state: State) => void): () => void {
    this.stateListeners.add(listener);
    return () => this.stateListeners.delete(listener);
  }

  onEvent(listener: (event: DaemonEvent) => void): () => void {
    this.eventListeners.add(listener);
    return () => this.eventListeners.delete(listener);
  }

  /** Connects, and stays connected until disposed. */
  start(): void {
    this.connected().catch(() => undefined); // the state says so
  }

  /** The socket may be elsewhere now: connects again. */
  restart(): void {
    this.drop();
    this.pauseMs = this.firstPauseMs;
    this.start();
  }

  dispose(): void {
    this.isDisposed = true;
    clearTimeout(this.timer);
    this.stateListeners.clear();
    this.eventListeners.clear();
    this.drop();
  }

  /** The daemon's answer; throws a Failure and nothing else. */
  async request<M extends Method>(method: M, params: Params[M]): Promise<Result<M>> {
    try {
      return await this.requestOnce(method, params);
    } catch (error) {
      const hasBroken = error instanceof Failure && error.kind === "broken";
      if (!hasBroken || !READS.has(method) || this.isDisposed) {
        throw error;
      }
      return await this.requestOnce(method, params);
    }
  }

  private async requestOnce<M extends Method>(method: M, params: Params[M]): Promise<Result<M>> {
    const { rpc } = await this.connected();
    try {
      const answer = rpc.sendRequest<Result<M>>(method, params);
      return await within(answer, this.deadlineMs, () => failures.timedOut(method));
    } catch (error) {
      throw asFailure(error);
    }
  }

  private connected(): Promise<Link> {
    if (this.isDisposed) {
      return Promise.reject(failures.local("memoryd was switched off in this window", ""));
    }
    if (this.link && !this.attempt) {
      return Promise.resolve(this.link);
    }
    this.attempt ??= this.open().finally(() => {
      this.attempt = undefined;
    });
    return this.attempt;
  }

  private async open(): Promise<Link> {
    clearTimeout(this.timer);
    try {
      const link = this.listen(await opened(this.options.socketPath));
      await this.subscribe(link);
      if (this.link !== link) {
        throw failures.broken("it was closed");
      }
      this.pauseMs = this.firstPauseMs;
      this.change("connected");
      return link;
    } catch (error) {
      const failure = asFailure(error);
      this.drop();
      this.lost(failure);
      throw failure;
    }
  }

  private listen(socket: Socket): Link {
    const rpc = createMessageConnection(new SocketMessageReader(socket), new SocketMessageWriter(socket));
    const link = { rpc, socket };
    rpc.onNotification("event", (event: DaemonEvent) => this.tell(event));
    rpc.onError(([error]) => {
      this.log(`the connection broke: ${error.message}`);
      socket.destroy();
    });
    socket.on("close", () => {
      if (this.link === link) {
        this.drop();
        if (!this.attempt) {
          this.lost(failures.notRunning());
        }
      }
    });
    rpc.listen();
    this.link = link;
    if (this.isDisposed) {
      this.drop();
    }
    return link;
  }

  /** Ends the connection; what still waits for an answer is rejected. */
  private drop(): void {
    const link = this.link;
    this.link = undefined;
    link?.rpc.dispose();
    link?.socket.destroy();
  }

  private async subscribe(link: Link): Promise<void> {
    try {
      const answer = link.rpc.sendRequest("events/subscribe", { kinds: EVENT_KINDS });
      await within(answer, this.deadlineMs, () => failures.timedOut("events/subscribe"));
    } catch (error) {
      const failure = asFailure(error);
      if (failure.kind === "broken" || failure.kind === "timed-out") {
        throw failure;
      }
      this.log(`no events: ${failure.line}`); // too many subscribers, say; requests still work
    }
  }

  private lost(failure: Failure): void {
    if (this.isDisposed) {
      return;
    }
    this.failure = failure;
    this.change(failure.kind === "not-running" ? "absent" : "unusable");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.start(), this.pauseMs);
    this.timer.unref();
    this.pauseMs = Math.min(this.pauseMs * 2, this.options.longestPauseMs ?? 5_000);
  }

  private change(state: State): void {
    if (this.current !== state) {
      this.current = state;
      this.log(state === "connected" ? "connected" : (this.failure?.line ?? state));
      this.stateListeners.forEach((listener) => listener(state));
    }
  }

  private tell(event: DaemonEvent): void {
    if (typeof event?.kind === "string") {
      this.eventListeners.forEach((listener) => listener(event));
    }
  }

  private log(line: string): void {
    this.options.log?.(line);
  }

  private get deadlineMs(): number {
    return this.options.deadlineMs ?? 15_000;
  }

  private get firstPauseMs(): number {
    return this.options.firstPauseMs ?? 250;
  }
}

async function opened(socketPath: () => string): Promise<Socket> {
  if (process.getuid === undefined) {
    throw failures.local("memoryd runs on Linux and macOS", "open the folder in WSL or on another machine");
  }
  const path = locate(socketPath);
  try {
    await checkOwner(path, process.getuid());
    return await new Promise<Socket>((resolve, reject) => {
      const socket = connect({ path });
      socket.once("error", reject);
      socket.once("connect", () => {
        socket.off("error", reject);
        socket.on("error", () => undefined); // a close follows
        resolve(socket);
      });
    });
  } catch (error) {
    throw error instanceof Failure ? error : failures.whileConnecting(error, path);
  }
}

function locate(socketPath: () => string): string {
  try {
    return socketPath();
  } catch (error) {
    throw failures.local((error as Error).message, "change memoryd.socket or MEMORYD_SOCKET");
  }
}

async function checkOwner(path: string, uid: number): Promise<void> {
  const [socket, folder] = await Promise.all([stat(path), stat(dirname(path))]);
  if (socket.uid !== uid || (folder.uid !== uid && folder.uid !== 0)) {
    throw failures.denied(path);
  }
}

async function within<T>(answer: Promise<T>, deadlineMs: number, late: () => Failure): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), deadlineMs);
  });
  try {
    return await Promise.race([answer, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

function asFailure(error: unknown): Failure {
  if (error instanceof Failure) {
    return error;
  }
  // The library's own errors (a closed connection, say) have codes of its own.
  if (error instanceof ResponseError && !isOfTheLibrary(error.code)) {
    return failures.answered(error);
  }
  return failures.broken(error instanceof Error ? error.message : String(error));
}

function isOfTheLibrary(code: number): boolean {
  return code <= -32096 && code >= -32099;
}
