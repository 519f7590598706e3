import fc from 'fast-check';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SqlParams } from '../../../platform/clickhouse/sql.ts';
import { compileExport } from '../../../account-api/exports/compile.ts';
import type { ExportSpec } from '../../../account-api/exports/request.ts';
import { outcome, outcomeRecords } from '../../../projections/messages/testing/outcomes.ts';
import { messageRows } from '../../../projections/messages/rows.ts';
import { createLog } from '../../../platform/log.ts';
import { MESSAGE_STATUSES, type MessageOutcome } from '../../../schemas/records.ts';
import { openTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { onAccount } from '../../../platform/clickhouse/shards.ts';

const START = Date.UTC(2026, 10, 1);
const HOUR = 3_600_000;
const log = createLog({ part: 'test', level: 'silent' });

let database: TestDatabase;
beforeAll(async () => {
  const ddl = ['projections/messages/ddl/0060_messages.sql'];
  database = await openTestDatabase('messages_export', { ddl, tables: [] });
});
afterAll(() => database.close());

const name = fc.constantFrom('sara', 'علی', '=1+1', 'a"b\nc', '-5');
const drawn = fc
  .record({
    ...{ person_id: name, user_id: name, provider_message_id: name },
    campaign_id: fc.constantFrom(0, 3, 4),
    run_id: fc.constantFrom(5, 6),
    status: fc.constantFrom(...MESSAGE_STATUSES),
    planned_at: fc.nat(3).map((hours) => START + hours * HOUR),
    attempts: fc.nat(3),
    took: fc.constantFrom(0, 1, HOUR),
  })
  .map(({ took, ...of }) => outcome({ ...of, finished_at: of.planned_at + took }));

const spec: fc.Arbitrary<ExportSpec> = fc.record(
  {
    campaignId: fc.constantFrom('3', '4'),
    runId: fc.constantFrom('5', '6'),
    statuses: fc.subarray([...MESSAGE_STATUSES], { minLength: 1 }),
    from: fc.nat(4).map((hours) => START + hours * HOUR),
    to: fc.nat(4).map((hours) => START + hours * HOUR),
  },
  { requiredKeys: [] },
);

function isWanted(one: MessageOutcome, wanted: ExportSpec): boolean {
  const { campaignId, runId, statuses, from = 0, to = Number.POSITIVE_INFINITY } = wanted;
  return (
    (campaignId === undefined || one.campaign_id === Number(campaignId)) &&
    (runId === undefined || one.run_id === Number(runId)) &&
    (statuses?.some((status) => status === one.status) ?? true) &&
    from <= one.finished_at &&
    one.finished_at < to
  );
}

async function exported(accountId: number, wanted: ExportSpec): Promise<object[]> {
  const params = new SqlParams();
  const query = compileExport(
    { kind: 'messages', format: 'ndjson', spec: wanted },
    { accountId, now: START, today: 0, merges: 'none', params },
  );
  const { stream } = await onAccount(database.client, accountId).exec({
    ...{ query, query_params: params.values() },
    clickhouse_settings: { date_time_output_format: 'iso' },
  });
  const lines = (await text(stream)).split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as object);
}

const sorted = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).toSorted();

it('an export of messages is the last outcome of each message, whatever was read again', async () => {
  let account = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(drawn, { minLength: 5, maxLength: 30 }),
      fc.array(spec, { minLength: 3, maxLength: 3 }),
      async (outcomes, specs) => {
        const account_id = ++account;
        const sent = outcomes.map((one) => ({ ...one, account_id }));
        // Written in two batches, the second of which reads half of the first again.
        const rows = messageRows(outcomeRecords(sent), { epochs: [], log });
        const half = Math.floor(rows.length / 2);
        for (const batch of [rows.slice(0, half + 2), rows.slice(Math.floor(half / 2))])
          await database.insert('messages', batch as unknown as Record<string, unknown>[]);
        const last = new Map(sent.map((one) => [one.message_id, one]));
        for (const wanted of [{}, ...specs])
          expect(sorted(await exported(account_id, wanted))).toEqual(
            sorted([...last.values()].filter((one) => isWanted(one, wanted)).map(keyed)),
          );
      },
    ),
    { numRuns: 15 },
  );
}, 120_000);

/** What clients read: in the order of the columns, times in RFC 3339. */
function keyed(one: MessageOutcome): object {
  const iso = (at: number) => new Date(at).toISOString();
  const times = { planned_at: iso(one.planned_at), finished_at: iso(one.finished_at) };
  const of: Record<string, unknown> = { ...one, ...times };
  const names = ['message_id', 'campaign_id', 'run_id', 'template_id', 'template_version'];
  const more = ['channel', 'category', 'person_id', 'user_id', 'address_hash', 'status', 'reason'];
  const rest = ['provider', 'provider_message_id', 'planned_at', 'finished_at', 'attempts'];
  return Object.fromEntries([...names, ...more, ...rest].map((key) => [key, of[key]]));
}
