import { admin, readyStack } from '../../support/stack.ts';

export const TRACE = /^[0-9a-f]{16}$/;

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  /** Parsed, or undefined where there is no body. */
  body: unknown;
}

export interface Call {
  key?: string;
  /** Sent as it is when it is a text, otherwise as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
}

/** One request to the management host of the stack under test. */
export async function call(
  method: string,
  path: string,
  { key, body, headers = {} }: Call = {},
): Promise<Reply> {
  const response = await fetch(`${readyStack().base_url}${path}`, {
    method,
    headers: { ...(key === undefined ? {} : { authorization: `Bearer ${key}` }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    signal: AbortSignal.timeout(40_000),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text === '' ? undefined : (JSON.parse(text) as unknown),
  };
}

export type Role = 'admin' | 'marketer' | 'analyst' | 'viewer' | 'approver' | 'finance';

export async function makeAccount(settings: Record<string, string> = {}): Promise<string> {
  const { account_id } = await admin<{ account_id: string | number }>(
    'account',
    'create',
    '--name',
    'contract',
  );
  const id = String(account_id);
  await setAccount(id, settings);
  return id;
}

export async function setAccount(id: string, settings: Record<string, string>): Promise<void> {
  const pairs = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  if (pairs.length > 0) await admin('account', 'set', '--account', id, ...pairs);
}

export interface Key {
  id: string;
  key: string;
}

export async function makeKey(account: string, role: Role, ...more: string[]): Promise<Key> {
  const made = await admin<{ api_key_id: string | number; management_key: string }>(
    'management-key',
    'create',
    '--account',
    account,
    '--role',
    role,
    ...more,
  );
  return { id: String(made.api_key_id), key: made.management_key };
}

/**
 * Waits for the next minute of the wall clock when too little of this one is left for a test of the
 * budget.
 */
export async function minuteWithRoom(seconds: number): Promise<void> {
  const left = 60 - ((Date.now() / 1000) % 60);
  if (left < seconds) await new Promise((resolve) => setTimeout(resolve, left * 1000 + 200));
}

export const coded = (code: string, message: string, more: object = {}) => ({
  error: { code, message, ...more },
});
