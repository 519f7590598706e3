import { QUOTA_SENTENCES } from '../../events/quota.ts';
import { REPORT_TOO_LARGE, REPORT_UNAVAILABLE } from '../reports/report-problem.ts';

/** The envelope of an error unless the route overrides it: management 7.1 (1), (2), (3). */
export type ErrorForm = 'coded' | 'flat' | 'flat_with_code';

export interface CatalogueEntry {
  status: number;
  form: ErrorForm;
  /** Used when the error has no message of its own. */
  message: string;
  headers?: Readonly<Record<string, string>>;
}

function coded(status: number, message: string, headers?: Record<string, string>): CatalogueEntry {
  return { status, form: 'coded', message, ...(headers ? { headers } : {}) };
}

function flat(status: number, message: string, headers?: Record<string, string>): CatalogueEntry {
  return { status, form: 'flat', message, ...(headers ? { headers } : {}) };
}

function guard(status: number, message: string): CatalogueEntry {
  return { status, form: 'flat_with_code', message };
}

/**
 * Every error of the management host, by code (management 5, 7). Codes of form `flat` are internal:
 * clients see only the message. The two ellipses in write_key_rejected are U+2026. Messages are
 * Persian where the specification says so.
 */
export const catalogue = {
  unauthenticated: coded(401, 'a valid API key is required'),
  api_key_required: coded(401, 'this API accepts sk_svc_ keys only'),
  write_key_rejected: coded(
    401,
    'write keys (wk_svc_…) are not accepted here; use a management key (sk_svc_…)',
  ),
  key_expired: coded(401, 'this API key has expired; create a new one in the panel'),
  wrong_surface: guard(
    401,
    'این اعتبارنامه برای این سرویس نیست؛ با کلید مدیریت حساب درخواست بفرستید.',
  ),
  forbidden: coded(403, "this key's role does not allow this; see GET /v1/whoami"),
  ip_not_allowed: guard(
    403,
    'دسترسی از این نشانی اینترنتی مجاز نیست؛ مدیر حساب باید آن را به فهرست نشانی‌های مجاز بیفزاید.',
  ),
  impersonation_read_only: guard(403, 'هنگام ورود به‌جای کاربر فقط مشاهده مجاز است.'),
  impersonation_forbidden: guard(403, 'این کار هنگام ورود به‌جای کاربر مجاز نیست.'),
  account_locked: coded(
    403,
    'این بخش از حساب موقتاً بسته است؛ برای باز شدن آن به صفحهٔ صورت‌حساب در پنل بروید.',
  ),

  malformed_json: coded(400, 'malformed JSON'),
  malformed_request: coded(400, 'malformed HTTP request'),
  batch_empty: coded(400, 'events is absent or empty; send 1 to 500 events'),
  bad_id: coded(400, 'the id in the path must be a positive integer'),
  name_required: coded(400, 'name is required'),
  invalid_report: guard(400, 'درخواست گزارش نادرست است.'),
  invalid_channel: coded(400, 'channel is not available'),
  quota_cancelled: coded(402, QUOTA_SENTENCES.quota_cancelled),
  quota_trial_over: coded(402, QUOTA_SENTENCES.quota_trial_over),
  quota_event_cap: coded(402, QUOTA_SENTENCES.quota_event_cap),
  unknown_endpoint: coded(404, 'no such endpoint; see GET /v1/capabilities'),
  not_found: coded(404, 'not found'),
  approval_required: coded(
    409,
    'this account requires an approval; submit the campaign with POST /v1/campaigns/{id}/submit',
  ),
  approval_stale: coded(
    409,
    'the campaign was changed after its approval; submit it again with POST /v1/campaigns/{id}/submit',
  ),
  not_submittable: coded(409, 'only a campaign that is a draft or paused can be submitted'),
  batch_too_large: coded(413, 'too many events in one request; the limit is 500'),
  filter_invalid: coded(422, 'the audience definition does not compile'),
  campaign_invalid: coded(422, 'the campaign is not valid'),
  export_kind_invalid: coded(422, 'kind must be one of events, messages, profiles, segment'),
  export_spec_invalid: coded(422, 'the export specification is not valid'),
  all_events_rejected: coded(422, 'every event was rejected; see details'),

  message_refused: flat(400, 'malformed JSON'),
  message_in_flight: flat(
    409,
    'transactional: a message with this idempotency key is already in flight',
    { 'retry-after': '1' },
  ),
  message_rate_exceeded: flat(429, 'rate limit exceeded', { 'retry-after': '60' }),
  message_unavailable: flat(503, 'message not sent'),

  budget_exhausted: coded(429, 'the request budget of this key is used up for this minute', {
    'retry-after': '60',
  }),

  internal: coded(500, 'the request failed unexpectedly; try again'),
  key_lookup_unavailable: coded(503, 'cannot verify the API key right now; try again'),
  budget_unavailable: coded(503, 'the request budget cannot be read right now; try again'),
  ingest_unavailable: coded(503, 'events cannot be accepted right now; try again'),
  segment_unavailable: coded(503, 'segments cannot be changed right now; try again'),
  campaign_unavailable: coded(503, 'campaigns cannot be changed right now; try again'),
  approval_unavailable: coded(503, 'approvals cannot be read right now; nothing was sent'),
  export_unavailable: coded(503, 'exports are not available right now; try again'),
  quality_unavailable: coded(503, 'ingest quality is not available right now; try again'),
  schema_unavailable: flat(503, 'schema unavailable'),
  filter_uncompilable: flat(400, 'the audience definition does not compile'),
  count_unavailable: flat(503, 'count unavailable'),
  campaigns_unavailable: flat(503, 'campaigns unavailable'),
  segments_unavailable: flat(503, 'segments unavailable'),
  report_unavailable: flat(503, REPORT_UNAVAILABLE),
  report_too_large: flat(503, REPORT_TOO_LARGE),
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof catalogue;
