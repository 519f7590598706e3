import { withoutKnownSecrets } from './known-secrets.ts';

export const REDACTED = '[redacted]';

/**
 * Credentials by the form in which they are written. Every pattern begins with fixed characters, so
 * that a hostile text costs linear time.
 */
const FORMS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // postgres://user:password@host
  [/:\/\/([^\s/:@"'\\]{0,200}):[^\s/"'\\]{1,1000}@/g, `://$1:${REDACTED}@`],
  // A write key or a management key.
  [/\b([ws]k_svc_)[A-Za-z0-9_-]{8,}/g, `$1${REDACTED}`],
  [/\b(Bearer|Basic) [A-Za-z0-9._~+/=-]{4,}/gi, `$1 ${REDACTED}`],
  [/(service_(?:session|device)=)[^;\s"'\\,]+/g, `$1${REDACTED}`],
  [/(\/v1\/hooks\/[a-z_]{1,40}\/)[A-Za-z0-9_-]{8,}/g, `$1${REDACTED}`],
  [
    /\b(password|passwd|secret|access_token|api_key|sasl\.password)(=)[^&\s"'\\,;)]+/gi,
    `$1$2${REDACTED}`,
  ],
  // In a body of JSON, also inside a text of JSON.
  [/\b(password|passwd|secret)(\\{0,3}["']\s?:\s?\\{0,3}["'])[^"'\\]+/gi, `$1$2${REDACTED}`],
  // The links of an object store.
  [/(X-Amz-(?:Signature|Credential|Security-Token)=)[^&\s"'\\]+/gi, `$1${REDACTED}`],
  [/\b(x-service-key|x-panel-pass)(["']?\s?[:=]\s?["']?)[^\s"'\\,;]+/gi, `$1$2${REDACTED}`],
  // A stored password.
  [/\$argon2id\$[^\s"'\\]+/g, REDACTED],
];

/**
 * A text without secrets: without those of this process's settings, and without anything in the
 * form of a credential. For every line that leaves the process: logs, standard error, admin pages.
 */
export function redactText(text: string): string {
  let redacted = withoutKnownSecrets(text, REDACTED);
  for (const [pattern, replacement] of FORMS) redacted = redacted.replace(pattern, replacement);
  return redacted;
}

/** What an error says in a line for people, without secrets. */
export function errorText(error: unknown): string {
  if (error instanceof AggregateError && error.message === '' && error.errors.length > 0)
    return errorText(error.errors[0]);
  return redactText(error instanceof Error ? error.message : String(error));
}
