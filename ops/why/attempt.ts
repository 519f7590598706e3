import { withDeadline } from '../../platform/deadline.ts';
import type { Fact } from './evidence.ts';

/** Timeout of one server, ms; each search of the log has its own limits. */
const QUERY_MS = 12_000;

/** What a server answered, or why it did not. Never rejects. */
export async function attempt<T>(
  server: string,
  work: Promise<T>,
  ms = QUERY_MS,
): Promise<Fact<T>> {
  try {
    return { known: true, value: await withDeadline({ ms, waitingFor: server }, work) };
  } catch (error) {
    // Some clients wrap the cause in a summary of their attempts.
    const why =
      error instanceof AggregateError
        ? (error.errors[0] as Error).message
        : error instanceof Error
          ? error.message
          : String(error);
    return { known: false, why: `${server} does not answer (${why})` };
  }
}
