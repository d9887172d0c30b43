/** How things are said in the editor. Nothing here knows of it, or of the daemon. */
import type { State } from "./daemon";
import type { DaemonEvent, Memory, Recalled, TopicType, Version } from "./wire";

const NAME_CHARACTERS = 60;
const DESCRIPTION_CHARACTERS = 150;
const CUT = "…";

/** In the order in which the tree shows them. */
export const SCOPES = ["project", "group", "team", "user", "agent"];
export const TYPES: readonly { type: TopicType; says: string }[] = [
  { type: "project", says: "What holds in this project and the code does not say" },
  { type: "feedback", says: "How the work should be done" },
  { type: "reference", says: "Where something is found" },
  { type: "user", says: "Who you are and how you like things" },
];

/**
 * A text from outside as the editor may show it: on one line, without invisible characters, and
 * with nothing in it that the editor would take for an icon or a link.
 */
export function plain(text: string, characters = 200): string {
  const line = text
    .replace(/[\p{Cf}\p{Co}\p{Cn}]/gu, "")
    .replace(/[\s\p{Cc}]+/gu, " ")
    .replace(/\$\(/g, "$ (")
    .replace(/\]\(/g, "] (")
    .trim();
  return cut(line, characters);
}

export function cut(text: string, characters: number): string {
  const signs = [...text];
  return signs.length <= characters ? text : signs.slice(0, characters - 1).join("") + CUT;
}

/** The first sentence, as the command names what it remembers. */
export function nameFor(text: string): string {
  const sentence = text.trim().split(/(?<=[.!?:;])\s/, 1)[0] ?? "";
  const words = (sentence.split(/\s+/).length > 1 ? sentence : text).trim().split(/\s+/);
  const name = trimmed(words.join(" "));
  if (name.length <= NAME_CHARACTERS) {
    return name || "note";
  }
  const start = name.slice(0, NAME_CHARACTERS - 1);
  const end = start.lastIndexOf(" ");
  return trimmed(end > 0 ? start.slice(0, end) : start) + CUT;
}

export function descriptionFor(text: string): string {
  return cut(text.trim().split("\n", 1)[0]?.trim() ?? "", DESCRIPTION_CHARACTERS);
}

function trimmed(text: string): string {
  return text.replace(/^[ .,:;-]+|[ .,:;-]+$/g, "");
}

export interface Group<T> {
  readonly name: string;
  readonly items: readonly T[];
}

/** Memories by scope, each in turn by type; scopes and types without any are left out. */
export function byScopeAndType(memories: readonly Memory[]): Group<Group<Memory>>[] {
  return grouped(memories, (one) => one.scope, SCOPES).map(({ name, items }) => ({
    name,
    items: grouped(items, (one) => one.type ?? "no type", TYPES.map(({ type }) => type)),
  }));
}

function grouped<T>(items: readonly T[], key: (item: T) => string, order: readonly string[]): Group<T>[] {
  const found = new Map<string, T[]>();
  for (const item of items) {
    const name = key(item);
    found.set(name, [...(found.get(name) ?? []), item]);
  }
  const rank = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return [...found]
    .map(([name, items]) => ({ name, items }))
    .sort((a, b) => rank(a.name) - rank(b.name) || a.name.localeCompare(b.name));
}

/** What the list says of a memory beside its name. */
export function aside(memory: Memory | Recalled): string {
  const age = memory.stale ? `${memory.age}, check it` : memory.age;
  return [memory.type ?? "no type", memory.scope, age].filter(Boolean).join(" · ");
}

/** The text of a memory without its header. */
export function bodyOf(content: string): string {
  return content.replace(/^---\n[\s\S]*?\n---\n/, "").trim();
}

export function versionLine(version: Version): string {
  const what = version.sha256 ? `${version.bytes} bytes` : "removed";
  return plain(`${version.at.slice(0, 16).replace("T", " ")} · ${version.cause} · ${what}`);
}

export interface Dream {
  readonly number: number;
  readonly project: string;
  readonly phase: string;
  readonly step: string;
  readonly files: number;
  readonly usd: number;
}

/** The dreams that run after an event, given those that ran before. */
export function afterEvent(dreams: readonly Dream[], event: DaemonEvent): readonly Dream[] {
  if (event.kind === "daemon/stopping") {
    return [];
  }
  const number = numberIn(event["dream"]);
  if (!event.kind.startsWith("dream/")) {
    return dreams;
  }
  const others = dreams.filter((one) => one.number !== number);
  if (event.kind === "dream/finished") {
    return others;
  }
  const before = dreams.find((one) => one.number === number);
  const dream = {
    number,
    project: event.project || before?.project || "",
    phase: textIn(event["phase"]) || before?.phase || "",
    step: textIn(event["step"]) || before?.step || "",
    files: numberIn(event["files"]) || before?.files || 0,
    usd: numberIn(event["usd"]) || before?.usd || 0,
  };
  return [...others, dream];
}

export interface StatusLine {
  readonly text: string;
  readonly tooltip: string;
  readonly isWarning: boolean;
}

/** The status bar. `reason` says why there is no connection. */
export function statusLine(state: State, dreams: readonly Dream[], waiting: number, reason: string): StatusLine {
  if (state === "connecting") {
    return { text: "$(sync~spin) memoryd", tooltip: "Connecting to memoryd", isWarning: false };
  }
  if (state !== "connected") {
    const words = state === "absent" ? "memoryd is not running" : "memoryd cannot be reached";
    return { text: `$(debug-disconnect) ${words}`, tooltip: plain(reason), isWarning: true };
  }
  const inbox = waiting ? ` $(inbox) ${waiting}` : "";
  const rest = waiting ? `${counted(waiting, "statement waits", "statements wait")} in the inbox` : "";
  const dream = dreams.at(-1);
  if (dream) {
    const tooltip = [dreamLine(dream), rest].filter(Boolean).join("\n");
    return { text: `$(sync~spin) dreaming${phaseOf(dream)}${inbox}`, tooltip, isWarning: false };
  }
  return { text: `$(book) memoryd${inbox}`, tooltip: rest || "memoryd is running", isWarning: false };
}

function phaseOf(dream: Dream): string {
  return dream.phase ? `: ${plain(dream.phase, 30)}` : "";
}

function dreamLine(dream: Dream): string {
  const parts = [
    `Dream ${dream.number}${dream.project ? ` in ${plain(dream.project)}` : ""}`,
    dream.step && `step ${plain(dream.step, 30)}`,
    dream.files ? counted(dream.files, "file", "files") : "",
    dream.usd ? `$${dream.usd.toFixed(2)}` : "",
  ];
  return parts.filter(Boolean).join(" · ");
}

/** How a dream ended. */
export function endOfDream(event: DaemonEvent): string {
  const words = textIn(event["words"]) || textIn(event["reason"]) || textIn(event["state"]);
  return plain(`Dream ${numberIn(event["dream"])}: ${words}`, 300);
}

export function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}

function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function numberIn(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
