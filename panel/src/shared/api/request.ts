import { offline, problemOf } from './problem.ts';

interface Sent {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Sent as JSON. */
  body?: unknown;
  signal?: AbortSignal | undefined;
  headers?: Readonly<Record<string, string>>;
}

/**
 * Sends a request to the panel's listener and answers the JSON of its body. Rejects with a Problem,
 * or with the signal's reason when it aborts: the server then cancels what it does for it.
 */
export async function request<T>(path: string, sent: Sent = {}): Promise<T> {
  const { method = 'GET', body, signal, headers = {} } = sent;
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers: {
        ...headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
      credentials: 'same-origin',
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof TypeError ? offline() : error;
  }
  const answer = await jsonOf(response);
  if (!response.ok) throw problemOf(response, answer);
  return answer as T;
}

/** A request to the account's routes, `/v1/…`, behind the panel's proxy. */
export function api<T>(path: `/v1/${string}`, sent?: Sent): Promise<T> {
  return request<T>(`/api/proxy${path}`, sent);
}

async function jsonOf(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined;
  try {
    return (await response.json()) as unknown;
  } catch {
    return undefined;
  }
}
