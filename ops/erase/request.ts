import { parseLine, REPEATED } from '../../cli/arguments.ts';
import { UsageError } from '../../cli/command.ts';

const OPTIONS = {
  account: { type: 'string' },
  'user-id': REPEATED,
  'anonymous-id': REPEATED,
  text: REPEATED,
  resume: { type: 'string' },
  forget: { type: 'boolean' },
  force: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  json: { type: 'boolean' },
} as const;

type Option = keyof typeof OPTIONS;

/** The line of `./ravand erase`. */
export type EraseLine = ReturnType<typeof parseLine<typeof OPTIONS>>;

/** By verb, the options that it understands beside --json; `resume`: --resume alone. */
const UNDERSTOOD: Readonly<Record<string, readonly Option[]>> = {
  '': ['account', 'user-id', 'anonymous-id', 'text', 'forget', 'force', 'dry-run'],
  resume: ['resume', 'text', 'forget'],
  status: [],
  verify: ['account', 'user-id', 'anonymous-id', 'text'],
  rewrite: [],
  recover: [],
  'rotate-key': [],
};

/**
 * Reads the line. An option that the verb does not understand is refused: a --dry-run that was
 * ignored would erase. Throws UsageError.
 */
export function parseEraseLine(args: string[]): EraseLine {
  const line = parseLine({ args, options: OPTIONS, words: { min: 0, max: 2 } });
  const [verb = '', word] = line.words;
  const row = verb === '' && line.values.resume !== undefined ? 'resume' : verb;
  const understood = Object.hasOwn(UNDERSTOOD, row) ? UNDERSTOOD[row] : undefined;
  if (!understood || verb === 'resume')
    throw new UsageError(`erase ${verb}: there is status, verify, rewrite, recover and rotate-key`);
  const given = Object.keys(line.values) as Option[];
  const refused = given.find((name) => name !== 'json' && !understood.includes(name));
  if (refused !== undefined)
    throw new UsageError(
      `--${refused} does not go with erase ${row === 'resume' ? '--resume' : verb}`.trim(),
    );
  if (word !== undefined && verb !== 'verify')
    throw new UsageError(`unexpected ${JSON.stringify(word)}`);
  return line;
}
