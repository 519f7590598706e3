import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { CommandError } from '../../../cli/command.ts';

export const KINDS = ['unit', 'contract', 'integration', 'browser', 'guarantees'] as const;
export type Kind = (typeof KINDS)[number];

/** What runs of one kind: everything, or the files that were named (absolute paths). */
export interface Selection {
  kind: Kind;
  files: readonly string[];
  /** Paths in the checkout that are not run, although their kind is. */
  without: readonly string[];
  /** The one that most share, a second one beside it, or one of the file's own. */
  stack: 'shared' | 'second' | 'own';
}

/**
 * Tests that share a second stack: they take minutes, most of which they wait, so beside the others
 * they cost nothing.
 */
export const ON_SECOND_STACK: readonly string[] = [
  'test/integration/operate/dlq.test.ts',
  'test/integration/quota/meters.test.ts',
  'test/integration/replay/stop.test.ts',
  'test/guarantees/profiles.test.ts',
];

/**
 * Tests that have a stack of their own, beside the others as well. After most of them the log is
 * another one: its topics have other names or more partitions, it went back, or another release
 * ran; others could not count on what they find. The rest begins with empty spools and queues.
 */
export const ALONE: readonly string[] = [
  'test/integration/erase/erase.test.ts',
  'test/integration/messages/erase-messages.test.ts',
  'test/integration/operate/rewrite-topic.test.ts',
  'test/guarantees/archive.test.ts',
  'test/guarantees/brokers.test.ts',
  'test/guarantees/erasure.test.ts',
  'test/guarantees/growth.test.ts',
  'test/guarantees/messages.test.ts',
  'test/guarantees/outages.test.ts',
  'test/guarantees/redis-fail-over.test.ts',
  'test/guarantees/shards.test.ts',
  'test/guarantees/transactional.test.ts',
  'test/guarantees/log-goes-back.test.ts',
  'test/guarantees/upgrade.test.ts',
];

/**
 * Those of ALONE that run with --full only, or when they are named. The guarantee of erasure
 * rewrites topics under kills, too.
 */
const FULL_ONLY: readonly string[] = [
  'test/integration/operate/rewrite-topic.test.ts',
  'test/guarantees/brokers.test.ts',
  'test/guarantees/redis-fail-over.test.ts',
  'test/guarantees/shards.test.ts',
];

/** Settings of the stack of a file that has its own. */
const STACK_SETTINGS: Readonly<Record<string, NodeJS.ProcessEnv>> = {
  'test/guarantees/brokers.test.ts': { LOCAL_KAFKA_BROKERS: '3' },
  'test/guarantees/shards.test.ts': { LOCAL_CLICKHOUSE_SHARDS: '2' },
};

/** What the stack of these selections needs besides the environment. */
export function stackSettings(
  selections: readonly Pick<Selection, 'files'>[],
  checkout: string,
): NodeJS.ProcessEnv {
  const files = selections.flatMap((one) => one.files.map((file) => relative(checkout, file)));
  return Object.assign({}, ...files.map((file) => STACK_SETTINGS[file])) as NodeJS.ProcessEnv;
}

/**
 * What the words of `./ravand test` select: nothing named, everything; a kind; or files, each of
 * the kind that its path says. Throws CommandError.
 */
export function selectTests(
  words: readonly string[],
  of: { checkout: string; cwd: string; isFull: boolean },
): Selection[] {
  const { checkout, cwd } = of;
  if (words.length === 0) return KINDS.flatMap((kind) => stacksOf({ kind, files: [] }, of));
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
    return files ? stacksOf({ kind, files }, of) : [];
  });
}

/** The parts that share a stack, and each file that has one of its own. */
function stacksOf(
  { kind, files }: Pick<Selection, 'kind' | 'files'>,
  { checkout, isFull }: { checkout: string; isFull: boolean },
): Selection[] {
  const isEverything = files.length === 0;
  const ofKind = (paths: readonly string[]) => paths.filter((path) => kindOf(path) === kind);
  const [second, own] = [ofKind(ON_SECOND_STACK), ofKind(ALONE)];
  const without = [...second, ...own];
  const wanted = (paths: readonly string[]) =>
    isEverything
      ? paths
          .filter((path) => isFull || !FULL_ONLY.includes(path))
          .map((path) => resolve(checkout, path))
      : files.filter((file) => paths.includes(relative(checkout, file)));
  const shared = files.filter((file) => !without.includes(relative(checkout, file)));
  const selections: Selection[] = [];
  if (isEverything || shared.length > 0)
    selections.push({ kind, files: shared, without: isEverything ? without : [], stack: 'shared' });
  if (wanted(second).length > 0)
    selections.push({ kind, files: wanted(second), without: [], stack: 'second' });
  for (const file of wanted(own))
    selections.push({ kind, files: [file], without: [], stack: 'own' });
  return selections;
}

function kindOf(path: string): Kind {
  const [top, folder] = path.split(/[/\\]/);
  return (top === 'test' && KINDS.find((kind) => kind === folder)) || 'unit';
}
