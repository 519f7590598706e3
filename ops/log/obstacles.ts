import { versionReadBy } from '../../platform/kafka/reader-versions.ts';
import { NEWEST_WRITTEN, type WrittenSubject } from '../../platform/log/written-schemas.ts';

/** Who reads records of a subject now. */
export interface Members {
  /** Members of the consumer groups that read them. */
  members: readonly { group: string; host: string; clientId: string }[];
  /** Every such group, with and without members. */
  groups: readonly string[];
}

/** Who reads and stores rows now. */
export interface Readers extends Members {
  /** ClickHouse `events` and tables like it. */
  tables: readonly { name: string; columns: readonly string[] }[];
  /** Columns of a row of the new version. */
  columns: readonly string[];
}

const NOUNS: Record<WrittenSubject, string> = {
  'event-row': 'rows',
  'ingest-outcome': 'outcomes',
  claims: 'claims',
  'raw-batch': 'raw records',
};

/** What must happen before the newest version may be written, one sentence each. */
export function readersBehind({ members, groups }: Members, subject: WrittenSubject): string[] {
  const read = (clientId: string) => versionReadBy(clientId, subject);
  const older = members
    .filter(({ clientId }) => read(clientId) < NEWEST_WRITTEN[subject])
    .map(
      ({ group, host, clientId }) =>
        `${group} has a member of an older release at ${host}, which reads ${NOUNS[subject]} up to version ${read(clientId)}: upgrade it`,
    );
  const present = new Set(members.map(({ group }) => group));
  const absent = groups
    .filter((group) => !present.has(group))
    .map(
      (group) =>
        `${group} has no member: start its service with this release, so that none of an older release returns`,
    );
  return [...older, ...absent];
}

/** The same of rows, which are also stored. */
export function obstacles({ tables, columns, ...readers }: Readers): string[] {
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
  return [...readersBehind(readers, 'event-row'), ...missing];
}
