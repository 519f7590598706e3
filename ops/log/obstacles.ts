import { rowsReadBy } from '../../platform/kafka/reader-versions.ts';

/** Who reads and stores rows now. */
export interface Readers {
  /** Members of the consumer groups that read rows. */
  members: readonly { group: string; host: string; clientId: string }[];
  /** Every such group, with and without members. */
  groups: readonly string[];
  /** ClickHouse `events` and tables like it. */
  tables: readonly { name: string; columns: readonly string[] }[];
  /** Columns of a row of the new version. */
  columns: readonly string[];
}

/** What must happen before rows of `version` may be written, one sentence each. */
export function obstacles(
  { members, groups, tables, columns }: Readers,
  version: number,
): string[] {
  const older = members
    .filter(({ clientId }) => rowsReadBy(clientId) < version)
    .map(
      ({ group, host, clientId }) =>
        `${group} has a member of an older release at ${host}, which reads rows up to version ${rowsReadBy(clientId)}: upgrade it`,
    );
  const present = new Set(members.map(({ group }) => group));
  const absent = groups
    .filter((group) => !present.has(group))
    .map(
      (group) =>
        `${group} has no member: start its service with this release, so that none of an older release returns`,
    );
  const missing = tables.some(({ name }) => name === 'events')
    ? tables.flatMap(({ name, columns: present }) => {
        const lacks = columns.filter((column) => !present.includes(column));
        return lacks.length === 0
          ? []
          : [
              `the table ${name} lacks ${lacks.join(', ')}: run the migrations of ClickHouse; ./ravand rebuild events --cancel removes an unfinished rebuild`,
            ];
      })
    : ['ClickHouse has no table events: run its migrations'];
  return [...older, ...absent, ...missing];
}
