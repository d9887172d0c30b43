/** Tells the person what happened, in one line, and offers the next step as a button. */
import * as vscode from "vscode";
import { Failure, START_COMMAND } from "./failures";
import { plain } from "./wording";

const START = "Open a Terminal";

export async function report(error: unknown): Promise<void> {
  if (!(error instanceof Failure)) {
    throw error; // a bug; the editor shows it with its origin
  }
  if (error.kind === "not-running") {
    if ((await vscode.window.showWarningMessage(error.line, START)) === START) {
      openTerminal();
    }
    return;
  }
  await vscode.window.showErrorMessage(plain(error.line, 400));
}

/** The command is typed, and the person starts it: it is their machine. */
export function openTerminal(): void {
  const terminal = vscode.window.createTerminal("memoryd");
  terminal.show();
  terminal.sendText(START_COMMAND, false);
}

/** Does it; if a rule refuses it, asks whether to do it all the same. Undefined: the person said no. */
export async function unlessRefused<T>(
  attempt: (anyway: boolean) => Promise<T>,
  insist: string,
): Promise<T | undefined> {
  try {
    return await attempt(false);
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== "refused") {
      throw error;
    }
    const choice = await vscode.window.showWarningMessage(plain(error.message, 400), insist);
    return choice === insist ? await attempt(true) : undefined;
  }
}

export async function openMemory(path: string): Promise<void> {
  await vscode.window.showTextDocument(vscode.Uri.file(path));
}
