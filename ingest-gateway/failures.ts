import type { IngestFailureCode } from '../ingest/result.ts';

/** Every failure of a request to the ingest host; http/render.ts gives each its status and text. */
export type FailureCode =
  | IngestFailureCode
  | 'missing_write_key'
  | 'invalid_write_key'
  | 'key_unverified'
  | 'body_too_large'
  | 'method_not_allowed'
  | 'malformed_request'
  | 'headers_too_large';

export interface Failure {
  code: FailureCode;
  /** Replaces the code's own sentence: the reason of a rejection. */
  message?: string;
}
