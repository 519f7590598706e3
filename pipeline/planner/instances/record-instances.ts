import type { MessageSettings } from '../../../messaging/settings/settings.ts';
import type { ReadMessageSettings } from '../../../messaging/settings/settings-store.ts';
import { instances } from '../../../messaging/recurrence/instances.ts';
import { parseRule } from '../../../messaging/recurrence/parse-rule.ts';
import type { Log } from '../../../platform/log.ts';
import type { RecentSet } from '../../../platform/recent-set.ts';
import type { DueCampaign, InstanceStore } from './instance-store.ts';
import { planInstances, type InstancePlan } from './plan.ts';

/** Campaigns that one round considers. */
const ROUND = 100;

const NOT_APPROVED =
  "The campaign's approval was missing or older than its definition when the run was due.";
const PAUSED = 'The campaign was paused when the run was due.';
const TOO_MANY_RUNS = 'The account had too many runs in progress when the run was due.';

export interface InstancePorts {
  store: Pick<InstanceStore, 'due' | 'record'>;
  readSettings: ReadMessageSettings;
  log: Log;
  /** ms since the epoch */
  now: () => number;
  /** Campaigns whose problem was logged a short time ago. */
  reported: RecentSet;
}

/**
 * Makes runs of the instances of recurrences that are due. Another planner may do the same: each
 * instance becomes one run. Answers the instances, and whether more campaigns are due.
 */
export async function recordInstances({
  store,
  readSettings,
  log,
  now,
  reported,
}: InstancePorts): Promise<{ scheduled: number; missed: number; isMore: boolean }> {
  const due = await store.due({ now: now(), limit: ROUND });
  const total = { scheduled: 0, missed: 0, isMore: false };
  for (const campaign of due) {
    const facts = { account: campaign.accountId, campaign: campaign.id };
    let plan: InstancePlan;
    try {
      const settings = await readSettings(campaign.accountId);
      plan = planOf(campaign, { now: now(), settings });
    } catch (error) {
      // Of one account: the campaigns of others go on.
      const name = String(campaign.id);
      if (reported.has(name, now())) continue;
      reported.add(name, now());
      log.error(
        { err: error, ...facts, code: 'recurrence_unreadable' },
        'the recurrence of a campaign or the settings of its account cannot be read; its runs wait',
      );
      continue;
    }
    if (!(await store.record(campaign, plan))) continue;
    for (const { state } of plan.instances) total[state]++;
    total.isMore ||= due.length === ROUND || (plan.nextAt !== null && plan.nextAt <= now());
  }
  return total;
}

/** Throws for a recurrence that cannot be read. */
function planOf(
  campaign: DueCampaign,
  { now, settings }: { now: number; settings: MessageSettings },
): InstancePlan {
  const { recurrence, nextAt, status } = campaign;
  if (status === 'cancelled') return { instances: [], nextAt: null };
  const { rule, starts_at, time_zone } = recurrence as Record<string, string>;
  const parsed = parseRule(rule ?? '');
  if (!parsed.ok) throw new Error(parsed.message);
  const later = instances(parsed.rule, {
    startsAt: Date.parse(starts_at ?? ''),
    ...(time_zone === undefined ? {} : { timeZone: time_zone }),
    after: nextAt,
  });
  const obstacle = obstacleOf(campaign, settings);
  return planInstances({ nextAt, later, now, obstacle });
}

/** Why the campaign may not run now; undefined: it may. */
function obstacleOf(
  { status, version, approvedVersion, activeRuns }: DueCampaign,
  { approvalRequired, maxActiveRuns }: MessageSettings,
): string | undefined {
  if (approvalRequired && approvedVersion !== version) return NOT_APPROVED;
  if (status === 'paused') return PAUSED;
  return activeRuns >= maxActiveRuns ? TOO_MANY_RUNS : undefined;
}
