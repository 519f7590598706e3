import { catalogue, type CatalogueEntry } from '../../account-api/errors/catalogue.ts';
import type { Answer as AccountAnswer } from '../../account-api/errors/domain-error.ts';
import type { RenderedAnswer } from '../../platform/http/host.ts';

/**
 * The answer of a shared handler as the panel gets it. All errors have one envelope here
 * (management 7.1 (2), (3)): `error` is a sentence, `code` what to branch on.
 */
export function renderAccountAnswer(answered: AccountAnswer): RenderedAnswer {
  const { headers = {} } = answered;
  if (answered.ok) return { status: answered.status, headers, body: answered.body };
  const { code, message, details, need } = answered.error;
  const entry: CatalogueEntry = catalogue[code];
  return {
    status: entry.status,
    headers: { ...entry.headers, ...headers },
    body: {
      ...{ error: message ?? entry.message, code },
      ...(details === undefined ? {} : { details }),
      ...(need === undefined ? {} : { need }),
    },
  };
}
