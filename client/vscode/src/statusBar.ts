/** One item: whether the daemon is there, how far a dream is, how much waits in the inbox. */
import * as vscode from "vscode";
import type { Daemon } from "./daemon";
import { afterEvent, type Dream, statusLine } from "./wording";
import type { DaemonEvent } from "./wire";

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("memoryd", vscode.StatusBarAlignment.Right, 90);
  private dreams: readonly Dream[] = [];

  constructor(
    private readonly daemon: Daemon,
    private readonly waiting: () => number,
  ) {
    this.item.name = "memoryd";
    this.update();
    this.item.show();
  }

  dispose(): void {
    this.item.dispose();
  }

  heard(event: DaemonEvent): void {
    this.dreams = afterEvent(this.dreams, event);
    this.update();
  }

  update(): void {
    const { state, lastFailure } = this.daemon;
    if (state !== "connected") {
      this.dreams = []; // the daemon that dreamed is gone
    }
    const line = statusLine(state, this.dreams, this.waiting(), lastFailure?.line ?? "");
    this.item.text = line.text;
    this.item.tooltip = line.tooltip;
    this.item.command = state === "absent" ? "memoryd.start" : "memoryd.menu";
    this.item.backgroundColor = line.isWarning
      ? new vscode.ThemeColor("statusBarItem.warningBackground")
      : undefined;
    void vscode.commands.executeCommand("setContext", "memoryd.dreaming", this.dreams.length > 0);
  }
}
