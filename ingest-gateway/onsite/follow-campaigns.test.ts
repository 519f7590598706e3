import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OnsiteDefinition } from '../../events/channels/onsite/definition.ts';
import { createLog } from '../../platform/log.ts';
import type { StoredCampaign } from './catalogue.ts';
import { FollowedCampaigns } from './follow-campaigns.ts';
import type { AudienceChunk, AudienceLayout } from './memberships.ts';
import { PAGE, type Revised } from './onsite-store.ts';

const definition: OnsiteDefinition = {
  ...{ kind: 'popup', content: {}, fields: [], url: [], frequency: 'always' },
};
const AUDIENCE = { accountId: 1, audience: 'a' };
const HASH = { high: 0, low: 5 };
const CHUNK = { ...AUDIENCE, bits: 0, chunk: 0, names: Buffer.from('0500000000000000', 'hex') };

let now: number;
let isDown: boolean;
let failing: string;
let revision: number;
let reads: number;
let questions: number;
let campaigns: Revised<StoredCampaign>[];
let layouts: Revised<AudienceLayout>[];
let chunks: Revised<AudienceChunk>[];
let followed: FollowedCampaigns;

const page = <T>(rows: Revised<T>[], after: number, size: number) => {
  reads++;
  return isDown
    ? Promise.reject(new Error('down'))
    : Promise.resolve(rows.filter((row) => row.revision > after).slice(0, size));
};

beforeEach(() => {
  now = 1_000_000;
  isDown = false;
  failing = '';
  revision = reads = questions = 0;
  [campaigns, layouts, chunks] = [[], [], []];
});
afterEach(() => followed.close());

function follow(): FollowedCampaigns {
  followed = new FollowedCampaigns({
    store: {
      revision: () => {
        questions++;
        return isDown ? Promise.reject(new Error('down')) : Promise.resolve(revision);
      },
      campaigns: (after) => page(campaigns, after, PAGE.campaigns),
      layouts: (after) => page(layouts, after, PAGE.layouts),
      chunks: (after) =>
        failing === 'chunks' ? Promise.reject(new Error('down')) : page(chunks, after, PAGE.chunks),
    },
    log: createLog({ part: 'test', level: 'silent' }),
    now: () => now,
    interval: 1_000_000,
  });
  return followed;
}

function change(id: number, sent: Partial<StoredCampaign> = {}): void {
  campaigns = campaigns.filter((one) => one.id !== id);
  campaigns.push({
    ...{ id, accountId: 1, definition, audience: undefined, startsAt: -Infinity },
    ...{ endsAt: Infinity, enabled: true, updatedAt: now, ...sent, revision: ++revision },
  });
}

async function refresh(): Promise<boolean> {
  now += 1000;
  return followed.refresh();
}
const ids = () => followed.catalogue.ofPage(1, '').map(({ id }) => id);

describe('the campaigns of a gateway', () => {
  it('are read page by page, and later only what changed', async () => {
    for (let id = 1; id <= PAGE.campaigns + 1; id++) change(id);
    follow();
    await refresh();
    expect(ids()).toHaveLength(PAGE.campaigns + 1);
    reads = 0;
    await refresh();
    expect(reads).toBe(0);
    change(7, { endsAt: now + 5 });
    await refresh();
    expect(reads).toBe(3);
    expect(followed.catalogue.find(1, 7)?.endsAt).toBe(now - 1000 + 5);
    expect(ids().slice(0, 8)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('are served while PostgreSQL is unreachable, and what is unknown is not verified', async () => {
    change(1);
    follow();
    expect(await refresh()).toBe(true);
    isDown = true;
    expect(await refresh()).toBe(false);
    expect(ids()).toEqual([1]);
    isDown = false;
    change(2);
    expect(await refresh()).toBe(true);
    expect(ids()).toEqual([1, 2]);
  });

  it('are read anew for requests that want it, which share a read', async () => {
    follow();
    await refresh();
    change(1);
    questions = 0;
    await Promise.all(Array.from({ length: 50 }, () => followed.refresh()));
    expect([ids(), questions]).toEqual([[1], 1]);
  });

  it('are read once more for a request that comes while they are read', async () => {
    follow();
    const during = followed.refresh();
    change(1);
    await during;
    expect(ids()).toEqual([1]);
  });

  it('are all read again after the database was restored to an earlier time', async () => {
    change(1);
    change(2);
    follow();
    await refresh();
    campaigns = [];
    revision = 0;
    change(3);
    await refresh();
    expect(ids()).toEqual([3]);
  });

  it('are known for a day after their end, and their audiences with them', async () => {
    change(1, { endsAt: now + 500, audience: 'a' });
    chunks.push({ ...CHUNK, revision: ++revision });
    layouts.push({ ...AUDIENCE, bits: 0, revision: ++revision });
    follow();
    await refresh();
    expect(followed.memberships.of(AUDIENCE).has(HASH)).toBe(true);
    now += 86_398_000;
    await refresh();
    expect(ids()).toEqual([1]);
    now += 2000;
    await refresh();
    expect([ids(), followed.memberships.bytes]).toEqual([[], 0]);
  });

  it('have their members also when the read of these fails halfway', async () => {
    change(1, { audience: 'a' });
    layouts.push({ ...AUDIENCE, bits: 0, revision: ++revision });
    failing = 'chunks';
    follow();
    expect(await refresh()).toBe(false);
    failing = '';
    chunks.push({ ...CHUNK, revision: ++revision });
    expect(await refresh()).toBe(true);
    expect(followed.memberships.of(AUDIENCE).has(HASH)).toBe(true);
  });

  it('that cannot be read are left out, and the others are not', async () => {
    change(1, { definition: null as unknown as OnsiteDefinition });
    change(2);
    follow();
    expect(await refresh()).toBe(true);
    expect(ids()).toEqual([2]);
  });

  it('keep members that arrive before their campaign does', async () => {
    chunks.push({ ...CHUNK, revision: ++revision });
    change(1, { audience: 'a' });
    layouts.push({ ...AUDIENCE, bits: 0, revision: ++revision });
    follow();
    await refresh();
    await refresh();
    expect(followed.memberships.of(AUDIENCE).has(HASH)).toBe(true);
  });
});
