/** An endpoint that can begin to attempt rows of the queue. */
export interface AvailableEndpoint {
  relayId: number;
  accountId: number;
  isQuick: boolean;
  /** Rows. */
  capacity: number;
}

/** A due row of the queue in PostgreSQL. */
export interface DueRow {
  id: number;
  relayId: number;
  /** Of its payload. */
  bytes: number;
}

/** What may be claimed of one account or in total. */
export interface Room {
  rows: number;
  bytes: number;
  /** Rows of endpoints that are not quick: the permits that are free for them. */
  others: number;
}

interface ClaimPlanInput {
  endpoints: readonly AvailableEndpoint[];
  /** The first due rows of the endpoints, each endpoint's in the order of their claim. */
  due: readonly DueRow[];
  total: Room;
  ofAccount: (accountId: number) => Room;
}

/**
 * The endpoints in turns of their accounts: the first endpoint of each account, then the second.
 * The account that comes first moves with each `turn`.
 */
export function inTurns(
  endpoints: readonly AvailableEndpoint[],
  turn: number,
): AvailableEndpoint[] {
  const accounts = [...Map.groupBy(endpoints, ({ accountId }) => accountId).values()];
  if (accounts.length === 0) return [];
  const first = turn % accounts.length;
  const queues = [...accounts.slice(first), ...accounts.slice(0, first)].map((list) => {
    const start = turn % list.length;
    return [...list.slice(start), ...list.slice(0, start)];
  });
  const longest = Math.max(...queues.map(({ length }) => length));
  return Array.from({ length: longest }, (_, at) =>
    queues.flatMap((list) => list[at] ?? []),
  ).flat();
}

/**
 * The ids of the rows to claim: no more than the endpoints can begin to attempt, one row at a time
 * by turns of the accounts and, within an account, of its endpoints.
 */
export function planClaim({ endpoints, due, total, ofAccount }: ClaimPlanInput): number[] {
  const rows = Map.groupBy(due, ({ relayId }) => relayId);
  const queues = endpoints.flatMap(({ relayId, accountId, isQuick, capacity }) => {
    const waiting = rows.get(relayId)?.slice(0, capacity) ?? [];
    return waiting.length === 0 ? [] : [{ accountId, isQuick, waiting, next: 0 }];
  });
  const accounts = [...Map.groupBy(queues, ({ accountId }) => accountId)].map(
    ([accountId, list]) => ({ list, at: 0, room: { ...ofAccount(accountId) } }),
  );
  const left = { ...total };
  const ids: number[] = [];

  /** One row of the account; false when it has none that fits. */
  const claimOne = (account: (typeof accounts)[number]): boolean => {
    for (let tried = 0; tried < account.list.length; tried++) {
      const queue = account.list[account.at++ % account.list.length];
      const row = queue?.waiting[queue.next];
      if (!queue || !row || !fits({ isQuick: queue.isQuick, rooms: [left, account.room] }))
        continue;
      for (const room of [left, account.room]) {
        room.rows--;
        room.bytes -= row.bytes;
        if (!queue.isQuick) room.others--;
      }
      queue.next++;
      ids.push(row.id);
      return true;
    }
    return false;
  };

  let isClaiming = true;
  while (isClaiming && left.rows > 0) {
    isClaiming = false;
    for (const account of accounts) if (claimOne(account)) isClaiming = true;
  }
  return ids;
}

/** A row fits while any bytes are left, whatever its size, so that a large one is not stuck. */
function fits({ isQuick, rooms }: { isQuick: boolean; rooms: readonly Room[] }): boolean {
  return rooms.every(({ rows, bytes, others }) => rows > 0 && bytes > 0 && (isQuick || others > 0));
}
