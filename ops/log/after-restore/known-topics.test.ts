import { describe, expect, it } from 'vitest';
import type { LogLayout } from '../../../platform/log/layout.ts';
import { TOPICS } from '../../../schemas/topology.ts';
import { backupProblem, type PresentTopics } from './known-topics.ts';

const layout = (of: Partial<LogLayout> = {}): LogLayout => ({
  ...{ generation: 2, partitions: 4, created: 4, phase: 'steady', nextPartitions: undefined },
  ...{ change: undefined, topics: {}, formerTopics: {} },
  history: [{ generation: 1, partitions: 4, epoch: 0 }],
  ...of,
});
const others = TOPICS.map(({ topic }) => topic).filter((topic) => topic !== 'events.raw');
const present = (raw: readonly string[], of: Partial<PresentTopics> = {}): PresentTopics => ({
  names: [...others, ...raw],
  openCopies: [],
  counts: new Map([['events.raw', 4]]),
  ...of,
});
const COPY = 'events.raw.0a1b2c3d';

describe('a backup of PostgreSQL', () => {
  it('agrees with topics of the names that it has, a former one and a copy in progress beside', () => {
    expect(backupProblem(layout(), present(['events.raw']))).toBeUndefined();
    expect(backupProblem(layout({ topics: { 'events.raw': COPY } }), present([COPY]))).toBe(
      undefined,
    );
    const copying = present(['events.raw', COPY], { openCopies: [COPY] });
    expect(backupProblem(layout(), copying)).toBeUndefined();
    const replaced = { topics: { 'events.raw': COPY }, formerTopics: {} };
    const former = { 'events.raw': { name: 'events.raw.00000000', ends: {} } };
    const both = present([COPY, 'events.raw.00000000']);
    expect(backupProblem(layout({ ...replaced, formerTopics: former }), both)).toBeUndefined();
    expect(backupProblem(layout(replaced), both)).toContain('rewritten into events.raw.00000000');
  });

  it.each([
    ['the former topic is removed', layout(), present([COPY])],
    ['the former topic is still there', layout(), present(['events.raw', COPY])],
    ['PostgreSQL is empty, and an empty topic was made', undefined, present(['events.raw', COPY])],
    [
      'it was rewritten twice',
      layout({ topics: { 'events.raw': 'events.raw.1' } }),
      present([COPY]),
    ],
  ])('from before a rewrite is refused when %s', (_, known, found) => {
    expect(backupProblem(known, found)).toMatch(
      /events\.raw was rewritten into events\.raw\.0a1b2c3d .* Restore a backup from after it/,
    );
  });

  it('that names a topic which is gone is refused', () => {
    expect(backupProblem(layout(), present([]))).toContain('Kafka has no topic events.raw');
  });

  it('from before a growth is refused', () => {
    const grown = present(['events.raw'], { counts: new Map([['events.raw', 6]]) });
    expect(backupProblem(layout(), grown)).toMatch(/events\.raw 6, recorded 4.*it grew/);
    const growing = layout({ phase: 'preparing', nextPartitions: 6 });
    expect(backupProblem(growing, grown)).toBeUndefined();
  });
});
