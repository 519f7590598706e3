import { hash } from 'node:crypto';

/**
 * The first 64 bits of SHA-256 over account, NUL and a distinct id, as two halves: under it a
 * visitor is found among the members of audiences, and among those who have seen a campaign. Two of
 * a million visitors share one with a probability of 3 in 100 million.
 */
export interface VisitorHash {
  high: number;
  low: number;
}

export function visitorHash(accountId: number, distinctId: string): VisitorHash {
  const digest = hash('sha256', `${accountId}\0${distinctId}`, 'buffer');
  return { high: digest.readUInt32BE(0), low: digest.readUInt32BE(4) };
}

/** As 16 hexadecimal digits. */
export function visitorText({ high, low }: VisitorHash): string {
  return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0');
}

/** The same in ClickHouse, a UInt64. @param name an expression of the distinct id */
export function visitorSql(accountId: string, name: string): string {
  const digest = `SHA256(concat(toString(${accountId}), '\\0', ${name}))`;
  return `reinterpretAsUInt64(reverse(substring(${digest}, 1, 8)))`;
}
