import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../../platform/postgres/testing/migrated-database.ts';

/** A run as a test writes it; times as SQL expressions. */
export interface RunFields {
  account?: number;
  campaign?: number;
  state?: string;
  dueAt?: string;
  definition?: object;
  cause?: 'send' | 'recurrence';
}

/** The planner's tables, with the accounts 1 to 3 and a campaign 11, 12, 13 of each. */
export class PlannerDatabase {
  readonly database: MigratedDatabase['database'];
  readonly #close: () => Promise<void>;

  private constructor({ database, close }: MigratedDatabase) {
    this.database = database;
    this.#close = close;
  }

  static async open(): Promise<PlannerDatabase> {
    const opened = new PlannerDatabase(await migratedDatabase(['0001', '0010', '0060']));
    await opened.database.query(
      `INSERT INTO accounts (id, name) SELECT n, 'account ' || n FROM generate_series(1, 3) AS n`,
    );
    await opened.empty();
    return opened;
  }

  /** Removes all runs, and makes the campaigns anew. */
  async empty(): Promise<void> {
    await this.database.query('DELETE FROM campaign_runs');
    await this.database.query('DELETE FROM message_totals');
    await this.database.query('DELETE FROM campaigns');
    await this.database.query(`UPDATE accounts SET status = 'active'`);
    await this.database.query(
      `INSERT INTO campaigns (id, account_id, name, channel, definition, status)
       SELECT 10 + n, n, 'campaign', 'email', '{}', 'scheduled' FROM generate_series(1, 3) AS n`,
    );
  }

  /** Adds a run and answers its id. */
  async addRun(fields: RunFields = {}): Promise<number> {
    const { account = 1, campaign = 10 + account, state = 'scheduled', cause = 'send' } = fields;
    const { dueAt = 'clock_timestamp()', definition = { audience: {} } } = fields;
    const [row] = await this.rows<{ id: number }>(
      `INSERT INTO campaign_runs (campaign_id, account_id, cause, state, due_at, definition, version)
       VALUES ($1, $2, $3, $4, ${dueAt}, $5, 1) RETURNING id::integer`,
      [campaign, account, cause, state, JSON.stringify(definition)],
    );
    return row?.id ?? 0;
  }

  async rows<Row>(sql: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.database.query(sql, values)).rows as Row[];
  }

  /** Columns of a run. */
  async run(id: number): Promise<Record<string, unknown>> {
    const [row] = await this.rows<Record<string, unknown>>(
      'SELECT * FROM campaign_runs WHERE id = $1',
      [id],
    );
    return row ?? {};
  }

  /** Ends the leases of dead and suspended processes, as time does. */
  async expireLeases(): Promise<void> {
    await this.database.query(
      `UPDATE campaign_runs SET leased_until = clock_timestamp() - interval '1 second' WHERE leased_until IS NOT NULL`,
    );
  }

  close(): Promise<void> {
    return this.#close();
  }
}
