import { asciiDigits, parseIranianMobile } from '../iran-phone.ts';
import { present } from './mapping.ts';
import type { JsonObject } from '../json.ts';

/** The person of a delivery; empty texts where unknown. */
export interface Contact {
  phone?: string;
  email?: string;
  /** The platform's own id; empty or 0 means none. */
  platformId?: string;
}

const INTERNATIONAL = /^\+[1-9]\d{7,14}$/;

/** A phone number in E.164: Iranian mobiles in any notation, others with country code; or empty. */
export function e164(phone: string): string {
  const iranian = parseIranianMobile(phone);
  if (iranian) return iranian.e164;
  const compact = asciiDigits(phone)
    .replace(/[\s().\-/]/g, '')
    .replace(/^00/, '+');
  return INTERNATIONAL.test(compact) ? compact : '';
}

/**
 * user_id of the marketplaces, price comparison and payment (ingest 4.6): phone in E.164, else
 * e-mail in lower case, else the platform's own id. Empty: no identity.
 */
export function marketIdentity({ phone = '', email = '', platformId = '' }: Contact): string {
  return e164(phone) || email.trim().toLowerCase() || realId(platformId);
}

/**
 * user_id of the storefronts: e-mail in lower case, else the phone number as given with ASCII
 * digits, else the platform's own id. Empty: no identity.
 */
export function storefrontIdentity({ phone = '', email = '', platformId = '' }: Contact): string {
  return email.trim().toLowerCase() || asciiDigits(phone).trim() || realId(platformId);
}

function realId(id: string): string {
  return id === '0' ? '' : id;
}

/** The traits of a contact; undefined when there are none. */
export function traitsOf(traits: Readonly<Record<string, unknown>>): JsonObject | undefined {
  const written = present(traits);
  return Object.keys(written).length === 0 ? undefined : written;
}
