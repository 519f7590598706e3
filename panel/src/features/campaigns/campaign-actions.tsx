import { Trans } from '@lingui/react/macro';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import type { Permission } from '../../../../platform/permissions.ts';
import { api } from '../../shared/api/request.ts';
import { useMay } from '../../shared/session/session.ts';
import { Button } from '../../shared/ui/button.tsx';
import { ConfirmDialog } from '../../shared/ui/dialog.tsx';
import { ProblemText } from '../../shared/ui/states.tsx';
import type { Campaign, CampaignStatus } from './queries.ts';
import { Reach } from './reach.tsx';
import { RecurrenceDialog } from './recurrence-dialog.tsx';
import styles from './campaigns.module.css';

type Command = 'submit' | 'approve' | 'send' | 'pause' | 'resume' | 'cancel';

interface Offer {
  command: Command;
  needs: Permission;
  states: readonly CampaignStatus[];
  /** What cannot be taken back asks for the name. */
  isDangerous: boolean;
}

const OFFERS: readonly Offer[] = [
  { command: 'submit', needs: 'campaign.write', states: ['draft'], isDangerous: false },
  {
    command: 'approve',
    needs: 'campaign.approve',
    states: ['draft', 'paused'],
    isDangerous: false,
  },
  { command: 'send', needs: 'campaign.send', states: ['draft'], isDangerous: true },
  {
    command: 'pause',
    needs: 'campaign.send',
    states: ['scheduled', 'sending'],
    isDangerous: false,
  },
  { command: 'resume', needs: 'campaign.send', states: ['paused'], isDangerous: false },
  {
    command: 'cancel',
    needs: 'campaign.send',
    states: ['scheduled', 'sending', 'paused'],
    isDangerous: true,
  },
];

const ENDED: readonly CampaignStatus[] = ['sent', 'cancelled', 'failed'];

/** What can be done with a campaign in its state. */
export function CampaignActions({ campaign }: { campaign: Campaign }) {
  const may = useMay();
  const queryClient = useQueryClient();
  const [asking, setAsking] = useState<Command>();
  const [isRecurring, setRecurring] = useState(false);
  const change = useMutation({
    mutationFn: (command: Command) =>
      api(`/v1/campaigns/${campaign.id}/${command}`, { method: 'POST' }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ['campaigns'] });
      setAsking(undefined);
    },
  });
  const offers = OFFERS.filter(
    ({ needs, states }) => may(needs) && states.includes(campaign.status),
  );
  return (
    <>
      {offers.map(({ command, isDangerous }) => (
        <Button
          key={command}
          kind={command === 'send' ? 'primary' : 'secondary'}
          disabled={change.isPending}
          onClick={() => {
            if (isDangerous) setAsking(command);
            else change.mutate(command);
          }}
        >
          {NAMES[command]}
        </Button>
      ))}
      {may('campaign.send') && !ENDED.includes(campaign.status) ? (
        <Button onClick={() => setRecurring(true)}>
          <Trans>تناوب</Trans>
        </Button>
      ) : null}
      {isRecurring ? (
        <RecurrenceDialog campaign={campaign} onClose={() => setRecurring(false)} />
      ) : null}
      {change.error && !asking ? (
        <p role="alert" className={styles['problem']}>
          <ProblemText error={change.error} />
        </p>
      ) : null}
      {asking ? (
        <ConfirmDialog
          title={NAMES[asking]}
          action={NAMES[asking]}
          name={campaign.name}
          isBusy={change.isPending}
          error={change.error}
          onConfirm={() => change.mutate(asking)}
          onClose={() => setAsking(undefined)}
        >
          {asking === 'send' ? (
            <>
              <Reach campaign={campaign} />
              <Trans>پیام‌ها به همهٔ اشخاص این مخاطب فرستاده می‌شوند و بازگشت ندارد.</Trans>
            </>
          ) : (
            <Trans>پیام‌هایی که هنوز فرستاده نشده‌اند کنار گذاشته می‌شوند و بازگشت ندارد.</Trans>
          )}
        </ConfirmDialog>
      ) : null}
    </>
  );
}

const NAMES: Readonly<Record<Command, ReactNode>> = {
  submit: <Trans>فرستادن برای تأیید</Trans>,
  approve: <Trans>تأیید</Trans>,
  send: <Trans>ارسال</Trans>,
  pause: <Trans>مکث</Trans>,
  resume: <Trans>ادامه</Trans>,
  cancel: <Trans>لغو کمپین</Trans>,
};
