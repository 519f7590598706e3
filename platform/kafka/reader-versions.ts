import { NEWEST_ROW_VERSION } from '../../schemas/row-versions.ts';
import { packageVersion } from '../package-version.ts';

const RELEASE = packageVersion();

/**
 * The client id of a group member: it says which release it is, and up to which version it reads
 * rows. `./ravand log finish-upgrade` reads it from the members of the groups.
 */
export function clientIdOf(name: string): string {
  return `${name}.${RELEASE}.rows-${NEWEST_ROW_VERSION}`;
}

/** Up to which version a member reads rows; 1 for releases whose client ids do not say it. */
export function rowsReadBy(clientId: string): number {
  return Number(/\.rows-(\d+)$/.exec(clientId)?.[1] ?? 1);
}
