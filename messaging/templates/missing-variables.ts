import { truncateBytes } from '../../events/bytes.ts';
import { escapeText, unescapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';

/** Variables of one version that are counted; others are not. */
const MAX_VARIABLES = 100;
const MAX_NAME_BYTES = 256;
/** Versions whose counts wait to be stored. */
const MAX_VERSIONS = 1000;

/**
 * Counts variables that rendered empty because they were missing, in memory between two flushes.
 * Counts of a process that is killed are lost: they show authors a mistake, and bill nothing.
 */
export class MissingVariables {
  readonly #database: Pick<Database, 'query'>;
  #counts = new Map<string, Map<string, number>>();

  constructor(database: Pick<Database, 'query'>) {
    this.#database = database;
  }

  /** One message in which these were missing. */
  count(template: { templateId: number; version: number }, names: readonly string[]): void {
    const distinct = new Set(names.map((name) => truncateBytes(name, MAX_NAME_BYTES)));
    const one = [...distinct].map((name) => [name, 1] as const);
    if (one.length > 0) this.#add(`${template.templateId}:${template.version}`, one);
  }

  /** Stores what was counted. When PostgreSQL rejects, the counts stay for the next flush. */
  async flush(): Promise<void> {
    const counted = this.#counts;
    this.#counts = new Map();
    for (const [key, counts] of counted) {
      try {
        await this.#store(key, counts);
      } catch (error) {
        for (const [left, more] of counted) if (more.size > 0) this.#add(left, more);
        throw error;
      }
      counts.clear();
    }
  }

  async #store(key: string, counts: ReadonlyMap<string, number>): Promise<void> {
    const [templateId, version] = key.split(':');
    await this.#database.query(
      `WITH known AS (SELECT variable FROM message_template_missing WHERE template_id = $1 AND version = $2),
        counted AS (SELECT * FROM unnest($3::text[], $4::bigint[]) AS c (variable, messages)),
        fresh AS (SELECT variable FROM counted WHERE variable NOT IN (SELECT variable FROM known)
          LIMIT greatest(0, ${MAX_VARIABLES} - (SELECT count(*) FROM known)))
       INSERT INTO message_template_missing AS stored (template_id, version, variable, messages)
       SELECT $1, $2, variable, messages FROM counted WHERE variable IN (SELECT variable FROM known UNION ALL SELECT variable FROM fresh)
       ON CONFLICT (template_id, version, variable) DO UPDATE SET messages = stored.messages + excluded.messages`,
      [templateId, version, [...counts.keys()].map(escapeText), [...counts.values()]],
    );
  }

  #add(key: string, more: Iterable<readonly [name: string, messages: number]>): void {
    const counts = this.#counts.get(key) ?? new Map<string, number>();
    if (!this.#counts.has(key) && this.#counts.size >= MAX_VERSIONS) return;
    this.#counts.set(key, counts);
    for (const [name, messages] of more)
      if (counts.has(name) || counts.size < MAX_VARIABLES)
        counts.set(name, (counts.get(name) ?? 0) + messages);
  }
}

/** The counted variables of a version, those of most messages first. */
export async function missingVariables(
  database: Pick<Database, 'query'>,
  template: { templateId: number; version: number },
): Promise<{ variable: string; messages: number }[]> {
  const { rows } = await database.query<{ variable: string; messages: string }>(
    'SELECT variable, messages FROM message_template_missing WHERE template_id = $1 AND version = $2 ORDER BY messages DESC, variable',
    [template.templateId, template.version],
  );
  return rows.map(({ variable, messages }) => ({
    variable: unescapeText(variable),
    messages: Number(messages),
  }));
}
