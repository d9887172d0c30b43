/** Puts the parts together: the connection, the views, the status bar and the commands. */
import * as vscode from "vscode";
import { Daemon } from "./daemon";
import { Dreams } from "./dream";
import { forget, restoreForgotten, SCHEME, showHistory, VersionDocuments } from "./history";
import { InboxView } from "./inboxView";
import { type MemoryNode, MemoryTree } from "./memoryTree";
import { openMemory, openTerminal, report } from "./messages";
import { Project } from "./project";
import { recall } from "./recall";
import { remember, selectedText } from "./remember";
import { foundSocket, thisWorld } from "./socketPath";
import { StatusBar } from "./statusBar";
import type { Candidate, DaemonEvent } from "./wire";

// Many events come together, after a dream for example.
const REFRESH_MS = 200;
const MENU = ["memoryd.recall", "memoryd.remember", "memoryd.dream", "memoryd.restoreForgotten", "memoryd.showLog"];

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("memoryd", { log: true });
  const socket = () => vscode.workspace.getConfiguration("memoryd").get<string>("socket", "");
  const daemon = new Daemon({
    socketPath: () => foundSocket(thisWorld(socket())),
    log: (line) => log.info(line),
  });
  const project = new Project();
  const memories = new MemoryTree(daemon, project);
  const inbox = new InboxView(daemon, project, log);
  const status = new StatusBar(daemon, () => inbox.count);
  const dreams = new Dreams(daemon);

  const refresh = async () => {
    memories.refresh();
    await inbox.load();
    status.update();
  };
  const soon = delayed(refresh, REFRESH_MS);

  const stateChanged = (state: string) => {
    void vscode.commands.executeCommand("setContext", "memoryd.state", state);
    status.update();
    soon.run();
  };
  stateChanged(daemon.state);
  daemon.onState(stateChanged);
  daemon.onEvent((event) => {
    status.heard(event);
    dreams.heard(event);
    if (changesMemories(event)) {
      soon.run();
    }
  });

  const commands: Record<string, (...given: never[]) => unknown> = {
    recall: (query?: string) => recall(daemon, project.requiredCwd, typeof query === "string" ? query : ""),
    remember: () => remember(daemon, project.requiredCwd, ""),
    rememberSelection: () => remember(daemon, project.requiredCwd, selectedText()),
    refresh: () => (daemon.state === "connected" ? refresh() : daemon.restart()),
    dream: () => dreams.start(project.requiredCwd),
    stopDream: () => dreams.stop(project.requiredCwd),
    restoreForgotten: () => restoreForgotten(daemon, project.requiredCwd),
    menu: () => showMenu(context.extension.packageJSON),
    start: () => openTerminal(),
    showLog: () => log.show(),
    open: ({ memory }: MemoryNode) => openMemory(memory.path),
    history: ({ memory, cwd }: MemoryNode) => showHistory(daemon, cwd, memory.path),
    forget: ({ memory, cwd }: MemoryNode) => forget(daemon, cwd, memory.path, memory.name),
    accept: (candidate: Candidate) => inbox.accept(candidate).finally(() => status.update()),
    edit: (candidate: Candidate) => inbox.edit(candidate).finally(() => status.update()),
    reject: (candidate: Candidate) => inbox.reject(candidate).finally(() => status.update()),
  };
  for (const [name, run] of Object.entries(commands)) {
    context.subscriptions.push(vscode.commands.registerCommand(`memoryd.${name}`, reporting(run)));
  }

  context.subscriptions.push(
    log,
    daemon,
    project,
    inbox,
    status,
    soon,
    vscode.window.registerTreeDataProvider("memoryd.memories", memories),
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, new VersionDocuments(daemon)),
    project.onDidChange(() => soon.run()),
    // Another program may have decided about the inbox meanwhile: there is no event for that.
    vscode.window.onDidChangeWindowState(({ focused }) => focused && soon.run()),
    vscode.workspace.onDidChangeConfiguration(
      (change) => change.affectsConfiguration("memoryd.socket") && daemon.restart(),
    ),
  );
  daemon.start();
}

/** What is disposed with the context needs nothing more. */
export function deactivate(): void {}

function changesMemories(event: DaemonEvent): boolean {
  return event.kind.startsWith("memory/") || event.kind.endsWith("/finished");
}

/** A command that tells the person about its failure. */
function reporting(run: (...given: never[]) => unknown): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    try {
      await run(...(given as never[]));
    } catch (error) {
      await report(error);
    }
  };
}

interface Delayed extends vscode.Disposable {
  run(): void;
}

/** Runs once, some time after it was first asked for. */
function delayed(work: () => Promise<void>, delayMs: number): Delayed {
  let timer: NodeJS.Timeout | undefined;
  const go = () => {
    timer = undefined;
    void work();
  };
  return {
    run: () => {
      timer ??= setTimeout(go, delayMs);
    },
    dispose: () => clearTimeout(timer),
  };
}

interface Manifest {
  readonly contributes: { readonly commands: readonly { readonly command: string; readonly title: string }[] };
}

async function showMenu(manifest: Manifest): Promise<void> {
  const known = manifest.contributes.commands.filter(({ command }) => MENU.includes(command));
  const items = known.map(({ command, title }) => ({ label: title, command }));
  const chosen = await vscode.window.showQuickPick(items, { title: "memoryd" });
  if (chosen) {
    await vscode.commands.executeCommand(chosen.command);
  }
}
