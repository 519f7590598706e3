import { expect, it } from 'vitest';
import { UsageError, type CommandContext } from '../../../cli/command.ts';
import { TOPIC } from '../../../schemas/topology.ts';
import { runGrow, viewLines } from './main.ts';
import type { GrowthView } from './plan.ts';
import { GROWING } from './read-view.ts';

it.each([['--dry-run'], ['--forget'], ['--partitions', '8'], ['--timeout', '9']])(
  '--cancel with %s is refused before anything is changed',
  async (...beside) => {
    const refused = runGrow(['--cancel', ...beside], {} as CommandContext);
    await expect(refused).rejects.toThrow(UsageError);
  },
);

it('channel.commands does not grow, and --dry-run says why', () => {
  expect(GROWING).not.toContain(TOPIC.channelCommands);
  const layout = { partitions: 4, generation: 1, phase: 'steady' };
  const counts = new Map([[TOPIC.raw, 4]]);
  const view = { layout, target: 6, counts, writers: [], behind: [] } as unknown as GrowthView;
  expect(viewLines(view)).toContain(
    'channel.commands keeps its 8 partitions: the consents of a user are chained in the order of one',
  );
});
