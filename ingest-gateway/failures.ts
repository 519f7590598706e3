/**
 * Everything that a request to the ingest host can fail with; the edge (http/render-failure.ts)
 * gives each its status and sentence.
 */
export type FailureCode =
  | 'malformed_json'
  | 'rejected'
  | 'missing_write_key'
  | 'invalid_write_key'
  | 'key_unverified'
  | 'quota_cancelled'
  | 'quota_trial_over'
  | 'quota_event_cap'
  | 'body_too_large'
  | 'method_not_allowed'
  | 'malformed_request'
  | 'headers_too_large'
  | 'request_timed_out'
  | 'unavailable';

export interface Failure {
  code: FailureCode;
  /** What the client reads instead of the code's own sentence: the reason of a rejection. */
  message?: string;
}
