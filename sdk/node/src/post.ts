import { statusOf } from '../../shared/delivery.ts';

export interface Answer {
  /** 0: there was none. */
  status: number;
  retryAfter: string | null;
  body: { message?: string; errors?: { index: number; reason?: string }[] } & Record<
    string,
    unknown
  >;
  cause?: unknown;
}

/**
 * Posts JSON. Never rejects: without an answer the status is 0. `fetch` keeps connections; a
 * redirect would make another request of it, and is no answer.
 */
export async function post(
  url: string,
  body: string,
  { key, timeoutMs }: { key: string; timeoutMs: number },
): Promise<Answer> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      body,
      redirect: 'error',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await response.text();
    const retryAfter = response.headers.get('retry-after');
    return { status: statusOf(response), retryAfter, body: parse(text) };
  } catch (cause) {
    return { status: 0, retryAfter: null, body: {}, cause };
  }
}

function parse(text: string): Answer['body'] {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Answer['body']) : {};
  } catch {
    return {};
  }
}
