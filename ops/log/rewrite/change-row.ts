import { randomUUID } from 'node:crypto';
import { CommandError } from '../../../cli/command.ts';
import { delay } from '../../../platform/backoff.ts';
import type { LayoutPhase, LogLayout } from '../../../platform/log/layout.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import type { Topic } from '../../../schemas/topology.ts';

/** log_layout.change of a rewrite. */
export interface RewriteChange {
  kind: 'rewrite';
  topic: Topic;
  /** Physical names. */
  from: string;
  to: string;
  /** The command that carries it out. */
  owner: string;
}

const RENEW_MS = 1000;
/** A command that has not renewed for this long was killed. */
const EXPIRES = `interval '5 seconds'`;
/** How long a command waits for another one to end, ms. */
const TAKE_OVER_MS = 15_000;
/** A command that could not renew for this long appends nothing, ms. */
const UNSURE_MS = 2500;

const SWITCH = `WITH switched AS (
    UPDATE log_layout SET phase = 'steady', generation = generation + 1, change = NULL,
      topics = topics || jsonb_build_object($2::text, $3::text),
      former_topics = former_topics || jsonb_build_object($2::text,
        jsonb_build_object('name', $4::text, 'ends', $5::jsonb)),
      changed_at = clock_timestamp()
    WHERE phase = 'switching' AND change->>'owner' = $1 AND change->>'to' = $3 RETURNING id
  ), audited AS (
    INSERT INTO audit_lines (actor, action, details)
    SELECT 'operator', 'log.topic_rewritten',
      jsonb_build_object('topic', $2::text, 'from', $4::text, 'to', $3::text) FROM switched
  ), forgotten AS (
    DELETE FROM log_evidence WHERE topic = $2 AND EXISTS (SELECT 1 FROM switched)
  ) SELECT id FROM switched`;

/**
 * The row of log_layout, changed by one command at a time: `changed_at` is renewed each second, and
 * no statement of a command that lost the row changes anything.
 */
export class ChangeRow {
  readonly #database: Database;
  readonly #owner = randomUUID();
  #renewed = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Begins a rewrite if nothing else has begun meanwhile. */
  async begin(topic: Topic, from: string): Promise<void> {
    const to = newName(topic);
    const change: RewriteChange = { kind: 'rewrite', topic, from, to, owner: this.#owner };
    await this.#database.query(
      `UPDATE log_layout SET phase = 'preparing', change = $1, changed_at = clock_timestamp()
       WHERE phase = 'steady'`,
      [JSON.stringify(change)],
    );
  }

  /** Becomes the command that changes the row. Throws CommandError while another one does. */
  async take(signal: AbortSignal): Promise<void> {
    const deadline = performance.now() + TAKE_OVER_MS;
    while (!(await this.#renew())) {
      if (performance.now() > deadline)
        throw new CommandError('another command rewrites a topic: wait until it has ended');
      await delay(RENEW_MS, signal);
    }
    this.#timer ??= setInterval(() => void this.#renew().catch(() => false), RENEW_MS).unref();
  }

  /** Rejects when another command may have taken over: nothing more may be appended. */
  async requireOwn(): Promise<void> {
    if (performance.now() - this.#renewed < UNSURE_MS) return;
    if (!(await this.#renew())) throw new CommandError('another command rewrites this topic now');
  }

  async setPhase(from: LayoutPhase, to: LayoutPhase): Promise<void> {
    await this.#database.query(
      `UPDATE log_layout SET phase = $3, changed_at = clock_timestamp()
       WHERE phase = $2 AND change->>'owner' = $1`,
      [this.#owner, from, to],
    );
  }

  /** Another copy is made, under load. */
  async copyAgain(topic: Topic): Promise<void> {
    await this.#database.query(
      `UPDATE log_layout SET phase = 'preparing', changed_at = clock_timestamp(),
         change = change || jsonb_build_object('to', $2::text)
       WHERE change->>'owner' = $1`,
      [this.#owner, newName(topic)],
    );
  }

  /** Writers and services go on with the former topic; the next command continues. */
  async release(): Promise<void> {
    await this.setPhase('holding', 'preparing');
    await this.setPhase('switching', 'preparing');
  }

  async abandon(): Promise<void> {
    await this.#database.query(
      `UPDATE log_layout SET phase = 'steady', change = NULL, changed_at = clock_timestamp()
       WHERE change->>'owner' = $1`,
      [this.#owner],
    );
  }

  /**
   * From here on the copy is the topic. What readers know about records of the former topic may
   * differ in the copy: it is forgotten. False: services were let go on meanwhile.
   */
  async switchTo(
    { from, to, topic }: RewriteChange,
    ends: Readonly<Record<string, number>>,
  ): Promise<boolean> {
    const { rowCount } = await this.#database.query(SWITCH, [
      ...[this.#owner, topic, to, from],
      JSON.stringify(ends),
    ]);
    return rowCount === 1;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Resolves with whether the row is this command's. */
  async #renew(): Promise<boolean> {
    const before = performance.now();
    const { rowCount } = await this.#database.query(
      `UPDATE log_layout SET changed_at = clock_timestamp(),
         change = change || jsonb_build_object('owner', $1::text)
       WHERE change->>'kind' = 'rewrite'
         AND (change->>'owner' = $1 OR changed_at < clock_timestamp() - ${EXPIRES})`,
      [this.#owner],
    );
    if (rowCount !== 1) return false;
    this.#renewed = before;
    return true;
  }
}

function newName(topic: Topic): string {
  return `${topic}.${randomUUID().slice(0, 8)}`;
}

/** What is in progress. Throws CommandError when it is no rewrite of the topic. */
export function changeOf({ change }: Pick<LogLayout, 'change'>, topic: Topic): RewriteChange {
  const found = change as unknown as RewriteChange | undefined;
  if (found?.kind !== 'rewrite' || found.topic !== topic)
    throw new CommandError('another change of the log is in progress: complete it first');
  return found;
}
