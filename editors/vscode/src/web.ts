// A web window without a machine behind it cannot start a program. It says so, once, where it is looked for.

import * as vscode from "vscode";

const WHY =
    "postil starts a program on your machine, which a web window cannot do. Open this folder in VS Code on the desktop, or in a remote window.";

export function activate(context: vscode.ExtensionContext): void {
    const item = vscode.window.createStatusBarItem("postil", vscode.StatusBarAlignment.Left, 10);
    item.name = "postil";
    item.text = "$(circle-slash) postil";
    item.tooltip = WHY;
    item.command = "postil.showLog";
    item.show();
    const say = async (): Promise<void> => {
        await vscode.window.showInformationMessage(WHY);
    };
    const commands = (context.extension.packageJSON as { contributes: { commands: { command: string }[] } }).contributes.commands;
    void vscode.commands.executeCommand("setContext", "postil.state", "web");
    context.subscriptions.push(item, ...commands.map(({ command }) => vscode.commands.registerCommand(command, say)));
}
