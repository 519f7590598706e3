/** A session, stored in Redis under the hash of its token. */
export interface Session {
  memberId: number;
  accountId: number;
  /** The member's session generation when the session began. */
  generation: number;
  /** ms since the epoch */
  beganAt: number;
  /** Where it began, for the member's own list: address and User-Agent. */
  ip?: string | undefined;
  agent?: string | undefined;
}

/** How long sessions last, ms: in total, and without use. */
export interface SessionTimes {
  lifetime: number;
  idle: number;
}

/** Time until a session that is used now expires, ms; 0: it has expired. */
export function timeLeft(
  session: Session,
  { lifetime, idle, now }: SessionTimes & { now: number },
): number {
  return Math.max(0, Math.min(idle, session.beganAt + lifetime - now));
}

/** Parses a stored session; undefined for anything that this version did not write. */
export function readSession(text: string): Session | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { memberId, accountId, generation, beganAt, ip, agent } = value as Partial<
    Record<keyof Session, unknown>
  >;
  if (!isId(memberId) || !isId(accountId) || !isId(generation) || !isId(beganAt)) return undefined;
  return {
    ...{ memberId, accountId, generation, beganAt },
    ...(typeof ip === 'string' ? { ip } : {}),
    ...(typeof agent === 'string' ? { agent } : {}),
  };
}

function isId(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}
