import { describe, expect, it } from 'vitest';
import { migratedDatabase } from '../../platform/postgres/testing/migrated-database.ts';
import { finishUpgrade } from './finish-upgrade.ts';
import { obstacles, readersBehind, type Readers } from './obstacles.ts';

const READY: Readers = {
  members: [
    { group: 'events-sink', host: '/10.0.0.1', clientId: 'ravand-events-sink.0.2.0.rows-2' },
    { group: 'relays', host: '/10.0.0.2', clientId: 'ravand-relays.0.2.0.rows-2' },
  ],
  groups: ['events-sink', 'relays'],
  tables: [
    { name: 'events', columns: ['_epoch', 'message_id', '_trace'] },
    { name: 'events_next', columns: ['_epoch', 'message_id', '_trace'] },
  ],
  columns: ['_epoch', '_trace'],
};

describe('the end of an upgrade', () => {
  it('is possible when every reader knows the version and every table has its columns', () => {
    expect(obstacles(READY)).toEqual([]);
  });

  it.each<[string, Partial<Readers>, string]>([
    [
      'a member of an older release',
      { members: [...READY.members, { group: 'relays', host: '/10.0.0.3', clientId: 'x' }] },
      'relays has a member of an older release at /10.0.0.3, which reads rows up to version 1: upgrade it',
    ],
    [
      'a group without members, which may return with an older release',
      { members: READY.members.slice(0, 1) },
      'relays has no member: start its service with this release',
    ],
    [
      'a table without a column',
      { tables: [...READY.tables, { name: 'events_old', columns: ['_epoch'] }] },
      'the table events_old lacks _trace',
    ],
    ['no table', { tables: [] }, 'ClickHouse has no table events'],
  ])('waits for %s', (_, other, sentence) => {
    const found = obstacles({ ...READY, ...other });
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(sentence);
  });

  it('waits for readers of outcomes that do not know balances of SDKs', () => {
    const member = (clientId: string) => ({ group: 'quality-sink', host: '/10.0.0.4', clientId });
    const of = (clientId: string) => ({ members: [member(clientId)], groups: ['quality-sink'] });
    expect(readersBehind(of('q.0.3.0.outcomes-2.rows-2'), 'ingest-outcome')).toEqual([]);
    expect(readersBehind(of('q.0.2.0.rows-2'), 'ingest-outcome')).toEqual([
      'quality-sink has a member of an older release at /10.0.0.4, which reads outcomes up to version 1: upgrade it',
    ]);
  });
});

describe('the versions that are written', () => {
  const none = () => Promise.resolve([]);
  const waiting = { from: 1, to: 2, advanced: false, waits_for: [] };
  const finished = { ...waiting, advanced: true };

  it('advance together, or not while readers of one of them are missing', async () => {
    const { database, close } = await migratedDatabase([
      '0001',
      '0002',
      '0012',
      '0026',
      '0079',
      '0083',
      '0084',
    ]);
    await database.query('UPDATE written_schemas SET version = 1');
    const free = { 'event-row': none, 'ingest-outcome': none, claims: none, 'raw-batch': none };
    const behind = () => Promise.resolve(['relays has a member of an older release']);
    const blocked = { isDryRun: false, waitsFor: { ...free, 'event-row': behind } };
    expect(await finishUpgrade(database, blocked)).toEqual({
      'event-row': { ...waiting, waits_for: await behind() },
      ...{ 'ingest-outcome': waiting, claims: waiting, 'raw-batch': waiting },
    });
    expect(await finishUpgrade(database, { isDryRun: true, waitsFor: free })).toEqual({
      ...{ 'event-row': waiting, 'ingest-outcome': waiting, claims: waiting, 'raw-batch': waiting },
    });
    expect(await finishUpgrade(database, { isDryRun: false, waitsFor: free })).toEqual({
      ...{ 'event-row': finished, 'ingest-outcome': finished, claims: finished },
      'raw-batch': finished,
    });
    const { rows } = await database.query('SELECT version FROM written_schemas');
    expect(rows).toEqual([{ version: 2 }, { version: 2 }, { version: 2 }, { version: 2 }]);
    await close();
  });
});
