/** An answer as a client sees it. */
export interface Answer {
  status: number;
  headers: Headers;
  body: unknown;
}

/** Posts with a write key: text and bytes as they are, anything else as JSON. */
export async function post(
  url: string,
  writeKey: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${writeKey}`, ...headers },
    body:
      typeof body === 'string' || body instanceof Uint8Array
        ? Buffer.from(body)
        : JSON.stringify(body),
    signal: AbortSignal.timeout(20_000),
  });
  const text = await response.text();
  let parsed: unknown = text;
  try {
    parsed = JSON.parse(text);
  } catch {
    // Not JSON: the body stays text.
  }
  return { status: response.status, headers: response.headers, body: parsed };
}
