import type { RequestSource } from './cross-site.ts';
import type { HostRequest } from './host.ts';

/** What a request tells of where it comes from. */
export function sourceOf({ message, method, contentType }: HostRequest): RequestSource {
  const { headers } = message;
  return {
    method,
    origin: headers.origin,
    fetchSite: headers['sec-fetch-site'],
    host: headers.host,
    contentType,
    hasBody:
      headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0,
  };
}
