import { UsageError, type CommandContext } from '../../cli/command.ts';
import { runAdvanceEpoch } from './advance-epoch/main.ts';
import { runAfterRestore } from './after-restore/main.ts';
import { runFinishUpgrade } from './finish-upgrade.ts';
import { runGrow } from './grow/main.ts';

type Verb = (args: string[], context: CommandContext) => Promise<number>;

/** The verbs of `./ravand log`: changes of the log itself. */
const VERBS: Readonly<Record<string, Verb>> = {
  'advance-epoch': runAdvanceEpoch,
  'after-restore': runAfterRestore,
  grow: runGrow,
  'finish-upgrade': runFinishUpgrade,
};

/** `./ravand log VERB …` */
export async function run(args: string[], context: CommandContext): Promise<number> {
  const [name = '', ...rest] = args;
  const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined;
  if (!verb) throw new UsageError(`log has ${Object.keys(VERBS).join(', ')}`);
  return verb(rest, context);
}
