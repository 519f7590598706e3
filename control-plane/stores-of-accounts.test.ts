import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createOnsite,
  endOnsite,
  listOnsite,
  readOnsite,
  resumeOnsite,
} from '../account-api/onsite/onsite-store.ts';
import { shortLinkCode } from '../events/short-link.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../platform/postgres/testing/migrated-database.ts';
import { dashboardStore } from './dashboards/dashboard-store.ts';
import { linkStore } from './links/link-store.ts';
import { savedReportStore } from './saved-reports/saved-report-store.ts';
import { storeOf, type Store } from './store.ts';

let postgres: MigratedDatabase;
let store: Store;

beforeAll(async () => {
  postgres = await migratedDatabase([
    ...['0001', '0012', '0014', '0016', '0052', '0069', '0080', '0081', '0082'],
  ]);
  store = storeOf(postgres.database);
  await store.query(`INSERT INTO accounts (id, name) VALUES (1, 'own'), (2, 'other')`, []);
  await store.query(
    `INSERT INTO members (id, email, password_hash) VALUES (5, 'a@x.example', '$argon2id$v=19$test'), (6, 'b@x.example', '$argon2id$v=19$test')`,
    [],
  );
}, 60_000);
afterAll(() => postgres.close());

const own = { accountId: 1, memberId: 5 };
const other = { accountId: 2, memberId: 6 };
const audited = async () =>
  (
    await store.query<{ line: string }>(
      `SELECT account_id || ' ' || actor || ' ' || action AS line FROM audit_lines ORDER BY id`,
      [],
    )
  ).rows.map(({ line }) => line);

describe('dashboards', () => {
  it('hold no report of another account, and are changed by nobody of one', async () => {
    const reports = savedReportStore(store);
    const draft = { name: 'x', kind: 'funnel' as const, definition: '{}' };
    const foreign = (await reports.create(other, draft)) ?? 0;
    const mine = (await reports.create(own, draft)) ?? 0;
    const dashboards = dashboardStore(store);
    const id = (await dashboards.create(own, { name: 'd', report_ids: [foreign, mine] })) ?? 0;
    expect(await dashboards.list(1)).toMatchObject([{ name: 'd', report_ids: [mine] }]);
    expect(await dashboards.list(2)).toEqual([]);
    const stranger = { ...other, isAdmin: true };
    const change = { id, name: 'taken', report_ids: [] };
    expect(await dashboards.replace(stranger, change)).toBe(false);
    expect(await dashboards.remove(stranger, id)).toBe(false);
    const colleague = { accountId: 1, memberId: 6 };
    expect(await dashboards.replace({ ...colleague, isAdmin: false }, change)).toBe(false);
    expect(
      await dashboards.replace(
        { ...colleague, isAdmin: true },
        { ...change, report_ids: [foreign] },
      ),
    ).toBe(true);
    expect(await dashboards.list(1)).toMatchObject([{ name: 'taken', report_ids: [] }]);
    expect((await audited()).filter((line) => line.includes('dashboard'))).toEqual([
      '1 member:5 dashboard.created',
      '1 member:6 dashboard.changed',
    ]);
  });
});

describe('short links', () => {
  it('are made once, and lead nowhere else for another account', async () => {
    const links = linkStore(store);
    const link = { code: shortLinkCode(1, 'https://shop.ir/a'), target: 'https://shop.ir/a' };
    expect(await links.create(own, link)).toBe('created');
    expect(await links.create(own, link)).toBe('known');
    expect(await links.create(other, link)).toBe('taken');
    expect(await links.create(own, { ...link, target: 'https://evil.example' })).toBe('taken');
    expect(await links.list(1, 10)).toMatchObject([{ ...link, clicks: 0 }]);
    expect(await links.list(2, 10)).toEqual([]);
  });
});

describe('on-site campaigns', () => {
  it('are paused and resumed by their account alone', async () => {
    const campaign = readOnsite({
      name: 'n',
      kind: 'popup',
      content: { title: 't' },
      frequency: 'once',
    });
    const change = { accountId: 1, actor: 'member:5' };
    const id = (await createOnsite(store, { ...change, campaign })) ?? 0;
    const stranger = { accountId: 2, actor: 'member:6', id };
    expect(await endOnsite(store, stranger)).toBe(false);
    expect(await listOnsite(store, 1, 10)).toMatchObject([{ name: 'n', enabled: true }]);
    expect(await endOnsite(store, { ...change, id })).toBe(true);
    expect(await resumeOnsite(store, stranger)).toBe(false);
    expect(await listOnsite(store, 1, 10)).toMatchObject([{ enabled: false }]);
    expect(await resumeOnsite(store, { ...change, id })).toBe(true);
    expect(await listOnsite(store, 2, 10)).toEqual([]);
    expect((await audited()).filter((line) => line.includes('onsite'))).toEqual([
      '1 member:5 onsite_campaign.created',
      '1 member:5 onsite_campaign.ended',
      '1 member:5 onsite_campaign.resumed',
    ]);
  });
});
