import { beforeAll, describe, expect, it } from 'vitest';
import { panelRoutes } from '../../../control-plane/routes/table.ts';
import { grants } from '../../../platform/permissions.ts';
import { createAccount, type TestAccount } from '../../support/stack.ts';
import { control, enter } from './panel.ts';

/** Whatever the role in an account, only operators of the installation are answered. */
const FOR_OPERATORS = '/v1/jobs';

const rows = panelRoutes.map(({ method, path, permission }) => ({
  name: `${method} ${path}`,
  method,
  permission,
  filled: path.replace('{id}', '1'),
}));
const refused = rows.filter(
  ({ permission }) => permission !== undefined && !grants.viewer.includes(permission),
);

const answered = rows.filter(
  ({ method, filled }) => method === 'GET' && !filled.includes('/1') && filled !== FOR_OPERATORS,
);

let account: TestAccount;
let owner: string;
let viewer: string;
beforeAll(async () => {
  account = await createAccount('panel routes');
  owner = await enter(String(account.accountId));
  viewer = await enter(String(account.accountId), 'viewer');
});

describe('a route of the panel', () => {
  it.each(rows)('answers 401 without a session: $name', async ({ method, filled }) => {
    const body = method === 'GET' || method === 'DELETE' ? undefined : {};
    const reply = await control(method, filled, { body });
    expect([reply.status, reply.body]).toMatchObject([401, { code: 'unauthenticated' }]);
  });

  it.each(refused)('answers 403 to a viewer: $name', async ({ method, filled, permission }) => {
    const body = method === 'GET' || method === 'DELETE' ? undefined : {};
    const reply = await control(method, filled, { session: viewer, body });
    expect([reply.status, reply.body]).toMatchObject([
      403,
      { code: 'forbidden', need: permission },
    ]);
  });

  it.each(answered)('answers an owner: $name', async ({ method, filled }) => {
    const query = filled === '/v1/schema/values' ? '?property=x' : '';
    const reply = await control(method, filled + query, { session: owner });
    expect(reply.status).toBe(200);
  });

  it('answers 403 to an owner who does not operate the installation', async () => {
    const reply = await control('GET', FOR_OPERATORS, { session: owner });
    expect([reply.status, reply.body]).toMatchObject([
      403,
      { code: 'forbidden', need: 'operator' },
    ]);
  });
});

describe('what is of another account', () => {
  it('is not there: keys, members, saved reports, campaigns', async () => {
    const other = await createAccount('panel routes, other');
    const stranger = await enter(String(other.accountId));
    const { body } = await control('GET', '/v1/keys', { session: owner });
    const [key] = (body as { write_keys: { id: number }[] }).write_keys;
    const { body: listed } = await control('GET', '/v1/members', { session: owner });
    const [member] = (listed as { members: { id: number }[] }).members;
    const made = await control('POST', '/v1/saved-reports', {
      session: owner,
      body: { name: 'x', kind: 'funnel', definition: {} },
    });
    const { id: report } = made.body as { id: number };
    for (const [method, path] of [
      ['DELETE', `/v1/write-keys/${key?.id}`],
      ['DELETE', `/v1/members/${member?.id}`],
      ['DELETE', `/v1/saved-reports/${report}`],
      ['POST', '/v1/campaigns/1/cancel'],
    ] as const) {
      const reply = await control(method, path, { session: stranger });
      expect([path, reply.status]).toEqual([path, 404]);
    }
  });
});

describe('a report of the panel', () => {
  const range = { from: '2026-09-20', to: '2026-09-22' };

  it.each([
    ['trends', { series: [{ event: 'a' }], ...range }],
    ['paths', { start: { event: 'a' }, ...range }],
    ['people', { trends: { series: [{ event: 'a' }], ...range }, series: 0 }],
  ])('%s answers, and refuses a wrong request with a sentence', async (name, body) => {
    const path = `/v1/reports/${name}`;
    expect((await control('POST', path, { session: owner, body })).status).toBe(200);
    const wrong = await control('POST', path, { session: owner, body: {} });
    expect([wrong.status, wrong.body]).toMatchObject([400, { code: 'invalid_report' }]);
  });
});
