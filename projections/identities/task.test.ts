import pino from 'pino';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { eventRowCodec, rowBatchCodec } from '../../schemas/codec.ts';
import type { EventRow } from '../../schemas/records.ts';
import { identityMetrics } from './metrics.ts';
import { aliasTask } from './task.ts';
import { InMemoryIdentities } from './testing/in-memory-store.ts';

const empty = eventRowCodec.type.random() as unknown as EventRow;

function message(offset: number, row: Partial<EventRow>) {
  const at = { first_offset: offset, first_index: 0, last_offset: offset, last_index: 0 };
  const value = rowBatchCodec.encode({
    ...{ epoch: 0, partition: 0, appended_at: 0, ...at },
    rows: [{ ...empty, account_id: 1, _offset: offset, _index: 0, ...row }],
  });
  return { topic: 't', partition: 0, offset, timestamp: 0, key: null, value, size: value.length };
}

it('the evidence of the log is stored before an alias merges people, and not for other events', async () => {
  const steps: string[] = [];
  const store = new InMemoryIdentities();
  store.beforeCommit = () => Promise.resolve(void steps.push('merge'));
  const task = aliasTask({
    store,
    publish: () => Promise.resolve(void steps.push('publish')),
    metrics: identityMetrics(new Registry()),
    log: pino({ level: 'silent' }),
    signal: new AbortController().signal,
  });
  task.beforeEffects?.(() => Promise.resolve(void steps.push('evidence')));
  expect(await task.process([message(7, { type: 'track', user_id: 'u' })])).toBe(8);
  expect(steps).toEqual([]);
  const alias = { type: 'alias', previous_id: 'device', user_id: 'u' };
  expect(await task.process([message(8, alias)])).toBe(9);
  expect(steps).toEqual(['evidence', 'merge', 'publish']);
});
