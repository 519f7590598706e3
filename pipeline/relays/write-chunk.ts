import { retryUntilAborted, type RetryContext } from '../../platform/retry-until-aborted.ts';
import { errorText, unsendable } from './delivery.ts';
import type { RelayMetrics } from './metrics.ts';
import { PositionMoved, type Completion, type DeliveryResult, type RelayStore } from './store.ts';

interface WriteDeps extends RetryContext {
  store: Pick<RelayStore, 'complete'>;
  metrics: Pick<RelayMetrics, 'givenUp'>;
}

/**
 * Stores the results of a chunk and its position; answers the row ids of those in flight, by their
 * index. The deliveries of an oversized event are stored one by one, and then the position. A
 * delivery that cannot be stored, whatever is wrong with it, becomes dead without its body: neither
 * the process nor the partition stops for it.
 */
export async function writeChunk(
  deps: WriteDeps,
  completion: Completion,
  { isOversized }: { isOversized: boolean },
): Promise<ReadonlyMap<number, number>> {
  if (!isOversized) {
    try {
      return await complete(deps, completion);
    } catch (error) {
      if (!isOfData(error)) throw error;
    }
  }
  const rows = new Map<number, number>();
  for (const [at, result] of completion.results.entries()) {
    const id = await writeOne(deps, completion, result);
    if (id !== undefined) rows.set(at, id);
  }
  await complete(deps, { ...completion, results: [] });
  return rows;
}

/** Stores one delivery without moving the position. */
async function writeOne(
  deps: WriteDeps,
  completion: Completion,
  result: DeliveryResult,
): Promise<number | undefined> {
  const one = { ...completion, to: completion.from };
  try {
    return (await complete(deps, { ...one, results: [result] })).get(0);
  } catch (error) {
    if (!isOfData(error)) throw error;
    const { relayId, accountId, position } = result.delivery;
    deps.log.error(
      { code: 'relay_delivery_unsendable', relay_id: relayId, account_id: accountId, position },
      `a delivery cannot be stored and is dead: ${errorText(String(error))}`,
    );
    deps.metrics.givenUp('unsendable', 1);
    const delivery = { ...result.delivery, payload: '' };
    await complete(deps, { ...one, results: [{ delivery, outcome: unsendable(error) }] });
    return undefined;
  }
}

function complete(
  { store, log, signal }: WriteDeps,
  completion: Completion,
): Promise<ReadonlyMap<number, number>> {
  return retryUntilAborted(
    {
      log,
      signal,
      code: 'postgres_unreachable',
      what: 'completing deliveries',
      isFinal: (error) => error instanceof PositionMoved || isOfData(error),
    },
    () => store.complete(completion),
  );
}

/** SQLSTATE classes: data exception, constraint violation, program limit exceeded. */
const DATA_ERRORS = /^(22|23|54)/;

/** Repeating the statement with the same values would fail again. */
function isOfData(error: unknown): boolean {
  if (error instanceof RangeError) return true;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && (code === 'ERR_STRING_TOO_LONG' || DATA_ERRORS.test(code));
}
