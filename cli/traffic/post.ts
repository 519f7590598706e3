import { backoffDelay, delay } from '../../platform/backoff.ts';
import { CommandError } from '../command.ts';

/** What the ingest host answers to a batch (ingest 2.6); absent counts are zero. */
export interface BatchAnswer {
  accepted: number;
  duplicates: number;
  rejected: number;
  warnings: { code: string; field?: string; note?: string }[];
  errors: { index: number; reason: string }[];
}

export interface Batch {
  items: readonly object[];
  /** Sent as the User-Agent of the request; undefined leaves the client's own. */
  userAgent: string | undefined;
}

const ATTEMPTS = 12;
const TIMEOUT = 20_000;

/**
 * Posts one batch as an SDK does (ingest 7.5): 5xx and connection errors are retried with
 * exponential backoff and full jitter. Throws CommandError on a 4xx, and after twelve attempts.
 */
export async function postBatch(
  target: { url: string; writeKey: string; signal?: AbortSignal },
  batch: Batch,
): Promise<BatchAnswer> {
  const body = JSON.stringify({ batch: batch.items });
  const headers: Record<string, string> = {
    authorization: `Bearer ${target.writeKey}`,
    'content-type': 'application/json',
  };
  if (batch.userAgent !== undefined) headers['user-agent'] = headerText(batch.userAgent);
  for (let attempt = 0; ; attempt++) {
    target.signal?.throwIfAborted();
    const answer = await attemptPost(`${target.url}/v1/batch`, headers, body);
    if (answer.status === 200) {
      const {
        accepted = 0,
        duplicates = 0,
        rejected = 0,
        warnings = [],
        errors = [],
      } = answer.body as Partial<BatchAnswer>;
      return { accepted, duplicates, rejected, warnings, errors };
    }
    if (answer.status >= 400 && answer.status < 500)
      throw new CommandError(
        `the ingest host refused the batch with ${answer.status}: ${answer.message}`,
      );
    if (attempt + 1 >= ATTEMPTS)
      throw new CommandError(
        `the ingest host did not accept the batch in ${ATTEMPTS} attempts (${answer.message}); run the same command again to continue`,
      );
    await delay(
      backoffDelay({ base: 1000, cap: 30_000, attempt, random: Math.random() }),
      target.signal,
    );
  }
}

async function attemptPost(
  url: string,
  headers: Record<string, string>,
  body: string,
): Promise<{ status: number; message: string; body: unknown }> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      signal: AbortSignal.timeout(TIMEOUT),
    });
    const answer = (await response.json()) as { message?: string };
    return {
      status: response.status,
      message: answer.message ?? response.statusText,
      body: answer,
    };
  } catch (error) {
    const { message, cause } = error as Error & { cause?: Error };
    return { status: 0, message: cause?.message ?? message, body: undefined };
  }
}

/** Bytes of a header value; control characters that HTTP forbids become spaces. */
function headerText(value: string): string {
  return Array.from(Buffer.from(value, 'utf8'), (byte) =>
    byte < 0x20 || byte === 0x7f ? ' ' : String.fromCharCode(byte),
  )
    .join('')
    .trim();
}
