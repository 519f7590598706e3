import { packageVersion } from '../package-version.ts';
import { NEWEST_WRITTEN, type WrittenSubject } from '../log/written-schemas.ts';

const RELEASE = packageVersion();
/** Rows come last: earlier releases look for them there. */
const NAMES: Record<WrittenSubject, string> = {
  claims: 'claims',
  'raw-batch': 'raw',
  'ingest-outcome': 'outcomes',
  'event-row': 'rows',
};

/**
 * The client id of a group member: it says which release it is, and up to which version it reads
 * rows, outcomes, claims and raw records. `./ravand log finish-upgrade` reads it from the members
 * of the groups.
 */
export function clientIdOf(name: string): string {
  const reads = (Object.keys(NAMES) as WrittenSubject[]).map(
    (subject) => `${NAMES[subject]}-${NEWEST_WRITTEN[subject]}`,
  );
  return [name, RELEASE, ...reads].join('.');
}

/** Up to which version a member reads records; 1 for releases whose client ids do not say it. */
export function versionReadBy(clientId: string, subject: WrittenSubject): number {
  return Number(new RegExp(`\\.${NAMES[subject]}-(\\d+)(\\.|$)`).exec(clientId)?.[1] ?? 1);
}
