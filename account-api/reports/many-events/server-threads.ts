import type { ClickhouseSettings } from '../../../platform/clickhouse/client.ts';
import {
  readResultBytes,
  type AccountStatement,
} from '../../../platform/clickhouse/result-bytes.ts';
import { NativeColumns } from './native-columns.ts';

/** For whom, and as what, ClickHouse is asked. */
type Asker = Pick<AccountStatement, 'accountId' | 'queryId' | 'application' | 'signal'>;

/** How many threads ClickHouse gives a query: it is asked once. */
export class ServerThreads {
  readonly #clickhouse: ClickhouseSettings;
  #known: number | undefined;

  constructor(clickhouse: ClickhouseSettings) {
    this.#clickhouse = clickhouse;
  }

  /**
   * The threads for one of so many statements that run at a time: together they have as many as one
   * of them would have, since more would only take turns. Rejects as readResultBytes() does.
   */
  async share(statements: number, asker: Asker): Promise<number> {
    this.#known ??= await this.#ask(asker);
    return Math.max(1, Math.ceil(this.#known / statements));
  }

  async #ask(asker: Asker): Promise<number> {
    let threads = 1;
    const columns = new NativeColumns(([first = 1]) => (threads = first));
    const sql = "SELECT toUInt64(getSetting('max_threads')), toUInt64(0) FORMAT Native";
    const queryId = `${asker.queryId}-threads`;
    const statement = { ...asker, queryId, sql, params: {}, settings: {} };
    await readResultBytes(this.#clickhouse, statement, (bytes) => columns.read(bytes));
    columns.end();
    return threads;
  }
}
