import type { Connections } from '../jobs/connections.ts';
import { laterAddresses } from './channel-rows.ts';
import { ClickhouseRows, plannedAt, plannedUntil, type PersonRows } from './clickhouse-rows.ts';
import { stillNamed } from './postgres-rows.ts';
import type { Finding, Search, Verification } from './findings.ts';
import { re2Pattern } from './needles.ts';
import { onAccount } from '../../platform/clickhouse/shards.ts';

/** Searches every column of every table of the database. */
export async function searchClickhouse(
  { clickhouse, database, settings }: Connections,
  { erasure, needles, signal }: Search,
): Promise<Verification> {
  const { accountId, names = [], cuts = [], messagesUntil } = erasure;
  const rows = new ClickhouseRows(onAccount(clickhouse, accountId), settings.CLICKHOUSE_CLUSTER);
  const tables = await rows.select<[string, string[]]>(
    `SELECT table, groupArray(name) FROM system.columns WHERE database = currentDatabase()
     AND table IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree') GROUP BY table ORDER BY table`,
  );
  const identities = new Set(await rows.tables('identities'));
  const named = new Set(await stillNamed(database, { accountId, names }));
  const person = { accountId, names, cuts };
  const own = await rows.namesWhere('profiles', person);
  const findings: Finding[] = [];
  const mentions: Finding[] = [];
  for (const [table, columns] of tables) {
    const isOfEvents = columns.includes('_acceptance');
    const isOfProfiles = columns.includes('_stamps');
    const isOfAddresses = columns.includes('address_id');
    const planned = plannedAt(columns);
    const where = [
      ...(columns.includes('account_id') ? [`account_id = ${accountId}`] : []),
      ...(isOfEvents ? [beforeCut(cuts)] : []),
      ...(planned && messagesUntil !== undefined ? [plannedUntil(planned, messagesUntil)] : []),
      // Theirs are compared with their events.
      ...(isOfEvents || isOfProfiles || isOfAddresses ? [`NOT (${own})`] : []),
    ];
    const place = { store: 'clickhouse', place: table } as const;
    let found = isOfEvents ? await rows.count(table, `${own} AND ${beforeCut(cuts)}`) : 0;
    if (isOfProfiles) found += await formerProfiles(rows, { table, own, cuts });
    if (isOfAddresses) found += await formerAddresses({ rows, database }, { table, own, person });
    let theirs = 0;
    for (const needle of needles) {
      signal.throwIfAborted();
      if (needle.isName && identities.has(table) && named.has(needle.text)) continue;
      const patterns = formsOf(needle.forms).map((form) => re2Pattern(needle, form));
      const matches = patterns.map((_, at) => `match(row, {p${at}:String})`).join(' OR ');
      const [row] = await rows.select<[number]>(
        `SELECT countIf(${matches}) FROM (SELECT toString(tuple(*)) AS row FROM ${table} WHERE ${where.join(' AND ') || '1'})`,
        Object.fromEntries(patterns.map((pattern, at) => [`p${at}`, pattern])),
      );
      const count = row?.[0] ?? 0;
      // Events of other people may name this one: an anonymous id that two people used, an alias.
      if (needle.isName && (isOfEvents || isOfProfiles)) theirs += count;
      else found += count;
    }
    if (theirs > 0) mentions.push({ ...place, count: theirs });
    if (found > 0) findings.push({ ...place, count: found });
  }
  return { findings, mentions };
}

/**
 * Profiles of the person that hold more events than came after the cut. The profiles are read
 * first: events may arrive meanwhile.
 */
async function formerProfiles(
  rows: ClickhouseRows,
  { table, own, cuts }: { table: string; own: string; cuts: Search['erasure']['cuts'] & object },
): Promise<number> {
  const profiles = await rows.select<[string, number]>(
    `SELECT toString(_person), event_count FROM ${table} WHERE ${own}`,
  );
  if (profiles.length === 0) return 0;
  const later = new Map(
    await rows.select<[string, number]>(
      `SELECT toString(_person), count() FROM events WHERE ${own} AND NOT ${beforeCut(cuts)} GROUP BY _person`,
    ),
  );
  return profiles.filter(([person, events]) => events > (later.get(person) ?? 0)).length;
}

/** Addresses of the person beyond those that PostgreSQL knows, which were registered later. */
async function formerAddresses(
  { rows, database }: { rows: ClickhouseRows } & Pick<Connections, 'database'>,
  of: { table: string; own: string; person: Pick<PersonRows, 'accountId' | 'names'> },
): Promise<number> {
  const later = await laterAddresses(database, of.person);
  return Math.max(0, (await rows.count(`${of.table} FINAL`, of.own)) - later.length);
}

/** A text within a tuple is quoted. */
function formsOf(forms: readonly string[]): string[] {
  const quoted = forms.map((form) => form.replaceAll('\\', '\\\\').replaceAll("'", "\\'"));
  return [...new Set([...forms, ...quoted])];
}

function beforeCut(cuts: Search['erasure']['cuts'] & object): string {
  const before = cuts.map(
    ({ partition, epoch, offset }) =>
      `(_partition = ${partition} AND (_epoch, _offset) < (${epoch}, ${offset}))`,
  );
  return `(${before.join(' OR ') || '0'})`;
}
