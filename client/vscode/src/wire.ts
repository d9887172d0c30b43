/**
 * The answers of the daemon that this extension reads, and what it asks.
 *
 * An answer is described by a shape, and its type is derived from that: test/wire.test.ts holds
 * the shapes against what a real daemon answers. Fields that are not read here are left out, since
 * answers may get new ones at any time.
 */
export type Shape = "text" | "number" | "flag" | Nullable | readonly [Shape] | Fields;
export interface Nullable {
  readonly nullable: Shape;
}
export type Fields = { readonly [name: string]: Shape } & { readonly nullable?: never };

/** The type of a value that has this shape. */
export type Of<S> = S extends "text"
  ? string
  : S extends "number"
    ? number
    : S extends "flag"
      ? boolean
      : S extends { readonly nullable: infer Inner }
        ? Of<Inner> | null
        : S extends readonly [infer Item]
          ? readonly Of<Item>[]
          : { readonly [Name in keyof S]: Of<S[Name]> };

const HEADER = {
  path: "text",
  file: "text",
  name: "text",
  description: "text",
  type: { nullable: "text" },
  scope: "text",
  modified: "text",
  age: "text",
  stale: "flag",
  retired: "flag",
} as const;

const SAVED = { path: "text", version: "number" } as const;

const VERSION = { version: "number", at: "text", cause: "text", sha256: "text", bytes: "number" } as const;

const RECALLED = {
  path: "text",
  name: "text",
  description: "text",
  type: { nullable: "text" },
  scope: "text",
  age: "text",
  stale: "flag",
  content: "text",
} as const;

const CANDIDATE = {
  id: "number",
  project: "text",
  type: "text",
  text: "text",
  reason: "text",
  against: [{ file: "text", text: "text" }],
  retires: "flag",
  said: "text",
} as const;

const KEPT = {
  kept: [{ id: "number", path: "text", is_new: "flag", is_retired: "flag" }],
  refused: [{ id: "number", reason: "text", hint: "text" }],
} as const;

/** The result of each method that this extension calls. */
export const RESULTS = {
  ping: { version: "text", pid: "number" },
  recall: { memories: [RECALLED], selector: "text" },
  "memory/list": { memories: [HEADER] },
  "memory/get": { ...HEADER, content: "text", version: "number" },
  "memory/save": SAVED,
  "memory/forget": SAVED,
  "memory/restore": SAVED,
  "memory/history": { versions: [VERSION] },
  "inbox/list": { items: [CANDIDATE] },
  "inbox/accept": KEPT,
  "inbox/edit": KEPT,
  "inbox/reject": { rejected: "number" },
  "dream/start": { dream: "number" },
  "dream/stop": {},
  "dream/status": { project: "text", message: "text", is_open: "flag" },
  "events/subscribe": { subscribed: "flag" },
} as const satisfies { readonly [method: string]: Fields };

/** What is there only sometimes. */
interface Sometimes {
  "memory/history": { readonly content?: string };
  "dream/status": {
    readonly running?: { readonly dream: number; readonly phase: string } | null;
    readonly estimate?: { readonly memories: number; readonly usd?: number } | null;
  };
}

export type Method = keyof typeof RESULTS;
export type Result<M extends Method> = Of<(typeof RESULTS)[M]> & (M extends keyof Sometimes ? Sometimes[M] : unknown);

export type TopicType = "user" | "feedback" | "project" | "reference";
interface Place {
  readonly cwd: string;
}
interface OneMemory extends Place {
  readonly path: string;
}
interface Decision {
  readonly ids: readonly number[];
  readonly anyway?: boolean;
}

export interface Params {
  ping: object;
  recall: Place & { readonly query: string; readonly limit?: number };
  "memory/list": Place & { readonly forgotten?: boolean };
  "memory/get": OneMemory;
  "memory/save": Place & {
    readonly name: string;
    readonly description: string;
    readonly type: TopicType;
    readonly body: string;
    readonly scope: "auto" | "project" | "user";
    readonly anyway?: boolean;
  };
  "memory/forget": OneMemory;
  "memory/restore": OneMemory & { readonly version?: number };
  "memory/history": OneMemory & { readonly version?: number };
  "inbox/list": { readonly cwd?: string };
  "inbox/accept": Decision;
  "inbox/edit": Decision & { readonly text?: string };
  "inbox/reject": { readonly ids: readonly number[] };
  "dream/start": Place & { readonly force?: boolean };
  "dream/stop": Place;
  "dream/status": Place;
  "events/subscribe": { readonly kinds?: readonly string[]; readonly cwd?: string };
}

export type Memory = Of<typeof HEADER>;
export type Recalled = Of<typeof RECALLED>;
export type Version = Of<typeof VERSION>;
export type Candidate = Of<typeof CANDIDATE>;

/** An event. The fields are those of its kind; docs/socket.md lists them. */
export interface DaemonEvent {
  readonly kind: string;
  readonly project: string;
  readonly [field: string]: unknown;
}

/** Those that this extension follows. */
export const EVENT_KINDS = [
  "memory/saved",
  "memory/forgotten",
  "memory/retired",
  "extraction/finished",
  "dream/started",
  "dream/phase",
  "dream/said",
  "dream/file",
  "dream/finished",
  "daemon/stopping",
] as const;
