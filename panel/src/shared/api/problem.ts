/** Why a request has no answer, as values that a page can explain. */
export type ProblemKind =
  | 'offline'
  | 'signed_out'
  | 'forbidden'
  | 'not_found'
  | 'invalid'
  | 'too_many'
  | 'unavailable'
  | 'failed';

interface ProblemFacts {
  kind: ProblemKind;
  /** The server's sentence; empty when the network failed. */
  message: string;
  status: number;
  /** What to branch on; empty where the answer has none. */
  code: string;
  /** The missing permission; only with `forbidden`. */
  need: string | undefined;
  /** Seconds to wait, from Retry-After. */
  retryAfter: number | undefined;
  /** X-Service-Trace, for support. */
  trace: string | undefined;
}

/** A request that failed. The queries of pages reject with nothing else. */
export class Problem extends Error {
  readonly facts: ProblemFacts;

  constructor(facts: ProblemFacts) {
    super(facts.message || facts.kind);
    this.name = 'Problem';
    this.facts = facts;
  }
}

export function offline(): Problem {
  return new Problem({
    ...{ kind: 'offline', message: '', status: 0, code: '' },
    ...{ need: undefined, retryAfter: undefined, trace: undefined },
  });
}

/** A page that the member's role may not open. */
export function forbidden(need: string): Problem {
  return new Problem({
    ...{ kind: 'forbidden', message: '', status: 403, code: 'forbidden' },
    ...{ need, retryAfter: undefined, trace: undefined },
  });
}

/** The problem of an answer with an error status; `body` is its JSON, if it has any. */
export function problemOf(response: Response, body: unknown): Problem {
  const fields = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  const text = (name: string) => (typeof fields[name] === 'string' ? fields[name] : '');
  const seconds = Number(response.headers.get('retry-after') ?? NaN);
  return new Problem({
    kind: kindOf(response.status),
    message: text('error'),
    status: response.status,
    code: text('code'),
    need: text('need') || undefined,
    retryAfter: Number.isFinite(seconds) ? seconds : undefined,
    trace: response.headers.get('x-service-trace') ?? undefined,
  });
}

function kindOf(status: number): ProblemKind {
  switch (status) {
    case 401:
      return 'signed_out';
    case 403:
      return 'forbidden';
    case 404:
      return 'not_found';
    case 429:
      return 'too_many';
    case 503:
      return 'unavailable';
    default:
      return status < 500 ? 'invalid' : 'failed';
  }
}
