/**
 * A service, or a setup step such as the migrations.
 */
export interface Node {
  name: string;
  needs: readonly string[];
}

/** The nodes that can begin: what they need is done, and they have not begun yet. */
export function startable(
  nodes: readonly Node[],
  begun: ReadonlySet<string>,
  done: ReadonlySet<string>,
): string[] {
  return nodes
    .filter((node) => !begun.has(node.name) && node.needs.every((need) => done.has(need)))
    .map((node) => node.name);
}

/**
 * The order of a shutdown: levels of names that may stop in parallel, those that others need last.
 */
export function stopLevels(nodes: readonly Node[]): string[][] {
  const levels: string[][] = [];
  let left = [...nodes];
  while (left.length > 0) {
    const needed = new Set(left.flatMap((node) => node.needs));
    const level = left.filter((node) => !needed.has(node.name)).map((node) => node.name);
    if (level.length === 0)
      throw new Error(`dependency cycle: ${left.map((node) => node.name).join(', ')}`);
    levels.push(level);
    left = left.filter((node) => !level.includes(node.name));
  }
  return levels;
}
