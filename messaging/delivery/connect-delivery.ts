import { randomBytes } from 'node:crypto';
import { CommandWriter } from '../../ingest/command-writer.ts';
import type { LogPublisher } from '../../ingest/log-publisher.ts';
import { GroupedCalls } from '../../platform/grouped-calls.ts';
import type { Log } from '../../platform/log.ts';
import { outboundGuard, type outboundSettings } from '../../platform/outbound/outbound-settings.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { sealingSettings } from '../../platform/sealing-settings.ts';
import type { SettingsOf } from '../../platform/settings.ts';
import {
  addMessageRecipients,
  type MessageRecipient,
} from '../../platform/tracking/message-recipients.ts';
import type {
  trackBaseSettings,
  trackingSettings,
} from '../../platform/tracking/tracking-settings.ts';
import { shortenLinks } from '../links/shorten-links.ts';
import type { shortLinkSettings } from '../links/short-link-settings.ts';
import { tagLinks } from '../links/tag-links.ts';
import { openProvider } from '../providers/registry.ts';
import { gatheredRenders } from '../rendering/gathered-renders.ts';
import { TemplateRenderer } from '../rendering/template-renderer.ts';
import { SenderStore } from '../senders/sender-store.ts';
import { Senders } from '../senders/senders.ts';
import { MissingVariables } from '../templates/missing-variables.ts';
import { deliveryReports, type DeliveryReports } from './delivery-reports.ts';
import {
  prepareMessages,
  type MessagesToPrepare,
  type PrepareDeps,
  type Prepared,
} from './prepare-messages.ts';

export type DeliverySettings = SettingsOf<
  typeof sealingSettings &
    typeof outboundSettings &
    typeof trackingSettings &
    typeof trackBaseSettings
> &
  Partial<SettingsOf<typeof shortLinkSettings>>;

interface DeliveryOptions {
  config: DeliverySettings;
  log: Log;
  database: Database;
  publisher: Pick<LogPublisher, 'publish'>;
}

/** What every process that sends messages shares. */
export interface DeliveryTools {
  senders: Senders;
  /** Rejects when something is unavailable; then nothing was sent. */
  prepare: (of: MessagesToPrepare) => Promise<Prepared[]>;
  reports: DeliveryReports;
  /** Stores the counts of missing variables. */
  flush: () => Promise<void>;
  close: () => Promise<void>;
}

/** Opens providers, renders, and reports what was learnt about addresses and senders. */
export function connectDelivery({
  config,
  log,
  database,
  publisher,
}: DeliveryOptions): DeliveryTools {
  const store = new SenderStore(database);
  const deps = { guard: outboundGuard(config), database, log, now: Date.now, random: Math.random };
  const missing = new MissingVariables(database);
  const writer = new CommandWriter({
    // What is not acknowledged may be in the log, or not.
    publish: (records) => publisher.publish(records).catch(() => records),
    gateway: randomBytes(8).toString('hex'),
  });
  const reports = deliveryReports({ log, writer, store, missing });
  const senders = new Senders({
    ...{ store, marks: reports },
    sealer: config.SEALING_KEY,
    open: ({ secret = '', ...sender }) => openProvider({ ...sender, secret, deps }),
    now: () => performance.now(),
  });
  const renderer = openRenderer(log);
  const preparing = preparingDeps({ config, database, renderer });
  return {
    senders,
    prepare: (of) => prepareMessages(preparing, of),
    reports,
    flush: () => missing.flush(),
    close: async () => {
      await missing.flush().catch(() => undefined);
      await Promise.all([senders.close(), renderer.close()]);
    },
  };
}

function openRenderer(log: Log): TemplateRenderer {
  return new TemplateRenderer({
    now: () => performance.now(),
    onStopped: ({ accountId, templateId, version }, why) =>
      log.warn(
        {
          ...{ code: 'template_stopped', account_id: accountId },
          ...{ template_id: templateId, version, reason: why },
        },
        'a message was not rendered: its template took too much time or memory',
      ),
  });
}

function preparingDeps({
  config,
  database,
  renderer,
}: {
  config: DeliverySettings;
  database: Database;
  renderer: TemplateRenderer;
}): PrepareDeps {
  const recipients = new GroupedCalls<readonly MessageRecipient[], true>({
    run: async (all) => {
      await addMessageRecipients(database, all.flat());
      return all.map(() => true);
    },
  });
  const { TRACKING_KEYS: tokens, EMAIL_TRACK_BASE: trackBase, SHORT_LINK_BASE: base = '' } = config;
  return {
    render: gatheredRenders((template, variables) => renderer.renderMany(template, variables)),
    tagLinks,
    shortenLinks: (accountId, contents) => shortenLinks({ database, base }, accountId, contents),
    tracking:
      tokens && trackBase !== '' ? { tokens, baseUrl: trackBase.replace(/\/+$/, '') } : undefined,
    addRecipients: async (all) => {
      await recipients.call(all);
    },
  };
}
