import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { adminWithInput } from '../../support/admin-input.ts';
import { admin } from '../../support/stack.ts';
import { misfits, unnamed } from '../schema-check.ts';
import { call, coded, makeAccount, makeKey, type Role } from './host.ts';

type Schema = Record<string, unknown>;
const document = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../docs/openapi/management.json'), 'utf8'),
) as Schema;
type Operations = Record<
  string,
  Record<string, { responses: Record<string, { content?: Record<string, { schema: Schema }> }> }>
>;

const AUDIENCE = { attribute: 'city', op: 'eq', value: 'تهران' };
const LATER = '2099-03-21T09:00:00+03:30';
const DAILY = { rule: 'FREQ=DAILY', starts_at: LATER };

let account: string;
let key: string;
let templateId: number;
beforeAll(async () => {
  account = await makeAccount();
  ({ key } = await makeKey(account, 'admin'));
  templateId = await makeTemplate(account);
});

async function makeTemplate(of: string): Promise<number> {
  const sent = {
    name: 'یلدا',
    channel: 'sms',
    category: 'marketing',
    text: 'سلام {{ user.name }}',
  };
  const made = await adminWithInput<{ template_id: number; version: number }>(
    ...([sent, 'template', 'create', '--account', of] as const),
  );
  expect(made.version).toBe(1);
  return made.template_id;
}

/** Calls, and holds the answer against the OpenAPI document. */
async function ask(method: string, path: string, body?: unknown, as = key) {
  const reply = await call(method, path, { key: as, body });
  const route = path.split('?')[0]?.replace(/\/campaigns\/[^/]+/, '/campaigns/{id}') ?? '';
  const operation = (document['paths'] as Operations)[route]?.[method.toLowerCase()];
  const response = operation?.responses[reply.status];
  expect(response, `${method} ${path} answered ${reply.status}`).toBeDefined();
  const schema = response?.content?.['application/json']?.schema;
  if (!schema) expect(reply.text).toBe('');
  else {
    expect(misfits(document, schema, reply.body)).toEqual([]);
    if (!('oneOf' in schema)) expect(unnamed(document, schema, reply.body)).toEqual([]);
  }
  return [reply.status, reply.body] as const;
}

const draft = (change: object = {}) => ({
  ...{ name: 'یلدا', channel: 'sms', template_id: templateId, audience: AUDIENCE, ...change },
});

async function created(change: object = {}, as = key): Promise<number> {
  const [status, body] = await ask('POST', '/v1/campaigns', draft(change), as);
  expect([status, body]).toMatchObject([201, { status: 'draft' }]);
  return (body as { id: number }).id;
}

const operator = (verb: string, id: number, of = account) =>
  admin<{ id: number; status: string }>('campaign', verb, '--account', of, '--id', String(id));
const error = (code: string, more: object = {}) => coded(code, expect.any(String) as string, more);

describe('campaigns', () => {
  it('are announced', async () => {
    const { body } = await call('GET', '/v1/capabilities', { key });
    expect((body as { features: object }).features).toMatchObject({
      ...{ campaigns: true, campaign_recurrence: true, campaign_approval: true },
    });
  });

  it('are created, listed, read and scheduled', async () => {
    const goal = { event: 'order_completed', window_hours: 72 };
    const utm = { source: 'ravand', medium: 'sms', name: 'yalda' };
    const sent = { scheduled_at: LATER, control_percent: 10, goal, utm, category: 'service' };
    const id = await created(sent);
    const [, list] = await ask('GET', '/v1/campaigns?limit=1');
    const [newest] = (list as { campaigns: { scheduled_at: string }[] }).campaigns;
    expect(newest).toMatchObject({ id, name: 'یلدا', channel: 'sms', status: 'draft' });
    expect(Date.parse(newest?.scheduled_at ?? '')).toBe(Date.parse(LATER));
    expect(await ask('GET', `/v1/campaigns/${id}`)).toMatchObject([
      200,
      {
        ...{ id, template_id: templateId, template_version: 1, control_percent: 10 },
        ...{ audience: AUDIENCE, segment_id: null, goal, utm, category: 'service' },
        ...{ recurrence: null, stats: { planned: 0, in_flight: 0, uplift: null } },
      },
    ]);
    expect(await ask('POST', `/v1/campaigns/${id}/send`)).toEqual([
      ...[202, { id, run_id: expect.any(Number) as number, status: 'scheduled' }],
    ]);
    expect(await operator('pause', id)).toEqual({ id, status: 'paused' });
    expect(await operator('resume', id)).toEqual({ id, status: 'scheduled' });
    expect(await operator('cancel', id)).toEqual({ id, status: 'cancelled' });
  });

  it('may name a segment', async () => {
    const segment = await call('POST', '/v1/segments', {
      ...{ key, body: { name: 'تهران', definition: AUDIENCE } },
    });
    const { id: segmentId } = segment.body as { id: number };
    const id = await created({ audience: undefined, segment_id: segmentId });
    expect(await ask('GET', `/v1/campaigns/${id}`)).toMatchObject([
      ...[200, { segment_id: segmentId, audience: null }],
    ]);
  });

  it('recur until the recurrence is removed', async () => {
    const path = `/v1/campaigns/${await created()}/recurrence`;
    expect(await ask('PUT', path, DAILY)).toMatchObject([
      200,
      {
        ...{ ...DAILY, time_zone: 'Asia/Tehran' },
        next: ['21', '22', '23'].map((day) => `2099-03-${day}T05:30:00.000Z`),
      },
    ]);
    expect(await ask('DELETE', path)).toEqual([204, undefined]);
    expect(await ask('PUT', path, { ...DAILY, rule: 'FREQ=SOMETIMES' })).toEqual([
      ...[422, error('campaign_invalid')],
    ]);
  });
});

describe('the errors of campaigns', () => {
  it('name what is wrong', async () => {
    expect(await ask('POST', '/v1/campaigns', draft({ channel: 'fax' }))).toEqual([
      ...[400, error('invalid_channel', { details: { field: 'channel' } })],
    ]);
    for (const change of [{ template_id: 999_999_999 }, { goal: {} }, { audience: {} }])
      expect(await ask('POST', '/v1/campaigns', draft(change))).toEqual([
        ...[422, error('campaign_invalid')],
      ]);
    expect(await ask('GET', '/v1/campaigns/x')).toEqual([400, { error: 'invalid campaign id' }]);
    expect(await ask('GET', '/v1/campaigns/999999999')).toEqual([
      ...[404, { error: 'campaign not found' }],
    ]);
    for (const verb of ['send', 'submit']) {
      expect(await ask('POST', `/v1/campaigns/0/${verb}`)).toEqual([400, error('bad_id')]);
      expect(await ask('POST', `/v1/campaigns/999999999/${verb}`)).toEqual([
        ...[404, error('not_found')],
      ]);
    }
  });

  it('hide campaigns and templates of other accounts', async () => {
    const id = await created();
    const other = (await makeKey(await makeAccount(), 'admin')).key;
    expect((await ask('GET', `/v1/campaigns/${id}`, undefined, other))[0]).toBe(404);
    expect((await ask('POST', `/v1/campaigns/${id}/send`, undefined, other))[0]).toBe(404);
    expect((await ask('POST', '/v1/campaigns', draft(), other))[0]).toBe(422);
  });
});

describe('the gate before a send', () => {
  it('asks for an approval of each version', async () => {
    const own = await makeAccount();
    const { key: as } = await makeKey(own, 'marketer');
    templateId = await makeTemplate(own);
    await admin('messages', 'settings', '--account', own, 'approval_required=true');
    const id = await created({ scheduled_at: LATER }, as);
    const send = () => ask('POST', `/v1/campaigns/${id}/send`, undefined, as);
    const submit = () => ask('POST', `/v1/campaigns/${id}/submit`, undefined, as);
    expect(await send()).toEqual([409, error('approval_required')]);
    expect(await ask('PUT', `/v1/campaigns/${id}/recurrence`, DAILY, as)).toEqual([
      ...[409, error('approval_required')],
    ]);
    await expect(operator('approve', id, own)).rejects.toThrow('was not submitted');
    expect(await submit()).toEqual([202, { id, status: 'draft' }]);
    expect(await operator('approve', id, own)).toEqual({
      id,
      status: 'draft',
      approved_version: 1,
    });
    const edited = await adminWithInput<{ version: number }>(
      ...([{ name: 'نوروز' }, 'campaign', 'update', '--account', own, '--id', String(id)] as const),
    );
    expect(edited.version).toBe(2);
    expect(await send()).toEqual([409, error('approval_stale')]);
    await submit();
    await operator('approve', id, own);
    expect(await send()).toMatchObject([202, { status: 'scheduled' }]);
    expect(await submit()).toEqual([409, error('not_submittable')]);
  });
});

describe('roles', () => {
  it.each<[Role, number, number]>([
    ['marketer', 200, 422],
    ['analyst', 200, 403],
    ['viewer', 200, 403],
    ['approver', 200, 403],
    ['finance', 403, 403],
  ])('%s reads with %i and writes with %i', async (role, reads, writes) => {
    const { key: as } = await makeKey(account, role);
    expect((await ask('GET', '/v1/campaigns', undefined, as))[0]).toBe(reads);
    const body = { ...draft(), template_id: 999_999_999 };
    expect((await ask('POST', '/v1/campaigns', body, as))[0]).toBe(writes);
  });
});
