import { catalogue, type CatalogueEntry, type ErrorCode, type ErrorForm } from './catalogue.ts';
import type { DomainError } from './domain-error.ts';

export interface Rendered {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: unknown;
}

interface Speaking {
  error: DomainError;
  message: string;
}

/** Management 7.1 (1): `{error: {code, message, details?, need?}}`. */
export function renderCoded({ error, message }: Speaking): unknown {
  const { code, details, need } = error;
  return {
    error: {
      code,
      message,
      ...(details === undefined ? {} : { details }),
      ...(need === undefined ? {} : { need }),
    },
  };
}

/** Management 7.1 (2): `{error: "…"}`. */
export function renderFlat({ message }: Speaking): unknown {
  return { error: message };
}

/** Management 7.1 (3), and invalid_report: `{error: "…", code}`. */
export function renderFlatWithCode({ error, message }: Speaking): unknown {
  return { error: message, code: error.code };
}

const renderers: Record<ErrorForm, (speaking: Speaking) => unknown> = {
  coded: renderCoded,
  flat: renderFlat,
  flat_with_code: renderFlatWithCode,
};

/**
 * Status, headers and body of an error. `flat` holds the codes that the route writes as a flat
 * string (its row in the route table).
 */
export function renderError(error: DomainError, flat: readonly ErrorCode[] = []): Rendered {
  const entry: CatalogueEntry = catalogue[error.code];
  const form = flat.includes(error.code) && entry.form === 'coded' ? 'flat' : entry.form;
  return {
    status: entry.status,
    headers: entry.headers ?? {},
    body: renderers[form]({ error, message: error.message ?? entry.message }),
  };
}
