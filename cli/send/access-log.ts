import { createHash } from 'node:crypto';
import type { OrderedItem } from '../traffic/ordered-batches.ts';

/** One line of an access log in the combined format. */
export interface LoggedRequest {
  address: string;
  /** ms since the epoch */
  time: number;
  method: string;
  target: string;
  status: number;
  bytes: number | undefined;
  referrer: string;
  userAgent: string;
}

const QUOTED = '"((?:[^"\\\\]|\\\\.)*)"';
const COMBINED = new RegExp(
  `^(\\S+) \\S+ \\S+ \\[([^\\]]+)\\] ${QUOTED} (\\d{3}) (\\d+|-) ${QUOTED} ${QUOTED}`,
);
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Reads a line of Apache's combined log format; undefined when it is none. */
export function parseAccessLine(line: string): LoggedRequest | undefined {
  const parts = COMBINED.exec(line);
  if (!parts) return undefined;
  const [
    ,
    address = '',
    loggedTime = '',
    request = '',
    status = '',
    bytes = '',
    referrer = '',
    userAgent = '',
  ] = parts;
  const time = parseLogTime(loggedTime);
  const [method = '', target] = request.split(' ');
  if (time === undefined || target === undefined) return undefined;
  return {
    address,
    time,
    method,
    target: unescape(target),
    status: Number(status),
    bytes: bytes === '-' ? undefined : Number(bytes),
    referrer: absent(referrer),
    userAgent: absent(userAgent),
  };
}

/** `17/May/2015:10:05:03 +0000` as ms since the epoch. */
function parseLogTime(loggedTime: string): number | undefined {
  const parts = /^(\d{2})\/(\w{3})\/(\d{4}):(\d{2}):(\d{2}):(\d{2}) ([+-])(\d{2})(\d{2})$/.exec(
    loggedTime,
  );
  const month = MONTHS.indexOf(parts?.[2] ?? '');
  if (!parts || month < 0) return undefined;
  const [day, year, hour, minute, second, zoneHours, zoneMinutes] = [1, 3, 4, 5, 6, 8, 9].map(
    (at) => Number(parts[at]),
  );
  const zone = ((zoneHours ?? 0) * 60 + (zoneMinutes ?? 0)) * 60_000 * (parts[7] === '-' ? -1 : 1);
  return Date.UTC(year ?? 0, month, day, hour, minute, second) - zone;
}

function absent(value: string): string {
  return value === '-' ? '' : unescape(value);
}

function unescape(value: string): string {
  return value.replaceAll(/\\(["\\])/g, '$1');
}

/** A page event of an anonymous visitor, identified by address and user agent. */
export function pageEvent(request: LoggedRequest, messageId: string, shift: number): OrderedItem {
  const visitor = createHash('sha256')
    .update(`${request.address}\0${request.userAgent}`)
    .digest('hex')
    .slice(0, 32);
  const query = request.target.indexOf('?');
  return {
    orderKey: request.userAgent,
    userAgent: request.userAgent,
    item: {
      type: 'page',
      message_id: messageId,
      anonymous_id: visitor,
      timestamp: new Date(request.time + shift).toISOString(),
      properties: {
        method: request.method,
        status: request.status,
        ...(request.bytes === undefined ? {} : { bytes: request.bytes }),
      },
      context: {
        page: {
          url: request.target,
          path: query < 0 ? request.target : request.target.slice(0, query),
          ...(request.referrer === '' ? {} : { referrer: request.referrer }),
        },
      },
    },
  };
}
