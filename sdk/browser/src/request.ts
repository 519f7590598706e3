import type { Entry } from './entry.ts';

/** What went wrong; other members are of the route. */
interface Answer {
  message?: string;
  error?: string;
}

const TIMEOUT_MS = 30_000;

/** An address of the ingest host with the write key in the query: no preflight goes before it. */
export function addressOf(
  { host, writeKey }: Entry,
  path: string,
  query: Record<string, string> = {},
): string {
  return `${host}${path}?${new URLSearchParams({ write_key: writeKey, ...query })}`;
}

/** Posts JSON as text/plain. The status is 0 without an answer. */
export async function postTo(
  entry: Entry,
  path: string,
  body: object,
): Promise<{ status: number; answer: Answer }> {
  try {
    const response = await fetch(addressOf(entry, path), {
      method: 'POST',
      body: JSON.stringify(body),
      keepalive: true,
      credentials: 'omit',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const answer = (await response.json().catch(() => ({}))) as Answer;
    return { status: response.status, answer };
  } catch {
    return { status: 0, answer: {} };
  }
}
