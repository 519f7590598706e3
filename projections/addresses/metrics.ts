import type { Registry } from 'prom-client';
import { metricsOf } from '../../platform/metrics.ts';
import { CHANNEL_COMMAND_KINDS, type ChannelCommand } from '../../schemas/records.ts';

type AppliedCommand = Pick<ChannelCommand, 'kind' | 'channel' | 'reason' | 'source'>;

const EMAIL_REPORTS = ['hard_bounce', 'soft_bounce', 'complaint'] as const;

export interface AddressMetrics {
  applied(commands: readonly AppliedCommand[]): void;
  unreadable(): void;
}

export function addressMetrics(registry: Registry): AddressMetrics {
  const metrics = metricsOf(registry);
  const applied = metrics.counter(
    'ravand_channel_commands_total',
    'Commands of channels that were applied to the addresses, by kind.',
    'kind',
  );
  for (const kind of CHANNEL_COMMAND_KINDS) applied.inc({ kind }, 0);
  const unreadable = metrics.counter(
    'ravand_channel_commands_unreadable_total',
    'Records of channel.commands that cannot be decoded; they change nothing.',
  );
  const reports = metrics.counter(
    'ravand_email_reports_total',
    'What became of e-mails after they were sent: hard_bounce (refused at once, too), soft_bounce, complaint.',
    'kind',
  );
  for (const kind of EMAIL_REPORTS) reports.inc({ kind }, 0);
  return {
    applied(commands) {
      for (const command of commands) {
        applied.inc({ kind: command.kind });
        const report = emailReport(command);
        if (report) reports.inc({ kind: report });
      }
    },
    unreadable: () => unreadable.inc(),
  };
}

/** Undefined: the command is no report of a mail server. */
function emailReport(command: AppliedCommand): (typeof EMAIL_REPORTS)[number] | undefined {
  const { kind, channel, reason, source } = command;
  if (channel !== 'email') return undefined;
  if (kind === 'soft_bounced') return 'soft_bounce';
  if (kind !== 'address_suppressed') return undefined;
  if (source === 'provider') return 'hard_bounce';
  return EMAIL_REPORTS.find((one) => reason.startsWith(one));
}
