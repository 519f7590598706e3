import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { CommandError } from '../../../cli/command.ts';

export const KINDS = ['unit', 'contract', 'integration', 'guarantees'] as const;
export type Kind = (typeof KINDS)[number];

/** What runs of one kind: everything, or the files that were named (absolute paths). */
export interface Selection {
  kind: Kind;
  files: readonly string[];
}

/**
 * What the words of `./ravand test` select: nothing named, everything; a kind; or files, each of
 * the kind that its path says. Throws CommandError.
 */
export function selectTests(
  words: readonly string[],
  { checkout, cwd }: { checkout: string; cwd: string },
): Selection[] {
  if (words.length === 0) return KINDS.map((kind) => ({ kind, files: [] }));
  const selected = new Map<Kind, string[]>();
  for (const word of words) {
    const named = KINDS.find((kind) => kind === word);
    if (named) {
      selected.set(named, []);
      continue;
    }
    const path = [cwd, checkout].map((from) => resolve(from, word)).find((one) => existsSync(one));
    if (path === undefined)
      throw new CommandError(
        `there is no file and no kind of tests ${JSON.stringify(word)}; the kinds are ${KINDS.join(', ')}`,
        2,
      );
    const kind = kindOf(relative(checkout, path));
    selected.set(kind, [...(selected.get(kind) ?? []), path]);
  }
  return KINDS.flatMap((kind) => {
    const files = selected.get(kind);
    return files ? [{ kind, files }] : [];
  });
}

function kindOf(path: string): Kind {
  const [top, folder] = path.split(/[/\\]/);
  return (top === 'test' && KINDS.find((kind) => kind === folder)) || 'unit';
}
