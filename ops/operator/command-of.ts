import type { Operation } from '../../platform/operations/operation.ts';

interface Scope {
  /** Undefined: of the installation. */
  accountId: number | undefined;
  /** A process that worked on it has ended: some of it may be done, or all. */
  isRepeated: boolean;
  /** The erasure that it began. */
  erasure?: number | undefined;
}

/**
 * Whether the same command continues or repeats what a killed one did. These two go one step
 * further back each time.
 */
export function mayRepeat({ kind, input }: Operation): boolean {
  if (kind === 'dead_letters.restore') return input.dry_run;
  return kind !== 'projection.rebuild' || input.step !== 'undo';
}

/**
 * The line of ./ravand that carries an operation out. Values of clients are joined to their option
 * or stand behind `--`: none of them can be read as an option.
 */
export function commandOf(
  operation: Operation,
  { accountId, isRepeated, erasure }: Scope,
): string[] {
  if (erasure !== undefined) return ['erase', `--resume=${erasure}`, '--json'];
  const words = wordsOf(operation, accountOption(operation.kind, accountId));
  // The person may be erased already, and unknown.
  const isForced = isRepeated && operation.kind === 'person.erase' && !operation.input.dry_run;
  return isForced ? [...words, '--force'] : words;
}

function accountOption(kind: Operation['kind'], accountId: number | undefined): string[] {
  if (accountId !== undefined) return [`--account=${accountId}`];
  if (kind === 'log.replay' || kind === 'projection.rebuild') return [];
  // Without its account a command would change those of everybody.
  throw new Error(`an operation ${kind} without an account`);
}

function wordsOf({ kind, input }: Operation, account: readonly string[]): string[] {
  switch (kind) {
    case 'dead_letters.redrive':
      return ['dlq', 'redrive', input.group, ...account, ...dry(input), '--json'];
    case 'dead_letters.discard':
      return [
        ...['dlq', 'discard', input.group, ...account],
        ...[`--reason=${input.reason}`, ...dry(input), '--json'],
      ];
    case 'dead_letters.restore':
      return ['dlq', 'restore', input.group, ...account, ...dry(input), '--json'];
    case 'person.erase':
      return ['erase', ...account, `--user-id=${input.user_id}`, ...dry(input), '--json'];
    case 'person.split':
      return ['person', ...account, `--from=${input.from}`, ...person('split', input)];
    case 'person.rejoin':
      return ['person', ...account, `--from=${input.from}`, ...person('rejoin', input)];
    case 'log.replay':
      return [
        ...['replay', `--topic=${input.topic}`, `--from=${input.from}`, `--to=${input.to}`],
        ...(input.account_id === undefined ? [] : [`--account=${input.account_id}`]),
        ...dry(input),
        '--json',
      ];
    case 'projection.rebuild':
      return ['rebuild', input.projection, ...STEPS[input.step], '--json'];
  }
}

/** A rebuild is filled first in every step: the same command continues it. */
const STEPS = {
  compare: ['--compare'],
  swap: ['--compare', '--swap'],
  undo: ['--undo'],
  cancel: ['--cancel'],
} as const;

function dry({ dry_run }: { dry_run: boolean }): string[] {
  return dry_run ? ['--dry-run'] : [];
}

function person(verb: string, input: { name: string; dry_run: boolean }): string[] {
  return [...dry(input), '--json', '--', verb, input.name];
}
