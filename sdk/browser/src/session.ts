import { idAt } from './clock.ts';
import { MAX_IDLE_MS, MAX_SESSION_MS } from './limits.ts';
import * as storage from './storage.ts';
import { SESSION } from './storage-keys.ts';

interface Session {
  id: string;
  /** The last parameters utm_* that an address had, by the names of context.campaign. */
  campaign: Record<string, string> | undefined;
  begun: number;
  last: number;
}

/** The session of a call, shared by all pages. */
export function sessionAt(now: number): Session {
  let session = storage.read<Session>(SESSION) as Session;
  if (!(now - session.last < MAX_IDLE_MS && now - session.begun < MAX_SESSION_MS))
    session = { id: idAt(now), begun: now } as Session;
  session.last = now;
  session.campaign = campaignNow() ?? session.campaign;
  storage.set(SESSION, session);
  return session;
}

function campaignNow(): Session['campaign'] {
  let found: Session['campaign'];
  for (const name of ['source', 'medium', 'campaign', 'term', 'content']) {
    const value = parameter(`utm_${name}`);
    if (value) (found ??= {})[name === 'campaign' ? 'name' : name] = value;
  }
  return found;
}

/** Of the address. */
export const parameter = (name: string): string | null =>
  new URL(location.href).searchParams.get(name);
