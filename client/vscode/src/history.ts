/** Earlier versions of a memory: compared with its file, restored, or taken back. */
import { basename } from "node:path";
import * as vscode from "vscode";
import type { Daemon } from "./daemon";
import { plain, versionLine } from "./wording";
import type { Version } from "./wire";

export const SCHEME = "memoryd-version";
const RESTORE: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("discard"),
  tooltip: "Restore this version",
};

/** Serves the text of a version as a document that can only be read. */
export class VersionDocuments implements vscode.TextDocumentContentProvider {
  constructor(private readonly daemon: Daemon) {}

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const [version, cwd] = JSON.parse(uri.query) as [number, string];
    const answer = await this.daemon.request("memory/history", { cwd, path: uri.path, version });
    return answer.content ?? "";
  }
}

export async function showHistory(daemon: Daemon, cwd: string, path: string): Promise<void> {
  const { versions } = await daemon.request("memory/history", { cwd, path });
  const pick = vscode.window.createQuickPick<vscode.QuickPickItem & { version: Version }>();
  pick.title = `History of ${plain(basename(path))}`;
  pick.placeholder = "Choose a version to compare it with the file";
  pick.items = versions.map((version, index) => ({
    label: `Version ${version.version}`,
    description: versionLine(version),
    ...(index > 0 && version.sha256 && { buttons: [RESTORE] }),
    version,
  }));
  const chosen = await new Promise<{ version: Version; restore: boolean } | undefined>((resolve) => {
    pick.onDidAccept(() => resolve(pick.selectedItems[0] && { version: pick.selectedItems[0].version, restore: false }));
    pick.onDidTriggerItemButton(({ item }) => resolve({ version: item.version, restore: true }));
    pick.onDidHide(() => resolve(undefined));
    pick.show();
  });
  pick.dispose();
  if (chosen?.restore) {
    await restore(daemon, cwd, path, chosen.version.version);
  } else if (chosen) {
    await compare(cwd, path, toCompare(versions, chosen.version));
  }
}

/** The newest version is the file itself: there, the change that it made is of interest. */
function toCompare(versions: readonly Version[], chosen: Version): number {
  const earlier = versions[1];
  return chosen === versions[0] && earlier ? earlier.version : chosen.version;
}

async function compare(cwd: string, path: string, version: number): Promise<void> {
  const query = JSON.stringify([version, cwd]);
  const before = vscode.Uri.from({ scheme: SCHEME, path, query });
  const title = `${basename(path)} (version ${version} ↔ now)`;
  await vscode.commands.executeCommand("vscode.diff", before, vscode.Uri.file(path), title, { preview: true });
}

async function restore(daemon: Daemon, cwd: string, path: string, version: number): Promise<void> {
  await daemon.request("memory/restore", { cwd, path, version });
  void vscode.window.showInformationMessage(`Restored version ${version} of ${plain(basename(path))}`);
}

/** Nothing is lost, so nothing is asked first: the message offers to take it back. */
export async function forget(daemon: Daemon, cwd: string, path: string, name: string): Promise<void> {
  const { version } = await daemon.request("memory/forget", { cwd, path });
  const choice = await vscode.window.showInformationMessage(`Forgot: ${plain(name, 80)}`, "Undo");
  if (choice === "Undo") {
    await daemon.request("memory/restore", { cwd, path, version });
  }
}

export async function restoreForgotten(daemon: Daemon, cwd: string): Promise<void> {
  const { memories } = await daemon.request("memory/list", { cwd, forgotten: true });
  if (memories.length === 0) {
    void vscode.window.showInformationMessage("Nothing was forgotten here");
    return;
  }
  const items = memories.map((one) => ({
    label: plain(one.name, 100),
    description: plain(one.description, 120),
    path: one.path,
  }));
  const chosen = await vscode.window.showQuickPick(items, { placeHolder: "Which memory should come back?" });
  if (chosen) {
    const saved = await daemon.request("memory/restore", { cwd, path: chosen.path });
    await vscode.window.showTextDocument(vscode.Uri.file(saved.path));
  }
}
