/** The folder that memories are asked for: that of the file in front, else the first one open. */
import { dirname } from "node:path";
import * as vscode from "vscode";
import * as failures from "./failures";

export class Project implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly listeners: vscode.Disposable[];
  private last = "";
  readonly onDidChange = this.changed.event;

  constructor() {
    this.listeners = [
      vscode.window.onDidChangeActiveTextEditor(() => this.look()),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.look()),
    ];
    this.look();
  }

  /** Empty if there is no folder and no file. */
  get cwd(): string {
    return this.last;
  }

  /** The folder, or a failure that says what to do. */
  get requiredCwd(): string {
    if (!this.last) {
      throw failures.local("memories belong to a folder", "open one first: File > Open Folder");
    }
    return this.last;
  }

  dispose(): void {
    vscode.Disposable.from(...this.listeners, this.changed).dispose();
  }

  private look(): void {
    const found = folderInFront() || this.stillOpen() || firstFolder();
    void vscode.commands.executeCommand("setContext", "memoryd.hasFolder", found !== "");
    if (found !== this.last) {
      this.last = found;
      this.changed.fire();
    }
  }

  /** The last folder, while it is open: a memory's own file in front does not change the project. */
  private stillOpen(): string {
    const isOpen = vscode.workspace.workspaceFolders?.some((one) => one.uri.fsPath === this.last);
    return isOpen ? this.last : "";
  }
}

function folderInFront(): string {
  const uri = vscode.window.activeTextEditor?.document.uri;
  if (uri?.scheme !== "file") {
    return "";
  }
  const folder = vscode.workspace.getWorkspaceFolder(uri);
  if (folder) {
    return folder.uri.fsPath;
  }
  return vscode.workspace.workspaceFolders?.length ? "" : dirname(uri.fsPath);
}

function firstFolder(): string {
  return vscode.workspace.workspaceFolders?.find((one) => one.uri.scheme === "file")?.uri.fsPath ?? "";
}
