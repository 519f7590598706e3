import type { ErrorCode } from './catalogue.ts';

/** An error as a value. Status, headers and envelope are chosen at the edge (errors/render.ts). */
export interface DomainError {
  code: ErrorCode;
  /** Replaces the message of the catalogue. */
  message?: string;
  /** An object, or on POST /v1/events an array of {index, reason} (management 7.1). */
  details?: Readonly<Record<string, unknown>> | readonly unknown[];
  /** The missing permission; only with `forbidden`. */
  need?: string;
}

/** What a handler returns: an answer or an error. */
export type Answer =
  | { ok: true; status: number; body: unknown; headers?: Readonly<Record<string, string>> }
  | { ok: false; error: DomainError; headers?: Readonly<Record<string, string>> };

export function answer(
  body: unknown,
  options: { status?: number; headers?: Readonly<Record<string, string>> } = {},
): Answer {
  return {
    ok: true,
    status: options.status ?? 200,
    body,
    ...(options.headers ? { headers: options.headers } : {}),
  };
}

export function reject(code: ErrorCode, more: Omit<DomainError, 'code'> = {}): Answer {
  return { ok: false, error: { code, ...more } };
}
