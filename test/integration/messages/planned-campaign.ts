import type pg from 'pg';
import { messageChunkCodec } from '../../../schemas/codec.ts';
import type { MessageChunk } from '../../../schemas/records.ts';
import { TOPIC } from '../../../schemas/topology.ts';
import { readWholeTopic } from '../../support/read-topic.ts';
import { createAccount } from '../../support/stack.ts';

export interface PlannedRun {
  id: number;
  state: string;
  error: string;
  attempt: number;
  planned: number;
  chunks: number;
  isPlanned: boolean;
  frozen: unknown;
}

/** Campaigns of an account of a test's own, whose messages nobody sends: their runs are paused. */
export class PlannedCampaigns {
  readonly accountId: number;
  readonly #postgres: pg.Pool;
  readonly #campaigns: number[] = [];

  private constructor(postgres: pg.Pool, accountId: number) {
    this.#postgres = postgres;
    this.accountId = accountId;
  }

  static async create(postgres: pg.Pool): Promise<PlannedCampaigns> {
    return new PlannedCampaigns(postgres, (await createAccount('planner')).accountId);
  }

  /** A campaign with a run that is due. */
  async send(definition: object): Promise<{ campaignId: number; runId: number }> {
    const values = [this.accountId, JSON.stringify(definition)];
    const [row] = await this.#rows<{ campaign: string; run: string }>(
      `WITH added AS (
         INSERT INTO campaigns (account_id, name, channel, definition, status) VALUES ($1, 'planned', 'email', $2, 'scheduled') RETURNING id, account_id, definition
       )
       INSERT INTO campaign_runs (campaign_id, account_id, cause, state, paused, due_at, definition, version)
       SELECT id, account_id, 'send', 'scheduled', true, clock_timestamp(), definition, 1 FROM added RETURNING campaign_id AS campaign, id AS run`,
      values,
    );
    const campaignId = Number(row?.campaign);
    this.#campaigns.push(campaignId);
    return { campaignId, runId: Number(row?.run) };
  }

  async run(id: number): Promise<PlannedRun> {
    const [row] = await this.#rows<Record<string, unknown>>(
      'SELECT * FROM campaign_runs WHERE id = $1',
      [id],
    );
    if (!row) throw new Error(`there is no run ${id}`);
    return {
      ...{ id, state: String(row['state']), error: String(row['error']) },
      ...{ attempt: Number(row['freeze_attempt']), planned: Number(row['planned']) },
      ...{ chunks: Number(row['chunks']), isPlanned: row['is_planned'] === true },
      frozen: row['frozen'],
    };
  }

  /** Ends the lease of a process that was killed or suspended, as time does. */
  async expireLease(runId: number): Promise<void> {
    await this.#rows(
      `UPDATE campaign_runs SET leased_until = clock_timestamp() WHERE id = $1 AND leased_by IS NOT NULL`,
      [runId],
    );
  }

  /** People that the account's totals count as planned. */
  async planned(): Promise<number> {
    const [row] = await this.#rows<{ messages: string }>(
      `SELECT messages FROM message_totals WHERE account_id = $1 AND status = 'planned'`,
      [this.accountId],
    );
    return Number(row?.messages ?? 0);
  }

  /** Removes what the balance of all accounts would wait for. */
  async remove(): Promise<void> {
    for (const table of ['message_chunks', 'campaign_runs'])
      await this.#rows(`DELETE FROM ${table} WHERE campaign_id = ANY ($1)`, [this.#campaigns]);
    await this.#rows('DELETE FROM campaigns WHERE id = ANY ($1)', [this.#campaigns]);
    await this.#rows('DELETE FROM message_totals WHERE account_id = $1', [this.accountId]);
  }

  async #rows<Row>(sql: string, values: unknown[]): Promise<Row[]> {
    return (await this.#postgres.query(sql, values)).rows as Row[];
  }
}

/** All chunks of a run in messages.planned, as often as they are there. */
export async function chunksOf(runId: number): Promise<MessageChunk[]> {
  const records = await readWholeTopic(TOPIC.messagesPlanned);
  return records
    .map(({ value }) => messageChunkCodec.decode(value))
    .filter(({ run_id }) => run_id === runId);
}
