import { splitHosts } from '../split-hosts.ts';

/** What is wrong with REDIS_MODE beside the other settings of Redis. */
export function redisProblem(
  mode: string,
  { REDIS_URL, REDIS_SENTINEL_NAME }: Readonly<Record<string, unknown>>,
): string | undefined {
  const [first = ''] = typeof REDIS_URL === 'string' ? splitHosts(REDIS_URL) : [];
  const database = URL.parse(first)?.pathname.slice(1) ?? '';
  if (mode === 'cluster' && database !== '' && database !== '0')
    return `a Redis Cluster has only database 0; remove /${database} from REDIS_URL`;
  if (mode === 'sentinel' && REDIS_SENTINEL_NAME === '')
    return 'set REDIS_SENTINEL_NAME to the name of the master';
  return undefined;
}
