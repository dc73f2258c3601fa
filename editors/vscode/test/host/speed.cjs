// How long the extension takes to start, by its own clock. Run by the case `speed` of ../browser/cases.mjs.
const vscode = require("vscode");

exports.run = async () => {
    const { activation } = await vscode.extensions.getExtension("postil.postil").activate();
    console.log(`T activation: ${activation}`);
};
