import { ContextReader, normaliseEvent } from '../../events/normalise.ts';
import { FOREVER_WINDOW_MS } from '../../events/time.ts';
import { UserAgentCache } from '../../events/user-agent.ts';
import type { AcceptedEvent } from '../../events/validate-event.ts';
import { decideImport } from '../../events/validate.ts';
import { mapDelivery } from '../../events/webhooks/map-delivery.ts';
import type { MappedEvent } from '../../events/webhooks/mapping.ts';
import {
  isWebhookSource,
  WEBHOOK_SOURCES,
  type WebhookSource,
} from '../../events/webhooks/sources.ts';
import { REQUIRED, REPEATED } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import { adminCommand } from './command.ts';

/** Bytes of a delivery (ingest 8). */
const MAX_BODY_BYTES = 1_048_576;

/**
 * `./ravand admin webhook try`: shows the events that a delivery of a source would become, without
 * a signature, a connection or a stack; changes nothing. For the sources whose platform names no
 * topic header any header that is called Topic, or ends in -Topic, gives the topic.
 */
export const webhookTry = adminCommand({
  name: 'webhook try',
  usage: "webhook try --source SOURCE [--header 'NAME: VALUE']… < BODY",
  options: { source: REQUIRED, header: REPEATED },
  needsStack: false,
  async run(line) {
    const { source } = line.values;
    if (!isWebhookSource(source))
      throw new CommandError(`--source ${source}: expected one of ${WEBHOOK_SOURCES.join(', ')}`);
    const headers = readHeaders(line.values.header ?? []);
    if (process.stdin.isTTY)
      throw new CommandError(
        'the body comes on standard input: ./ravand admin webhook try --source SOURCE < body.json',
      );
    return tryDelivery({ source, headers, raw: await readAll(process.stdin), now: Date.now() });
  },
});

/** Reads `NAME: VALUE` lines as node:http would hand them over. Throws CommandError. */
export function readHeaders(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*:(.*)$/.exec(line) ?? [];
    if (name === '') throw new CommandError(`--header ${line}: expected 'NAME: VALUE'`);
    headers[name.toLowerCase()] = value.trim();
  }
  return headers;
}

export interface TriedDelivery {
  source: WebhookSource;
  headers: Readonly<Record<string, string>>;
  raw: Uint8Array;
  /** Milliseconds since the epoch. */
  now: number;
}

/**
 * `{skipped: reason}`, or the events as they are mapped, each with what would be stored of it;
 * events that break a limit stand in `rejected`.
 */
export function tryDelivery({ source, headers, raw, now }: TriedDelivery): Record<string, unknown> {
  const mapping = mapDelivery({ source, headers, raw });
  if (mapping.outcome === 'skip') return { skipped: mapping.reason };
  const decided = decideImport({ items: mapping.events, now, windowMs: FOREVER_WINDOW_MS });
  if (decided.outcome === 'malformed') return { skipped: decided.detail };
  const [first] = decided.rejected;
  if (first && decided.accepted.length === 0) return { skipped: first.reason };
  const reader = new ContextReader(new UserAgentCache(1));
  const events = decided.accepted.map((accepted) => {
    const mapped = mapping.events[accepted.index] ?? { type: 'track', message_id: '' };
    const warnings = accepted.warnings.filter(({ code }) => code !== 'generated_message_id');
    const stored = storedOf({ mapped, accepted, now }, reader);
    const timestamp = new Date(accepted.timestamp).toISOString();
    return {
      ...mapped,
      event: stored['event'],
      timestamp,
      ...(warnings.length > 0 ? { warnings } : {}),
      stored,
    };
  });
  return {
    events,
    ...(first
      ? { rejected: decided.rejected.map(({ index, reason }) => ({ index, reason })) }
      : {}),
  };
}

/** Columns that only the gateway, the log and the connection can fill. */
const UNKNOWN_HERE = new Set([
  '_epoch',
  '_partition',
  '_offset',
  '_index',
  '_acceptance',
  '_dedupe_id',
  '_trace',
  'account_id',
  'app_id',
]);

/** Columns of the event itself: its position and owner are not known here. */
function storedOf(
  { mapped, accepted, now }: { mapped: MappedEvent; accepted: AcceptedEvent; now: number },
  reader: ContextReader,
): Record<string, unknown> {
  const { type, message_id, timestamp } = accepted;
  const record = {
    account_id: 0,
    app_id: 0,
    received_at: now,
    source: 'webhook',
    ip: '',
    user_agent: '',
    trace: '',
  } as const;
  const position = { epoch: 0, partition: 0, offset: 0, index: 0 };
  const item = { type, message_id, dedupe_id: null, timestamp };
  const row = normaliseEvent(
    { record, item, envelope: { ...mapped }, batchContext: undefined, position, acceptance: 0 },
    reader,
  );
  return Object.fromEntries(Object.entries(row).filter(([column]) => !UNKNOWN_HERE.has(column)));
}

async function readAll(input: NodeJS.ReadableStream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk as Uint8Array);
    if ((length += bytes.length) > MAX_BODY_BYTES)
      throw new CommandError(
        `the body is larger than ${MAX_BODY_BYTES} bytes: the route would refuse it`,
      );
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}
