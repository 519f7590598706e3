import { beforeAll, describe, expect, it } from 'vitest';
import { dayText, tehranDay } from '../../../events/tehran-time.ts';
import { admin, createAccount, eventually, type TestAccount } from '../../support/stack.ts';
import { call } from '../management/host.ts';
import { ask } from './host.ts';

interface Row {
  day: string;
  kind: string;
  code: string;
  field?: string;
  sdk: string;
  app_id: number;
  count: number;
}

let account: TestAccount;
let second: { writeKey: string; appId: number };
beforeAll(async () => {
  account = await createAccount('quality');
  const made = await admin<{ write_key: string; app_id: number }>(
    ...[
      'write-key',
      'create',
      '--account',
      String(account.accountId),
      '--app',
      'second',
      '--environment',
      'test',
    ],
  );
  second = { writeKey: made.write_key, appId: made.app_id };
});

const web = { library: { name: 'web', version: '2.1' } };
const ios = { library: { name: 'ios', version: '7' } };

async function batch(writeKey: string, body: object): Promise<{ warnings?: unknown[] }> {
  const { status, text } = await ask({
    path: '/v1/batch',
    body,
    headers: { Authorization: `Bearer ${writeKey}` },
  });
  expect(status).toBe(200);
  return JSON.parse(text) as { warnings?: unknown[] };
}

describe('ingest quality (ingest 2.6; management 2.5)', () => {
  it('counts every reject and warning exactly, by kind, code, field, SDK and app, including those that answers did not list', async () => {
    const day = () => dayText(tehranDay(Date.now()));
    const today = day();
    const item = { type: 'track', event: 'x', user_id: 'u' };
    // 120 warnings of one SDK, 50 of them listed; 7 of another; 3 rejects; 2 warnings of another
    // app.
    const { warnings } = await batch(account.writeKey, {
      context: web,
      batch: Array.from({ length: 120 }, () => item),
    });
    expect(warnings).toHaveLength(50);
    await batch(account.writeKey, {
      batch: Array.from({ length: 7 }, () => ({ ...item, context: ios })),
    });
    await batch(account.writeKey, {
      context: web,
      batch: [{ type: 'x' }, { ...item, user_id: '' }, { ...item, event: '' }],
    });
    await batch(second.writeKey, {
      batch: [
        {
          type: 'identify',
          user_id: 'u',
          message_id: `q-${Date.now()}`,
          traits: { phone: '1', national_id: '2' },
        },
      ],
    });
    const wanted: Partial<Row>[] = [
      { kind: 'reject', code: 'missing_event_name', sdk: 'web/2.1', count: 1 },
      { kind: 'reject', code: 'missing_identity', sdk: 'web/2.1', count: 1 },
      { kind: 'reject', code: 'unknown_type', sdk: 'web/2.1', count: 1 },
      {
        kind: 'warn',
        code: 'generated_message_id',
        field: 'message_id',
        sdk: 'web/2.1',
        count: 120,
      },
      { kind: 'warn', code: 'generated_message_id', field: 'message_id', sdk: 'ios/7', count: 7 },
      {
        kind: 'warn',
        code: 'invalid_national_id',
        field: 'national_id',
        sdk: '',
        app_id: second.appId,
        count: 1,
      },
      {
        kind: 'warn',
        code: 'invalid_phone',
        field: 'phone',
        sdk: '',
        app_id: second.appId,
        count: 1,
      },
    ];
    const report = await eventually(
      { ms: 60_000, every: 500, waitingFor: 'the report of 132 outcomes' },
      async () => {
        const { body } = await call('GET', '/v1/ingest/quality?days=2', {
          key: account.managementKey,
        });
        const { totals, rows } = body as {
          totals: { rejected: number; warned: number };
          rows: Row[];
        };
        return totals.rejected === 3 && totals.warned === 129 ? rows : undefined;
      },
    );
    // Midnight in Tehran may have passed between two requests; then the days differ, and the rows
    // with them.
    if (day() === today) {
      expect(report).toHaveLength(wanted.length);
      for (const row of wanted)
        expect(report).toContainEqual(expect.objectContaining({ day: today, ...row }));
    }
    expect(report.filter(({ app_id }) => app_id === second.appId)).toHaveLength(2);
  });
});
