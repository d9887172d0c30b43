/** Starts and stops dreams, and says how the one that was started here ended. */
import * as vscode from "vscode";
import type { Daemon } from "./daemon";
import { counted, endOfDream } from "./wording";
import type { DaemonEvent } from "./wire";

export class Dreams {
  private readonly started = new Set<number>();

  constructor(private readonly daemon: Daemon) {}

  /** Asks first where it costs something. */
  async start(cwd: string): Promise<void> {
    const { estimate } = await this.daemon.request("dream/status", { cwd });
    if (estimate?.usd) {
      const size = counted(estimate.memories, "memory", "memories");
      const question = `A dream over ${size} costs about $${estimate.usd.toFixed(2)}.`;
      if ((await vscode.window.showInformationMessage(question, { modal: true }, "Dream")) !== "Dream") {
        return;
      }
    }
    this.started.add((await this.daemon.request("dream/start", { cwd, force: true })).dream);
  }

  async stop(cwd: string): Promise<void> {
    await this.daemon.request("dream/stop", { cwd });
  }

  heard(event: DaemonEvent): void {
    if (event.kind === "dream/finished" && this.started.delete(Number(event["dream"]))) {
      void vscode.window.showInformationMessage(endOfDream(event));
    }
  }
}
