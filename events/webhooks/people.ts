import { asciiDigits, parseIranianMobile } from '../iran-phone.ts';
import { present } from './mapping.ts';
import type { JsonObject } from '../json.ts';

/** What a delivery says about the person; empty texts for what it does not say. */
export interface Contact {
  phone?: string;
  email?: string;
  /** The platform's own id; empty or 0 is none. */
  platformId?: string;
}

const INTERNATIONAL = /^\+[1-9]\d{7,14}$/;

/**
 * A phone number in E.164; empty when it is none: Iranian mobiles however they are written, others
 * with their country code behind + or 00.
 */
export function e164(phone: string): string {
  const iranian = parseIranianMobile(phone);
  if (iranian) return iranian.e164;
  const compact = asciiDigits(phone)
    .replace(/[\s().\-/]/g, '')
    .replace(/^00/, '+');
  return INTERNATIONAL.test(compact) ? compact : '';
}

/**
 * user_id of the four marketplaces, price comparison and payment (ingest 4.6): phone in E.164, else
 * e-mail in lower case, else the platform's own id. Empty: no identity.
 */
export function marketIdentity({ phone = '', email = '', platformId = '' }: Contact): string {
  return e164(phone) || email.trim().toLowerCase() || realId(platformId);
}

/**
 * user_id of the storefronts: e-mail in lower case, else the phone number as it was given with its
 * digits in ASCII, else the platform's own id. Empty: no identity.
 */
export function storefrontIdentity({ phone = '', email = '', platformId = '' }: Contact): string {
  return email.trim().toLowerCase() || asciiDigits(phone).trim() || realId(platformId);
}

function realId(id: string): string {
  return id === '0' ? '' : id;
}

/** The traits of a contact, beside others; undefined when there are none. */
export function traitsOf(traits: Readonly<Record<string, unknown>>): JsonObject | undefined {
  const written = present(traits);
  return Object.keys(written).length === 0 ? undefined : written;
}
