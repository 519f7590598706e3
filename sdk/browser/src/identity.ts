import { idAt } from './clock.ts';
import * as storage from './storage.ts';
import { ANONYMOUS, CONSENT, SESSION, USER } from './storage-keys.ts';
import type { Consent } from './types.ts';

let initial: Consent;

/** @param consent until `choose` was called for the first time in this browser */
export function openIdentity(consent: Consent): void {
  initial = consent;
}

export const consentNow = (): Consent => (storage.get(CONSENT) as Consent | undefined) ?? initial;

/** What is tried without a network could not be sent again after two days. */
export const maySend = (): boolean => consentNow() === 'granted' && navigator.onLine;

/** Who refuses is forgotten. */
export function choose(consent: Consent): void {
  if (consent === 'denied') storage.keys('').forEach(storage.remove);
  storage.set(CONSENT, consent);
}

export const userId = (): string | undefined => storage.get(USER);

/** The id under a key; a new one when there is none. */
export function idOf(key: string): string {
  let id = storage.get(key);
  if (!id) {
    id = idAt(Date.now());
    if (consentNow() !== 'denied') storage.set(key, id);
  }
  return id;
}

export const anonymousId = (): string => idOf(ANONYMOUS);

export const become = (userId: string): unknown => storage.set(USER, userId);

/** The next call is of an unknown person in a new session. */
export const forget = (): void => [USER, ANONYMOUS, SESSION].forEach(storage.remove);
