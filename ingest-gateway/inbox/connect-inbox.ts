import type { Log } from '../../platform/log.ts';
import { SealError, type Sealer } from '../../platform/sealing.ts';
import type { ChannelRoute } from '../channels/channel-server.ts';
import type { CommandWriter } from '../../ingest/command-writer.ts';
import { inboxRoute } from './inbox-route.ts';
import { InboxSecrets } from './inbox-secrets.ts';
import type { InboxStore } from './inbox-store.ts';

interface InboxOptions {
  store: InboxStore;
  /** Undefined: SEALING_KEY is empty; then no app has a secret, and every user is refused. */
  sealer: Pick<Sealer, 'open'> | undefined;
  writer: Pick<CommandWriter, 'write'>;
  log: Log;
  now: () => number;
}

/** The route of inboxes over their store. */
export function connectInbox({ store, sealer, writer, log, now }: InboxOptions): ChannelRoute {
  return inboxRoute({
    store,
    writer,
    secrets: new InboxSecrets({ store, sealer, now }),
    onFailed: (error, trace) => {
      if (error instanceof SealError)
        log.error(
          { err: error, trace, code: 'inbox_secret_unreadable' },
          'an inbox secret cannot be opened: add the key that sealed it to SEALING_KEY',
        );
      else
        log.warn(
          { err: error, trace, code: 'inbox_unreachable' },
          'an inbox cannot be read from PostgreSQL; it was answered 503',
        );
    },
  });
}
