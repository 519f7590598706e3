import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { admin, createAccount, serviceStatus, type TestAccount } from '../../support/stack.ts';
import { misfits, unnamed } from '../schema-check.ts';
import { ask, type Sent } from './host.ts';

type Schema = Record<string, unknown>;
interface Described {
  headers?: Record<string, { schema: Schema }>;
  content?: Record<string, { schema?: Schema }>;
}
const document = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../docs/openapi/ingest.json'), 'utf8'),
) as Schema & {
  paths: Record<string, Record<string, { responses: Record<string, Described> }>>;
};

let account: TestAccount;
let cancelled: TestAccount;
let serial = 0;
beforeAll(async () => {
  account = await createAccount('openapi');
  cancelled = await createAccount('openapi, cancelled');
  await admin('account', 'set', '--account', String(cancelled.accountId), 'subscription=cancelled');
});

/** Sends, and holds status, headers and body of the answer against the document. */
async function held(sent: Sent): Promise<number> {
  const answer = await ask(sent);
  const path = (sent.path.split('?')[0] ?? '')
    .replace(/^\/s\/.*/, '/s/{code}')
    .replace(/^\/v1\/hooks\/.*/, '/v1/hooks/{source}/{token}');
  const described =
    document.paths[path]?.[(sent.method ?? 'POST').toLowerCase()]?.responses[answer.status];
  if (!described) throw new Error(`${path} answered ${answer.status}, which is not documented`);
  for (const [name, { schema }] of Object.entries(described.headers ?? {})) {
    const value = answer.headers[name.toLowerCase()];
    if (value !== undefined || name === 'X-Service-Trace')
      expect(misfits(document, schema, value), name).toEqual([]);
  }
  const schema = described.content?.['application/json']?.schema;
  if (schema) {
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    const body: unknown = JSON.parse(answer.text);
    expect(misfits(document, schema, body)).toEqual([]);
    expect(unnamed(document, schema, body)).toEqual([]);
  } else expect(Object.keys(described.content ?? {})).not.toContain('application/json');
  return answer.status;
}

const event = (more: object = {}) => ({
  event: 'x',
  user_id: 'u',
  message_id: `openapi-${process.pid}-${serial++}`,
  ...more,
});
const key = () => ({ Authorization: `Bearer ${account.writeKey}` });

describe('docs/openapi/ingest.json', () => {
  it.each(['track', 'identify', 'page', 'screen', 'alias'])(
    'describes the answers of POST /v1/%s',
    async (type) => {
      const path = `/v1/${type}`;
      const good = event({ previous_id: 'p' });
      expect(await held({ path, headers: key(), body: good })).toBe(200);
      expect(
        await held({
          path,
          headers: key(),
          body: {
            ...event({ previous_id: 'p' }),
            message_id: undefined,
            timestamp: '2001-01-01T00:00:00Z',
          },
        }),
      ).toBe(200);
      expect(await held({ path, headers: key(), body: '{' })).toBe(400);
      expect(await held({ path, headers: key(), body: event({ user_id: '' }) })).toBe(400);
      expect(await held({ path, body: good })).toBe(401);
      expect(await held({ path, headers: { 'X-Service-Key': 'nobody' }, body: good })).toBe(401);
      expect(await held({ path: `${path}?write_key=${cancelled.writeKey}`, body: good })).toBe(402);
      const body = gzipSync(Buffer.alloc(5_242_881, ' '));
      expect(await held({ path, headers: { ...key(), 'Content-Encoding': 'gzip' }, body })).toBe(
        413,
      );
    },
  );

  it('describes the answers of POST /v1/batch', async () => {
    const path = '/v1/batch';
    const item = { type: 'track', ...event() };
    expect(
      await held({
        path,
        headers: key(),
        body: {
          batch: [
            item,
            item,
            { type: 'x' },
            { type: 'page', anonymous_id: 'a', traits: { phone: '1' } },
          ],
        },
      }),
    ).toBe(200);
    expect(await held({ path, headers: key(), body: { batch: [{ type: 'x' }] } })).toBe(200);
    expect(await held({ path, headers: key(), body: { batch: [] } })).toBe(400);
    expect(
      await held({
        path,
        headers: key(),
        body: { batch: Array.from({ length: 501 }, () => item) },
      }),
    ).toBe(400);
    expect(await held({ path, body: { batch: [item] } })).toBe(401);
    expect(
      await held({ path: `${path}?write_key=${cancelled.writeKey}`, body: { batch: [item] } }),
    ).toBe(402);
  });

  it('describes the answers of GET /v1/status, of unknown short links and of unknown webhooks', async () => {
    expect(await held({ method: 'GET', path: '/v1/status' })).toBe(200);
    expect(await held({ method: 'GET', path: '/s/0000000' })).toBe(404);
    const served = await servedPaths();
    if (served.includes('/v1/hooks/{source}/{token}'))
      expect(await held({ path: '/v1/hooks/nobody/nothing', body: '{}' })).toBe(404);
  });

  it('is served on the admin port for the routes of this host', async () => {
    const { admin_url } = await serviceStatus('ingest-gateway');
    const served = (await (await fetch(`${admin_url}/openapi.json`)).json()) as typeof document;
    for (const [path, operations] of Object.entries(served.paths))
      expect(operations, path).toEqual(document.paths[path]);
    expect(served['components']).toEqual(document['components']);
  });
});

async function servedPaths(): Promise<string[]> {
  const { admin_url } = await serviceStatus('ingest-gateway');
  return Object.keys(
    ((await (await fetch(`${admin_url}/openapi.json`)).json()) as typeof document).paths,
  );
}
