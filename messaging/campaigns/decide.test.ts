import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { decide } from './decide.ts';
import {
  CAMPAIGN_STATUSES,
  type CampaignStatus,
  type Command,
  type Recurrence,
  type Refusal,
} from './state.ts';
import {
  DRAFT,
  evolve,
  isProgress,
  play,
  progress,
  RULES,
  type ModelCampaign,
  type Progress,
  type Step,
} from './testing/model.ts';

const LATER = 86_400_000;
const DAILY: Recurrence = {
  ...{ rule: 'FREQ=DAILY', starts_at: '1970-01-02T00:00:00Z', time_zone: 'Asia/Tehran' },
};
const WEEKLY: Recurrence = { ...DAILY, rule: 'FREQ=WEEKLY' };
const submit: Command = { kind: 'submit' };
const approve: Command = { kind: 'approve' };
const edit: Command = { kind: 'edit' };
const send: Command = { kind: 'send', scheduledAt: undefined };
const sendLater: Command = { kind: 'send', scheduledAt: LATER };
const recur: Command = { kind: 'set_recurrence', recurrence: DAILY, nextAt: LATER };
const recurOther: Command = { kind: 'set_recurrence', recurrence: WEEKLY, nextAt: LATER };
const unrecur: Command = { kind: 'remove_recurrence' };
const pause: Command = { kind: 'pause' };
const resume: Command = { kind: 'resume' };
const cancel: Command = { kind: 'cancel' };
const confirm: Command = { kind: 'confirm' };
const due: Progress = { kind: 'instance_due', followingAt: 2 * LATER };
const run = (kind: 'started' | 'late' | 'finished' | 'failed', runId: number): Progress => ({
  ...{ kind: `run_${kind}` as const, runId },
});

/** Commands that lead from a draft to each status. */
const PATHS: Record<CampaignStatus, Step[]> = {
  draft: [],
  scheduled: [sendLater],
  sending: [send, run('started', 1)],
  paused: [send, run('started', 1), pause],
  sent: [send, run('started', 1), run('finished', 1)],
  cancelled: [send, run('started', 1), cancel],
  failed: [send, run('started', 1), run('failed', 1)],
};

/** What each command makes of a campaign in each status: a status, or a refusal. */
const TABLE: Record<string, [Command, Record<CampaignStatus, CampaignStatus | Refusal>]> = {
  submit: [
    submit,
    {
      ...{ draft: 'draft', scheduled: 'not_submittable', sending: 'not_submittable' },
      ...{ paused: 'paused', sent: 'not_submittable', cancelled: 'not_submittable' },
      failed: 'not_submittable',
    },
  ],
  edit: [
    edit,
    {
      ...{ draft: 'draft', scheduled: 'scheduled', sending: 'sending', paused: 'paused' },
      ...{ sent: 'draft', cancelled: 'draft', failed: 'draft' },
    },
  ],
  send: [
    send,
    {
      ...{ draft: 'sending', scheduled: 'sending', sending: 'sending', paused: 'paused' },
      ...{ sent: 'sending', cancelled: 'sending', failed: 'sending' },
    },
  ],
  'send later': [
    sendLater,
    {
      ...{ draft: 'scheduled', scheduled: 'scheduled', sending: 'sending', paused: 'paused' },
      ...{ sent: 'scheduled', cancelled: 'scheduled', failed: 'scheduled' },
    },
  ],
  'set a recurrence': [
    recur,
    {
      ...{ draft: 'scheduled', scheduled: 'scheduled', sending: 'sending', paused: 'paused' },
      ...{ sent: 'scheduled', cancelled: 'scheduled', failed: 'scheduled' },
    },
  ],
  'remove the recurrence': [
    unrecur,
    Object.fromEntries(CAMPAIGN_STATUSES.map((status) => [status, status])) as never,
  ],
  pause: [
    pause,
    {
      ...{ draft: 'not_pausable', scheduled: 'paused', sending: 'paused', paused: 'not_pausable' },
      ...{ sent: 'not_pausable', cancelled: 'not_pausable', failed: 'not_pausable' },
    },
  ],
  resume: [
    resume,
    {
      ...{ draft: 'not_paused', scheduled: 'not_paused', sending: 'not_paused', paused: 'sending' },
      ...{ sent: 'not_paused', cancelled: 'not_paused', failed: 'not_paused' },
    },
  ],
  cancel: [
    cancel,
    {
      ...{ draft: 'cancelled', scheduled: 'cancelled', sending: 'cancelled', paused: 'cancelled' },
      ...{ sent: 'not_cancellable', cancelled: 'not_cancellable', failed: 'not_cancellable' },
    },
  ],
};

describe('a campaign', () => {
  const rows = Object.entries(TABLE).flatMap(([name, [command, outcomes]]) =>
    CAMPAIGN_STATUSES.map((status) => ({ name, command, status, outcome: outcomes[status] })),
  );
  test.each(rows)('that is $status: $name gives $outcome', ({ command, status, outcome }) => {
    const before = play(PATHS[status]).state;
    expect(before.status).toBe(status);
    const { state, last } = play([...PATHS[status], command]);
    const shown = last?.kind === 'refused' ? last.refusal : state.status;
    expect(shown).toBe(outcome);
    if (last?.kind === 'refused') expect(state).toEqual(before);
  });

  it('with a second run is sent when both have ended', () => {
    const both = [send, run('started', 1), send, run('started', 3)];
    expect(play([...both, run('finished', 1)]).state.status).toBe('sending');
    expect(play([...both, run('finished', 1), run('failed', 3)]).state.status).toBe('failed');
    expect(play([...both, run('failed', 3), run('finished', 1)]).state.status).toBe('sent');
  });

  it('that was cancelled stays so while its run skips who waits, and can be sent again', () => {
    const drained = [...PATHS.cancelled, run('finished', 1)];
    expect(play(drained).state).toMatchObject({ status: 'cancelled', runs: [] });
    const again = play([...PATHS.cancelled, send, run('started', 4), run('finished', 4)]);
    expect(again.state.status).toBe('sent');
    expect(play([...PATHS.cancelled, edit, run('finished', 1)]).state.status).toBe('draft');
  });

  it('whose run has not begun ends it at once when it is cancelled', () => {
    expect(play([sendLater, cancel]).state.runs).toEqual([]);
  });

  it('keeps the definition of a run that was asked for, and sends it when it is due', () => {
    const { state } = play([sendLater, edit, run('started', 1)], { now: LATER });
    expect(state).toMatchObject({ status: 'sending', version: 2, runs: [{ version: 1 }] });
  });

  it('that was paused before its time begins when it is resumed', () => {
    expect(play([sendLater, pause, resume]).state.status).toBe('scheduled');
    expect(play([sendLater, pause, resume], { now: LATER }).state.status).toBe('sending');
  });

  it('that would begin more runs than its account may is refused', () => {
    expect(play([send], { hasTooManyRuns: true }).last).toEqual({
      ...{ kind: 'refused', refusal: 'too_many_runs' },
    });
  });

  it('waits for a person when a run is late', () => {
    const late = play([sendLater, run('late', 1)], { now: 2 * LATER });
    expect(late.state).toMatchObject({ status: 'scheduled', runs: [{ state: 'confirm' }] });
    expect(play([sendLater, run('late', 1), confirm], { now: 2 * LATER }).state).toMatchObject({
      ...{ status: 'sending', runs: [{ state: 'scheduled' }] },
    });
    expect(play([sendLater, confirm]).last).toEqual({
      ...{ kind: 'refused', refusal: 'nothing_to_confirm' },
    });
  });
});

describe('a campaign with a recurrence', () => {
  const armed = play([recur]).state;
  const at = (steps: Step[]) => play(steps, { now: LATER }, armed);

  it('sends when it is due, and waits for the next instance', () => {
    expect(at([due]).state).toMatchObject({
      ...{ status: 'sending', nextAt: 2 * LATER },
      runs: [{ state: 'scheduled', dueAt: LATER, version: 2 }],
    });
    const ended = [due, run('started', 1), run('finished', 1)];
    expect(at(ended).state.status).toBe('scheduled');
    const last: Progress = { kind: 'instance_due', followingAt: undefined };
    expect(at([last, run('started', 1), run('finished', 1)]).state.status).toBe('sent');
  });

  it('is not changed by the same rule again, and is armed again after it was cancelled', () => {
    expect(play([recur, recur]).last).toEqual({ kind: 'unchanged' });
    const again = play([recur, cancel, recur]).state;
    expect(again).toMatchObject({ status: 'scheduled', version: 2, nextAt: LATER });
  });

  it('is a draft again when the recurrence is removed before it was sent', () => {
    expect(play([recur, unrecur]).state).toMatchObject({ status: 'draft', nextAt: undefined });
    expect(at([due, run('started', 1), run('finished', 1), unrecur]).state.status).toBe('sent');
  });
});

describe('an approval', () => {
  const required = { approvalRequired: true };
  const refusal = (steps: Step[]) => {
    const { last } = play(steps, required);
    return last?.kind === 'refused' ? last.refusal : last?.kind;
  };

  test.each<[string, Step[], string]>([
    ['is missing', [send], 'approval_required'],
    ['is missing after a submission', [submit, send], 'approval_required'],
    ['needs a submission', [approve], 'not_submitted'],
    ['of what was edited since needs another submission', [submit, edit, approve], 'not_submitted'],
    ['lets a campaign be sent', [submit, approve, send], 'changed'],
    ['lets it be sent twice', [submit, approve, send, send], 'changed'],
    ['is stale after an edit', [submit, approve, edit, send], 'approval_stale'],
    ['waits after a new submission', [submit, approve, edit, submit, send], 'approval_required'],
    ['can be given again', [submit, approve, edit, submit, approve, send], 'changed'],
    ['is missing for a recurrence', [recur], 'approval_required'],
    ['lets a recurrence be armed', [submit, approve, recur], 'changed'],
    ['lets what was armed be sent', [submit, approve, recur, send], 'changed'],
    ['is stale for a recurrence', [submit, approve, edit, recur], 'approval_stale'],
    [
      'is stale after another recurrence',
      [submit, approve, recur, recurOther, send],
      'approval_stale',
    ],
    [
      'is stale after the recurrence was removed',
      [submit, approve, recur, unrecur, send],
      'approval_stale',
    ],
    [
      'of a paused campaign can be asked for',
      [submit, approve, sendLater, pause, edit, submit],
      'changed',
    ],
  ])('%s', (_, commands, outcome) => expect(refusal(commands)).toBe(outcome));
});

test('whatever people and workers do, only approved versions are sent where approval is required', () => {
  const runId = fc.integer({ min: 1, max: 30 });
  const step: fc.Arbitrary<Step> = fc.oneof<fc.Arbitrary<Step>[]>(
    fc.constantFrom(submit, approve, edit, send, sendLater, recur, recurOther, unrecur, due),
    fc.constantFrom(submit, approve, pause, resume, cancel, confirm),
    fc.tuple(fc.constantFrom('started' as const, 'late' as const), runId).map((of) => run(...of)),
    fc
      .tuple(fc.constantFrom('finished' as const, 'failed' as const), runId)
      .map((of) => run(...of)),
  );
  const usual = fc.constantFrom(
    [submit, approve],
    [submit, approve, send],
    [submit, approve, recur],
  );
  const steps = fc
    .array(fc.oneof({ weight: 4, arbitrary: step.map((one) => [one]) }, usual))
    .map((parts) => parts.flat());
  let sends = 0;
  fc.assert(
    fc.property(steps, (sequence) => {
      let state: ModelCampaign = DRAFT;
      const approved = new Set<number>();
      for (const [index, one] of sequence.entries()) {
        const rules = { ...RULES, now: index * 10_000_000, approvalRequired: true };
        const runId = index + 1;
        if (isProgress(one)) state = progress(state, one, { ...rules, runId });
        else {
          const decision = decide(state, one, rules);
          const isChanged = decision.kind === 'changed';
          // What a person approved is the version that was submitted.
          if (one.kind === 'approve' && isChanged) approved.add(state.version);
          // The approval of a campaign covers arming its first recurrence.
          const isArmed = one.kind === 'set_recurrence' && !state.recurrence && isChanged;
          if (isArmed && approved.has(state.version)) approved.add(state.version + 1);
          state = evolve(state, decision, { now: rules.now, runId });
        }
        for (const { version } of state.runs) expect(approved).toContain(version);
        if (state.status === 'sending') sends++;
        const live = state.runs.filter(({ cancelled }) => !cancelled);
        if (state.status === 'sending') expect(live.length).toBeGreaterThan(0);
        if (['draft', 'sent', 'cancelled', 'failed'].includes(state.status)) {
          expect(live).toEqual([]);
          expect(state.nextAt).toBeUndefined();
        }
        if (state.status === 'paused') expect(live.every(({ paused }) => paused)).toBe(true);
      }
    }),
    { numRuns: 2000 },
  );
  expect(sends).toBeGreaterThan(100);
});
