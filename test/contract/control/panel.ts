import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { admin, readyStack } from '../../support/stack.ts';

export interface Reply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  /** Parsed, or undefined where there is no body. */
  body: unknown;
}

export interface Call {
  /** Token of a session. */
  session?: string | undefined;
  /** Sent as it is when it is a text, otherwise as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Instead of the panel. */
  base?: string;
}

/**
 * One request to the panel; node:http, because fetch does not let a test pretend to be another
 * site.
 */
export async function call(
  method: string,
  path: string,
  { session, body, headers = {}, base = readyStack().panel_url }: Call = {},
): Promise<Reply> {
  const sent =
    body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  const cookie = session === undefined ? {} : { cookie: `service_session=${session}` };
  const length = sent === undefined ? {} : { 'content-length': String(Buffer.byteLength(sent)) };
  return await new Promise((resolve, reject) => {
    const outgoing = request(
      `${base}${path}`,
      { method, headers: { ...cookie, ...length, ...headers }, timeout: 30_000 },
      (reply) => {
        const chunks: Buffer[] = [];
        reply.on('data', (chunk: Buffer) => chunks.push(chunk));
        reply.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({
            status: reply.statusCode ?? 0,
            headers: reply.headers,
            text,
            body: text === '' ? undefined : (JSON.parse(text) as unknown),
          });
        });
        reply.on('error', reject);
      },
    );
    outgoing.on('error', reject);
    outgoing.on('timeout', () =>
      outgoing.destroy(new Error('the panel did not answer within 30 s')),
    );
    outgoing.end(sent);
  });
}

/** A request through the panel's proxy. */
export const control = (method: string, path: string, options: Call = {}): Promise<Reply> =>
  call(method, `/api/proxy${path}`, options);

export interface Member {
  id: number;
  email: string;
  password: string;
}

export async function makeAccount(): Promise<string> {
  const { account_id } = await admin<{ account_id: number }>(
    'account',
    'create',
    '--name',
    'control',
  );
  return String(account_id);
}

export async function makeMember(account: string, role: string): Promise<Member> {
  const email = `${role}-${randomBytes(6).toString('hex')}@test.example`;
  const made = await admin<{ member_id: number; password: string }>(
    'member',
    'create',
    '--account',
    account,
    '--email',
    email,
    '--role',
    role,
  );
  return { id: made.member_id, email, password: made.password };
}

export const signIn = (
  member: Pick<Member, 'email' | 'password'>,
  options: Call = {},
): Promise<Reply> =>
  call('POST', '/api/session', {
    body: { email: member.email, password: member.password },
    ...options,
  });

/** The token of the cookie that an answer sets. */
export function sessionIn({ headers }: Reply): string {
  const token = /^service_session=([A-Za-z0-9_-]{43});/.exec(
    [headers['set-cookie'] ?? ''].flat()[0] ?? '',
  )?.[1];
  if (token === undefined) throw new Error('the answer sets no session');
  return token;
}

/** A signed-in member of an account. */
export async function enter(account: string, role = 'owner'): Promise<string> {
  return sessionIn(await signIn(await makeMember(account, role)));
}

/** Everything that the part has logged. */
export function partLog(): string {
  return readFileSync(join(process.env['RAVAND_HOME'] ?? '', 'logs', 'control-plane.log'), 'utf8');
}

/** Where the control plane itself listens, as it says in its log. */
export function controlUrl(): string {
  const address = [...partLog().matchAll(/"control":"([^"]+)"/g)].at(-1)?.[1];
  if (address === undefined) throw new Error('the control plane has not said where it listens');
  return `http://${address}`;
}
