import { expect, it } from 'vitest';
import type { Writer } from '../../platform/log/writers.ts';
import { spooling } from './barrier.ts';
import { sentenceOf } from './until.ts';

const gateway = (of: Partial<Writer> & { age: number }) => {
  const { waitsFor = '', spooled = 0, age } = of;
  return {
    ...{ instance: 'i', service: 'ingest-gateway', generation: 1, phase: 'passing' },
    waits_for: waitsFor,
    spooled: String(spooled),
    age: String(age),
  };
};
const given = (...rows: object[]) => ({ query: () => Promise.resolve({ rows }) }) as never;

it('an erasure waits for what a gateway has in its spool and in quarantine, unless it is forgotten', async () => {
  const refused = '1 records in the folder quarantine of its spool: raise max.message.bytes';
  const now = gateway({ age: 100, spooled: 1, waitsFor: refused });
  const options = { since: 5000, forget: false };
  const gatewayI = { service: 'ingest-gateway', instance: 'i' };
  expect(await spooling(given(now), options)).toEqual([
    { key: 'spool', ...gatewayI, events: 1, reason: refused },
  ]);
  const ended = gateway({ age: 60_000, spooled: 2 });
  const [wait] = await spooling(given(ended), options);
  expect(wait).toMatchObject({ key: 'spool_of_ended', ...gatewayI, events: 2 });
  expect(wait && sentenceOf(wait)).toContain(
    'to publish 2 events of its spool: start it (or give --forget',
  );
  expect(await spooling(given(ended), { since: 5000, forget: true })).toEqual([]);
  expect(await spooling(given(gateway({ age: 100 })), options)).toEqual([]);
  expect(await spooling(given(gateway({ age: 100 })), { since: 50, forget: false })).toEqual([
    { key: 'spool_unknown', ...gatewayI },
  ]);
});
