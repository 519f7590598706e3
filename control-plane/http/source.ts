import type { IncomingMessage } from 'node:http';
import type { HostRequest } from '../../platform/http/host.ts';
import type { RequestSource } from './cross-site.ts';

/** Where a request comes from, by its headers. */
export function sourceOf({ message, method }: HostRequest): RequestSource {
  const { headers } = message;
  return {
    method,
    origin: headers.origin,
    fetchSite: headers['sec-fetch-site'],
    host: headers.host,
    contentType: rawHeader(message, 'content-type'),
    hasBody:
      headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0,
  };
}

/** A header as it was sent; the host removes Content-Type from the parsed ones. */
function rawHeader(message: IncomingMessage, name: string): string | undefined {
  const at = message.rawHeaders.findIndex(
    (text, index) => index % 2 === 0 && text.toLowerCase() === name,
  );
  return at < 0 ? undefined : message.rawHeaders[at + 1];
}
