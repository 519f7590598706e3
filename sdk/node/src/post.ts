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
    const found = parse(await response.text());
    const retryAfter = response.headers.get('retry-after');
    // The host says 200 in JSON: a page for people is no answer, nor is one that broke off.
    const status = response.ok && !found ? 0 : response.status;
    return { status, retryAfter, body: found ?? {} };
  } catch (cause) {
    return { status: 0, retryAfter: null, body: {}, cause };
  }
}

/** Undefined: it is no JSON object. */
function parse(text: string): Answer['body'] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Answer['body']) : undefined;
  } catch {
    return undefined;
  }
}
