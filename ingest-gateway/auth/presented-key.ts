import type { IncomingHttpHeaders } from 'node:http';

const BEARER = 'Bearer ';

/**
 * The write key of a request (ingest 5.1): from `Authorization: Bearer`, else the header
 * X-Service-Key, else the query parameter write_key. Only the exact prefix "Bearer " is stripped;
 * another scheme or an empty value falls through to the next one. Undefined without a key.
 * @param query what follows the question mark; empty when nothing does
 */
export function presentedKey(headers: IncomingHttpHeaders, query: string): string | undefined {
  const authorization = headers.authorization;
  if (authorization?.startsWith(BEARER) && authorization.length > BEARER.length)
    return authorization.slice(BEARER.length);
  const header = headers['x-service-key'];
  if (typeof header === 'string' && header !== '') return header;
  if (query === '') return undefined;
  const parameter = new URLSearchParams(query).get('write_key');
  return parameter === null || parameter === '' ? undefined : parameter;
}
