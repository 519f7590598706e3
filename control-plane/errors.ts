interface CatalogueEntry {
  status: number;
  /** Unless the refusal has a more specific message. */
  message: string;
}

function entry(status: number, message: string): CatalogueEntry {
  return { status, message };
}

/** Every refusal of the control plane and the panel, by code (docs/control-plane.md). */
export const catalogue = {
  malformed_json: entry(400, 'malformed JSON'),
  malformed_request: entry(400, 'malformed HTTP request'),
  invalid_request: entry(400, 'the request is not valid'),
  bad_id: entry(400, 'the id in the path must be a positive integer'),
  unauthenticated: entry(401, 'sign in first: POST /api/session'),
  wrong_credentials: entry(401, 'the e-mail address or the password is wrong'),
  cross_site: entry(403, 'this request comes from another site'),
  forbidden: entry(403, 'your role does not allow this'),
  ip_not_allowed: entry(
    403,
    'دسترسی از این نشانی اینترنتی مجاز نیست؛ مدیر حساب باید آن را به فهرست نشانی‌های مجاز بیفزاید.',
  ),
  no_account: entry(403, 'you are a member of no active account'),
  not_found: entry(404, 'not found'),
  unknown_endpoint: entry(404, 'no such endpoint'),
  message_in_flight: entry(409, 'a message with this key is being sent; ask again'),
  body_too_large: entry(413, 'the body is too large'),
  unsupported_media_type: entry(415, 'browsers must send Content-Type: application/json'),
  too_many_requests: entry(
    429,
    'this account has too many requests in progress; wait for their answers',
  ),
  too_many_guesses: entry(429, 'too many failed sign-ins; wait and try again'),
  internal: entry(500, 'the request failed unexpectedly; try again'),
  busy: entry(503, 'too many people are signing in right now; try again'),
  sealing_unavailable: entry(
    503,
    'this installation has no sealing key (SEALING_KEY), so connections and relays cannot be saved',
  ),
  sessions_unavailable: entry(503, 'sessions cannot be checked right now; try again'),
  unavailable: entry(503, 'temporarily unavailable, please retry'),
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof catalogue;

/** A refusal as a value. */
export interface Refusal {
  code: ErrorCode;
  /** Replaces the catalogue's sentence. */
  message?: string;
  /** The missing permission; only with `forbidden`. */
  need?: string;
  /** Seconds. */
  retryAfter?: number;
}

/** The result of a handler. A Buffer is sent as it is; undefined: no body. */
export type Answer =
  | {
      ok: true;
      status: number;
      body: unknown;
      headers?: Readonly<Record<string, string | readonly string[]>>;
    }
  | { ok: false; error: Refusal };

export function answer(
  body: unknown,
  options: { status?: number; headers?: Readonly<Record<string, string | readonly string[]>> } = {},
): Answer {
  return {
    ok: true,
    status: options.status ?? 200,
    body,
    ...(options.headers ? { headers: options.headers } : {}),
  };
}

export function refuse(code: ErrorCode, more: Omit<Refusal, 'code'> = {}): Answer {
  return { ok: false, error: { code, ...more } };
}

/** The refusal of a body that could not be read; undefined: the client left. */
export function refuseBody(
  reason: 'too_large' | 'malformed' | 'client_gone' | 'overloaded',
): Answer | undefined {
  if (reason === 'client_gone') return undefined;
  return refuse(reason === 'too_large' ? 'body_too_large' : 'malformed_json');
}

/**
 * The envelope of the panel (management 7.1 (2) and (3)): `error` is a sentence, `code` what to
 * branch on, `need` the missing permission.
 */
export function renderError({ code, message, need, retryAfter }: Refusal): {
  status: number;
  headers: Record<string, string>;
  body: unknown;
} {
  const { status, message: standard } = catalogue[code];
  return {
    status,
    headers: retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) },
    body: { error: message ?? standard, code, ...(need === undefined ? {} : { need }) },
  };
}
