// Something that is done once in a moment, however often it is asked for until then: keys and scans come in bursts.

export class Soon {
    private due: NodeJS.Timeout | undefined;

    constructor(
        private readonly milliseconds: number,
        private readonly act: () => void,
    ) {}

    ask(): void {
        this.due ??= setTimeout(() => {
            this.due = undefined;
            this.act();
        }, this.milliseconds);
    }

    dispose(): void {
        clearTimeout(this.due);
    }
}
