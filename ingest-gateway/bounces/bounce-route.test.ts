import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  FakePorts,
  MESSAGE,
  recipient,
  serveRoutes,
  tokens,
} from '../tracking/testing/serve-routes.ts';
import { bounceRoute } from './bounce-route.ts';

const LOCAL = tokens.write('bounce', MESSAGE);
const MIB = 1_048_576;

let ports: FakePorts;
let site: Awaited<ReturnType<typeof serveRoutes>>;

beforeEach(async () => {
  ports = new FakePorts();
  site = await serveRoutes([bounceRoute(ports)]);
});
afterEach(() => {
  expect(ports.budget.bytes).toBe(0);
  site.close();
});

function fixture(name: string): Buffer {
  const folder = join(import.meta.dirname, '../../events/channels/bounce/testing');
  return readFileSync(join(folder, `${name}.eml`));
}

async function post(
  body: NonNullable<RequestInit['body']>,
  local = LOCAL,
  headers: Record<string, string> = {},
) {
  const answer = await fetch(`${site.origin}/v1/bounce/${local}`, {
    ...{ method: 'POST', body, headers },
  });
  expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  return [answer.status, await answer.text()] as const;
}

/** Sends a body in chunks, without its length. */
function postChunked(local: string, bytes: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      `${site.origin}/v1/bounce/${local}`,
      { method: 'POST' },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      },
    );
    request.on('error', reject);
    for (let sent = 0; sent < bytes; sent += 65_536)
      request.write(Buffer.alloc(Math.min(65_536, bytes - sent), 'x'));
    request.end();
  });
}

describe('a mail to the local part of a bounce address', () => {
  it.each([
    ['postfix-unknown-user', 'address_suppressed', 'hard_bounce 5.1.1', 0],
    ['postfix-expired', 'soft_bounced', 'soft_bounce 4.4.1', 12],
  ])('like %s becomes a command about the address: %s', async (name, kind, reason, refBytes) => {
    expect(await post(fixture(name))).toEqual([200, 'ok']);
    expect(ports.recorded).toMatchObject([
      {
        source: 'bounce',
        change: {
          ...{ kind, reason, channel: 'email', user_id: 'u-1', address_id: 'sara@example.ir' },
        },
      },
    ]);
    expect(ports.recorded[0]?.change.message_ref).toHaveLength(refBytes);
  });

  it('that complains suppresses the address, also when it does not say who', async () => {
    ports.found = recipient({ address: 'sara@aol.example' });
    expect(await post(fixture('arf-redacted'))).toEqual([200, 'ok']);
    expect(ports.recorded).toMatchObject([
      { change: { kind: 'address_suppressed', reason: 'complaint abuse' } },
    ]);
  });

  it.each(['absence-outlook', 'absence-persian', 'read-receipt', 'answer-by-person', 'delivered'])(
    'like %s is answered 200 and changes nothing',
    async (name) => {
      expect(await post(fixture(name))).toEqual([200, 'ok']);
      expect(ports.recorded).toEqual([]);
    },
  );

  it.each(['postfix-delayed', 'forwarded', 'arf-not-spam', 'gmail'])(
    'like %s, which is no failure of our recipient, changes nothing',
    async (name) => {
      expect(await post(fixture(name))).toEqual([200, 'ok']);
      expect(ports.recorded).toEqual([]);
    },
  );

  it('is found in either case, and in gzip', async () => {
    const mail = fixture('postfix-unknown-user');
    expect(await post(mail, LOCAL.toUpperCase())).toEqual([200, 'ok']);
    const headers = { 'Content-Encoding': 'gzip', 'Content-Type': 'message/rfc822' };
    expect(await post(gzipSync(mail), LOCAL, headers)).toEqual([200, 'ok']);
    expect(ports.recorded).toHaveLength(2);
  });
});

describe('a refusal', () => {
  it('is 413 above 1 MiB, before 404 and 400', async () => {
    for (const local of [LOCAL, 'unknown']) {
      expect(await post('x'.repeat(MIB + 1), local)).toEqual([413, 'request body too large\n']);
      expect(await postChunked(local, MIB + 1)).toBe(413);
    }
    expect(await postChunked('unknown', MIB)).toBe(404);
    expect(ports.lookups).toBe(0);
  });

  it('is 404 for an unknown local part, before 400', async () => {
    expect(await post('\0', 'unknown')).toEqual([404, 'not found\n']);
    expect(await post('\0', tokens.write('open', MESSAGE))).toEqual([404, 'not found\n']);
    expect(ports.lookups).toBe(0);
    ports.found = undefined;
    for (const headers of [{}, { 'Content-Encoding': 'gzip' }])
      expect(await post('\0', LOCAL, headers)).toEqual([404, 'not found\n']);
  });

  it('is 400 for bytes that are no mail', async () => {
    expect(await post('\0')).toEqual([400, 'unreadable body\n']);
    expect(await post('')).toEqual([400, 'unreadable body\n']);
    expect(await post('x', LOCAL, { 'Content-Encoding': 'gzip' })).toEqual([
      400,
      'unreadable body\n',
    ]);
    expect(ports.recorded).toEqual([]);
  });

  it('is 503 when the recipient cannot be read or the command is not durable', async () => {
    const unavailable = [503, 'temporarily unavailable, please retry\n'];
    ports.found = 'unreachable';
    expect(await post(fixture('postfix-unknown-user'))).toEqual(unavailable);
    ports.found = recipient();
    ports.durable = 0;
    expect(await post(fixture('postfix-unknown-user'))).toEqual(unavailable);
    expect(await post(fixture('absence-outlook'))).toEqual([200, 'ok']);
  });
});
