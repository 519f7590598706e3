import type { WebhookSource } from '../../events/webhooks/sources.ts';
import { SOURCE_LABELS } from './labels.ts';

/** A row of webhook_connections without its secret. */
export interface ConnectionRow {
  id: number;
  source: WebhookSource;
  label: string;
  token: string;
  has_secret: boolean;
  enabled: boolean;
  received: number;
  accepted: number;
  rejected: number;
  last_error: string;
}

/** A webhook connection as clients see it (ingest 2.8). `trackBase` is EMAIL_TRACK_BASE. */
export function describeConnection(
  { last_error: lastError, ...row }: ConnectionRow,
  trackBase: string,
): Record<string, unknown> {
  return {
    ...row,
    source_label: SOURCE_LABELS[row.source],
    webhook_url:
      trackBase === ''
        ? ''
        : `${trackBase.replace(/\/+$/, '')}/v1/hooks/${row.source}/${row.token}`,
    healthy: row.enabled && lastError === '' && row.accepted > 0,
    ...(lastError === '' ? {} : { last_error: lastError }),
  };
}
