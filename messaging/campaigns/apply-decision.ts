import type { CampaignDefinition } from './definition.ts';
import type { Decision, RunChange } from './state.ts';
import { ACTIVE, type StoredCampaign } from './stored-campaign.ts';

type Changed = Extract<Decision, { kind: 'changed' }>;

/** A statement for auditedChange: its row has `id`, `status`, `version` and `run_id` (or null). */
export interface ChangeStatement {
  steps: string[];
  statement: string;
  values: unknown[];
}

/**
 * Applies a decision in one statement. It has an effect only while the campaign is as it was when
 * the decision was made; no row: it was changed since.
 * @param definition the new one of an edit
 */
export function changeStatement(
  campaign: StoredCampaign,
  { changes, run }: Changed,
  definition?: CampaignDefinition,
): ChangeStatement {
  const values: unknown[] = [campaign.accountId, campaign.id, campaign.mark];
  const next = (value: unknown) => `$${values.push(value)}`;
  const time = (at: number | undefined) =>
    `${next(at === undefined ? null : new Date(at).toISOString())}::timestamptz`;
  const sets = ['updated_at = clock_timestamp()'];
  if (changes.status !== undefined) sets.push(`status = ${next(changes.status)}`);
  if (changes.version !== undefined) sets.push(`version = ${next(changes.version)}`);
  if (changes.submittedVersion !== undefined)
    sets.push(`submitted_version = ${next(changes.submittedVersion)}`);
  if (changes.approvedVersion !== undefined)
    sets.push(
      `approved_version = ${next(changes.approvedVersion)}`,
      'approved_at = clock_timestamp()',
    );
  if ('recurrence' in changes) {
    const { recurrence } = changes;
    sets.push(`recurrence = ${next(recurrence ? JSON.stringify(recurrence) : null)}::json`);
  }
  if ('nextAt' in changes) sets.push(`next_at = ${time(changes.nextAt)}`);
  if (definition)
    sets.push(
      `name = ${next(definition.name)}`,
      `channel = ${next(definition.channel)}`,
      `definition = ${next(JSON.stringify(definition))}::json`,
      `scheduled_at = ${next(definition.scheduled_at ?? null)}::timestamptz`,
    );
  const update = `campaign AS (UPDATE campaigns SET ${sets.join(', ')} WHERE account_id = $1 AND id = $2 AND xmin::text = $3 RETURNING *)`;
  const runStep = run && runStatement(run, { time, next });
  return {
    steps: [update, ...(runStep === undefined ? [] : [`run AS (${runStep})`])],
    statement: `SELECT account_id, id, status, version, ${run?.kind === 'add' ? '(SELECT run.id FROM run)' : 'NULL::bigint'} AS run_id,
        jsonb_build_object('campaign_id', id, 'version', version) AS audit FROM campaign`,
    values,
  };
}

/** What happens to the runs of the campaign that was updated. */
function runStatement(
  run: RunChange,
  { time, next }: { time: (at: number) => string; next: (value: unknown) => string },
): string {
  const ofCampaign = 'FROM campaign c WHERE r.campaign_id = c.id AND r.state';
  switch (run.kind) {
    case 'add':
      return `INSERT INTO campaign_runs (campaign_id, account_id, cause, state, paused, due_at, definition, version)
        SELECT id, account_id, 'send', 'scheduled', ${next(run.paused)}::boolean, ${time(run.dueAt)}, definition, version FROM campaign RETURNING id`;
    case 'pause':
      return `UPDATE campaign_runs r SET paused = true ${ofCampaign} IN ${ACTIVE}`;
    case 'resume':
      // Retries get their time again: nothing was sent meanwhile.
      return `UPDATE campaign_runs r SET paused = false,
          confirmed_at = CASE WHEN r.state IN ('scheduled', 'planning') AND r.due_at <= clock_timestamp() THEN clock_timestamp() ELSE r.confirmed_at END,
          deadline_at = CASE WHEN r.deadline_at IS NULL THEN NULL ELSE clock_timestamp() + interval '24 hours' END
        ${ofCampaign} IN ${ACTIVE}`;
    case 'cancel':
      return `UPDATE campaign_runs r SET cancelled = true, paused = false,
          state = CASE WHEN r.state IN ('scheduled', 'confirm') THEN 'cancelled' ELSE r.state END,
          finished_at = CASE WHEN r.state IN ('scheduled', 'confirm') THEN clock_timestamp() END
        ${ofCampaign} IN ${ACTIVE}`;
    case 'confirm':
      return `UPDATE campaign_runs r SET state = 'scheduled', confirmed_at = clock_timestamp() ${ofCampaign} = 'confirm' AND NOT r.cancelled`;
  }
}
