import { QUOTA_SENTENCES } from '../../events/quota.ts';
import type { IngestResult, IngestSummary } from '../../ingest/result.ts';
import type { Failure, FailureCode } from '../failures.ts';

/** An answer without the headers that every answer has. */
export interface Answer {
  status: number;
  body: string;
  /** Name, value, name, value. */
  headers?: readonly string[];
}

interface Sentence {
  status: number;
  message: string;
  headers?: readonly string[];
}

/** Statuses and sentences (ingest 7.2; HTTP's own otherwise). Quota sentences are Persian. */
const SENTENCES: Record<FailureCode, Sentence> = {
  malformed_json: { status: 400, message: 'malformed JSON' },
  rejected: { status: 400, message: 'rejected' },
  missing_write_key: { status: 401, message: 'missing write key' },
  invalid_write_key: { status: 401, message: 'invalid write key' },
  key_unverified: {
    status: 503,
    message: 'cannot verify the write key right now; retry',
    headers: ['Retry-After', '5'],
  },
  quota_cancelled: { status: 402, message: QUOTA_SENTENCES.quota_cancelled },
  quota_trial_over: { status: 402, message: QUOTA_SENTENCES.quota_trial_over },
  quota_event_cap: { status: 402, message: QUOTA_SENTENCES.quota_event_cap },
  body_too_large: { status: 413, message: 'request body too large' },
  method_not_allowed: { status: 405, message: 'method not allowed' },
  malformed_request: { status: 400, message: 'malformed request' },
  headers_too_large: { status: 431, message: 'request headers too large' },
  unavailable: { status: 503, message: 'temporarily unavailable, please retry' },
};

const ONE_ACCEPTED: Answer = { status: 200, body: '{"status":"ok","accepted":1}' };

/** The answer to a request with events. */
export function renderResult(shape: 'single' | 'batch', result: IngestResult): Answer {
  return result.outcome === 'accepted'
    ? renderSummary(shape, result.summary)
    : renderFailure(result.failure);
}

/**
 * The answer to an accepted request: counts of zero are absent, and a single duplicate event is
 * answered like a first delivery (ingest 2.5, 2.6).
 */
export function renderSummary(
  shape: 'single' | 'batch',
  { accepted, duplicates, rejected, warnings, errors }: IngestSummary,
): Answer {
  if (shape === 'single' && warnings.length === 0) return ONE_ACCEPTED;
  let body = accepted > 0 ? `{"status":"ok","accepted":${accepted}` : '{"status":"ok"';
  if (shape === 'batch' && duplicates > 0) body += `,"duplicates":${duplicates}`;
  if (rejected > 0) body += `,"rejected":${rejected}`;
  if (warnings.length > 0) body += `,"warnings":${JSON.stringify(warnings)}`;
  if (errors.length > 0) body += `,"errors":${JSON.stringify(errors)}`;
  return { status: 200, body: `${body}}` };
}

/** The answer to a failure (ingest 7.1). */
export function renderFailure({ code, message }: Failure): Answer {
  const sentence = SENTENCES[code];
  const body = JSON.stringify({ status: 'error', message: message ?? sentence.message });
  return {
    status: sentence.status,
    body,
    ...(sentence.headers ? { headers: sentence.headers } : {}),
  };
}
