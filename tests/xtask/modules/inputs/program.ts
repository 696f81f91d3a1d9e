// Types, classes, generators and a template: what a minifier has to understand.
enum Kind { Leaf, Node = 4, Other = "other" as any }
interface Tree<T> { kind: Kind; value?: T; children?: readonly Tree<T>[] }

export abstract class Walker<T extends number | string> {
    #seen = new Set<T>();
    constructor(private readonly root: Tree<T>, protected limit = 1_000_000) {}
    protected abstract visit(value: T, depth: number): void;

    *values(tree: Tree<T> = this.root, depth = 0): Generator<[T, number], void, undefined> {
        if (depth > this.limit) throw new RangeError(`deeper than ${this.limit}`);
        if (tree.value !== undefined && tree.value !== null && !this.#seen.has(tree.value)) {
            this.#seen.add(tree.value);
            yield [tree.value, depth];
        }
        for (const child of tree?.children ?? []) yield* this.values(child, depth + 1);
    }

    run(): number {
        let count = 0;
        for (const [value, depth] of this.values()) { this.visit(value, depth); count++; }
        return count;
    }
}

export const squares = [...Array(10).keys()].map((x) => x ** 2).filter((x): x is number => x % 2 === 0);
export default async function main({ tree, ...rest }: { tree: Tree<string>; verbose?: boolean }) {
    class Printer extends Walker<string> { protected visit(value: string, depth: number) { console.log(" ".repeat(depth) + value, rest); } }
    return Kind.Node === (tree.kind as Kind) ? new Printer(tree).run() : Promise.reject(Kind[tree.kind]);
}
