import { beforeEach, describe, expect, it } from 'vitest';
import { inboxSecretPurpose } from '../../events/channels/inbox-credential.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { makeSealingKey, parseSealingKeys, type Sealer } from '../../platform/sealing.ts';
import { sealRotate } from './seal-rotate.ts';

interface Row {
  id: string;
  account_id: string;
  secret: Buffer;
  source?: string;
  app_id?: string;
  channel?: string;
}

const OLD = makeSealingKey('old');
const NEW = makeSealingKey('new');
let tables: Record<string, Row[]>;
let audited: unknown[][];

function sealerOf(keys: string): Sealer {
  const sealer = parseSealingKeys(keys);
  if (!sealer) throw new Error('no key');
  return sealer;
}

/** What the command asks of PostgreSQL, over arrays. */
const database = {
  query: (text: string, values: unknown[] = []) => {
    const table = /(?:FROM|UPDATE) (\w+)/.exec(text)?.[1] ?? '';
    const rows = tables[table] ?? [];
    if (text.startsWith('INSERT INTO audit_lines')) {
      audited.push(values);
      return Promise.resolve({ rows: [], rowCount: 1 });
    }
    if (text.startsWith('UPDATE')) {
      const [id, before, after] = values as [string, Buffer, Buffer];
      const row = rows.find((one) => one.id === id && one.secret.equals(before));
      if (row) row.secret = after;
      return Promise.resolve({ rows: [], rowCount: row ? 1 : 0 });
    }
    return Promise.resolve({
      rows: rows.filter(({ id }) => Number(id) > Number(values[0])).slice(0, 500),
      rowCount: null,
    });
  },
} as unknown as Database;

const rotate = (SEALING_KEY: string) =>
  sealRotate.run({ values: {}, words: [] }, { database, kafka: {} as never, env: { SEALING_KEY } });

beforeEach(() => {
  audited = [];
  const old = sealerOf(OLD);
  tables = {
    webhook_connections: Array.from({ length: 1001 }, (_, at) => ({
      id: String(at + 1),
      account_id: '7',
      source: 'event_pipeline',
      secret: old.seal(`s${at + 1}`, 'integration:7:event_pipeline'),
    })),
    app_inbox_secrets: [
      {
        ...{ id: '4', account_id: '7', app_id: '9' },
        secret: old.seal('i', inboxSecretPurpose({ accountId: 7, appId: 9 })),
      },
    ],
    relays: [{ id: '3', account_id: '7', secret: old.seal('r', 'relay:7:3') }],
    message_senders: [
      {
        ...{ id: '5', account_id: '7', channel: 'sms' },
        secret: old.seal('m', 'message_sender:7:sms'),
      },
    ],
  };
});

describe('seal rotate', () => {
  it('seals every secret again under the first key, once', async () => {
    expect(await rotate(`${NEW},${OLD}`)).toEqual({ resealed: 1004, current: 0, unreadable: 0 });
    const sealer = sealerOf(NEW);
    expect(
      tables['webhook_connections']
        ?.map(({ secret }) => sealer.open(secret, 'integration:7:event_pipeline'))
        .at(-1),
    ).toBe('s1001');
    const sender = tables['message_senders']?.[0]?.secret ?? Buffer.alloc(0);
    expect(sealer.open(sender, 'message_sender:7:sms')).toBe('m');
    expect(sealer.open(tables['relays']?.[0]?.secret ?? Buffer.alloc(0), 'relay:7:3')).toBe('r');
    expect(await rotate(`${NEW},${OLD}`)).toEqual({ resealed: 0, current: 1004, unreadable: 0 });
    expect(JSON.stringify(audited)).toContain('secrets.resealed');
  });

  it('reports how many secrets it cannot open, and does not change them', async () => {
    const before = tables['relays']?.[0]?.secret;
    await expect(rotate(NEW)).rejects.toThrow(/1004 cannot be opened: add the key/);
    expect(tables['relays']?.[0]?.secret).toBe(before);
  });

  it('is refused without a key', async () => {
    await expect(rotate('')).rejects.toThrow(/SEALING_KEY is empty/);
  });
});
