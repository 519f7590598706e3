import { expect, it } from 'vitest';
import { UsageError, type CommandContext } from '../../../cli/command.ts';
import { runGrow } from './main.ts';

it.each([['--dry-run'], ['--forget'], ['--partitions', '8'], ['--timeout', '9']])(
  '--cancel with %s is refused before anything is changed',
  async (...beside) => {
    const refused = runGrow(['--cancel', ...beside], {} as CommandContext);
    await expect(refused).rejects.toThrow(UsageError);
  },
);
