import type { Connections } from '../jobs/connections.ts';
import { ClickhouseRows } from './clickhouse-rows.ts';
import { stillNamed } from './postgres-rows.ts';
import type { Finding, Search, Verification } from './findings.ts';

/** Searches every column of every table of the database. */
export async function searchClickhouse(
  { clickhouse, database, settings }: Connections,
  { erasure, needles, signal }: Search,
): Promise<Verification> {
  const { accountId, names = [], cuts = [] } = erasure;
  const rows = new ClickhouseRows(clickhouse, settings.CLICKHOUSE_CLUSTER);
  const tables = await rows.select<[string, string[]]>(
    `SELECT table, groupArray(name) FROM system.columns WHERE database = currentDatabase()
     AND table IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree') GROUP BY table ORDER BY table`,
  );
  const identities = new Set(await rows.tables('identities'));
  const named = new Set(await stillNamed(database, { accountId, names }));
  const person = { accountId, names, cuts };
  const own = await rows.namesWhere('profiles', person);
  const later = await laterEvents(rows, `${own} AND NOT ${beforeCut(cuts)}`);
  const findings: Finding[] = [];
  const mentions: Finding[] = [];
  for (const [table, columns] of tables) {
    const isOfEvents = columns.includes('_acceptance');
    const isOfProfiles = columns.includes('_stamps');
    const where = [
      ...(columns.includes('account_id') ? [`account_id = ${accountId}`] : []),
      ...(isOfEvents ? [beforeCut(cuts)] : []),
      ...(isOfProfiles ? [`(NOT (${own}) OR event_count > ${later})`] : []),
    ];
    for (const needle of needles) {
      signal.throwIfAborted();
      if (needle.isName && identities.has(table) && named.has(needle.text)) continue;
      const holding = `multiSearchAny(toString(tuple(*)), {forms:Array(String)})`;
      const count = async (also: readonly string[]) => {
        const [row] = await rows.select<[number]>(
          `SELECT count() FROM ${table} WHERE ${[...where, ...also, holding].join(' AND ')}`,
          { forms: formsOf(needle.forms) },
        );
        return row?.[0] ?? 0;
      };
      const found = await count([]);
      if (found === 0) continue;
      // Events of other people may name this one: an anonymous id that two people used, an alias.
      const theirs =
        needle.isName && (isOfEvents || isOfProfiles) ? await count([`NOT (${own})`]) : 0;
      const place = { store: 'clickhouse', place: table } as const;
      if (theirs > 0) mentions.push({ ...place, count: theirs });
      if (found > theirs) findings.push({ ...place, count: found - theirs });
    }
  }
  return { findings, mentions };
}

/** Over profiles: the events of the new person. A profile with more holds erased ones. */
async function laterEvents(rows: ClickhouseRows, where: string): Promise<string> {
  const counts = await rows.select<[string, number]>(
    `SELECT toString(_person), count() FROM events WHERE ${where} GROUP BY _person`,
  );
  if (counts.length === 0) return '0';
  const [people, events] = [counts.map(([person]) => person), counts.map(([, count]) => count)];
  return `transform(_person, [${people.join(', ')}], [${events.join(', ')}], 0)`;
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
