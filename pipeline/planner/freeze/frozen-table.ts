/**
 * The table with the rows of frozen audiences on the server that is asked: in a cluster one server
 * answers for all rows, not each for some. @param cluster CLICKHOUSE_CLUSTER
 */
export function frozenTable(cluster: string): string {
  return cluster === '' ? 'campaign_recipients' : 'campaign_recipients_local';
}
