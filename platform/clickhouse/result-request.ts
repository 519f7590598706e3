import { randomUUID } from 'node:crypto';
import type { ClickHouseSettings } from '@clickhouse/client';
import type { CompiledQuery, ParamValue } from './sql.ts';

/** A statement that is sent without the client library (result-bytes.ts). */
export interface ResultRequest extends CompiledQuery {
  database: string;
  /** What system.query_log calls the sender. */
  application: string;
  queryId: string;
  /** Whole numbers and texts; undefined ones are left out. */
  settings: ClickHouseSettings;
}

/**
 * The HTTP request of a statement, whole. It is a form, as statements may be longer than an
 * address; settings are in the address.
 * @param url with the user and the password
 */
export function requestBytes(
  url: URL,
  { sql, params, database, application, queryId, settings }: ResultRequest,
): Buffer {
  const search = new URLSearchParams({ database, query_id: queryId });
  for (const [name, value] of Object.entries(settings))
    if (typeof value === 'string' || typeof value === 'number') search.set(name, String(value));
  const boundary = randomUUID();
  const fields = {
    query: sql,
    ...Object.fromEntries(
      Object.entries(params).map(([name, value]) => [`param_${name}`, paramText(value)]),
    ),
  };
  const body = Buffer.from(
    [
      ...Object.entries(fields).map(
        ([name, value]) =>
          `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
      ),
      `--${boundary}--\r\n`,
    ].join(''),
  );
  const user = decodeURIComponent(url.username) || 'default';
  const credentials = Buffer.from(`${user}:${decodeURIComponent(url.password)}`);
  const head = [
    `POST ${url.pathname}?${search.toString()} HTTP/1.1`,
    `Host: ${url.host}`,
    `Authorization: Basic ${credentials.toString('base64')}`,
    `User-Agent: ${application}`,
    `Content-Type: multipart/form-data; boundary=${boundary}`,
    `Content-Length: ${body.length}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
}

const ESCAPES: Record<string, string> = {
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  "'": "\\'",
  '\\': '\\\\',
};

/** A value as ClickHouse reads it in `param_…`: a text escaped, the texts of a list in quotes. */
export function paramText(value: ParamValue): string {
  if (typeof value === 'string') return escaped(value);
  if (typeof value === 'number') return String(value);
  const items = value.map((one) => (typeof one === 'string' ? `'${escaped(one)}'` : String(one)));
  return `[${items.join(',')}]`;
}

function escaped(text: string): string {
  return text.replace(/[\t\n\r'\\]/g, (one) => ESCAPES[one] ?? one);
}
