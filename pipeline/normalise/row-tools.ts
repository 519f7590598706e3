import { ContextReader } from '../../events/normalise.ts';
import type { RowMaker } from '../../events/raw/decide.ts';
import { encodedRows, type EncodedRow } from '../../events/raw/encode-item.ts';
import { UserAgentCache } from '../../events/user-agent.ts';
import type { EventRow } from '../../schemas/records.ts';
import { NEWEST_ROW_VERSION } from '../../schemas/row-versions.ts';
import { RowBatchBuilder, type RowBatchLimits } from './row-batch-builder.ts';

/** What makes the rows of a process, and what puts them into batches. */
export interface RowTools {
  rowBatches: RowBatchBuilder;
  /** A row that it encodes is valid until it makes the next one. */
  makeRow: RowMaker<EventRow | EncodedRow>;
}

export function rowTools(options: {
  limits: RowBatchLimits;
  /** Bound of the cache of User-Agents. */
  userAgents: number;
  /** The version of event-row to write; the newest by default. */
  written?: () => number;
}): RowTools {
  const { limits, userAgents, written = () => NEWEST_ROW_VERSION } = options;
  const rowBatches = new RowBatchBuilder(limits, written);
  const contexts = new ContextReader(new UserAgentCache(userAgents));
  return { rowBatches, makeRow: encodedRows(contexts, () => rowBatches.version) };
}
