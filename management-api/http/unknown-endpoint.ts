import { redactText } from '../../platform/redaction/redact-text.ts';
import type { DomainError } from '../../account-api/errors/domain-error.ts';

/** Characters of a path that a message repeats. */
const SHOWN = 200;

/** The catch-all (management 1.4): names method and path, and points to the capabilities. */
export function unknownEndpoint(method: string, url: string): DomainError {
  const path = url.split('?')[0] ?? '';
  // Clients put keys into paths by mistake, and proxies log answers.
  const shown = redactText(path.length > SHOWN ? `${path.slice(0, SHOWN)}…` : path);
  return {
    code: 'unknown_endpoint',
    message: `no such endpoint: ${method} ${shown}; see GET /v1/capabilities`,
  };
}
