import { describe, expect, it, vi } from 'vitest';
import type { LogLayout } from './layout.ts';

const layout = (name: string): LogLayout => ({
  ...{ generation: 2, partitions: 6, created: 6, phase: 'steady', history: [] },
  ...{ nextPartitions: undefined, change: undefined, formerTopics: {} },
  topics: { 'messages.planned': name },
});

/** A process of its own; resolves with whether its consumers may go on in the layout. */
async function mayGoOn({ keeps }: { keeps: string | undefined }, now: string): Promise<boolean> {
  vi.resetModules();
  const names = await import('./topic-names.ts');
  if (keeps !== undefined) names.keptNames(names.namesOf(layout(keeps)));
  // Its producer follows, as that of the dispatcher does.
  await names.useTopicNames(layout(now));
  const database = { query: () => Promise.resolve({ rows: [{ ...layout(now) }] }) };
  return names.requireCurrentNames(database as never).then(
    () => true,
    () => false,
  );
}

describe('a topic that was replaced', () => {
  it('ends a process whose consumers subscribed to the former one, although its producer follows', async () => {
    expect(await mayGoOn({ keeps: 'messages.planned' }, 'messages.planned.2')).toBe(false);
    expect(await mayGoOn({ keeps: 'messages.planned.2' }, 'messages.planned.2')).toBe(true);
  });

  it('does not end a process that follows the names', async () => {
    expect(await mayGoOn({ keeps: undefined }, 'messages.planned.2')).toBe(true);
  });
});
