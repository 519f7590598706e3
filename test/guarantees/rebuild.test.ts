import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { killedAtUpdate } from '../support/killed-command.ts';
import { onAccount } from '../../platform/clickhouse/shards.ts';
import { dropShadow } from '../support/drop-shadow.ts';
import { startCommerceLoad, type SentEvents } from '../support/commerce-load.ts';
import { Ledger, untilStored } from '../support/ledger.ts';
import { testTimeout } from '../support/test-timeout.ts';
import {
  createAccount,
  eventually,
  FULL,
  killService,
  ravand,
  readyStack,
  rows,
  sleep,
} from '../support/stack.ts';
import { openClickhouse } from '../support/stack-clients.ts';

const PROJECTIONS = ['events', 'profiles', 'identities', 'catalogue'] as const;
const SWAPPED = FULL ? PROJECTIONS : PROJECTIONS.slice(0, 2);
const TABLES = {
  events: 'events',
  profiles: 'profiles',
  identities: 'identities_flat',
  catalogue: 'event_catalogue',
};

interface RebuildReport {
  state: string;
  comparison: {
    compared: number;
    equal: number;
    differing: number;
    moved_on: number;
    examples: unknown[];
  } | null;
}

const rebuild = async (...args: string[]) =>
  JSON.parse(await ravand('rebuild', ...args, '--json')) as RebuildReport;

// A rebuild reads the whole log of the stack, which all tests before have filled: minutes, so in
// the full form only.
describe.runIf(FULL)('G7: a rebuild during live traffic', () => {
  const client = openClickhouse();
  beforeAll(async () => {
    // What an interrupted test of replays left behind would be a difference.
    await ravand('replay', '--cancel').catch(() => undefined);
    await ravand('replay', '--topic', 'events.raw');
  });
  afterAll(async () => {
    for (const table of Object.values(TABLES)) await dropShadow(table, 'guarantee');
  });

  it(
    'loses, duplicates and changes nothing when it is killed with -9, resumed and swapped in',
    async () => {
      const ready = readyStack();
      const account = await createAccount('rebuild');
      const [ledger, sayings] = [new Ledger(), new Map() as SentEvents];
      const load = startCommerceLoad({
        ready,
        account,
        ledger,
        sentEvents: sayings,
        people: 4,
        pause: FULL ? 40 : 150,
      });
      await sleep(FULL ? 20_000 : 3000);
      // A range is recorded and nothing of it is stored; then its rows are stored and it is not
      // noted; profiles are folded and not noted.
      await killedAtUpdate(['rebuild', 'events', '--into', 'guarantee'], {
        moment: 'after',
        update: /SET recorded/,
      });
      await killedAtUpdate(['rebuild', 'events', '--into', 'guarantee'], {
        moment: 'before',
        update: /SET positions/,
      });
      await killedAtUpdate(['rebuild', 'profiles', '--into', 'guarantee'], {
        moment: 'before',
        update: /SET positions/,
      });
      for (const projection of PROJECTIONS)
        expect(await rebuild(projection, '--into', 'guarantee')).toMatchObject({
          state: 'caught up',
        });
      await killService('events-sink');
      await killService('profiles-sink');
      // Before the tables change their names, with the part standing still, and after it.
      await killedAtUpdate(['rebuild', 'events', '--into', 'guarantee', '--swap'], {
        moment: 'after',
        update: /exchanging\\":\\"/,
      });
      await killedAtUpdate(['rebuild', 'profiles', '--into', 'guarantee', '--swap'], {
        moment: 'before',
        update: /state = 'cancelled'/,
      });
      for (const projection of SWAPPED)
        expect(await rebuild(projection, '--into', 'guarantee', '--swap')).toMatchObject({
          state: 'swapped',
        });
      await sleep(1000);
      await load.stop();
      expect(await untilStored(client, account.accountId, ledger)).toEqual({
        lost: [],
        doubled: [],
        unknown: [],
      });
      await eventually(
        { ms: 60_000, waitingFor: 'every event to be folded and counted' },
        async () => {
          const [found] = await rows<{ folded: number; counted: number }>(
            client,
            `SELECT (SELECT sum(event_count) FROM profiles FINAL WHERE account_id = {a:UInt64}) AS folded, (SELECT sum(count) FROM event_catalogue FINAL WHERE account_id = {a:UInt64}) AS counted`,
            { a: account.accountId },
          );
          return found?.folded === ledger.durable.size && found.counted === ledger.durable.size
            ? true
            : undefined;
        },
      );
      // What stands after the swap is again what the log gives.
      for (const projection of PROJECTIONS) {
        const { comparison } = await rebuild(projection, '--into', 'guarantee', '--compare');
        expect(comparison, projection).toMatchObject({ differing: 0, examples: [] });
        expect(comparison?.equal, projection).toBeGreaterThan(0);
      }
      expect(
        (await rebuild('events', '--into', 'guarantee', '--source', 'normalised', '--compare'))
          .comparison,
      ).toMatchObject({ differing: 0 });
    },
    testTimeout(600_000),
  );

  it('reports missing and different rows when it is compared with the live table', async () => {
    await rebuild('events', '--into', 'guarantee', '--source', 'normalised');
    const [{ place, account_id } = { place: '', account_id: 0 }] = await rows<{
      place: string;
      account_id: number;
    }>(
      client,
      "SELECT concat(toString(_epoch), '/', toString(_partition), '/', toString(_offset), '/', toString(_index)) AS place, account_id FROM events_guarantee LIMIT 1",
    );
    const [partition, offset, index] = place.split('/').slice(1).map(Number);
    const where = `account_id = ${account_id} AND _partition = ${partition} AND _offset = ${offset} AND _index = ${index}`;
    await onAccount(client, account_id).command({
      query: `DELETE FROM events_guarantee WHERE ${where}`,
      clickhouse_settings: { lightweight_deletes_sync: '2' },
    });
    await expect(
      ravand(
        'rebuild',
        'events',
        '--into',
        'guarantee',
        '--source',
        'normalised',
        '--compare',
        '--json',
      ),
    ).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringContaining(
        JSON.stringify({ what: place, state: 'only live' }),
      ) as string,
    });
  });
});
