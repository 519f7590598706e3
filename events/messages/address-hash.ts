import { hash } from 'node:crypto';

/** 128 bits in hexadecimal digits. */
const DIGITS = 32;

/**
 * Hash of the address that a message was sent to, as its outcome names it: of the account, so that
 * the outcomes of two accounts cannot be compared. Empty for no address.
 */
export function messageAddressHash(of: {
  accountId: number;
  channel: string;
  address: string;
}): string {
  if (of.address === '') return '';
  const text = `${of.accountId}\0${of.channel}\0${of.address}`;
  return hash('sha256', text).slice(0, DIGITS);
}
