interface Statistics {
  brokers?: Record<string, { disconnects?: number }>;
}

/**
 * Calls `onLost` when statistics of librdkafka (JSON text) count more lost connections than those
 * before. The errors that the client reports do not suffice: it keeps back one that equals the last
 * for 30 s, so a broker that is restarted twice in that time is reported once.
 */
export function lostConnections(onLost: () => void): (statistics: string) => void {
  let known = 0;
  return (statistics) => {
    const { brokers = {} } = JSON.parse(statistics) as Statistics;
    const lost = Object.values(brokers).reduce((sum, { disconnects = 0 }) => sum + disconnects, 0);
    if (lost > known) onLost();
    known = lost;
  };
}
