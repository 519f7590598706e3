import { describe, expect, it } from 'vitest';
import { openPostgres } from '../../support/stack-clients.ts';
import { call, coded, makeAccount, makeKey } from './host.ts';

const MIB = 2 ** 20;
const database = openPostgres();

interface Segment {
  id: number;
  name: string;
  definition: unknown;
}

/** A valid definition of about this many bytes. */
const sized = (bytes: number) => ({
  trait: 'id',
  op: 'in',
  value: Array.from({ length: Math.floor(bytes / 1003) }, () => 'x'.repeat(1000)),
});

async function account() {
  const id = await makeAccount();
  const { key } = await makeKey(id, 'admin');
  const create = (definition: unknown, name = 'x') =>
    call('POST', '/v1/segments', { key, body: { name, definition } });
  const list = async () => {
    const { body, text } = await call('GET', '/v1/segments', { key });
    return { segments: (body as { segments: Segment[] }).segments, bytes: text.length };
  };
  return { id, key, create, list };
}

describe('a segment', () => {
  it('is stored without ignored keys, so a list of large ones stays small', async () => {
    const { create, list } = await account();
    const noise = { trait: 't', op: 'is_set', value: 'y'.repeat(1000), note: 'x'.repeat(900_000) };
    for (let at = 0; at < 5; at++) expect((await create({ not: noise })).status).toBe(201);
    const { segments, bytes } = await list();
    expect(segments.map(({ definition }) => definition)).toEqual(
      Array.from({ length: 5 }, () => ({ not: { trait: 't', op: 'is_set' } })),
    );
    expect(bytes).toBeLessThan(2000);
  });

  it('has a definition of at most 128 KiB, a body of at most 1 MiB and a name of at most 512 bytes', async () => {
    const { key, create, list } = await account();
    const message = 'segment: the definition is larger than 131072 bytes';
    const refusal = await create(sized(140_000));
    expect([refusal.status, refusal.body]).toEqual([422, coded('filter_invalid', message)]);
    const made = await create(sized(100_000), 'ن'.repeat(400));
    expect([made.status, (made.body as Segment).name]).toEqual([201, 'ن'.repeat(256)]);
    const path = `/v1/segments/${(made.body as Segment).id}`;
    const body = { name: 'x', definition: sized(140_000) };
    expect((await call('PUT', path, { key, body })).status).toBe(422);
    const long = await create({ trait: 't', op: 'is_set', note: 'x'.repeat(MIB) });
    expect([long.status, long.body]).toEqual([400, coded('malformed_json', 'malformed JSON')]);
    expect((await list()).segments).toHaveLength(1);
  });

  it('is refused when its account has 1000, or 8 MiB of definitions', async () => {
    const { id, key, create } = await account();
    const small = { trait: 't', op: 'is_set' };
    await database.query(
      "INSERT INTO segments (account_id, name, definition) SELECT $1, 'x', $2 FROM generate_series(1, 999)",
      [id, JSON.stringify(small)],
    );
    const last = (await create(small)).body as Segment;
    const message =
      'segment: an account holds at most 1000 segments with 8388608 bytes of definitions; delete some first';
    const full = [422, coded('filter_invalid', message)];
    const refusal = await create(small);
    expect([refusal.status, refusal.body]).toEqual(full);
    const replace = (definition: unknown) =>
      call('PUT', `/v1/segments/${last.id}`, { key, body: { name: 'x', definition } });
    expect((await replace(sized(10_000))).status).toBe(200);
    await database.query(
      'UPDATE segments SET definition = $2 WHERE account_id = $1 AND id IN (SELECT id FROM segments WHERE account_id = $1 ORDER BY id LIMIT 81)',
      [id, JSON.stringify(sized(103_000))],
    );
    const grown = await replace(sized(100_000));
    expect([grown.status, grown.body]).toEqual(full);
    expect((await replace(small)).status).toBe(200);
    expect((await call('DELETE', `/v1/segments/${last.id}`, { key })).status).toBe(204);
    expect((await create(small)).status).toBe(201);
  });

  it('of an earlier version keeps working, and the list loads at most 8 MiB of them', async () => {
    const { id, key, list } = await account();
    const raw = { trait: 't', op: 'is_set', note: 'x'.repeat(3 * MIB) };
    await database.query(
      "INSERT INTO segments (account_id, name, definition) SELECT $1, 'old', $2 FROM generate_series(1, 4)",
      [id, JSON.stringify(raw)],
    );
    const { segments } = await list();
    expect(segments).toHaveLength(2);
    const { rows } = await database.query<{ id: string }>(
      'SELECT id FROM segments WHERE account_id = $1',
      [id],
    );
    for (const row of rows) {
      const { body } = await call('GET', `/v1/segments/${row.id}`, { key });
      expect((body as Segment).definition).toEqual({ trait: 't', op: 'is_set' });
    }
  });
});
