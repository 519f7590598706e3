import { catalogue, type CatalogueEntry, type ErrorCode, type ErrorForm } from './catalogue.ts';
import type { DomainError } from './domain-error.ts';

export interface Rendered {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: unknown;
}

/** The three envelopes of management 7.1. */
function bodyOf(form: ErrorForm, { code, details, need }: DomainError, message: string): unknown {
  switch (form) {
    case 'coded':
      return {
        error: {
          code,
          message,
          ...(details === undefined ? {} : { details }),
          ...(need === undefined ? {} : { need }),
        },
      };
    case 'flat':
      return { error: message };
    case 'flat_with_code':
      return { error: message, code };
  }
}

/**
 * Status, headers and body of an error. `flat`: the codes that this route answers
 * as a flat string (route table).
 */
export function renderError(error: DomainError, flat: readonly ErrorCode[] = []): Rendered {
  const entry: CatalogueEntry = catalogue[error.code];
  const form = flat.includes(error.code) && entry.form === 'coded' ? 'flat' : entry.form;
  return {
    status: entry.status,
    headers: entry.headers ?? {},
    body: bodyOf(form, error, error.message ?? entry.message),
  };
}
