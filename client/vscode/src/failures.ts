/** What can go wrong between the editor and the daemon; each failure says what to type next. */
export const START_COMMAND = "memoryd serve";
const DOCTOR_HINT = "to find out why, type: memoryd doctor";

export class Failure extends Error {
  constructor(
    /** `not-running`, `denied`, `timed-out`, `broken`, `local`, or a kind of docs/socket.md. */
    readonly kind: string,
    message: string,
    readonly hint: string,
  ) {
    super(message);
    this.name = "Failure";
  }

  /** All of it in one line. */
  get line(): string {
    return this.hint ? `${this.message} – ${this.hint}` : this.message;
  }
}

export function notRunning(): Failure {
  return new Failure("not-running", "memoryd is not running", `to start it, type: ${START_COMMAND}`);
}

export function timedOut(method: string): Failure {
  return new Failure("timed-out", `memoryd did not answer in time (${method})`, DOCTOR_HINT);
}

export function broken(reason: string): Failure {
  return new Failure("broken", `the connection to memoryd broke: ${reason}`, DOCTOR_HINT);
}

export function denied(path: string): Failure {
  return new Failure(
    "denied",
    `${path} belongs to another user, so memoryd was not asked`,
    "set memoryd.socket to the path of your own daemon",
  );
}

export function local(message: string, hint: string): Failure {
  return new Failure("local", message, hint);
}

/** The failure that an error of the operating system means while connecting. */
export function whileConnecting(error: unknown, path: string): Failure {
  const code = codeOf(error);
  if (code === "ENOENT" || code === "ECONNREFUSED" || code === "ENOTDIR") {
    return notRunning();
  }
  if (code === "EACCES" || code === "EPERM") {
    return new Failure("denied", `this user may not open ${path}`, DOCTOR_HINT);
  }
  return broken(code || String(error));
}

/** The failure in an error answer of the daemon. */
export function answered(error: { message: string; data?: unknown }): Failure {
  const data = typeof error.data === "object" && error.data !== null ? error.data : {};
  const { kind, hint } = data as { kind?: unknown; hint?: unknown };
  return new Failure(
    typeof kind === "string" ? kind : "refused",
    error.message || "memoryd failed and gave no reason",
    typeof hint === "string" ? hint : "",
  );
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}
