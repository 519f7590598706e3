import type { CommandWriter } from '../../ingest/command-writer.ts';
import type { Log } from '../../platform/log.ts';
import type { SenderName, SenderStore } from '../senders/sender-store.ts';
import type { MissingVariables } from '../templates/missing-variables.ts';
import type { TemplateVersion } from '../templates/template.ts';
import { reportDeadAddresses, type DeadAddresses } from './report-dead-addresses.ts';

/** What sending a message teaches beside its outcome. None of them waits, and none rejects. */
export interface DeliveryReports {
  dead: (of: DeadAddresses) => void;
  /** The provider refuses the sender: somebody must act. */
  broken: (sender: SenderName, reason: string) => void;
  /** A sender that was broken sends again. */
  working: (sender: SenderName) => void;
  missing: (template: TemplateVersion, names: readonly string[]) => void;
}

export function deliveryReports({
  log,
  writer,
  store,
  missing,
}: {
  log: Log;
  writer: Pick<CommandWriter, 'write'>;
  store: Pick<SenderStore, 'markBroken' | 'markWorking'>;
  missing: Pick<MissingVariables, 'count'>;
}): DeliveryReports {
  const warn = (code: string, message: string) => (error: unknown) =>
    log.warn({ err: error, code }, message);
  return {
    dead: (of) => {
      void reportDeadAddresses(writer, of).then((lost) => {
        if (lost > 0)
          log.warn(
            { code: 'dead_addresses_unreported', account_id: of.accountId, count: lost },
            'addresses that a provider calls dead could not be reported; the next message to them reports them',
          );
      });
    },
    broken: (sender, reason) => {
      store
        .markBroken(sender, reason)
        .catch(warn('sender_unmarked', 'a sender that its provider refuses could not be marked'));
    },
    working: (sender) => {
      store
        .markWorking(sender)
        .catch(warn('sender_unmarked', 'a sender that works again could not be marked'));
    },
    missing: (template, names) => missing.count(template, names),
  };
}
