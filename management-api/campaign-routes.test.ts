import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { changeSettings } from '../messaging/settings/settings-store.ts';
import { TemplateStore } from '../messaging/templates/template-store.ts';
import { createLog } from '../platform/log.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../platform/postgres/testing/migrated-database.ts';
import { buildApp } from './app.ts';
import { OpenRequests } from '../account-api/limits/open-requests.ts';
import { decideFeatures, type FeatureChoices } from '../account-api/features.ts';
import { segmentStore } from '../account-api/segments/segment-store.ts';
import type { Services } from './services.ts';
import { readCampaignStats } from '../account-api/campaigns/stats/read-campaign-stats.ts';
import { connectCampaigns } from '../account-api/campaigns/connect-campaigns.ts';
import type { Campaigns } from '../account-api/campaigns/ports.ts';

const ON: FeatureChoices = {
  ...{ segments: true, analytics: true, ingest: true, asyncExports: true },
  ...{ campaigns: true, campaignRecurrence: true, campaignApproval: true },
  transactional: true,
};
const AUDIENCE = { attribute: 'city', op: 'eq', value: 'تهران' };
const author = { accountId: 3, actor: 'operator' };

let postgres: MigratedDatabase;
let templateId: number;

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0010', '0012', '0020', '0060']);
  await postgres.database.query("INSERT INTO accounts (id, name) VALUES (3, 'a'), (4, 'b')");
  const template = await new TemplateStore(postgres.database).create(author, {
    ...{ name: 'یلدا', channel: 'sms', category: 'marketing', content: { text: 'سلام' } },
  });
  if (typeof template === 'string') throw new Error(template);
  ({ templateId } = template);
}, 60_000);
beforeEach(async () => {
  await postgres.database.query('DELETE FROM message_settings');
});
afterAll(() => postgres.close());

const required = () => changeSettings(postgres.database, author, { approval_required: 'true' });
const down = () => Promise.reject(new Error('down'));

/** The host over the real stores; `accountId` is that of the key. */
function host(
  options: {
    features?: Partial<FeatureChoices>;
    ports?: Partial<Campaigns>;
    accountId?: number;
  } = {},
) {
  const { database } = postgres;
  const readStats: Campaigns['readStats'] = (query) =>
    readCampaignStats({ database, mergesOf: down, countPeople: down }, query);
  const campaigns = { ...connectCampaigns(database as never, readStats), ...options.ports };
  const services = {
    log: createLog({ part: 'test', level: 'silent' }),
    version: '9.9',
    features: decideFeatures({ ...ON, ...options.features }),
    resolveToken: () =>
      Promise.resolve({
        kind: 'key',
        key: {
          ...{ keyId: 7, accountId: options.accountId ?? 3, role: 'admin', expiresAt: Infinity },
          ...{ revoked: false, accountActive: true, ipAllow: [], messageLimit: null },
        },
      }),
    chargeBudget: () => Promise.resolve(1),
    budgetPerMinute: 600,
    openRequests: new OpenRequests(32),
    segments: segmentStore(database as never),
    campaigns,
  } as Partial<Services> as Services;
  const app = buildApp({ services, trustedProxies: [] });
  return async (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown) => {
    const { statusCode, payload } = await app.inject({
      ...{ method, url: path, headers: { 'x-service-key': 'sk_svc_x' } },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    });
    return [statusCode, payload === '' ? undefined : (JSON.parse(payload) as unknown)] as const;
  };
}

const draft = (change: object = {}) => ({
  ...{ name: 'یلدا', channel: 'sms', template_id: templateId, audience: AUDIENCE, ...change },
});

async function created(ask: ReturnType<typeof host>, change: object = {}): Promise<number> {
  const [status, body] = await ask('POST', '/v1/campaigns', draft(change));
  expect([status, body]).toEqual([201, { id: expect.any(Number) as number, status: 'draft' }]);
  return (body as { id: number }).id;
}

const coded = (code: string, more: object = {}) => ({
  error: { code, message: expect.any(String) as string, ...more },
});

describe('a campaign', () => {
  it('is created, listed and read with its definition, and has counts of zero', async () => {
    const ask = host();
    const goal = { event: 'order_completed', window_hours: 72 };
    const id = await created(ask, { goal, scheduled_at: '2099-03-21T09:00:00+03:30' });
    const [, list] = await ask('GET', '/v1/campaigns?limit=1&cursor=x');
    const seen = { id, name: 'یلدا', channel: 'sms', status: 'draft' };
    const at = { scheduled_at: '2099-03-21T05:30:00.000Z' };
    expect((list as { campaigns: object[] }).campaigns[0]).toMatchObject({ ...seen, ...at });
    const [status, campaign] = await ask('GET', `/v1/campaigns/${id}`);
    expect([status, campaign]).toMatchObject([
      200,
      {
        ...{ ...seen, ...at, template_id: templateId, template_version: 1, audience: AUDIENCE },
        ...{ segment_id: null, control_percent: 0, goal, category: 'marketing', utm: null },
        recurrence: null,
        stats: {
          ...{ planned: 0, sent: 0, failed: 0, withheld: 0, skipped: 0, in_flight: 0 },
          ...{ skipped_by_reason: {}, failed_by_reason: {} },
          ...{ opened: 0, clicked: 0, converted: 0, revenue: 0, uplift: null },
        },
      },
    ]);
  });

  it('that is sent is sending, or scheduled for its time; each send is a run', async () => {
    const ask = host();
    const id = await created(ask);
    const [status, first] = await ask('POST', `/v1/campaigns/${id}/send`);
    const run = { id, run_id: expect.any(Number) as number, status: 'sending' };
    expect([status, first]).toEqual([202, run]);
    const [, second] = await ask('POST', `/v1/campaigns/${id}/send`);
    expect((second as { run_id: number }).run_id).not.toBe((first as { run_id: number }).run_id);
    const later = await created(ask, { scheduled_at: '2099-01-01T00:00:00Z' });
    expect(await ask('POST', `/v1/campaigns/${later}/send`)).toMatchObject([
      202,
      { status: 'scheduled' },
    ]);
  });

  it('is another account’s business', async () => {
    const id = await created(host());
    const other = host({ accountId: 4 });
    const gone = { error: { code: 'not_found', message: 'campaign not found' } };
    expect(await other('GET', `/v1/campaigns/${id}`)).toEqual([
      404,
      { error: 'campaign not found' },
    ]);
    for (const path of ['send', 'submit'])
      expect(await other('POST', `/v1/campaigns/${id}/${path}`)).toEqual([404, gone]);
    const rule = { rule: 'FREQ=DAILY', starts_at: '2099-01-01T00:00:00Z' };
    expect(await other('PUT', `/v1/campaigns/${id}/recurrence`, rule)).toEqual([404, gone]);
    expect(await other('DELETE', `/v1/campaigns/${id}/recurrence`)).toEqual([404, gone]);
    const sent = { ...draft(), name: 'x' };
    expect(await other('POST', '/v1/campaigns', sent)).toEqual([422, coded('campaign_invalid')]);
  });

  test.each(['0', '-1', 'x', '1.5', '99999999999999999999'])('has no id like %s', async (id) => {
    const ask = host();
    const bad = coded('bad_id');
    expect(await ask('GET', `/v1/campaigns/${id}`)).toEqual([
      400,
      { error: 'invalid campaign id' },
    ]);
    expect(await ask('POST', `/v1/campaigns/${id}/send`)).toEqual([400, bad]);
    expect(await ask('POST', `/v1/campaigns/${id}/submit`)).toEqual([400, bad]);
    expect(await ask('DELETE', `/v1/campaigns/${id}/recurrence`)).toEqual([400, bad]);
  });

  it('with an id that no campaign can have is not found', async () => {
    expect((await host()('POST', '/v1/campaigns/9223372036854775807/send'))[0]).toBe(404);
  });

  it('without a channel, or with something else wrong, is refused', async () => {
    const ask = host();
    expect(await ask('POST', '/v1/campaigns', draft({ channel: 'fax', name: '' }))).toEqual([
      ...[400, coded('invalid_channel', { details: { field: 'channel' } })],
    ]);
    expect(await ask('POST', '/v1/campaigns', draft({ control_percent: 51 }))).toEqual([
      422,
      {
        error: {
          code: 'campaign_invalid',
          message: 'campaign: control_percent is not a whole number from 0 to 50',
        },
      },
    ]);
    const missing = [{ template_id: 999 }, { audience: null, segment_id: 999 }, { audience: null }];
    for (const change of missing)
      expect(await ask('POST', '/v1/campaigns', draft(change))).toEqual([
        ...[422, coded('campaign_invalid')],
      ]);
    expect(await ask('POST', '/v1/campaigns', [])).toEqual([400, coded('malformed_json')]);
  });
});

describe('the gate before a send', () => {
  it('asks for an approval of the present version', async () => {
    const ask = host();
    const id = await created(ask);
    await required();
    const send = () => ask('POST', `/v1/campaigns/${id}/send`);
    const rule = { rule: 'FREQ=DAILY', starts_at: '2099-01-01T00:00:00Z' };
    expect(await send()).toEqual([409, coded('approval_required')]);
    const put = () => ask('PUT', `/v1/campaigns/${id}/recurrence`, rule);
    expect(await put()).toEqual([409, coded('approval_required')]);
    expect(await ask('POST', `/v1/campaigns/${id}/submit`)).toEqual([202, { id, status: 'draft' }]);
    expect(await send()).toEqual([409, coded('approval_required')]);
    await postgres.database.query('UPDATE campaigns SET approved_version = 1 WHERE id = $1', [id]);
    await postgres.database.query('UPDATE campaigns SET version = 2 WHERE id = $1', [id]);
    expect(await send()).toEqual([409, coded('approval_stale')]);
    expect(await put()).toEqual([409, coded('approval_stale')]);
    await postgres.database.query('UPDATE campaigns SET version = 1 WHERE id = $1', [id]);
    expect(await send()).toMatchObject([202, { status: 'sending' }]);
    expect(await ask('POST', `/v1/campaigns/${id}/submit`)).toEqual([
      409,
      coded('not_submittable'),
    ]);
  });

  it('is open where the feature is off', async () => {
    const ask = host({ features: { campaignApproval: false } });
    const id = await created(ask);
    await required();
    expect((await ask('POST', `/v1/campaigns/${id}/send`))[0]).toBe(202);
    expect((await ask('POST', `/v1/campaigns/${id}/submit`))[0]).toBe(404);
  });

  it('refuses to submit what refers to something that is gone', async () => {
    const ask = host();
    const [, segment] = await ask('POST', '/v1/segments', { name: 'x', definition: AUDIENCE });
    const id = await created(ask, { audience: null, segment_id: (segment as { id: number }).id });
    await ask('DELETE', `/v1/segments/${(segment as { id: number }).id}`);
    expect(await ask('POST', `/v1/campaigns/${id}/submit`)).toEqual([
      ...[422, coded('campaign_invalid')],
    ]);
  });

  it('waits when the account has too many runs', async () => {
    const ask = host();
    const id = await created(ask);
    await changeSettings(postgres.database, author, { max_active_runs: '1' });
    await postgres.database.query(`UPDATE campaign_runs SET state = 'finished'`);
    expect((await ask('POST', `/v1/campaigns/${id}/send`))[0]).toBe(202);
    expect(await ask('POST', `/v1/campaigns/${id}/send`)).toEqual([429, coded('budget_exhausted')]);
  });
});

describe('a recurrence', () => {
  const MONTHLY = {
    rule: 'RSCALE=PERSIAN;FREQ=MONTHLY;BYMONTHDAY=31',
    starts_at: '2099-09-21T09:00:00+03:30',
  };

  it('arms the campaign, and ends when it is removed', async () => {
    const ask = host();
    const id = await created(ask);
    const path = `/v1/campaigns/${id}/recurrence`;
    const [status, armed] = await ask('PUT', path, MONTHLY);
    // Month ends of 1478: 31 Shahrivar, 30 Mehr, 30 Aban.
    const next = ['2099-09-21', '2099-10-21', '2099-11-20'].map((day) => `${day}T05:30:00.000Z`);
    const shown = { ...MONTHLY, time_zone: 'Asia/Tehran', next };
    expect([status, armed]).toEqual([200, { id, ...shown }]);
    expect((await ask('GET', `/v1/campaigns/${id}`))[1]).toMatchObject({
      ...{ status: 'scheduled', recurrence: shown },
    });
    expect(await ask('DELETE', path)).toEqual([204, undefined]);
    expect(await ask('DELETE', path)).toEqual([204, undefined]);
    expect((await ask('GET', `/v1/campaigns/${id}`))[1]).toMatchObject({
      ...{ status: 'draft', recurrence: null },
    });
  });

  it('that cannot be read is refused', async () => {
    const ask = host();
    const path = `/v1/campaigns/${await created(ask)}/recurrence`;
    for (const body of [{}, { ...MONTHLY, rule: 'FREQ=NEVER' }, { ...MONTHLY, starts_at: 'x' }])
      expect(await ask('PUT', path, body)).toEqual([422, coded('campaign_invalid')]);
    expect(await ask('PUT', path, 5)).toEqual([400, coded('malformed_json')]);
  });

  it('is not served where the feature is off', async () => {
    const ask = host({ features: { campaignRecurrence: false } });
    const id = await created(ask);
    expect((await ask('PUT', `/v1/campaigns/${id}/recurrence`, MONTHLY))[0]).toBe(404);
    expect((await ask('DELETE', `/v1/campaigns/${id}/recurrence`))[0]).toBe(404);
    const none = host({ features: { campaigns: false } });
    expect((await none('GET', '/v1/campaigns'))[0]).toBe(404);
    expect((await none('PUT', `/v1/campaigns/${id}/recurrence`, MONTHLY))[0]).toBe(404);
  });
});

describe('while a store is down', () => {
  it('every route answers its own 503', async () => {
    const store = { create: down, list: down, find: down, change: down };
    const ask = host({ ports: { store } });
    const rule = { rule: 'FREQ=DAILY', starts_at: '2099-01-01T00:00:00Z' };
    expect(await ask('GET', '/v1/campaigns')).toEqual([503, { error: 'campaigns unavailable' }]);
    expect(await ask('GET', '/v1/campaigns/5')).toEqual([503, { error: 'campaigns unavailable' }]);
    const unavailable = [503, coded('campaign_unavailable')];
    expect(await ask('POST', '/v1/campaigns', draft())).toEqual(unavailable);
    expect(await ask('POST', '/v1/campaigns/5/send')).toEqual(unavailable);
    expect(await ask('PUT', '/v1/campaigns/5/recurrence', rule)).toEqual(unavailable);
    expect(await ask('DELETE', '/v1/campaigns/5/recurrence')).toEqual(unavailable);
    expect(await ask('POST', '/v1/campaigns/5/submit')).toEqual([
      ...[503, coded('approval_unavailable')],
    ]);
  });

  it('nothing is sent when it cannot be known whether an approval is missing', async () => {
    const id = await created(host());
    const ask = host({ ports: { readSettings: down } });
    const rule = { rule: 'FREQ=DAILY', starts_at: '2099-01-01T00:00:00Z' };
    const unavailable = [503, coded('approval_unavailable')];
    expect(await ask('POST', `/v1/campaigns/${id}/send`)).toEqual(unavailable);
    expect(await ask('PUT', `/v1/campaigns/${id}/recurrence`, rule)).toEqual(unavailable);
    const { rows } = await postgres.database.query(
      'SELECT status, next_at, (SELECT count(*)::int FROM campaign_runs WHERE campaign_id = $1) AS runs FROM campaigns WHERE id = $1',
      [id],
    );
    expect(rows).toEqual([{ status: 'draft', next_at: null, runs: 0 }]);
  });

  it('a campaign without its stats is unavailable', async () => {
    const id = await created(host());
    const ask = host({ ports: { readStats: down } });
    expect(await ask('GET', `/v1/campaigns/${id}`)).toEqual([
      ...[503, { error: 'campaigns unavailable' }],
    ]);
  });
});
