import {
  isWebhookSource,
  WEBHOOK_SOURCES,
  type WebhookSource,
} from '../../events/webhooks/sources.ts';

/** The body of PUT /v1/integrations (ingest 4.9). */
export interface ConnectionDefinition {
  source: WebhookSource;
  /** May be empty. */
  label: string;
  /** Empty keeps the stored one. */
  secret: string;
}

/** Limits that the specification leaves open. */
const MAX_BYTES = { label: 256, secret: 1024 } as const;

/** Reads the body of PUT /v1/integrations, or answers a sentence without the secret. */
export function readConnection(body: unknown): ConnectionDefinition | string {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return 'the body must be a JSON object with source, label and secret';
  const { source, label: sentLabel, secret: sentSecret } = body as Record<string, unknown>;
  if (typeof source !== 'string' || !isWebhookSource(source)) return unknownSource();
  const label = sentLabel ?? '';
  if (typeof label !== 'string') return 'label must be text';
  const trimmed = label.trim();
  // eslint-disable-next-line no-control-regex -- the test is for control characters
  if (/[\u0000-\u001f\u007f]/.test(trimmed) || !trimmed.isWellFormed())
    return 'label must not hold control characters';
  if (Buffer.byteLength(trimmed) > MAX_BYTES.label)
    return `label must have at most ${MAX_BYTES.label} bytes`;
  const secret = sentSecret ?? '';
  if (typeof secret !== 'string')
    return 'secret must be text; leave it empty to keep the stored one';
  if (Buffer.byteLength(secret) > MAX_BYTES.secret)
    return `secret must have at most ${MAX_BYTES.secret} bytes`;
  return { source, label: trimmed, secret };
}

/** Reads `{enabled}`; undefined for anything but a boolean. */
export function readEnabled(body: unknown): boolean | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { enabled } = body as Record<string, unknown>;
  return typeof enabled === 'boolean' ? enabled : undefined;
}

export function unknownSource(): string {
  return `source must be one of ${WEBHOOK_SOURCES.join(', ')}`;
}
